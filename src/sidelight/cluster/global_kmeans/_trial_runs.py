"""One more cluster by trial runs: from promising candidates, and with a center moved elsewhere.

The published fast search runs once, from the candidate that gains most alone. Here some more starts
are tried, at a fraction of the time of the exhaustive search:

- the candidates that gain most after one move of all centers, and some spread over the data;
- then, with the best end: a center whose loss costs little leaves for a candidate that gains much,
  as long as that helps. So choices of earlier steps that no longer fit are taken back.
"""

from __future__ import annotations

import numpy as np

from sidelight._fit.lowest import lowest
from sidelight._kernels.cluster.insertion import removal_losses
from sidelight._typing import Array
from sidelight.cluster.global_kmeans._insertion import (
    NearestRows,
    Points,
    candidate_gains,
    nearest,
    trial_ends,
)
from sidelight.cluster.global_kmeans._kd_partition import kd_means

#: Rows per trial, and the fewest trials that are worth it.
ROWS_PER_TRIAL = 20
MIN_TRIALS = 4

#: Share of the trials that begin all over the data, where that is not up to the candidates.
SPREAD = 0.75

#: Numbers in the rows times trials: where this is passed, time would be felt.
MAX_WORK = 2e6

#: Rounds in which centers move elsewhere, half as many trials in each.
ROUNDS = 4

#: An error that is lower by less than this share is rounding.
ROUNDING = 1e-9


def number_of_trials(n_rows: int, n_features: int) -> int:
    """Number of trial runs: more for more rows, one where a trial is too expensive."""
    wanted = max(n_rows // ROWS_PER_TRIAL, MIN_TRIALS)
    affordable = int(MAX_WORK / (n_rows * n_features))
    return min(wanted, affordable) if affordable >= MIN_TRIALS else 1


class Trials:
    """The search for one more cluster.

    Parameters
    ----------
    points : Points
        The points; equal rows are one point, so that a weight is the same as repetitions.
    candidates : ndarray of shape (n_candidates, n_features)
        Where a further center may start.
    n_trials : int
        Number of starts.
    spread : bool
        Whether most of them are spread over the data, by means of a kd-tree.
    max_iter : int
        At most this many times through the rows per run.
    verbose : int
        Show progress.
    """

    def __init__(
        self,
        points: Points,
        candidates: Array,
        n_trials: int,
        *,
        spread: bool,
        max_iter: int,
        verbose: int,
    ) -> None:
        self.points = points
        self.candidates = candidates
        self.n_trials = n_trials
        self.max_iter = max_iter
        self.verbose = verbose
        self._known: tuple[Array, Array] | None = None
        self.spread = candidates[:0]
        if spread and n_trials > 1:
            self.spread = kd_means(points, int(SPREAD * n_trials))

    def insert(self, centers: Array) -> Array | None:
        """Return the best end with one more center; ``None`` if that was interrupted."""
        found = self._insert(NearestRows.around(self.points, centers))
        for _ in range(ROUNDS if len(centers) > 1 else 0):
            if found is None:
                return None
            moved = self._move_elsewhere(NearestRows.around(self.points, found[0]))
            if moved is None:
                return None
            if not moved[1] < found[1] * (1 - ROUNDING):
                break
            found = moved
        return None if found is None else found[0]

    def _insert(self, clusters: NearestRows) -> tuple[Array, float] | None:
        """Try a further center at candidates of large gain and all over the data."""
        words = f"GlobalKMeans, start of cluster {len(clusters.centers) + 1}"
        gains = self._known_gains(clusters.centers)
        if gains is None:
            gains = self._gains(clusters, words)
        if gains is None:
            return None
        best = best_different(gains, max(self.n_trials - len(self.spread), 1))
        places = np.concatenate([self.candidates[best], self.spread])
        return self._best(clusters, np.full(len(places), -1), places, words)

    def _move_elsewhere(self, clusters: NearestRows) -> tuple[Array, float] | None:
        """Try centers of little loss at candidates of large gain."""
        words = f"GlobalKMeans, moves of {len(clusters.centers)} centers"
        gains = self._gains(clusters, words)
        if gains is None:
            return None
        self._known = clusters.centers, gains
        losses = np.empty(len(clusters.centers))
        removal_losses(self.points.rows, self.points.weights, clusters.centers, losses)
        n_pairs = max(self.n_trials // 2, 1)
        n_each = int(np.ceil(np.sqrt(n_pairs))) + 1
        leaving = np.argsort(losses, kind="stable")[:n_each]
        targets = best_different(gains, n_each)
        rise = losses[leaving, None] - gains[targets]
        own = nearest(Points.of(self.candidates[targets], None), clusters.centers)[0]
        rise[leaving[:, None] == own] = np.inf  # its gain counts on the center that would leave
        pairs = np.argsort(rise, axis=None, kind="stable")[:n_pairs]
        pairs = pairs[np.isfinite(rise.ravel()[pairs])]
        if len(pairs) == 0:
            return clusters.centers, np.inf
        one, other = np.unravel_index(pairs, rise.shape)
        return self._best(clusters, leaving[one], self.candidates[targets[other]], words)

    def _known_gains(self, centers: Array) -> Array | None:
        """Return the gains that the last search for moves found at these centers, or ``None``."""
        if self._known is None or self._known[0].shape != centers.shape:
            return None
        known, gains = self._known
        off = np.abs(centers - known).max()  # a run from an end may round it differently
        return gains if off <= 1e-5 * np.abs(known).max() else None

    def _gains(self, clusters: NearestRows, words: str) -> Array | None:
        return candidate_gains(
            self.points,
            clusters,
            self.candidates,
            settled=True,
            description=words,
            verbose=self.verbose,
        )

    def _best(
        self, clusters: NearestRows, leaving: Array, places: Array, words: str
    ) -> tuple[Array, float] | None:
        found = trial_ends(
            self.points,
            clusters,
            leaving,
            places,
            max_iter=self.max_iter,
            description=words,
            verbose=self.verbose,
        )
        if found is None:
            return None
        ends, errors = found
        best = lowest(errors, "trial runs")
        return ends[best], float(errors[best])


def best_different(gains: Array, n: int) -> Array:
    """Positions of the ``n`` largest gains; equal gains are from equal insertions, and once."""
    order = np.argsort(-gains, kind="stable")
    ordered = gains[order]
    different = np.append(True, ordered[1:] < ordered[:-1] * (1 - 1e-9))
    chosen: Array = order[different][:n]
    return chosen
