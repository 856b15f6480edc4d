"""How far a map can be trusted: measures that page, terminal and ``--json`` show."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight.exceptions import EmbeddingWarning
from sidelight.pictures._run import sample_rows

MAX_ROWS = 2_000  # whose geodesics are compared with distances on the map
MAX_MEASURED = 2_000  # rows whose neighbors are compared: distances between all of them
NEIGHBORS = 10


class Measure(NamedTuple):
    """A measure: its name, that for people, what it says, and which end is the good one."""

    name: str
    title: str
    says: str
    best: str


#: Measures that are shown.
MEASURES = (
    Measure(
        "trustworthiness",
        "Trustworthiness",
        "rows near on the map are near in the data",
        "1 is best",
    ),
    Measure("continuity", "Continuity", "rows near in the data are near on the map", "1 is best"),
    Measure(
        "neighborhood_preservation",
        "Neighbors kept",
        "nearest rows that stay nearest",
        "1 is best",
    ),
    Measure(
        "residual_variance",
        "Residual variance",
        "of the distances (along the manifold, where it is known), not explained by those on the "
        "map",
        "0 is best",
    ),
)


@dataclass(frozen=True)
class Measured:
    """Rows with their places on a map, and how well it keeps their neighbors.

    Attributes
    ----------
    estimator : object
        The fitted map.
    rows : ndarray
        Positions of the rows that are measured.
    k : int
        Number of neighbors.
    data : ndarray
        Features of these rows, or distances between them.
    places : ndarray
        Their coordinates.
    metric : str or callable
        Distance between the rows.
    """

    estimator: Any
    rows: Array
    k: int
    data: Array
    places: Array
    metric: Any

    @cached_property
    def scores(self) -> dict[str, float]:
        """Measures by name; NaN where one says nothing about such a map."""
        from sidelight.evaluation import map_scores

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            found = map_scores(self.data, self.places, self.k, metric=self.metric)
            plain = found["residual_variance"]
            return found | {"residual_variance": residual_variance_of(self.estimator, plain)}

    @cached_property
    def changes(self) -> Any:
        """Neighbors lost and found, by places among ``rows``."""
        from sidelight.evaluation import lost_and_found_neighbors

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            return lost_and_found_neighbors(self.data, self.places, self.k, metric=self.metric)

    @property
    def shown(self) -> list[tuple[Measure, float]]:
        """Measures that are shown, with their values."""
        values = ((one, self.scores[one.name]) for one in MEASURES)
        return [(one, value) for one, value in values if np.isfinite(value)]


def measured_map(estimator: Any, take: Callable[[Array], Any], places: Array) -> Measured | None:
    """Take the rows by which a map is measured, a sample of very many; None where it cannot be.

    Parameters
    ----------
    estimator : object
        The fitted map.
    take : callable
        Returns rows by their positions, as the estimator saw them.
    places : ndarray
        Coordinates of all rows, NaN for those that have none.
    """
    on_map = np.flatnonzero(np.isfinite(places).all(axis=1))
    rows = on_map[sample_rows(len(on_map), MAX_MEASURED, np.random.default_rng(3))]
    k = min(NEIGHBORS, (len(rows) - 1) // 2)
    data, metric = take(rows), getattr(estimator, "metric", "euclidean")
    is_graph = metric == "precomputed" and hasattr(data, "toarray")
    if k < 1 or is_graph:
        return None
    dense = data.toarray() if hasattr(data, "toarray") else np.asarray(data)
    dense = dense[:, rows] if metric == "precomputed" else dense
    if not np.isfinite(dense).all():
        return None
    return Measured(estimator, rows, k, dense, np.asarray(places)[rows], metric)


def residual_variance_of(estimator: Any, plain: float) -> float:
    """Residual variance of the distances that a map is to keep; NaN where they are not known.

    ``plain`` is that of the distances between the rows, which maps of a neighborhood graph do not
    mean to keep.
    """
    found = getattr(estimator, "residual_variances_", None)
    if found is not None and len(found):
        return float(np.asarray(found, dtype=np.float64)[-1])
    if hasattr(estimator, "geodesics") and len(estimator.embedding_) <= MAX_ROWS:
        return _of_geodesics(estimator)
    is_of_graph = hasattr(estimator, "graph_") or hasattr(estimator, "graph")
    return float("nan") if is_of_graph else plain


def _of_geodesics(estimator: Any) -> float:
    from sidelight.evaluation import residual_variance
    from sidelight.exceptions import SidelightError

    places = np.asarray(estimator.embedding_, dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(places).all(axis=1))
    geodesics = np.asarray(estimator.geodesics(), dtype=np.float64)
    if geodesics.shape != (len(places), len(places)):  # of landmarks only
        return float("nan")
    try:
        return residual_variance(geodesics[np.ix_(kept, kept)], places[kept])
    except SidelightError:  # few rows, or infinite between parts
        return float("nan")
