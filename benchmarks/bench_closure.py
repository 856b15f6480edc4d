"""Closure of 1,000,000 constraints over 10,000,000 rows against SciPy's connected components.

The whole closure (components, sizes, conflicts, contradictions) is timed against what
``scipy.sparse.csgraph.connected_components`` needs for the components alone, on the same
must-links, with and without building the CSR matrix that it works on. At most 3x is the aim.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sidelight import Constraints


def random_pairs(m: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(n, size=(m, 2))


def best_time(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def close_everything(known: Constraints) -> None:
    """Close afresh (an object remembers its closure) and ask for all that a fit needs."""
    known._cache.pop("closure", None)
    closure = known.closure(on_contradiction="keep")
    assert len(closure.sizes) == closure.n_components
    assert len(closure.conflicts) == len(closure.conflict_weight)
    assert closure.contradictions.shape[1] == 2


def adjacency(pairs: np.ndarray, n: int) -> coo_array:
    ones = np.ones(len(pairs), dtype=np.int8)
    return coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    n, half, repeats = options.rows, options.pairs // 2, options.repeats
    must_link, cannot_link = random_pairs(half, n, seed=0), random_pairs(half, n, seed=1)
    cannot_link = cannot_link[cannot_link[:, 0] != cannot_link[:, 1]]

    close_everything(Constraints([(0, 1)], [(1, 2)], n_samples=3))  # compile first
    making = best_time(lambda: Constraints(must_link, cannot_link, n_samples=n), repeats)
    known = Constraints(must_link, cannot_link, n_samples=n)
    ours = best_time(lambda: close_everything(known), repeats)
    building = best_time(lambda: adjacency(known.must_link, n), repeats)
    graph = adjacency(known.must_link, n)
    theirs = best_time(lambda: connected_components(graph, directed=False), repeats)

    count, _ = connected_components(graph, directed=False)
    assert count == known.closure(on_contradiction="keep").n_components
    print(f"{options.pairs:,} constraints over {n:,} rows, best of {repeats}")
    print(f"Constraints(...) from arrays     {making:8.3f} s")
    print(f"whole closure                    {ours:8.3f} s")
    print(f"connected_components             {theirs:8.3f} s   ratio {ours / theirs:.2f}")
    with_csr = theirs + building
    print(f"connected_components with CSR    {with_csr:8.3f} s   ratio {ours / with_csr:.2f}")


if __name__ == "__main__":
    main()
