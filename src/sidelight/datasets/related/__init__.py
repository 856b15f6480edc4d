"""Generators of related data: scored pairs, graphs with attributes, maps, references, records."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
