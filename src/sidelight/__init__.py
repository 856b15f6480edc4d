"""Sidelight: clustering and friends with what you already know about your data.

Nothing heavy is imported here; every name loads its module on first use.
"""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "active": (),
        "base": (),
        "catalog": (),
        "cluster": (),
        "constraints": (),
        "datasets": (),
        "engine": (),
        "evaluation": (),
        "exceptions": (),
        "feature_selection": (),
        "graphs": (),
        "io": (),
        "manifold": (),
        "metric": (),
        "mixture": (),
        "report": (),
        "constraints._constraints": ("Constraints",),
        "_progress": ("progress",),
    },
)

if TYPE_CHECKING:
    from sidelight._progress import progress as progress
    from sidelight.constraints import Constraints as Constraints
