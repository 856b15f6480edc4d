"""Clusters with conditions on what they hold, and tables that are safe to publish."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
