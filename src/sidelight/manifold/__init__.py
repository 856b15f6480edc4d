"""Projections and maps, of all rows at once or as they come."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
