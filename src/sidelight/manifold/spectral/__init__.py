"""Embeddings by a matrix, its eigenvectors and its extension to new rows."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
