"""Descent of Sammon's stress by diagonal Newton steps, in tiles of the distances."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from sidelight._fit.restarts import fit_progress
from sidelight._fit.tiles import tiles
from sidelight._kernels.manifold.stress import stress_tile
from sidelight._progress import wait_for
from sidelight._typing import FloatArray
from sidelight.engine import get_threads

#: Distances between up to this many rows are kept (128 MB), others are computed for each step.
KEPT_ROWS = 4000

#: Distances in a tile.
TILE_NUMBERS = 2**20

#: A step is halved at most so often; one that still raises the stress is lost in rounding.
MAX_HALVINGS = 30

#: Steps grow by this factor after each that paid, up to whole Newton steps.
GROWTH = 1.5

#: Second derivatives are taken to be at least this share of ``Σ_j 1/δ_ij``: where they vanish,
#: single points would be thrown off the map, and the steps of all others be halved with theirs.
MIN_CURVATURE = 0.1

#: Nearest rows from whose places the search for the place of a new row starts.
START_NEIGHBORS = 3

#: Steps for the places of new rows, and the share of its stress by which the last lowers it.
PLACE_ITERATIONS = 200
PLACE_TOLERANCE = 1e-10


class TargetDistances:
    """Distances between the rows of a fit, kept or computed for each tile, and to new rows.

    Parameters
    ----------
    rows : ndarray of float64
        Rows of shape (n, n_features), or distances of shape (n, n).
    precomputed : bool
        Whether ``rows`` are distances.
    """

    def __init__(self, rows: FloatArray, precomputed: bool) -> None:
        self._rows = rows
        self._kept = rows if precomputed else None
        if self._kept is None and len(rows) <= KEPT_ROWS:
            self._kept = cdist(rows, rows)

    def __len__(self) -> int:
        return len(self._rows)

    def tile(self, rows: slice) -> FloatArray:
        """Distances from some of the rows to all."""
        if self._kept is not None:
            return self._kept[rows]
        return cdist(self._rows[rows], self._rows)


@dataclass(frozen=True)
class StressEvaluation:
    """A map with its stress, and the derivatives of the stress up to the factor ``2 / c``."""

    places: FloatArray
    stress: float
    gradient: FloatArray
    curvature: FloatArray


class SammonStress:
    """Sammon's stress as a function of the map.

    Attributes
    ----------
    total : float
        Sum ``Σ_ij δ_ij`` over ordered pairs, twice the ``c`` of the source.
    weights : ndarray of shape (n, 1)
        ``Σ_j 1/δ_ij`` of every row.
    n_equal : int
        Pairs of equal rows, which count nowhere.
    """

    def __init__(self, distances: TargetDistances) -> None:
        self.distances = distances
        n = len(distances)
        sums, self.weights = np.empty(n), np.empty((n, 1))
        zeros = np.empty(n, dtype=np.int64)

        def sum_tile(rows: slice) -> None:
            tile = distances.tile(rows)
            sums[rows] = tile.sum(axis=1)
            zeros[rows] = tile.shape[1] - np.count_nonzero(tile, axis=1)
            self.weights[rows, 0] = inverse_sums(tile)

        over_tiles(n, n, sum_tile)
        self.total = float(sums.sum())
        self.n_equal = int(zeros.sum() - n) // 2

    def __call__(self, places: FloatArray) -> StressEvaluation:
        errors = np.empty(len(places))
        gradient, curvature = np.empty_like(places), np.empty_like(places)
        others = np.ascontiguousarray(places.T)

        def evaluate_tile(rows: slice) -> None:
            stress_tile(
                self.distances.tile(rows),
                places[rows],
                others,
                errors[rows],
                gradient[rows],
                curvature[rows],
            )

        over_tiles(len(places), len(places), evaluate_tile)
        return StressEvaluation(places, float(errors.sum()) / self.total, gradient, curvature)

    def step(self, now: StressEvaluation) -> FloatArray:
        """Diagonal Newton step ``S' / |S''|``, to be subtracted."""
        return newton_step(now.gradient, now.curvature, self.weights)


