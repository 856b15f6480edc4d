"""Candidates side by side: held-out statements, stability, time, and a verdict in plain words."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
