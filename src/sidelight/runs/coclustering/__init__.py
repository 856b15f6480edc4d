"""Runs about tables with two sides: clusters of rows and columns at once."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
