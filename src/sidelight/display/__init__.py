"""Displays: pictures of clusters, constraints and comparisons for notebooks, by matplotlib."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
