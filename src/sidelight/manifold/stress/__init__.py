"""Embeddings by descent: stress of distances, networks with a bottleneck."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
