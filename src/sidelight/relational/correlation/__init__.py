"""Correlation clustering: partitions from pairs that are scored as alike or unlike."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
