"""Data to try things on: generators of the published synthetic sets, loaders, one example."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
