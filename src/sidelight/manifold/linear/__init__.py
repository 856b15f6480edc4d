"""Linear projections that listen to side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
