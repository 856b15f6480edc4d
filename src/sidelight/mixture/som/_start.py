"""Start of maps: nodes on the plane of the first principal components, or at random rows."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.extmath import randomized_svd

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.mixture.som._grid import Grid

StartName: TypeAlias = Literal["pca", "random"]

#: Up to this many columns the matrix of all pairs of columns is decomposed.
MAX_COLUMNS = 1000


def principal_plane(numbers: Any, weights: Array, n_axes: int) -> tuple[Array, Array, Array]:
    """Mean of the rows, their first principal axes of shape (n_axes, D), and the variances.

    Axes beyond the rank are 0, with variance 0. The sign of an axis makes its largest entry
    positive.
    """
    n, d = numbers.shape
    total = float(weights.sum())
    mean = np.asarray(numbers.T @ weights, dtype=np.float64).ravel() / total
    n_found = min(n_axes, n, d)
    if d <= MAX_COLUMNS:
        values, vectors = linalg.eigh(moments(as_rows(numbers), weights, full=True).covariance)
        values, axes = values[::-1][:n_found], vectors.T[::-1][:n_found]
    else:
        scaled = np.sqrt(weights / total)
        # The mean of wide sparse rows stays in: without it they would not be sparse.
        rows = numbers if sparse.issparse(numbers) else numbers - mean
        rows = (
            sparse.diags_array(scaled) @ rows if sparse.issparse(rows) else rows * scaled[:, None]
        )
        _, singular, axes = randomized_svd(rows, n_found, n_iter=7, random_state=0)
        values = singular**2
    largest = np.take_along_axis(axes, np.argmax(np.abs(axes), axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    values = np.where(values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300), values, 0.0)
    plane, variances = np.zeros((n_axes, d)), np.zeros(n_axes)
    plane[:n_found], variances[:n_found] = axes, values
    plane[variances == 0] = 0.0
    return mean, plane, variances


def means_on_plane(numbers: Array, weights: Array, grid: Grid) -> tuple[Array, Array]:
    """Nodes spread over the principal plane by its standard deviations, and the largest variances.

    One more variance than the grid has axes is found: the largest that the plane leaves out.
    """
    n_axes = len(grid.shape)
    mean, plane, variances = principal_plane(numbers, weights, n_axes + 1)
    spread = np.sqrt(variances[:n_axes])[:, None] * plane[:n_axes]
    return mean + grid.standard_positions @ spread, variances


def start_means(
    numbers: Array, weights: Array, grid: Grid, init: StartName, rng: np.random.RandomState
) -> Array:
    """Means of the nodes to start from."""
    if init == "pca":
        return means_on_plane(numbers, weights, grid)[0]
    return np.array(numbers[_random_rows(len(numbers), grid.n_nodes, rng)], dtype=np.float64)


def start_winners(
    numbers: Any, weights: Array, grid: Grid, init: StartName, rng: np.random.RandomState
) -> Array:
    """Winning node of every row to start from, whatever the family of the components."""
    if init == "random":
        chosen = _random_rows(numbers.shape[0], grid.n_nodes, rng)
        return pairwise_distances_argmin(numbers, numbers[chosen]).astype(np.int32)
    mean, plane, variances = principal_plane(numbers, weights, len(grid.shape))
    spread = np.sqrt(np.where(variances > 0, variances, 1.0))
    scores = np.asarray(numbers @ plane.T - mean @ plane.T) / spread
    return pairwise_distances_argmin(scores, grid.standard_positions).astype(np.int32)


def most_frequent(winners: Array, weights: Array, episodes: Array) -> Array:
    """For every row the winner of most rows of its episode, by weight."""
    pairs, of_row = np.unique(np.column_stack([episodes, winners]), axis=0, return_inverse=True)
    mass = np.bincount(of_row.ravel(), weights)
    order = np.lexsort((-mass, pairs[:, 0]))  # the heaviest of every episode first
    owners, first = np.unique(pairs[order, 0], return_index=True)
    best = pairs[order[first], 1]
    return best[np.searchsorted(owners, episodes)].astype(np.int32)


def _random_rows(n: int, k: int, rng: np.random.RandomState) -> Array:
    return rng.choice(n, size=k, replace=n < k)
