"""Constraints on rows: must-links, cannot-links, partial labels, groups."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
