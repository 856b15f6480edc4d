"""Explanation: what the clusters are, in the units and words of the table."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
