"""Preparation: from a table as people have it to features, every decision told and kept."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
