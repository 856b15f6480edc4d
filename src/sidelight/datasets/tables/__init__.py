"""Tables as people keep them: customers, purchases, people of a census, columns of all kinds."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
