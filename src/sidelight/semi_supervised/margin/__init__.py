"""Large margins that avoid unlabeled rows: TSVM, LapSVM, low-density separation."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
