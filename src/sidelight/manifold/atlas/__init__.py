"""Mixtures of factor analyzers whose local coordinates agree on one map."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
