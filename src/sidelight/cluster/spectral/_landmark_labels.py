"""Labels of rows that are embedded by landmarks, in passes over the rows, wherever these live."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.views import RowView
from sidelight._typing import Array
from sidelight.cluster.kmeans._kmeans import KMeans
from sidelight.cluster.spectral._base import NO_PLACE, nearest
from sidelight.cluster.spectral._labels import unit_rows
from sidelight.cluster.spectral._nystroem import Landmarks
from sidelight.engine import Maximum, RowSource, as_rows


class PlaceLabels:
    """Block function: the nearest center of the places of rows, as ``predict`` finds it."""

    def __init__(self, landmarks: Landmarks, centers: Array) -> None:
        self._landmarks, self._centers = landmarks, centers

    def __call__(self, block: Any) -> tuple[tuple[()], tuple[Array]]:
        places = unit_rows(self._landmarks.embed(block))
        return (), (nearest(places, self._centers),)


class PlacedRows(RowView):
    """Places of length 1 of rows in partitions, which a pass has left beside them."""

    def __init__(self, source: RowSource, embedding: Array) -> None:
        super().__init__(source, _unit_places, (embedding,))
        self.n_features = embedding.shape[1]
        self.dtype, self.is_sparse = np.dtype(np.float64), False


def _unit_places(block: Any, places: Array) -> Array:
    return unit_rows(places)


def label_places(
    source: RowSource, embedding: Array, k: int, n_init: int, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Clusters of places of length 1 by k-means, and their centers.

    Rows without a place have no weight, and go to the center that is nearest to nowhere.
    """
    # Places that are here need no pass over the rows themselves.
    here = isinstance(embedding, np.ndarray)
    places = as_rows(unit_rows(embedding)) if here else PlacedRows(source, embedding)
    (longest,), _ = source.map_reduce(_largest_length, aligned=(embedding,))
    (n_lost,), (weight,) = source.map_reduce(_Placed(float(longest)), aligned=(embedding,))
    n_placed = source.n_rows - int(n_lost)
    if not n_placed:
        return np.zeros(source.n_rows, dtype=np.int32), np.zeros((1, embedding.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # given in the end, for the rows
        model = KMeans(min(k, n_placed), n_init=n_init, random_state=rng).fit(
            places, sample_weight=weight if n_lost else None
        )
    return model.labels_, model.cluster_centers_


def _largest_length(block: Any, places: Array) -> tuple[tuple[Maximum], tuple[()]]:
    return (Maximum(np.linalg.norm(places, axis=1).max()),), ()


class _Placed:
    """Block function: which rows have a place, and how many have none."""

    def __init__(self, longest: float) -> None:
        self._least = NO_PLACE * longest

    def __call__(self, block: Any, places: Array) -> tuple[tuple[int], tuple[Array]]:
        placed = np.linalg.norm(places, axis=1) > self._least
        return (int(np.count_nonzero(~placed)),), (placed.astype(np.float64),)
