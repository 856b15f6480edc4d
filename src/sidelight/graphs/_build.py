"""Similarity graphs from rows (Hamad, part 1; Verbeek 2004, section 2.1.3)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from sidelight.exceptions import SidelightError

Array = npt.NDArray[Any]
Weights = Literal["gaussian", "local", "cosine", "fuzzy", "connectivity"]

#: Rows of a graph that joins all of them: its matrix takes 8 n² bytes.
MOST_ROWS = 15_000

#: Neighbour whose distance is the scale of a row (Zelnik-Manor, Perona 2004).
SCALE_NEIGHBOR = 7


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    weights: Weights = "gaussian",
    mutual: bool = False,
    sigma: float | None = None,
    scale_neighbor: int = SCALE_NEIGHBOR,
) -> sparse.csr_array:
    """Join every row to its nearest neighbours.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    n_neighbors : int, default=10
        Neighbours of a row, itself not counted.
    weights : {"gaussian", "local", "cosine", "fuzzy", "connectivity"}, default="gaussian"
        ``exp(-d²/2σ²)``; ``exp(-d²/σ_iσ_j)``, where the scale ``σ_i`` of a row is the distance of
        its ``scale_neighbor``-th neighbour; the cosine (negative ones are 0); ``1 - d/r_i``
        (averaged over the two ends), the membership in a ball that just excludes the neighbour
        after the last; or 1.
    mutual : bool, default=False
        Keep an edge only if both rows are neighbours of each other, instead of at least one.
    sigma : float, default=None
        ``σ`` of "gaussian"; the median distance to the last neighbour unless told.
    scale_neighbor : int, default=7
        Which neighbour gives the scale of a row for "local".

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        Symmetric, weights in [0, 1], no loops. Memory ``O(n n_neighbors)``.

    Examples
    --------
    >>> from sidelight.graphs import neighbor_graph
    >>> neighbor_graph([[0.0], [1.0], [10.0]], 1, weights="connectivity").toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    rows = X if sparse.issparse(X) else np.asarray(X)
    n = rows.shape[0]
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    n_neighbors = min(int(n_neighbors), n - 1)
    wanted = min(max(n_neighbors + 1, scale_neighbor if weights == "local" else 0), n - 1)
    metric = "cosine" if weights == "cosine" else "euclidean"
    if n < 2:
        return sparse.csr_array((n, n))
    # Without rows given, scikit-learn leaves every row out of its own neighbours.
    distances, neighbors = (
        NearestNeighbors(n_neighbors=wanted, metric=metric).fit(rows).kneighbors()
    )
    near, targets = distances[:, :n_neighbors], neighbors[:, :n_neighbors]
    values = _edge_weights(near, targets, distances, weights, sigma, n_neighbors, scale_neighbor)
    indptr = np.arange(0, n * n_neighbors + 1, n_neighbors)
    directed = sparse.csr_array((values.ravel(), targets.ravel(), indptr), shape=(n, n))
    return _symmetric(directed, mutual=mutual, average=weights == "fuzzy")


