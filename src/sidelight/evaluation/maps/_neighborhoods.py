"""Neighbors that a map keeps, loses and finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._kernels.manifold.ranks import neighbor_ranks
from sidelight._typing import Array, IntArray
from sidelight.evaluation.maps._pair import MapPair, MapPoints, Metric, check_neighbors, map_pair


def trustworthiness(X: Any, Z: Any, k: int = 5, *, metric: Metric = "euclidean") -> float:
    r"""Share of trust that neighbors on a map deserve: rows near on it are near in the data.

    .. math:: T(k) = 1 - \frac{2}{n k (2n - 3k - 1)}
              \sum_i \sum_{j \in N_k^Z(i)} \max(0, r(i, j) - k)

    with the ``k`` nearest rows ``N_k^Z(i)`` on the map and the rank ``r(i, j)`` of row ``j`` among
    the neighbors of row ``i`` in the data; equal distances share the best rank. 1 is best; exact,
    with distances computed in blocks, so that memory is linear in the number of rows. Read more in
    the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    k : int, default=5
        Number of neighbors, less than half of the number of rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances, such as geodesics.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> from sidelight.evaluation import trustworthiness
    >>> strip = make_strip(100, random_state=0)
    >>> round(trustworthiness(strip.data, strip.coordinates), 6)
    1.0
    """
    pair = map_pair(X, Z, metric)
    _check_half(k, pair)
    return _kept_rank_share(pair.embedding.nearest(k), pair.data)


def continuity(X: Any, Z: Any, k: int = 5, *, metric: Metric = "euclidean") -> float:
    r"""Continuity of a map: rows near in the data are near on the map.

    .. math:: C(k) = 1 - \frac{2}{n k (2n - 3k - 1)}
              \sum_i \sum_{j \in N_k^X(i)} \max(0, \hat r(i, j) - k)

    with the ``k`` nearest rows ``N_k^X(i)`` in the data and the rank of row ``j`` among the
    neighbors of row ``i`` on the map: :func:`trustworthiness` with both exchanged. A map that tears
    the data apart is trustworthy but not continuous; one that folds it is the reverse. Read more in
    the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    k : int, default=5
        Number of neighbors, less than half of the number of rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances, such as geodesics.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.evaluation import continuity, trustworthiness
    >>> angle = 2 * np.pi * np.arange(40) / 40
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> torn, folded = angle, np.cos(angle)
    >>> continuity(circle, torn) < trustworthiness(circle, torn)
    True
    >>> continuity(circle, folded) > trustworthiness(circle, folded)
    True
    """
    pair = map_pair(X, Z, metric)
    _check_half(k, pair)
    return _kept_rank_share(pair.data.nearest(k), pair.embedding)


def neighborhood_preservation(X: Any, Z: Any, k: int = 5, *, metric: Metric = "euclidean") -> float:
    """Mean share of the ``k`` nearest rows in the data that are also the nearest on the map.

    ``(1 / nk) Σ_i |N_k^X(i) ∩ N_k^Z(i)|``: 1 is best; a map at random gives ``k / (n - 1)``. Read
    more in the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    k : int, default=5
        Number of neighbors, less than the number of rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances, such as geodesics.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sidelight.evaluation import neighborhood_preservation
    >>> neighborhood_preservation([[0.0], [1.0], [3.0], [7.0]], [0.0, 1.0, 3.0, 7.0], k=1)
    1.0
    """
    pair = map_pair(X, Z, metric)
    check_neighbors(k, len(pair.rows), len(pair.rows) - 1)
    return float(_kept(pair.data.nearest(k), pair.embedding.nearest(k)).mean() / k)


@dataclass(frozen=True, eq=False)
class NeighborChanges:
    """Neighbors that a map loses and finds.

    Attributes
    ----------
    lost : ndarray of int64, shape (m, 2)
        A row and one of its nearest in the data that is not among its nearest on the map, sorted.
    found : ndarray of int64, shape (m, 2)
        A row and one of its nearest on the map that is not among its nearest in the data, sorted.
    n_lost : ndarray of shape (n,)
        Number of neighbors that each row lost, which is the number that it found; NaN for rows
        without a place on the map.
    """

    lost: IntArray
    found: IntArray
    n_lost: Array

    def __repr__(self) -> str:
        return f"NeighborChanges({len(self.lost)} lost and found, of {len(self.n_lost)} rows)"


def lost_and_found_neighbors(
    X: Any, Z: Any, k: int = 5, *, metric: Metric = "euclidean"
) -> NeighborChanges:
    """Which neighbors each row loses on the map, and which it finds there.

    Rows that lose many lie where the map is torn or folded. Read more in the
    :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    k : int, default=5
        Number of neighbors, less than the number of rows.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances, such as geodesics.

    Returns
    -------
    NeighborChanges
        Pairs of rows that were lost and found, and their number for every row.

    Examples
    --------
    >>> from sidelight.evaluation import lost_and_found_neighbors
    >>> changes = lost_and_found_neighbors([[0.0], [1.0], [3.0], [7.0]], [0.0, 1.0, 9.0, 3.0], k=1)
    >>> changes.lost.tolist(), changes.found.tolist()
    ([[2, 1], [3, 2]], [[2, 3], [3, 1]])
    """
    pair = map_pair(X, Z, metric)
    check_neighbors(k, len(pair.rows), len(pair.rows) - 1)
    return changes_between(pair, pair.data.nearest(k), pair.embedding.nearest(k))


def changes_between(pair: MapPair, near: IntArray, mapped: IntArray) -> NeighborChanges:
    """Neighbors lost and found, by the positions of the rows that were given."""
    n, k = near.shape
    lost = np.setdiff1d(_codes(near), _codes(mapped), assume_unique=True)
    found = np.setdiff1d(_codes(mapped), _codes(near), assume_unique=True)
    n_lost = np.full(pair.n_given, np.nan)
    n_lost[pair.rows] = k - _kept(near, mapped)
    lost_pairs, found_pairs = (
        pair.rows[np.column_stack(np.divmod(np.sort(codes), n))] for codes in (lost, found)
    )
    return NeighborChanges(lost_pairs, found_pairs, n_lost)


def neighborhood_scores(pair: MapPair, k: int) -> dict[str, float]:
    """Trustworthiness, continuity and preservation, of one search for the neighbors."""
    near, mapped = pair.data.nearest(k), pair.embedding.nearest(k)
    return {
        "trustworthiness": _kept_rank_share(mapped, pair.data),
        "continuity": _kept_rank_share(near, pair.embedding),
        "neighborhood_preservation": float(_kept(near, mapped).mean() / k),
    }


def _kept_rank_share(near: IntArray, points: MapPoints) -> float:
    """1 minus the normalized excess of the ranks of neighbors elsewhere among these points."""
    n, k = near.shape
    near = np.ascontiguousarray(near, dtype=np.int64)
    excess = 0
    for rows, distances in points.blocks():
        ranks = np.empty((len(distances), k), dtype=np.int64)
        neighbor_ranks(distances, near[rows], rows.start, ranks)
        excess += int(np.maximum(ranks - k, 0).sum())
    return 1.0 - 2.0 * excess / (n * k * (2.0 * n - 3.0 * k - 1.0))


def _kept(near: IntArray, mapped: IntArray) -> IntArray:
    """Number of neighbors of every row that both have."""
    n = len(near)
    both = np.intersect1d(_codes(near), _codes(mapped), assume_unique=True)
    return np.bincount(both // n, minlength=n)


def _codes(near: IntArray) -> IntArray:
    """One number for each pair of a row and its neighbor."""
    n = len(near)
    return (np.arange(n)[:, None] * n + near).ravel()


def _check_half(k: int, pair: MapPair) -> None:
    n = len(pair.rows)
    check_neighbors(k, n, (n - 1) // 2)
