"""Clusters with conditions on what they hold, and tables whose rows are published alike."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
