"""Classes that spread over a graph: harmonic functions, minimum cuts, spectral transducer."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
