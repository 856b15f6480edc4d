"""Lloyd's algorithm on blocks of rows: the loop under the k-means family.

Minimises

    J(μ, l) = Σ_i w_i ‖x_i - μ_{l_i}‖² + penalty(l)

by turns over the labels and the centres. One pass over the rows does both: a product with the
centres, and tile by tile the nearest centres and the sums
(:mod:`sidelight._kernels.cluster.lloyd`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sidelight._fit.moments import moments
from sidelight._fit.restarts import fit_progress
from sidelight._fit.tiles import EqualWeights
from sidelight._typing import Array
from sidelight.cluster._core._distances import (
    dense_rows,
    distances_to,
    farthest_rows,
    labelled_distances,
)
from sidelight.cluster._core._passes import BoundedPass, DensePass, SparsePass
from sidelight.engine import RowSource

Project = Callable[[Array, Array], Array]

#: Bounds pay once few rows change their label, and when there is enough to skip.
CALM = 0.01
WORTH_BOUNDS = 2e7


class HeldRows(Protocol):
    """Rows whose label is not simply the nearest centre."""

    @property
    def rows(self) -> Array:
        """Their positions, ascending."""

    def assign(self, centers: Array) -> tuple[Array, float]:
        """Return the labels of these rows and the penalty of these labels at these centres."""


@dataclass(frozen=True)
class LloydResult:
    """Where Lloyd's algorithm ended.

    Attributes
    ----------
    centers : ndarray of shape (k, n_features)
        Centres, in the element type of the rows.
    labels : ndarray of int32, shape (n_rows,)
        Labels at these centres.
    inertia, penalty : float
        The two parts of the objective at these centres and labels.
    history : ndarray of float64
        Objective at every centres-and-labels pair that was visited; the last belongs to the result.
    n_iter : int
        Number of iterations: a labelling and, unless it changed nothing, a move of the centres.
    converged : bool
        Whether the labels, or the centres up to ``tol``, stood still.
    interrupted : bool
        Whether Ctrl-C ended it (inside ``sidelight.progress(keep_best=True)``).
    """

    centers: Array
    labels: Array
    inertia: float
    penalty: float
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """``inertia + penalty``."""
        return self.inertia + self.penalty


@dataclass(frozen=True)
class _Visit:
    """A pair of centres and labels with its objective, and what moves the centres on."""

    centers: Array
    labels: Array
    inertia: float
    penalty: float
    gaps: Array
    sizes: Array
    n_changed: int
    bounds: Array | None


def lloyd(
    source: RowSource,
    centers: Array,
    *,
    sample_weight: Array | None = None,
    held: HeldRows | None = None,
    project: Project | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    description: str = "KMeans",
    verbose: int = 0,
) -> LloydResult:
    """Run Lloyd's algorithm from the given centres.

    Parameters
    ----------
    source : RowSource
        The rows.
    centers : ndarray of shape (k, n_features)
        Where to start.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 unless told.
    held : HeldRows, default=None
        Rows that are labelled by someone else at every step; all others go to the nearest centre.
    project : callable, default=None
        ``project(means, before)`` brings means to where centres may be, such as the unit sphere;
        ``before`` are the centres that have moved there (float64, like the result).
    max_iter : int, default=300
        At most this many iterations.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of the
        features; with 0 the labels decide.
    description : str, default="KMeans"
        What the progress bar says.
    verbose : int, default=0
        Show the bar.
    """
    step = _Step(source, sample_weight, held, project)
    centers = np.ascontiguousarray(centers, dtype=source.dtype)
    largest_move = 0.0
    if tol > 0:
        largest_move = tol * moments(source, sample_weight, near=centers.mean(axis=0)).mean_variance
    history: list[float] = []
    visit: _Visit | None = None
    converged = False
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            visit = step.visit(centers, visit)
            history.append(visit.inertia + visit.penalty)
            progress.step(history[-1])
            if visit.n_changed == 0:
                converged = True
                break
            moved = step.move(visit)
            move = float(np.sum((moved - centers).astype(np.float64) ** 2))
            centers = moved
            if move <= largest_move:
                converged = True
                break
        if visit is None or centers is not visit.centers:
            visit = step.visit(centers, visit)
            history.append(visit.inertia + visit.penalty)
    assert visit is not None  # an interruption before the first visit is raised
    return LloydResult(
        centers=visit.centers,
        labels=visit.labels,
        inertia=visit.inertia,
        penalty=visit.penalty,
        history=np.array(history),
        n_iter=progress.n_steps,
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )


class _Step:
    """The two halves of an iteration: visit centres (label the rows, add up), move them."""

    def __init__(
        self,
        source: RowSource,
        sample_weight: Array | None,
        held: HeldRows | None,
        project: Project | None,
    ) -> None:
        self.source = source
        self.held = held
        self.project = project
        self.held_rows = np.empty(0, np.int64) if held is None else np.asarray(held.rows, np.int64)
        self.sample_weight = sample_weight
        self.weights = (
            EqualWeights(source)
            if sample_weight is None
            else np.ascontiguousarray(sample_weight, dtype=source.dtype)
        )
        self.unlabelled = np.broadcast_to(np.int32(-1), source.n_rows)

    def visit(self, centers: Array, previous: _Visit | None) -> _Visit:
        """Label the rows at these centres and add up what the next centres need."""
        held_labels, penalty = np.empty(0, np.int32), 0.0
        if self.held is not None:
            labels, penalty = self.held.assign(centers)
            held_labels = np.ascontiguousarray(labels, dtype=np.int32)
        totals, (labels, *bounds) = self._pass(centers, previous, held_labels)
        gaps, sizes, squares, n_changed = totals
        return _Visit(
            centers=centers,
            labels=labels,
            inertia=float(squares[0]),
            penalty=float(penalty),
            gaps=gaps,
            sizes=sizes,
            n_changed=int(n_changed),
            bounds=bounds[0] if bounds else None,
        )

    def _pass(
        self, centers: Array, previous: _Visit | None, held_labels: Array
    ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        n_rows = self.source.n_rows
        before = self.unlabelled if previous is None else previous.labels
        aligned = (range(n_rows), self.weights, before)
        if previous is None or not self._bounds_pay(centers, previous):
            label = SparsePass if self.source.is_sparse else DensePass
            return self.source.map_reduce(
                label(centers, self.held_rows, held_labels), aligned=aligned
            )
        moves = np.linalg.norm((centers - previous.centers).astype(np.float64), axis=1)
        bounds = previous.bounds
        if bounds is None:
            bounds = np.broadcast_to(np.asarray(-np.inf, dtype=self.source.dtype), n_rows)
        return self.source.map_reduce(
            BoundedPass(centers, self.held_rows, held_labels, moves), aligned=(*aligned, bounds)
        )

    def _bounds_pay(self, centers: Array, previous: _Visit) -> bool:
        n_rows = self.source.n_rows
        return (
            not self.source.is_sparse
            and n_rows * centers.size > WORTH_BOUNDS
            and previous.n_changed < CALM * n_rows
        )

    def move(self, visit: _Visit) -> Array:
        """Move every centre to the mean of its rows; give empty clusters a row of their own."""
        filled = visit.sizes > 0
        moved = visit.centers.astype(np.float64)
        moved[filled] += visit.gaps[filled] / visit.sizes[filled, None]
        if self.project is not None:
            moved = self.project(moved, visit.centers.astype(np.float64))
        centers = moved.astype(self.source.dtype)
        empty = np.flatnonzero(~filled)
        if len(empty):
            rows = self._farthest_rows(visit, len(empty))
            centers[empty[: len(rows)]] = rows
        return centers

    def _farthest_rows(self, visit: _Visit, n: int) -> Array:
        """Rows for empty clusters, fewer where none is left."""
        distances = labelled_distances(self.source, visit.centers, visit.labels)
        distances[self.held_rows] = 0  # these may not be free to come
        if self.sample_weight is not None:
            distances[self.sample_weight == 0] = 0
        chosen = farthest_rows(
            distances, n, lambda row: distances_to(self.source, dense_rows(self.source, [row])[0])
        )
        return dense_rows(self.source, chosen)
