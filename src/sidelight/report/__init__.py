"""The self-contained HTML report of a run: one file that opens offline."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
