"""Classifiers from labels and pairs: pairwise logistic regression and pairwise SVM."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
