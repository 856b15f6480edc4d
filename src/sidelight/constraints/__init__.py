"""What is known about the rows: must-links, cannot-links, partial labels, groups."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "algebra._closure": ["Closure"],
        "_constraints": ["Constraints"],
        "algebra._reduce": ["Reduced"],
        "algebra._violations": ["Violations"],
        "sidelight.assignment._assign": ["Assignment", "assign", "greedy_assign"],
        "sidelight.assignment._coloring": ["Feasibility"],
        "exchange._keys": ["cannot_links_from_keys"],
        "_pairs": ["Pairs", "known_pairs"],
        "_quality": ["Quality"],
        "_scatter": ["chunklet_scatter", "pair_scatter", "total_covariance"],
        "sidelight.assignment._sized": ["SizedAssignment", "assign_sized"],
        "_sizes": ["SizeBounds"],
    },
)

if TYPE_CHECKING:
    from sidelight.assignment._assign import Assignment as Assignment
    from sidelight.assignment._assign import assign as assign
    from sidelight.assignment._assign import greedy_assign as greedy_assign
    from sidelight.assignment._coloring import Feasibility as Feasibility
    from sidelight.assignment._sized import SizedAssignment as SizedAssignment
    from sidelight.assignment._sized import assign_sized as assign_sized
    from sidelight.constraints._constraints import Constraints as Constraints
    from sidelight.constraints._pairs import Pairs as Pairs
    from sidelight.constraints._pairs import known_pairs as known_pairs
    from sidelight.constraints._quality import Quality as Quality
    from sidelight.constraints._scatter import chunklet_scatter as chunklet_scatter
    from sidelight.constraints._scatter import pair_scatter as pair_scatter
    from sidelight.constraints._scatter import total_covariance as total_covariance
    from sidelight.constraints._sizes import SizeBounds as SizeBounds
    from sidelight.constraints.algebra._closure import Closure as Closure
    from sidelight.constraints.algebra._reduce import Reduced as Reduced
    from sidelight.constraints.algebra._violations import Violations as Violations
    from sidelight.constraints.exchange._keys import (
        cannot_links_from_keys as cannot_links_from_keys,
    )
