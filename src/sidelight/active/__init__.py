"""Which question to ask next, who answers it, and what follows from the answers."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
