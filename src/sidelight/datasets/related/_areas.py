"""Areas of a map with planted regions, for clusters that are one piece."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Relations
from sidelight.datasets._generator_options import check_counts, check_sizes
from sidelight.exceptions import SidelightError


class Areas(NamedTuple):
    """Areas of a map: attributes, which are next to each other, planted regions, and places.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Attributes.
    relations : Relations
        Which areas are next to each other.
    target : ndarray of int64, shape (n_samples,)
        Planted region of every area.
    coordinates : ndarray of shape (n_samples, 2)
        Place of every area on the map.
    """

    X: FloatArray
    relations: Relations
    target: IntArray
    coordinates: FloatArray


def make_areas(
    n_samples: int = 400,
    *,
    layout: Literal["lattice", "planar"] = "lattice",
    n_clusters: int = 5,
    n_features: int = 2,
    separation: float = 2.0,
    noise: float = 1.0,
    random_state: Any = None,
) -> Areas:
    """Areas of a map whose attributes vary by regions, each of one piece.

    Regions grow from random areas along the shortest paths of the map, with random lengths of its
    edges, so that they have ragged borders. The attributes of an area are those of its region
    plus Gaussian noise.

    Parameters
    ----------
    n_samples : int, default=400
        Number of areas.
    layout : {"lattice", "planar"}, default="lattice"
        Squares of a lattice, next to each other by their sides; the last row may be shorter. Or
        random points, next to each other by their Delaunay triangulation.
    n_clusters : int, default=5
        Number of regions.
    n_features : int, default=2
        Number of attributes.
    separation : float, default=2.0
        Standard deviation of the means of the regions.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Areas
        ``X``, ``relations``, ``target`` and ``coordinates``, also as a tuple to unpack.

    Examples
    --------
    >>> from sidelight.datasets import make_areas
    >>> areas = make_areas(100, n_clusters=4, random_state=0)
    >>> areas.relations
    <Relations of 100 objects: 180 edges>
    >>> [int(areas.relations.restrict(areas.target == k).components().max()) for k in range(4)]
    [0, 0, 0, 0]
    """
    check_counts(1, n_samples=n_samples, n_clusters=n_clusters, n_features=n_features)
    check_sizes(separation=separation, noise=noise)
    if layout not in ("lattice", "planar"):
        raise SidelightError(f'layout must be "lattice" or "planar", got {layout!r}.')
    if n_clusters > n_samples:
        raise SidelightError(f"{n_clusters} regions need as many areas; n_samples is {n_samples}.")
    rng = check_random_state(random_state)
    coordinates, edges = _lattice(n_samples) if layout == "lattice" else _planar(n_samples, rng)
    relations = Relations(edges, n_samples=n_samples)
    target = _grow(relations.edges, n_samples, n_clusters, rng)
    means = separation * rng.standard_normal((n_clusters, n_features))
    X = means[target] + noise * rng.standard_normal((n_samples, n_features))
    return Areas(X, relations, target, coordinates)


def _lattice(n: int) -> tuple[FloatArray, IntArray]:
    """Squares row by row, and those that share a side."""
    width = int(np.ceil(np.sqrt(n)))
    place = np.arange(n)
    right = place[(place % width < width - 1) & (place + 1 < n)]
    below = place[place + width < n]
    edges = np.concatenate(
        [np.column_stack([right, right + 1]), np.column_stack([below, below + width])]
    )
    return np.column_stack([place % width, place // width]).astype(np.float64), edges


def _planar(n: int, rng: np.random.RandomState) -> tuple[FloatArray, IntArray]:
    """Random points of a square, and the edges of their triangulation."""
    points = np.sqrt(n) * rng.uniform(size=(n, 2))
    if n < 4:  # too few to triangulate: all next to each other
        return points, np.column_stack(np.triu_indices(n, 1))
    triangles = Delaunay(points).simplices.astype(np.int64)
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2), axis=1)
    key = np.unique(sides[:, 0] * n + sides[:, 1])
    return points, np.column_stack(np.divmod(key, n))


def _grow(edges: IntArray, n: int, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Region of every area: that of the nearest start, along paths that stay in the region."""
    lengths = rng.uniform(0.2, 1.0, len(edges))
    first, second = edges.T.astype(np.int32)  # csgraph of older SciPy takes no others
    graph = sparse.coo_array((lengths, (first, second)), (n, n)).tocsr()
    starts = rng.permutation(n)[:n_clusters]
    _, _, sources = dijkstra(
        graph, directed=False, indices=starts, min_only=True, return_predecessors=True
    )
    region = np.full(n, -1, np.int64)
    region[starts] = np.arange(n_clusters)
    grown: IntArray = region[sources]
    return grown
