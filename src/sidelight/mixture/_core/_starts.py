"""Where EM starts: the whole data as one Gaussian, then a first M-step from a rough clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.cluster import KMeans, SeededKMeans
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._components import Components
from sidelight.mixture._core._em import feature_tiles, normalized_log

STARTS = ("kmeans", "k-means++", "random_from_data", "random")


def data_moments(
    source: RowSource, sample_weight: Array | None = None
) -> tuple[Array, Array, float]:
    """Mean and covariance of the rows, and the largest squared distance to the mean."""
    weights = np.ones(source.n_rows) if sample_weight is None else np.asarray(sample_weight, float)
    total = weights.sum()
    sums = source.map_reduce(
        lambda block, w: ((w @ np.asarray(block, np.float64),), ()), aligned=(weights,)
    )[0][0]
    mean = sums / total

    def scatter(block: Any, w: Array) -> tuple[tuple[Array], tuple[Array]]:
        gaps = np.asarray(block, np.float64) - mean
        return ((gaps * w[:, None]).T @ gaps,), (np.einsum("nd,nd->n", gaps, gaps),)

    (products,), (squares,) = source.map_reduce(scatter, aligned=(weights,))
    return mean, products / total, float(squares.max())


def rough_clusters(
    source: RowSource,
    n_components: int,
    how: str,
    rng: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
    labels: Array | None = None,
) -> Array:
    """Rough clusters of the rows; class ``c`` of partial labels becomes cluster ``c``."""
    if how not in STARTS:
        raise ValueError(f"init_params must be one of {', '.join(map(repr, STARTS))}, got {how!r}.")
    if how == "random":
        clusters = rng.randint(n_components, size=source.n_rows).astype(np.int32)
        if labels is not None:
            clusters[labels >= 0] = labels[labels >= 0]
        return clusters
    max_iter = 100 if how == "kmeans" else 1
    if labels is not None and np.any(labels >= 0):
        model: Any = SeededKMeans(n_components, n_init=1, max_iter=max_iter, random_state=rng)
        model.fit(source, constraints=Constraints.from_labels(labels), sample_weight=sample_weight)
        clusters = model.labels_.copy()
        clusters[labels >= 0] = labels[labels >= 0]
        return clusters
    init = "random" if how == "random_from_data" else "k-means++"
    model = KMeans(n_components, init=init, n_init=1, max_iter=max_iter, random_state=rng)
    clusters = model.fit(source, sample_weight=sample_weight).labels_
    return clusters


def components_of_clusters(
    source: RowSource,
    components: Components,
    clusters: Array,
    sample_weight: Array | None = None,
) -> tuple[Components, Array]:
    """One M-step: components and mixing weights (as logarithms) of given clusters of the rows."""
    weights = np.ones(source.n_rows) if sample_weight is None else np.asarray(sample_weight, float)
    k = components.n_components

    def add(block: Any, labels: Array, w: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        sums: list[Array] | None = None
        for start, stop in feature_tiles(components, block):
            resp = np.zeros((stop - start, k))
            resp[np.arange(stop - start), labels[start:stop]] = w[start:stop]
            of_tile = components.statistics(components.features(block[start:stop]), resp)
            sums = [a + b for a, b in zip(sums, of_tile, strict=True)] if sums else list(of_tile)
        return tuple(sums or ()), ()

    sums = source.map_reduce(add, aligned=(clusters, weights))[0]
    return components.maximize(sums), normalized_log(sums[0])
