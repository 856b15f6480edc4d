"""Clusters that differ from splits that are known already."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