def over_tiles(n_rows: int, n_columns: int, work: Callable[[slice], None]) -> None:
    """Work on tiles of a table of distances; every row is its own result, in any thread."""
    pieces = list(tiles(n_rows, max(1, TILE_NUMBERS // n_columns)))
    workers = min(get_threads(), len(pieces))
    if workers == 1:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(workers, "sidelight") as pool:
        for future in [pool.submit(work, piece) for piece in pieces]:
            wait_for(future)


@dataclass(frozen=True)
class StressDescent:
    """Final state of a descent."""

    last: StressEvaluation
    history: list[float]
    n_iter: int
    converged: bool


def descend(
    stress: SammonStress,
    start: FloatArray,
    *,
    factor: float,
    tol: float,
    max_iter: int,
    description: str,
    verbose: int,
) -> StressDescent:
    """Take diagonal Newton steps, halved where they would raise the stress.

    Parameters
    ----------
    stress : SammonStress
        The function to minimize.
    start : ndarray of shape (n, q)
        First map.
    factor : float
        Part of a Newton step that the first step is.
    tol : float
        The descent has converged when two steps in a row lower the stress by less than this share.
    max_iter : int
        Largest number of steps.
    description : str
        Name of the fit in the progress bar.
    verbose : int
        Whether to show the progress bar.
    """
    now = stress(start)
    history = [now.stress]
    n_small = 0
    converged = False
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            lower, factor = _lower(stress, now, factor)
            if lower is None:
                converged = True
                break
            n_small = n_small + 1 if now.stress - lower.stress <= tol * now.stress else 0
            now = lower
            history.append(now.stress)
            progress.step(now.stress)
            factor = min(GROWTH * factor, 1.0)
            if n_small == 2:
                converged = True
                break
    return StressDescent(now, history, len(history) - 1, converged and not progress.interrupted)


def _lower(
    stress: SammonStress, now: StressEvaluation, factor: float
) -> tuple[StressEvaluation | None, float]:
    """The map after a step that does not raise the stress, or None, and the factor of the step."""
    step = stress.step(now)
    for _ in range(MAX_HALVINGS):
        trial = stress(now.places - factor * step)
        if trial.stress <= now.stress:
            return trial, factor
        factor /= 2
    return None, factor


def newton_step(gradient: FloatArray, curvature: FloatArray, weights: FloatArray) -> FloatArray:
    """Diagonal Newton step ``S' / |S''|`` of points with the sums ``Σ_j 1/δ_ij`` of weights."""
    floored = np.maximum(np.abs(curvature), MIN_CURVATURE * weights)
    return np.divide(gradient, floored, out=np.zeros_like(gradient), where=floored > 0)


def inverse_sums(wanted: FloatArray) -> FloatArray:
    """``Σ_j 1/δ_ij`` of every row over the others at some distance."""
    inverse = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    return np.asarray(inverse.sum(axis=1))


def place_rows(wanted: FloatArray, places: FloatArray) -> FloatArray:
    """Coordinates of least stress for new rows on a fixed map.

    Every row descends from the weighted mean of the places of its nearest rows, by steps of its
    own. Rows at distance 0 from a row of the map get its place.

    Parameters
    ----------
    wanted : ndarray of float64, shape (m, n)
        Distances from the new rows to those of the map.
    places : ndarray of float64, shape (n, q)
        The map.
    """
    found = np.empty((len(wanted), places.shape[1]))
    nearest = wanted.argmin(axis=1)
    same = wanted[np.arange(len(wanted)), nearest] == 0
    found[same] = places[nearest[same]]
    new = np.flatnonzero(~same)
    if len(new):
        found[new] = _descend_rows(np.ascontiguousarray(wanted[new]), places)
    return found


def _descend_rows(wanted: FloatArray, places: FloatArray) -> FloatArray:
    """Places of least stress of rows that equal none of the map."""
    others = np.ascontiguousarray(places.T)

    def evaluate(at: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        errors, gradient, curvature = np.empty(len(at)), np.empty_like(at), np.empty_like(at)
        stress_tile(rows, at, others, errors, gradient, curvature)
        return errors, gradient, curvature

    found = _between_nearest(wanted, places)
    active = np.arange(len(found))
    weights = inverse_sums(wanted)[:, None]
    factor = np.ones(len(found))
    now = found.copy()
    errors, gradient, curvature = evaluate(now, wanted)
    for _ in range(PLACE_ITERATIONS):
        trial = now - factor[:, None] * newton_step(gradient, curvature, weights)
        new_errors, new_gradient, new_curvature = evaluate(trial, wanted)
        lower = new_errors <= errors
        small = lower & (errors - new_errors <= PLACE_TOLERANCE * errors)
        now[lower], gradient[lower] = trial[lower], new_gradient[lower]
        curvature[lower], errors[lower] = new_curvature[lower], new_errors[lower]
        factor = np.where(lower, np.minimum(GROWTH * factor, 1.0), 0.5 * factor)
        done = small | (factor < 0.5**MAX_HALVINGS)
        found[active[done]] = now[done]
        if done.all():
            return found
        if done.any():
            keep = ~done
            active, now, errors, factor = active[keep], now[keep], errors[keep], factor[keep]
            gradient, curvature = gradient[keep], curvature[keep]
            weights, wanted = weights[keep], np.ascontiguousarray(wanted[keep])
    found[active] = now
    return found


def _between_nearest(wanted: FloatArray, places: FloatArray) -> FloatArray:
    """Mean place of the nearest rows of the map, weighted by their inverse distances."""
    k = min(START_NEIGHBORS, len(places))
    near = np.argpartition(wanted, k - 1, axis=1)[:, :k]
    weights = 1.0 / np.take_along_axis(wanted, near, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ik,ikq->iq", weights, places[near]))
