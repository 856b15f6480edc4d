from ._conditions import Conditions as Conditions
