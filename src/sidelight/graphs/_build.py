"""Similarity graphs from rows (Hamad, part 1; Verbeek 2004, section 2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from sidelight._fit.moments import point_among, relative_to
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight.engine import as_rows, get_threads
from sidelight.exceptions import SidelightError
from sidelight.graphs._nearest import QUERY_ROWS, check_distances, nearest_of_matrix
from sidelight.graphs._precomputed import read_neighbors

Weights = Literal["gaussian", "local", "cosine", "fuzzy", "connectivity"]

#: Rows of a graph that joins all of them: its matrix takes 8 n² bytes.
MAX_ROWS = 15_000

#: Similarities below this are none by default (Verbeek 2004, section 2.1.3).
NO_SIMILARITY = 1e-6

#: Rows from which on, and columns between which, a tree along principal axes may be worth it, and
#: how many axes (as the squared sum of their variances over the sum of squares) it stands.
ROWS_FOR_AXES = 50_000
FEWEST_TURNED, MAX_TURNED = 15, 100
MAX_AXES = 8.0

#: Neighbor whose distance is the scale of a row (Zelnik-Manor, Perona 2004).
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
    """Join every row to its nearest neighbors.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    n_neighbors : int, default=10
        Number of neighbors of a row, itself not counted.
    weights : {"gaussian", "local", "cosine", "fuzzy", "connectivity"}, default="gaussian"
        ``exp(-d²/2σ²)``; ``exp(-d²/σ_iσ_j)``, where the scale ``σ_i`` of a row is the distance of
        its ``scale_neighbor``-th neighbor; the cosine (negative ones are 0); ``1 - d/r_i``
        (averaged over the two ends), the membership in a ball that just excludes the neighbor
        after the last; or 1.
    mutual : bool, default=False
        Keep an edge only if both rows are neighbors of each other, instead of at least one.
    sigma : float, default=None
        ``σ`` of "gaussian"; the median distance to the last neighbor by default.
    scale_neighbor : int, default=7
        Rank of the neighbor whose distance is the scale of a row for "local".

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
    return similarity_graph(
        X,
        n_neighbors,
        weights=weights,
        mutual=mutual,
        sigma=sigma,
        scale_neighbor=scale_neighbor,
    )[0]


def similarity_graph(
    X: Any,
    n_neighbors: int | None,
    *,
    weights: Weights,
    mutual: bool = False,
    sigma: float | None = None,
    scale_neighbor: int = SCALE_NEIGHBOR,
    metric: Literal["euclidean", "precomputed"] = "euclidean",
    least: float = NO_SIMILARITY,
) -> tuple[sparse.csr_array, Similarity]:
    """Build a graph of nearest neighbors, and the comparison of new rows with its rows.

    Parameters
    ----------
    X, weights, mutual, sigma, scale_neighbor
        As in :func:`neighbor_graph`.
    n_neighbors : int or None
        Number of neighbors of a row; None joins all rows, at most 15,000, as in :func:`full_graph`.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or the distances between them, for a graph of neighbors; a sparse
        matrix of distances stores those of neighbors, one way or both ways.
    least : float, default=1e-6
        Of a graph that joins all rows: similarities below it are none.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        The graph, without loops.
    similarity : Similarity
        Its ``to(new)`` gives the similarities of new rows.

    Examples
    --------
    >>> from sidelight.graphs import similarity_graph
    >>> W, similarity = similarity_graph([[0.0], [1.0]], None, weights="gaussian", sigma=1.0)
    >>> similarity.to([[0.0]]).toarray().round(3)
    array([[1.   , 0.607]])
    """
    rows = X if sparse.issparse(X) else np.asarray(X)
    n = rows.shape[0]
    if n_neighbors is None:
        rows = rows if sparse.issparse(rows) else rows.astype(np.float64, copy=False)
        return _joined_with_all(rows, weights, sigma, scale_neighbor, least)
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    n_neighbors = min(int(n_neighbors), n - 1)
    if n < 2:
        return sparse.csr_array((n, n)), Similarity(rows, weights, 1.0, np.ones(n), None)
    if metric == "precomputed":
        wanted = n_neighbors  # a sparse matrix need not store more
        distances, targets = _nearest_given(rows, weights, wanted)
        rows = None
    else:
        # One more than asked for: the fuzzy ball just excludes the neighbor after the last.
        wanted = min(max(n_neighbors + 1, scale_neighbor if weights == "local" else 0), n - 1)
        distances, targets = _nearest(rows, weights, wanted)
    near, targets = distances[:, :n_neighbors], targets[:, :n_neighbors]
    width, scales = 1.0, np.ones(0)
    if weights == "gaussian":
        width = _positive(float(np.median(near[:, -1])) if sigma is None else float(sigma), near)
    elif weights == "local":
        scales = local_scales(distances, scale_neighbor)
    elif weights == "fuzzy":
        scales = distances[:, min(n_neighbors, wanted - 1)]
    similarity = Similarity(rows, weights, width, scales, n_neighbors, scale_neighbor)
    own = scales if len(scales) else np.ones(n)
    values = similarity.weigh(near, own, targets, one_end=True)
    indptr = np.arange(0, n * n_neighbors + 1, n_neighbors)
    directed = sparse.csr_array((values.ravel(), targets.ravel(), indptr), shape=(n, n))
    return _symmetric(directed, mutual=mutual, average=weights == "fuzzy"), similarity


