"""Clusters of about the same size."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
