"""Local models joined into one map: the size of the eigenproblem, and time by the number of rows.

- Locally linear coordination against scikit-learn's LLE on the same rows and neighbors, where both
  run: at most as long from some thousand rows on, since its eigenproblem does not grow.
- The alignment alone for growing numbers of rows, with charts that are given: linear in the rows
  (``per row`` stays), an eigenproblem of ``unknowns`` unknowns throughout.
"""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, clock, compare
from sklearn.datasets import make_s_curve
from sklearn.frozen import FrozenEstimator
from sklearn.manifold import LocallyLinearEmbedding

from sidelight.manifold import Charting, LocallyLinearCoordination
from sidelight.mixture import GaussianMixture

CHARTS = 40


def run(quick: bool) -> list[Row]:
    sizes = (2_000, 8_000, 32_000) if quick else (2_000, 8_000, 32_000, 128_000)
    return [against_lle(8_000 if quick else 20_000), *growing(sizes)]


def against_lle(n: int) -> Row:
    X, t = make_s_curve(n, noise=0.02, random_state=0)
    ours = LocallyLinearCoordination(n_charts=CHARTS, random_state=0)
    theirs = LocallyLinearEmbedding(n_neighbors=10, random_state=0)
    ours.fit(X[:500])  # compile first
    row = compare(
        f"S curve, n={n:,}, 10 neighbors, {CHARTS} charts",
        lambda: ours.fit(X),
        lambda: theirs.fit(X),
        peer="scikit-learn LocallyLinearEmbedding",
        limit=1.0,
        repeats=1,
    )
    return {
        **row,
        "position explained": explained(ours.embedding_, t),
        "theirs explains": explained(theirs.embedding_, t),
    }


def growing(sizes: tuple[int, ...]) -> list[Row]:
    """Fits with the charts of one mixture, so that only neighbors and alignment are timed."""
    X, _ = make_s_curve(max(sizes), noise=0.02, random_state=0)
    plain = GaussianMixture(CHARTS, covariance_type="ppca", n_factors=2, random_state=0)
    mixture = FrozenEstimator(plain.fit(X[:2_000]))
    rows = []
    for cls in (LocallyLinearCoordination, Charting):
        model = cls(mixture=mixture)
        model.fit(X[:500])  # compile first
        for n in sizes:
            seconds = clock(lambda: model.fit(X[:n]))  # noqa: B023
            rows.append(
                {
                    "case": f"{cls.__name__}, n={n:,}, charts given",
                    "seconds": seconds,
                    "microseconds per row": 1e6 * seconds / n,
                    "unknowns": CHARTS * 3,
                }
            )
    return rows


def explained(places: np.ndarray, truth: np.ndarray) -> float:
    design = np.column_stack([np.ones(len(places)), places])
    rest = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return float(1 - rest.var() / truth.var())
