"""How good a partition is, and which parameters the known pairs speak for."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
