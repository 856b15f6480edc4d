"""Algebra of the statements: canonical form, closure, contradictions, violations."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
