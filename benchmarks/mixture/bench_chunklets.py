"""ChunkletMixture: what must-links and cannot-links cost beside our unconstrained EM.

Same data, start and number of iterations on both sides; 5,000 chunklets of ten rows each, that is a
quarter of the rows, under both assumptions about their sampling, and with random cannot-links
between them (without a limit).
"""

from __future__ import annotations

import warnings

import numpy as np
from benchmarks.harness import Row, compare
from benchmarks.mixture.bench_em import blobs, fixed_length
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.mixture import ChunkletMixture, GaussianMixture

LIMIT = 1.3
CHUNKLET_ROWS = 10


def run(quick: bool) -> list[Row]:
    n, n_chunklets = (20_000, 500) if quick else (200_000, 5_000)
    X, start = blobs(n, 16, 20)
    # The parameters only have to be measured: any rows may belong together.
    order = np.random.default_rng(0).permutation(n)[: n_chunklets * CHUNKLET_ROWS]
    groups = np.full(n, -1)
    groups[order] = np.repeat(np.arange(n_chunklets), CHUNKLET_ROWS)
    linked = Constraints.from_groups(groups)
    apart = np.random.default_rng(1).permutation(order)[: 4 * n_chunklets // 5].reshape(-1, 2)
    apart = apart[groups[apart[:, 0]] != groups[apart[:, 1]]]
    both = linked | Constraints(cannot_link=apart, n_samples=n)
    cases = [
        (f"{n_chunklets:,} chunklets, sampled as chunklets", linked, "chunklets", LIMIT),
        (f"{n_chunklets:,} chunklets, sampled as points", linked, "points", LIMIT),
        (f"{n_chunklets:,} chunklets and {len(apart):,} cannot-links", both, "points", None),
    ]
    return [beside_plain_em(X, start, *case, n_iter=10) for case in cases]


def beside_plain_em(
    X: np.ndarray,
    start: dict[str, np.ndarray],
    case: str,
    known: Constraints,
    sampling: str,
    limit: float | None,
    n_iter: int,
) -> Row:
    params = fixed_length(X, start, "full", n_iter)
    model = ChunkletMixture(**params, sampling_unit=sampling, n_init=1)
    plain = GaussianMixture(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
        rows = np.flatnonzero(known.groups >= 0)[:3000]
        model.fit(X[rows], constraints=known[rows])  # compile first
        row = compare(
            f"n={len(X):,}, d={X.shape[1]}, k={model.n_components}, full: {case}",
            lambda: model.fit(X, constraints=known),
            lambda: plain.fit(X),
            peer="our GaussianMixture",
            limit=limit,
        )
    assert model.n_iter_ == plain.n_iter_ == n_iter
    return row
