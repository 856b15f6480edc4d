"""A distance learned from cannot-links."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
