"""Clusters of objects that are related: scored pairs, connected clusters, entities."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
