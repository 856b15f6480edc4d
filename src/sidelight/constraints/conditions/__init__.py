"""Conditions on every cluster: a least number of rows with a property."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
