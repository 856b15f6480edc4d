"""Online selection of features: pairs per second in 5,000 dimensions of which 1 % are not zero."""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, clock
from scipy import sparse

from sidelight import Constraints
from sidelight.feature_selection import OnlineConstraintSelector


def run(quick: bool) -> list[Row]:
    n, d = 2_000, 5_000
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 2, n)
    known = Constraints.sample(y, 20_000 if quick else 100_000, random_state=0)
    rows = []
    for norm in ("l1", "l2", "group"):
        model = OnlineConstraintSelector(
            norm=norm, groups=np.arange(d) // 20, n_epochs=1, random_state=0
        )
        model.fit(X, constraints=known)  # compile first
        seconds = min(clock(lambda model=model: model.fit(X, constraints=known)) for _ in range(5))
        rows.append(
            {
                "case": f"{norm}, {known.n_pairs:,} pairs, d={d:,}, 1 % not zero",
                "seconds": seconds,
                "pairs per second": known.n_pairs / seconds,
                "wanted": 100_000,
            }
        )
    return rows
