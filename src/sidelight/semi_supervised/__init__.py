"""Classifiers from few labels, unlabeled rows and pairs."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
