"""Gaussian components: full, tied, diagonal, low-rank, with missing values."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
