"""The largest distance between rows, ``Dmax(A) = max_pq ‖x_p - x_q‖²_A``: exact, swept or bounded.

A violated cannot-link costs ``Dmax(A) - ‖x_i - x_j‖²_A``. As a maximum over pairs, Dmax is convex
but not linear in A: the metric that minimises the objective for the present farthest pair can be
worse once the pair is chosen anew. A linear upper bound keeps the metric step exact:

- weights: ``Dmax(a) ≤ Σ_d a_d R_d²`` with the range ``R_d`` of every feature;
- matrices: ``Dmax(A) ≤ tr(A B)``, ``B = 4 r² Σ`` with the total covariance Σ and
  ``r² = max_i (x_i - m)'Σ⁻¹(x_i - m)``, because ``vv' ≤ (v'Σ⁻¹v) Σ`` and ``v'Σ⁻¹v ≤ (2r)²``.

``B - vv'`` is then positive semidefinite for the difference v of any two rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows
from sidelight.cluster.metric_kmeans._metric_rows import Moments, ranges, squared_to_point
from sidelight.cluster.metric_kmeans._metrics import Metrics, PairGaps
from sidelight.engine import RowSource

MAX_DISTANCES = ("bound", "sweep", "exact")

#: Jumps to the farthest row of the farthest row.
JUMPS = 3
ROWS_AT_ONCE = 2000


class MaxDistance(Protocol):
    """What stands for the largest distance."""

    #: Whether it is linear in the metric.
    linear: bool
    #: Factor on the prices of cannot-links, so that weights keep their meaning.
    scale: float

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Return ``Dmax`` of every metric (g,), and forms B_g with ``Dmax = tr(A_g B_g)``."""


class Bound:
    """A linear upper bound."""

    linear = True

    def __init__(self, form: Array, scale: float) -> None:
        self._form = form
        self.scale = scale

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Return the bound at every metric and its form, which is always the same."""
        forms = np.broadcast_to(self._form, metrics.values.shape)
        return metrics.inner(forms), forms


class FarthestPair:
    """The farthest pair, or one found by sweeps; never below the cannot-links themselves."""

    linear = False
    scale = 1.0

    def __init__(
        self, source: RowSource, mean: Array, points: Any, cannot_link: Array, *, exact: bool
    ) -> None:
        self._source = source
        self._mean = mean
        self._points = points
        self._cannot_link = cannot_link
        self._exact = exact
        self._last: tuple[Metrics, tuple[Array, Array]] | None = None

    def at(self, metrics: Metrics) -> tuple[Array, Array]:
        """Find a farthest pair for every metric."""
        if self._last is None or self._last[0] is not metrics:
            self._last = metrics, self._find(metrics)
        return self._last[1]

    def _find(self, metrics: Metrics) -> tuple[Array, Array]:
        found = [self._farthest(metrics, g) for g in range(len(metrics.values))]
        gaps = np.array(found)
        forms = gaps[:, :, None] * gaps[:, None, :] if metrics.is_full else gaps**2
        return metrics.inner(forms), forms

    def _farthest(self, metrics: Metrics, g: int) -> Array:
        one, other = farthest_pair(self._source, self._mean, metrics, g, exact=self._exact)
        ends = dense_rows(self._source, [one, other]).astype(np.float64)
        gap = ends[0] - ends[1]
        own = PairGaps(self._points, self._cannot_link, full=metrics.is_full).squared(metrics)[:, g]
        if len(own) and own.max() > metrics.squared_norms(gap[None])[0, g]:
            ends = self._points[self._cannot_link[int(np.argmax(own))]]
            ends = ends.toarray() if hasattr(ends, "toarray") else ends
            gap = ends[0] - ends[1]
        return np.asarray(gap)


def farthest_pair(
    source: RowSource, mean: Array, metrics: Metrics, g: int, *, exact: bool
) -> tuple[int, int]:
    """Find two rows far apart: from the row farthest from the mean jump to its farthest, and on.

    For the exact pair only rows i count with ``r_i + max r ≥ D``, where r is the distance to the
    mean and D the distance that the jumps have reached.
    """
    radii = squared_to_point(source, mean, metrics, g)
    one = int(np.argmax(radii))
    other, reached = one, 0.0
    for _ in range(JUMPS):
        point = dense_rows(source, [one])[0].astype(np.float64)
        squared = squared_to_point(source, point, metrics, g)
        farthest = int(np.argmax(squared))
        if squared[farthest] <= reached:
            break
        other, one, reached = one, farthest, float(squared[farthest])
    if not exact:
        return one, other
    lengths = np.sqrt(radii)
    candidates = np.flatnonzero(lengths + lengths.max() >= np.sqrt(reached) * (1 - 1e-9))
    return _exhaustive(source, candidates, metrics, g, (one, other), reached)


def _exhaustive(
    source: RowSource,
    candidates: Array,
    metrics: Metrics,
    g: int,
    best: tuple[int, int],
    reached: float,
) -> tuple[int, int]:
    """Compare all pairs of the candidates, a block at a time."""
    factor = np.linalg.cholesky(metrics.values[g]) if metrics.is_full else None
    rows = dense_rows(source, candidates).astype(np.float64)
    rows -= rows.mean(axis=0)
    rows = rows @ factor if factor is not None else rows * np.sqrt(metrics.values[g])
    norms = np.einsum("ij,ij->i", rows, rows)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        squared = norms[piece, None] + norms[start:] - 2 * rows[piece] @ rows[start:].T
        place = int(np.argmax(squared))
        if squared.flat[place] > reached * (1 + 1e-12):
            i, j = np.unravel_index(place, squared.shape)
            best = int(candidates[start + i]), int(candidates[start + j])
            reached = float(squared.flat[place])
    return best


def bound_of_distances(source: RowSource, moments: Moments, *, full: bool, ridge: float) -> Bound:
    """Make the linear bound; its scale takes it to the farthest pair at the identity metric."""
    plain = Metrics.multiple_of_identity(1.0, source.n_features, 1, full=full)
    if full:
        covariance = moments.scatter / source.n_rows + ridge * np.eye(source.n_features)
        inverse = np.linalg.inv(covariance)
        whitened = Metrics((inverse + inverse.T)[None] / 2, np.zeros(1))
        radius = squared_to_point(source, moments.mean, whitened, 0).max()
        form = 4 * radius * covariance
    else:
        form = ranges(source) ** 2
    one, other = farthest_pair(source, moments.mean, plain, 0, exact=False)
    ends = dense_rows(source, [one, other]).astype(np.float64)
    largest = float(np.trace(form) if full else np.sum(form))
    scale = float(np.sum((ends[0] - ends[1]) ** 2)) / largest if largest > 0 else 1.0
    return Bound(form, scale)
