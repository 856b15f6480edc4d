"""Splits of the rows that are known already, and not wanted again."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
