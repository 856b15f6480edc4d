"""Clusters of the rows and of the columns of a table at once."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
