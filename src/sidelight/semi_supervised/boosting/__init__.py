"""Boosting that learns from unlabeled rows: SemiBoost and ASSEMBLE."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
