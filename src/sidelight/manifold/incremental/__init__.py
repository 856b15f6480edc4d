"""Embeddings that grow with the data."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
