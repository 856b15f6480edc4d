from ._strategies import NAMES as NAMES
