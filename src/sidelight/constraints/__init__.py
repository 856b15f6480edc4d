"""What is known about the rows: must-links, cannot-links, partial labels, groups."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_closure": ["Closure"],
        "_constraints": ["Constraints"],
        "_reduce": ["Reduced"],
        "_violations": ["Violations"],
        "assignment": ["Assignment", "assign", "greedy_assign"],
        "feasibility": ["Feasibility"],
        "keys": ["cannot_links_from_keys"],
        "pairs": ["Pairs", "known_pairs"],
        "quality": ["Quality"],
        "scatter": ["chunklet_scatter", "pair_scatter", "total_covariance"],
        "sized_assignment": ["SizedAssignment", "assign_sized"],
        "sizes": ["SizeBounds"],
    },
)

if TYPE_CHECKING:
    from sidelight.constraints._closure import Closure as Closure
    from sidelight.constraints._constraints import Constraints as Constraints
    from sidelight.constraints._reduce import Reduced as Reduced
    from sidelight.constraints._violations import Violations as Violations
    from sidelight.constraints.assignment import Assignment as Assignment
    from sidelight.constraints.assignment import assign as assign
    from sidelight.constraints.assignment import greedy_assign as greedy_assign
    from sidelight.constraints.feasibility import Feasibility as Feasibility
    from sidelight.constraints.keys import cannot_links_from_keys as cannot_links_from_keys
    from sidelight.constraints.pairs import Pairs as Pairs
    from sidelight.constraints.pairs import known_pairs as known_pairs
    from sidelight.constraints.quality import Quality as Quality
    from sidelight.constraints.scatter import chunklet_scatter as chunklet_scatter
    from sidelight.constraints.scatter import pair_scatter as pair_scatter
    from sidelight.constraints.scatter import total_covariance as total_covariance
    from sidelight.constraints.sized_assignment import SizedAssignment as SizedAssignment
    from sidelight.constraints.sized_assignment import assign_sized as assign_sized
    from sidelight.constraints.sizes import SizeBounds as SizeBounds
