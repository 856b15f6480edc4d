"""Inner door of ``jobs``: names that other packages of Sidelight share; no public API."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
