"""Where a further center pays: gains of candidates, and trial runs from them, over threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sidelight._kernels.cluster.insertion import (
    descend,
    insertion_gains,
    nearest_and_closest,
    run_trials,
    to_means,
)
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows, get_threads

#: Candidates that one thread looks at in one go, and the work (rows times numbers) below which
#: threads take longer to start than they save.
CANDIDATES_AT_ONCE = 64
WORTH_THREADS = 1e6


@dataclass(frozen=True)
class Points:
    """Weighted points that are clustered, in one type."""

    source: RowSource
    rows: Array
    weights: Array

    @classmethod
    def of(cls, rows: Array, weights: Array | None) -> Points:
        """Points from rows and their weights, 1 by default."""
        if weights is None:
            weights = np.ones(len(rows))
        rows = np.ascontiguousarray(rows)
        return cls(as_rows(rows), rows, np.ascontiguousarray(weights, dtype=rows.dtype))


@dataclass(frozen=True)
class NearestRows:
    """Centers with the rows nearest to them: labels, squared distances, means and weights."""

    centers: Array
    labels: Array
    closest: Array
    means: Array
    sizes: Array

    @classmethod
    def around(cls, points: Points, centers: Array) -> NearestRows:
        """Assign every row to its nearest center."""
        labels, closest = nearest(points, centers)
        means, sizes = centers.astype(np.float64), np.empty(len(centers))
        to_means(points.rows, points.weights, labels, means, sizes)
        return cls(centers, labels, closest, means, sizes)


def candidate_gains(
    points: Points,
    centers: Array | NearestRows,
    candidates: Array,
    *,
    settled: bool = False,
    description: str = "gains",
    verbose: int = 0,
) -> Array | None:
    """Return how much each candidate alone, as a further center, lowers the error.

    ``b_c = Σ_i w_i max(d_i - ‖p_c - x_i‖², 0)`` with ``d_i`` the squared distance of row ``i`` to
    its nearest center: the drop with all other centers where they are. With ``settled``, the drop
    after all centers have moved to their means once (they must be there before). ``None`` after an
    interruption that keeps the best so far.
    """
    if not isinstance(centers, NearestRows):
        centers = NearestRows.around(points, centers)
    clusters, centers = centers, centers.centers
    labels, closest = clusters.labels, clusters.closest
    order = np.lexsort((-closest, labels))
    offsets = points.rows[order] - centers[labels[order]]
    lengths, weights = np.sqrt(closest[order]), points.weights[order]
    starts = np.searchsorted(labels[order], np.arange(len(centers) + 1))
    # Candidates that are looked at together should be neighbors: the same rows are out of reach.
    if candidates is points.rows:
        turn = order
    else:
        near, far = nearest(Points.of(candidates, None), centers)
        turn = np.lexsort((-far, near))
    in_turn, gains_in_turn = candidates[turn], np.empty(len(candidates))

    def work(piece: slice) -> None:
        insertion_gains(
            offsets,
            lengths,
            weights,
            starts,
            centers,
            clusters.sizes,
            in_turn[piece],
            settled,
            gains_in_turn[piece],
        )

    done = _in_threads(work, len(candidates), points.rows.size, description, verbose)
    if not done:
        return None
    gains = np.empty(len(candidates))
    gains[turn] = gains_in_turn
    return gains


def nearest(points: Points, centers: Array) -> tuple[Array, ...]:
    """Nearest center of every row and its squared distance."""

    def measure(block: Array) -> tuple[tuple[()], tuple[Array, Array]]:
        labels, closest = np.empty(len(block), np.int32), np.empty(len(block), block.dtype)
        nearest_and_closest(block, centers, labels, closest)
        return (), (labels, closest)

    if len(points.source.blocks) == 1:  # nothing to share: no need for the engine
        return measure(points.rows)[1]
    return points.source.map_reduce(measure)[1]


def trial_errors(
    points: Points,
    centers: Array,
    candidates: Array,
    *,
    max_iter: int,
    largest_move: float,
    description: str = "trials",
    verbose: int = 0,
) -> Array | None:
    """Return the error that Lloyd's algorithm ends at from the centers and each candidate.

    ``None`` after an interruption that keeps the best so far.
    """
    errors = np.empty(len(candidates))

    def work(piece: slice) -> None:
        for c in range(piece.start, piece.stop):
            errors[c] = run_lloyd(
                points, np.vstack([centers, candidates[c]]), max_iter, largest_move
            )[1]

    work_each = points.rows.size * (len(centers) + 1) * 10
    done = _in_threads(work, len(candidates), work_each, description, verbose)
    return errors if done else None


def trial_ends(
    points: Points,
    clusters: NearestRows,
    leaving: Array,
    places: Array,
    *,
    max_iter: int,
    description: str,
    verbose: int,
) -> tuple[Array, Array] | None:
    """Return where each trial ends: its centers, and its error.

    A trial begins with the present clusters and a further center at one of ``places``, or with the
    center there that ``leaving`` names (-1: none), and moves single rows as long as that lowers the
    error. ``None`` after an interruption that keeps the best so far.
    """
    k, d = clusters.centers.shape
    k += int(leaving[0] < 0)
    ends, errors = np.empty((len(places), k, d)), np.empty(len(places))

    def work(piece: slice) -> None:
        run_trials(
            points.rows,
            points.weights,
            clusters.labels,
            clusters.closest,
            clusters.means,
            clusters.sizes,
            leaving[piece],
            places[piece],
            max_iter,
            ends[piece],
            errors[piece],
        )

    work_each = points.rows.size * k * 4
    done = _in_threads(work, len(places), work_each, description, verbose)
    return (ends.astype(points.rows.dtype), errors) if done else None


def run_lloyd(
    points: Points, start: Array, max_iter: int, largest_move: float
) -> tuple[Array, float, int]:
    """Run Lloyd's algorithm on few points; return the centers, their error and the iterations."""
    centers = start.copy()
    scratch = np.empty(centers.shape), np.empty(len(centers)), np.empty(len(points.rows), np.int32)
    error, n_iter = descend(points.rows, points.weights, centers, max_iter, largest_move, *scratch)
    return centers, float(error), int(n_iter)


def _in_threads(
    work: Callable[[slice], None], n: int, work_each: int, description: str, verbose: int
) -> bool:
    """Work on all pieces of ``range(n)``; return whether nothing interrupted it."""
    worth = n * work_each > WORTH_THREADS
    at_once = min(CANDIDATES_AT_ONCE, max(n // 4, 1)) if worth else n
    pieces = [slice(start, min(start + at_once, n)) for start in range(0, n, at_once)]
    n_threads = get_threads() if worth else 1
    with fit_progress(description, len(pieces), verbose=verbose) as progress:
        for _ in _map(work, pieces, min(n_threads, len(pieces))):
            progress.step()
    return not progress.interrupted


def _map(work: Callable[[slice], None], pieces: list[slice], n_threads: int) -> Iterator[None]:
    if n_threads <= 1:
        yield from map(work, pieces)
        return
    pool = ThreadPoolExecutor(n_threads, "sidelight")
    try:
        yield from pool.map(work, pieces)
    finally:
        pool.shutdown(cancel_futures=True)
