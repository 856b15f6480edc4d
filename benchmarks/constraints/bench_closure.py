"""The whole closure of 1,000,000 constraints against SciPy's connected components alone.

The closure gives components, sizes, conflicts and contradictions; SciPy gives the components of the
same must-links, with and without building the CSR matrix that it works on.
"""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, compare
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from sidelight import Constraints
from sidelight.constraints.algebra._closure import close

PEER = "scipy connected_components"
LIMIT = 3.0


def random_constraints(n: int, m: int) -> Constraints:
    """Half must-links, half cannot-links, all at random."""
    rng = np.random.default_rng(0)
    must_link, cannot_link = rng.integers(n, size=(m // 2, 2)), rng.integers(n, size=(m // 2, 2))
    different = cannot_link[:, 0] != cannot_link[:, 1]
    return Constraints(must_link, cannot_link[different], n_samples=n)


def close_all(known: Constraints) -> int:
    """Close afresh, and ask for everything that a fit needs."""
    closure = close(known)  # known.closure() would remember
    assert len(closure.sizes) == closure.n_components
    assert len(closure.conflicts) == len(closure.conflict_weight)
    assert closure.contradictions.shape[1] == 2
    return closure.n_components


def adjacency(known: Constraints) -> csr_array:
    i, j = known.must_link.T
    ones = np.ones(len(i), dtype=np.int8)
    return coo_array((ones, (i, j)), shape=(known.n_samples, known.n_samples)).tocsr()


def closure_cases(n: int, m: int) -> list[Row]:
    known = random_constraints(n, m)
    graph = adjacency(known)
    count, _ = connected_components(graph, directed=False)
    assert count == close_all(known)  # the same answer, and everything is compiled
    case = f"closure of {m:,} constraints on {n:,} rows"
    return [
        compare(
            case,
            lambda: close_all(known),
            lambda: connected_components(graph, directed=False),
            peer=PEER,
            limit=LIMIT,
        ),
        compare(
            case,
            lambda: close_all(known),
            lambda: connected_components(adjacency(known), directed=False),
            peer=f"{PEER}, matrix included",
            limit=LIMIT,
        ),
    ]


def run(quick: bool) -> list[Row]:
    return closure_cases(1_000_000, 100_000) if quick else closure_cases(10_000_000, 1_000_000)
