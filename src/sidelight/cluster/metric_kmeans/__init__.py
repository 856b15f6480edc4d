"""k-means that learns a metric: MPCK-means and HMRF-k-means."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
