"""Tables, pairs and labels from and to files; every file is written beside and then renamed."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_atomic": ["atomic_write"],
    },
)

if TYPE_CHECKING:
    from sidelight.io._atomic import atomic_write as atomic_write
