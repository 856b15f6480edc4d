"""Rough clusters in which every constraint holds: where EM under constraints starts."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array
from sidelight.cluster import COPKMeans
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture.field._chunklet_rows import ChunkletRows


def complying_clusters(
    source: RowSource,
    held: ChunkletRows,
    known: Constraints,
    how: str,
    rng: np.random.RandomState,
    *,
    number: int,
) -> Array:
    """Clusters of the rows that satisfy everything; class ``c`` of the labels is cluster ``c``.

    Constrained k-means commits itself to a split that linked rows alone may not be able to change
    later. So every other start (by its ``number``) is random instead: then nothing but the linked
    rows tells the components apart, and they lead.
    """
    k = held.n_components
    if how == "random" or (how == "kmeans" and number % 2 == 1):
        clusters = rng.randint(k, size=source.n_rows).astype(np.int32)
        scores = rng.random_sample((len(held.rows), k))
        clusters[held.rows] = held.labels(scores, np.zeros(k))
        return clusters
    init = {"kmeans": "k-means++" if number else "auto", "random_from_data": "random"}.get(how, how)
    max_iter = 100 if how == "kmeans" else 1
    model = COPKMeans(k, init=init, n_init=1, max_iter=max_iter, random_state=rng)
    clusters = model.fit(source, constraints=known).labels_
    return _numbered_by_class(clusters, held.components, k)


def _numbered_by_class(clusters: Array, components: Array, k: int) -> Array:
    """Renumber clusters such that rows of a known component are in the cluster of its number."""
    labelled = np.flatnonzero(components >= 0)
    new = np.full(k, -1)
    new[clusters[labelled]] = components[labelled]
    new[new < 0] = np.setdiff1d(np.arange(k), components[labelled])
    return new[clusters].astype(np.int32)
