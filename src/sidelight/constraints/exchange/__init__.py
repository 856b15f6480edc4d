"""Statements from and to tables, files and keys, and how they are told."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
