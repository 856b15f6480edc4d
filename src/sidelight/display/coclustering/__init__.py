"""Pictures of tables with two sides: the re-ordered table, and clusters along an order."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
