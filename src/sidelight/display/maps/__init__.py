"""Pictures of maps: places of rows, spectra, growth, self-organizing grids."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
