"""Tables, pairs and labels from and to files; every file is replaced atomically."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
