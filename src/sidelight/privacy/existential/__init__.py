"""Clusters with a least number of rows of each kind."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
