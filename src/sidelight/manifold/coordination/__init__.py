"""Local linear models joined into one map by an eigenproblem or EM."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
