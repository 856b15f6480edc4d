"""Tables that can be published: every row is like several others."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
