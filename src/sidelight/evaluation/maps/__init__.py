"""Measures of maps: neighborhoods kept, distances kept, and agreement with known coordinates."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
