"""Classifiers judged by labels that are held out, and the baselines that they are judged beside."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
