"""Relations between objects: scored pairs, links, and sets that occur together."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
