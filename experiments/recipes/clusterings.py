"""Rows with several clusterings that have more or less to do with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.datasets import Dataset
from sidelight.exceptions import SidelightError


def make_two_clusterings(
    n_samples: int = 800,
    *,
    n_clusters: int = 2,
    orthogonality: float = 1.0,
    n_draws: int = 100,
    random_state: Any = None,
) -> Dataset:
    """Sample counts in which two clusterings are found (Constrained Clustering, section 11.5.3).

    Every row has a cluster ``p`` of the first and ``q`` of the second clustering, independent and
    uniform, and two binomial counts of ``n_draws`` draws with probabilities ``θ_p`` and
    ``α θ_q + (1 - α) θ_p``, where ``θ_j = (j + 1) / (k + 1)`` and ``α = orthogonality``: at 1 the
    second count shows the second clustering only, at 0 the first one again. Both counts come with
    their complements, so that rows are four counts of the same sum. The source leaves the
    probabilities open.

    Parameters
    ----------
    n_samples : int, default=800
        Number of rows.
    n_clusters : int, default=2
        Number of clusters ``k`` of either clustering.
    orthogonality : float, default=1.0
        ``α``, from 0 to 1.
    n_draws : int, default=100
        Number of draws of each count; the more, the better the clusters are separated.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the second clustering; ``extras["known"]``: the first, which is to be known.

    Examples
    --------
    >>> from experiments.recipes.clusterings import make_two_clusterings
    >>> data = make_two_clusterings(200, n_clusters=3, random_state=0)
    >>> data.data.shape, int(data.extras["known"].max())
    ((200, 4), 2)
    """
    if not 0 <= orthogonality <= 1:
        raise SidelightError(f"orthogonality is between 0 and 1, got {orthogonality}.")
    rng = check_random_state(random_state)
    first, second = _labels(n_samples, n_clusters, 2, rng).T
    theta = np.arange(1, n_clusters + 1) / (n_clusters + 1)
    mixed = orthogonality * theta[second] + (1 - orthogonality) * theta[first]
    counts = [rng.binomial(n_draws, chance) for chance in (theta[first], mixed)]
    data = np.column_stack([column for count in counts for column in (count, n_draws - count)])
    return Dataset(
        data=data.astype(np.float64),
        target=second,
        feature_names=("first yes", "first no", "second yes", "second no"),
        target_names=_names(n_clusters),
        description=f"Two clusterings into {n_clusters}, orthogonality {orthogonality:g} "
        "(Constrained Clustering, section 11.5.3)",
        extras={"known": first},
    )


def make_several_clusterings(
    n_samples: int = 200,
    *,
    n_clusters: int = 3,
    n_features: Sequence[int] = (8, 8, 4),
    noise: float = 0.1,
    random_state: Any = None,
) -> Dataset:
    """Sample binary features, some for each of several independent clusterings.

    Every clustering has its own features; a cluster has a pattern of zeros and ones on them, and a
    row has the pattern of its cluster with every entry flipped with probability ``noise``. Patterns
    are random, those of one clustering as different as the best of a hundred draws. The source
    (Constrained Clustering, section 11.5.3.7) gives the numbers of features only.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_clusters : int, default=3
        Number of clusters of every clustering.
    n_features : sequence of int, default=(8, 8, 4)
        Number of features of every clustering; the clusterings with more are easier to find.
    noise : float, default=0.1
        Probability that an entry is flipped.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the last clustering; ``extras["clusterings"]``: all of them, a column for each.

    Examples
    --------
    >>> from experiments.recipes.clusterings import make_several_clusterings
    >>> data = make_several_clusterings(random_state=0)
    >>> data.data.shape, data.extras["clusterings"].shape
    ((200, 20), (200, 3))
    """
    rng = check_random_state(random_state)
    clusterings = _labels(n_samples, n_clusters, len(n_features), rng)
    blocks, names = [], []
    for number, (labels, width) in enumerate(zip(clusterings.T, n_features, strict=True), 1):
        patterns = _patterns(n_clusters, width, rng)
        flipped = rng.random_sample((n_samples, width)) < noise
        blocks.append(np.where(flipped, 1.0 - patterns[labels], patterns[labels]))
        names += [f"clustering {number}, feature {j + 1}" for j in range(width)]
    return Dataset(
        data=np.hstack(blocks),
        target=clusterings[:, -1].copy(),
        feature_names=tuple(names),
        target_names=_names(n_clusters),
        description=f"{len(n_features)} independent clusterings into {n_clusters} "
        "(Constrained Clustering, section 11.5.3.7)",
        extras={"clusterings": clusterings},
    )


def _labels(n: int, k: int, n_clusterings: int, rng: np.random.RandomState) -> IntArray:
    labels: IntArray = rng.randint(k, size=(n, n_clusterings)).astype(np.int64)
    return labels


def _names(k: int) -> tuple[str, ...]:
    return tuple(f"cluster {c + 1}" for c in range(k))


def _patterns(k: int, width: int, rng: np.random.RandomState) -> FloatArray:
    """Zeros and ones for every cluster, the closest two of which differ most of 100 draws."""
    best, farthest = np.empty((k, width)), -1.0
    for _ in range(100):
        drawn = rng.randint(2, size=(k, width)).astype(np.float64)
        differences = np.abs(drawn[:, None] - drawn).sum(axis=2) + width * np.eye(k)
        if differences.min() > farthest:
            best, farthest = drawn, float(differences.min())
    return best