def _edge_weights(
    near: Array,
    targets: Array,
    distances: Array,
    weights: str,
    sigma: float | None,
    n_neighbors: int,
    scale_neighbor: int,
) -> Array:
    if weights == "connectivity":
        return np.ones_like(near)
    if weights == "cosine":
        return np.clip(1.0 - near, 0.0, 1.0)
    if weights == "fuzzy":
        reach = distances[:, min(n_neighbors, distances.shape[1] - 1), None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(reach > 0, 1.0 - near / reach, 1.0)
    if weights == "local":
        scales = local_scales(distances, scale_neighbor)
        return np.exp(-(near**2) / (scales[:, None] * scales[targets]))
    if weights == "gaussian":
        width = float(np.median(near[:, -1])) if sigma is None else float(sigma)
        return np.exp(-(near**2) / (2 * _positive(width, near) ** 2))
    raise ValueError(
        "weights must be 'gaussian', 'local', 'cosine', 'fuzzy' or 'connectivity', got "
        f"{weights!r}."
    )


def _positive(width: float, distances: Array) -> float:
    """A width above 0; where most rows are the same, the smallest distance that is not 0."""
    if width > 0:
        return width
    if width < 0 or not np.isfinite(width):
        raise ValueError(f"sigma must be above 0, got {width}.")
    apart = distances[distances > 0]
    return float(apart.min()) if len(apart) else 1.0


def local_scales(distances: Array, scale_neighbor: int) -> Array:
    """Distance of every row to its neighbour of this rank; ties are skipped to the first above 0.

    ``distances`` are those to the nearest neighbours, ascending in every row.
    """
    rank = min(scale_neighbor, distances.shape[1]) - 1
    scales = distances[:, rank].copy()
    same = np.flatnonzero(scales == 0)
    if len(same):
        above = np.where(distances[same] > 0, distances[same], np.inf).min(axis=1)
        everywhere = distances[distances > 0]
        least = float(everywhere.min()) if len(everywhere) else 1.0
        scales[same] = np.where(np.isfinite(above), above, least)
    return scales


def _symmetric(directed: sparse.csr_array, *, mutual: bool, average: bool) -> sparse.csr_array:
    other = sparse.csr_array(directed.T)
    if mutual:
        both = directed.minimum(other) if not average else _mean_of_common(directed, other)
        joined = sparse.csr_array(both)
    elif average:
        joined = sparse.csr_array((directed + other) * 0.5)
    else:
        joined = sparse.csr_array(directed.maximum(other))
    joined.sort_indices()
    return joined


def _mean_of_common(directed: sparse.csr_array, other: sparse.csr_array) -> sparse.csr_array:
    common = sparse.csr_array((directed > 0).multiply(other > 0))
    return sparse.csr_array((directed + other).multiply(common) * 0.5)


def full_graph(
    X: Any,
    *,
    weights: Literal["gaussian", "local", "cosine"] = "gaussian",
    sigma: float | None = None,
    scale_neighbor: int = SCALE_NEIGHBOR,
    loops: bool = False,
) -> Array:
    """Join all rows to each other; for few rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, at most 15,000: the matrix takes ``8 n²`` bytes.
    weights : {"gaussian", "local", "cosine"}, default="gaussian"
        As in :func:`neighbor_graph`.
    sigma : float, default=None
        ``σ`` of "gaussian"; the 5th percentile of the distances unless told.
    scale_neighbor : int, default=7
        Which neighbour gives the scale of a row for "local".
    loops : bool, default=False
        Keep the weight 1 of every row with itself.

    Returns
    -------
    W : ndarray of shape (n_samples, n_samples)
        Symmetric, weights in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.graphs import full_graph
    >>> np.round(full_graph([[0.0], [1.0], [10.0]], sigma=1.0), 3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    n = rows.shape[0]
    if n > MOST_ROWS:
        raise SidelightError(
            f"A graph that joins all {n:,} rows takes {8e-9 * n * n:,.0f} GB; join nearest "
            "neighbours instead (neighbor_graph), or take fewer rows."
        )
    if weights == "cosine":
        W = np.clip(1.0 - pairwise_distances(rows, metric="cosine"), 0.0, 1.0)
    else:
        distances = pairwise_distances(rows)
        if weights == "local":
            ascending = np.sort(distances, axis=1)[:, 1:]
            scales = local_scales(ascending, scale_neighbor) if n > 1 else np.ones(n)
            W = np.exp(-(distances**2) / np.outer(scales, scales))
        elif weights == "gaussian":
            width = _percentile(distances, 5.0) if sigma is None else float(sigma)
            W = np.exp(-(distances**2) / (2 * _positive(width, distances) ** 2))
        else:
            raise ValueError(f"weights must be 'gaussian', 'local' or 'cosine', got {weights!r}.")
    np.fill_diagonal(W, 1.0 if loops else 0.0)
    return np.asarray((W + W.T) / 2)


def percentile_distance(X: Any, percent: float = 5.0, *, max_rows: int = 2000) -> float:
    """Percentile of the distances between rows, of at most ``max_rows`` evenly spaced ones.

    Examples
    --------
    >>> from sidelight.graphs import percentile_distance
    >>> percentile_distance([[0.0], [1.0], [3.0]], 50)
    2.0
    """
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    n = rows.shape[0]
    if n > max_rows:
        rows = rows[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    return _percentile(pairwise_distances(rows), percent)


def _percentile(distances: Array, percent: float) -> float:
    upper = distances[np.triu_indices(len(distances), 1)]
    return float(np.percentile(upper, percent)) if len(upper) else 1.0
