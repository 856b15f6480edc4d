"""Batch embeddings beside those of scikit-learn: the same map of a Swiss roll, and the time.

``difference`` is the largest between the two maps, as a share of their extent, each coordinate up
to its sign; scikit-learn's Laplacian eigenmap weighs one-sided neighbors by a half, so its map is
another one. Landmarks have no peer: they are beside our own Isomap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import Row, compare
from sklearn import decomposition
from sklearn import manifold as peers
from sklearn.datasets import make_swiss_roll

from sidelight.manifold import (
    Isomap,
    KernelPCA,
    LandmarkIsomap,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
)

N_NEIGHBORS = 10

#: Largest ratios that the issue asks for.
ISOMAP, OTHERS = 0.7, 1.0

#: Method, the peer and its name, the limit, and whether both make the same map.
CASES: list[tuple[Callable[[], Any], Callable[[], Any], str, float, bool]] = [
    (
        lambda: Isomap(n_neighbors=N_NEIGHBORS),
        lambda: peers.Isomap(n_neighbors=N_NEIGHBORS),
        "scikit-learn Isomap",
        ISOMAP,
        True,
    ),
    (
        lambda: LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS),
        lambda: peers.LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS, random_state=0),
        "scikit-learn LocallyLinearEmbedding",
        OTHERS,
        True,
    ),
    (
        lambda: LaplacianEigenmap(n_neighbors=N_NEIGHBORS),
        lambda: peers.SpectralEmbedding(
            n_neighbors=N_NEIGHBORS, affinity="nearest_neighbors", random_state=0
        ),
        "scikit-learn SpectralEmbedding",
        OTHERS,
        False,
    ),
    (
        lambda: KernelPCA(),
        lambda: decomposition.KernelPCA(2, kernel="rbf", random_state=0),
        "scikit-learn KernelPCA",
        OTHERS,
        True,
    ),
    (
        lambda: LandmarkIsomap(n_neighbors=N_NEIGHBORS, n_landmarks=100, random_state=0),
        lambda: Isomap(n_neighbors=N_NEIGHBORS),
        "our Isomap",
        OTHERS,
        False,
    ),
]


def difference(one: Any, other: Any, X: np.ndarray) -> float:
    """Largest difference of two maps, each coordinate up to its sign."""
    first, second = one.fit_transform(X), other.fit_transform(X)
    signs = np.sign(np.sum(first * second, axis=0))
    return float(np.abs(first * signs - second).max() / np.ptp(second, axis=0).max())


def run(quick: bool) -> list[Row]:
    n = 1500 if quick else 5000
    X = make_swiss_roll(n, random_state=0)[0]
    for ours, *_ in CASES:
        ours().fit(X[:500])  # compile
    rows = []
    for ours, theirs, peer, limit, same in CASES:
        row = compare(
            f"{type(ours()).__name__}, Swiss roll of {n:,} rows, {N_NEIGHBORS} neighbors",
            lambda ours=ours: ours().fit(X),  # type: ignore[misc]
            lambda theirs=theirs: theirs().fit(X),  # type: ignore[misc]
            peer=peer,
            limit=limit,
            repeats=7,
        )
        row["difference"] = difference(ours(), theirs(), X) if same else "another map"
        rows.append(row)
    return rows
