"""k-means, seeded, with hard and with soft constraints."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
