"""Small graphs, and helpers of the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs


def random_graph(n: int, seed: int, density: float = 0.5) -> np.ndarray:
    """Connected graph with random weights: a chain, and random edges."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.05, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    chain = np.arange(n - 1)
    W[chain, chain + 1] = rng.uniform(0.05, 1.0, n - 1)
    return W + W.T


def some_labels(n: int, n_classes: int, n_labels: int, seed: int) -> np.ndarray:
    """Labels of some rows, of every class at least one, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n)[:n_labels]
    labels = np.full(n, -1)
    labels[rows] = np.concatenate(
        [np.arange(n_classes), rng.integers(n_classes, size=n_labels - n_classes)]
    )
    return labels


def blobs(n: int = 900, n_labels: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three classes, the classes, and a few of them as labels."""
    X, y = make_blobs(n, n_features=4, centers=3, cluster_std=2.5, random_state=3)
    known = np.full(n, -1)
    for code in range(3):
        known[np.flatnonzero(y == code)[: n_labels // 3]] = code
    return X, y, known


def permuted(W: Any, order: np.ndarray) -> np.ndarray:
    dense = W.toarray() if sparse.issparse(W) else W
    return np.asarray(dense[np.ix_(order, order)])
