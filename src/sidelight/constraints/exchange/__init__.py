"""Statements from and to tables, files and keys, and in words."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
