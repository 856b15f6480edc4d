"""Sidelight: clustering and friends with what you already know about your data.

Nothing heavy is imported here; every name loads its module on first use.
"""

from sidelight._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__)
