"""Runs about graphs: scored pairs, several partitions, connected clusters, entities."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
