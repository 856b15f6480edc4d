"""What pictures show, as plain data, for reports and for Matplotlib."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
