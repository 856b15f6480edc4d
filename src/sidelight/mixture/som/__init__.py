"""Self-organizing maps: mixtures whose components sit on a grid."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
