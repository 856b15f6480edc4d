"""Preparation: from tables of mixed columns to features, every decision documented and kept."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
