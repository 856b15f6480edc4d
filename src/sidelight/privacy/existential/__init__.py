"""Clusters that each hold at least so many rows of a kind."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
