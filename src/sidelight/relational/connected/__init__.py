"""Connected clusters: rows with attributes, and a graph in which every cluster is one piece."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
