"""Number of components and relevance of features by message length."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