def _nearest(rows: Any, weights: str, wanted: int, new: Any = None) -> tuple[Array, Array]:
    """Distances and positions of the nearest rows; a row is not a neighbor of itself."""
    metric = "cosine" if weights == "cosine" else "euclidean"
    algorithm = "auto"
    if metric == "euclidean":
        rows, new = _near_origin(rows, new)
        axes = _few_axes(rows)
        if axes is not None:
            algorithm, rows = "kd_tree", rows @ axes
            new = None if new is None else np.asarray(new @ axes)
    search = NearestNeighbors(
        n_neighbors=wanted, metric=metric, algorithm=algorithm, n_jobs=get_threads()
    ).fit(rows)
    looking, n = (rows, rows.shape[0]) if new is None else (new, new.shape[0])
    found = []
    with stage_progress("Nearest neighbors", -(-n // QUERY_ROWS)) as progress:
        for first in range(0, n, QUERY_ROWS):
            block = looking[first : first + QUERY_ROWS]
            if new is None:
                distances, neighbors = search.kneighbors(block, wanted + 1)
                found.append(_without_itself(distances, neighbors, first))
            else:
                found.append(search.kneighbors(block))
            progress.step()
    distances, neighbors = (np.concatenate(part) for part in zip(*found, strict=True))
    return np.asarray(distances, np.float64), neighbors


def _nearest_given(distances: Any, weights: str, wanted: int) -> tuple[Array, Array]:
    """Distances and positions of the nearest rows, from a matrix of distances."""
    if weights == "cosine":
        raise SidelightError("Cosines of rows cannot be had from distances: take other weights.")
    if sparse.issparse(distances):
        return read_neighbors(distances, wanted)
    _, targets, near = nearest_of_matrix(check_distances(distances), wanted)
    shape = (len(distances), wanted)
    return near.reshape(shape), targets.reshape(shape)


def _few_axes(rows: Any) -> Array | None:
    """Principal axes of many rows that vary along few of them; None for all others.

    scikit-learn compares every row with every other in more than 15 dimensions. Where columns are
    correlated, a tree whose cuts follow the principal axes needs far fewer comparisons, and turned
    rows have the same distances.
    """
    n, d = rows.shape
    if sparse.issparse(rows) or n < ROWS_FOR_AXES or not FEWEST_TURNED < d <= MAX_TURNED:
        return None
    values, axes = np.linalg.eigh(np.cov(rows, rowvar=False, dtype=np.float64))
    spread = np.maximum(values, 0.0)
    total = float(spread.sum())
    if total <= 0 or total**2 > MAX_AXES * float(spread @ spread):
        return None
    return np.ascontiguousarray(axes[:, ::-1], dtype=rows.dtype)


def _without_itself(distances: Array, neighbors: Array, first: int) -> tuple[Array, Array]:
    """Leave out every row itself, and where others like it have crowded it out the nearest."""
    n, wanted = len(neighbors), neighbors.shape[1] - 1
    kept = neighbors != np.arange(first, first + n)[:, None]
    kept[kept.all(axis=1), 0] = False
    return distances[kept].reshape(n, wanted), neighbors[kept].reshape(n, wanted)


def _near_origin(rows: Any, new: Any = None) -> tuple[Any, Any]:
    """Move rows, and new ones with them, to where squared lengths do not hide their distances."""
    source = as_rows(rows)
    point = point_among(source)
    if new is not None:
        new = relative_to(as_rows(new).to_memory(), point).astype(source.dtype, copy=False)
    return relative_to(source.to_memory(), point).astype(source.dtype, copy=False), new


@dataclass(frozen=True)
class Similarity:
    """How rows of a graph were compared, so that new rows can be compared with them.

    Attributes
    ----------
    rows : array or CSR matrix of shape (n, d) or None
        Rows of the graph, a copy, since who gave them may change them; None where distances were
        given.
    weights : str
        Kind of weights, see :func:`neighbor_graph`.
    sigma : float
        Width of "gaussian".
    scales : ndarray of shape (n,)
        Scale of every row for "local", radius of its ball for "fuzzy".
    n_neighbors : int or None
        Number of neighbors of a row; None joins all rows.
    scale_neighbor : int
        Rank of the neighbor whose distance is the scale of a row for "local".
    """

    rows: Any
    weights: str
    sigma: float
    scales: Array
    n_neighbors: int | None
    scale_neighbor: int = SCALE_NEIGHBOR

    def __post_init__(self) -> None:
        if self.rows is not None:
            object.__setattr__(self, "rows", self.rows.copy())

    def weigh(self, distances: Array, own: Array, targets: Array, *, one_end: bool) -> Array:
        """Similarities from distances; ``own`` are the scales of the rows that look.

        A fuzzy weight is the mean of two memberships; the graph adds the other end later.
        """
        if self.weights == "connectivity":
            return np.ones_like(distances)
        if self.weights == "cosine":
            return np.clip(1.0 - distances, 0.0, 1.0)
        if self.weights in ("gaussian", "local"):
            return np.exp(self.exponents(distances, own, targets))
        if self.weights == "fuzzy":
            seen = _membership(distances, own[:, None])
            return seen if one_end else (seen + _membership(distances, self.scales[targets])) / 2
        raise ValueError(
            "weights must be 'gaussian', 'local', 'cosine', 'fuzzy' or 'connectivity', got "
            f"{self.weights!r}."
        )

    def exponents(self, distances: Array, own: Array, targets: Array) -> Array:
        """Logarithms of the weights "gaussian" and "local"."""
        if self.weights == "local":
            return np.asarray(-(distances**2) / (own[:, None] * self.scales[targets]))
        return np.asarray(-(distances**2) / (2 * self.sigma**2))

    def to(self, new: Any, *, relative: bool = False) -> sparse.csr_array:
        """Similarities of new rows to those of the graph, shape (n_new, n).

        New rows of a graph of given distances are their distances to its rows. ``relative`` gives
        the similarities of every row in units of its largest, which is never lost to underflow.
        """
        n = new.shape[1] if self.rows is None else self.rows.shape[0]
        n_neighbors = n if self.n_neighbors is None else min(self.n_neighbors, n)
        if self.rows is None:
            distances, targets = _nearest_columns(new, n_neighbors)
        else:
            more = {"local": self.scale_neighbor, "fuzzy": n_neighbors + 1}.get(self.weights, 1)
            wanted = min(max(n_neighbors, more), n)
            distances, targets = _nearest(self.rows, self.weights, wanted, new)
        own = np.ones(len(distances))
        if self.weights == "local":
            own = local_scales(distances, self.scale_neighbor)
        elif self.weights == "fuzzy":
            own = distances[:, -1]
        near, targets = distances[:, :n_neighbors], targets[:, :n_neighbors]
        if relative and self.weights in ("gaussian", "local"):
            exponents = self.exponents(near, own, targets)
            values = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        else:
            values = self.weigh(near, own, targets, one_end=False)
        indptr = np.arange(0, values.size + 1, n_neighbors)
        return sparse.csr_array((values.ravel(), targets.ravel(), indptr), shape=(len(values), n))


def _nearest_columns(distances: Any, wanted: int) -> tuple[Array, Array]:
    """Smallest distances of new rows and their columns, ascending."""
    if sparse.issparse(distances):
        return read_neighbors(distances, wanted, square=False)
    near = np.asarray(distances, dtype=np.float64)
    if not np.all(near >= 0):
        raise SidelightError(f"Distances are not below 0; new rows have {near.min():.6g}.")
    targets = np.argsort(near, axis=1, kind="stable")[:, :wanted]
    return np.take_along_axis(near, targets, 1), targets


def _membership(distances: Array, reach: Array) -> Array:
    """``1 - d/r`` inside a ball, 0 outside; 1 in a ball without extent."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(reach > 0, 1.0 - distances / reach, distances <= 0)
    return np.clip(inside, 0.0, 1.0)


def _positive(width: float, distances: Array) -> float:
    """A width above 0; where most rows are the same, the smallest distance that is not 0."""
    if width > 0 and np.isfinite(width):
        return width
    if width != 0:
        raise ValueError(f"sigma must be above 0, got {width}.")
    apart = distances[distances > 0]
    return float(apart.min()) if len(apart) else 1.0


def local_scales(distances: Array, scale_neighbor: int) -> Array:
    """Distance of every row to its neighbor of this rank; ties are skipped to the first above 0.

    ``distances`` are those to the nearest neighbors, ascending in every row.
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
    joined.eliminate_zeros()  # an edge without weight would join parts of the graph
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
        ``σ`` of "gaussian"; the 5th percentile of the distances by default.
    scale_neighbor : int, default=7
        Rank of the neighbor whose distance is the scale of a row for "local".
    loops : bool, default=False
        Whether to keep the weight 1 of every row with itself.

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
    W = _all_similarities(rows, weights, sigma, scale_neighbor)[0]
    np.fill_diagonal(W, 1.0 if loops else 0.0)
    return W


def _all_similarities(
    rows: Any, weights: str, sigma: float | None, scale_neighbor: int
) -> tuple[Array, float, Array]:
    """Similarities of all rows, with the width and the scales that went into them."""
    n = rows.shape[0]
    if n > MAX_ROWS:
        raise SidelightError(
            f"A graph that joins all {n:,} rows takes {8e-9 * n * n:,.0f} GB; join nearest "
            "neighbors instead (neighbor_graph), or take fewer rows."
        )
    width, scales = 1.0, np.ones(n)
    if weights == "cosine":
        W = np.clip(1.0 - pairwise_distances(rows, metric="cosine"), 0.0, 1.0)
    elif weights in ("gaussian", "local"):
        distances = pairwise_distances(_near_origin(rows)[0])
        if weights == "local":
            ascending = np.sort(distances, axis=1)[:, 1:]
            scales = local_scales(ascending, scale_neighbor) if n > 1 else scales
            W = np.exp(-(distances**2) / np.outer(scales, scales))
        else:
            width = _percentile(distances, 5.0) if sigma is None else float(sigma)
            width = _positive(width, distances)
            W = np.exp(-(distances**2) / (2 * width**2))
    else:
        raise ValueError(
            f"weights must be 'gaussian', 'local' or 'cosine' to join all rows, got {weights!r}."
        )
    return np.asarray((W + W.T) / 2), width, scales


def _joined_with_all(
    rows: Any, weights: str, sigma: float | None, scale_neighbor: int, least: float
) -> tuple[sparse.csr_array, Similarity]:
    W, width, scales = _all_similarities(rows, weights, sigma, scale_neighbor)
    np.fill_diagonal(W, 0.0)
    W[np.less(W, least)] = 0.0
    similarity = Similarity(rows, weights, width, scales, None, scale_neighbor)
    return sparse.csr_array(W), similarity


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
    return _percentile(pairwise_distances(_near_origin(rows)[0]), percent)


def _percentile(distances: Array, percent: float) -> float:
    upper = distances[np.triu_indices(len(distances), 1)]
    return float(np.percentile(upper, percent)) if len(upper) else 1.0
