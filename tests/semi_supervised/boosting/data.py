"""Rows and similarities that the tests of this room share, and the objective as it is written."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits


def two_blobs(n=60, n_labeled=6, seed=0, distance=3.0, d=2):
    """Rows of two classes, their classes, and what is known of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + distance * y[:, None] / np.sqrt(d)
    known = np.full(n, -1)
    known[:n_labeled] = y[:n_labeled]
    return X, y, known


def digits(first=2, second=4):
    X, y = load_digits(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], (y[kept] == second).astype(int)


def bell(X, sigma):
    """``exp(-d²/σ²)`` between all rows."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-squares / sigma**2)


def objective(H, S_ul, S_uu, y, C):
    """``F`` as a double sum over pairs, labels -1 and 1."""
    labeled = sum(
        S_ul[j, i] * np.exp(-2 * y[i] * H[j]) for i in range(len(y)) for j in range(len(H))
    )
    joined = sum(S_uu[i, j] * np.exp(H[i] - H[j]) for i in range(len(H)) for j in range(len(H)))
    return labeled + C * joined


def first_bound(p, q, h, alpha):
    return np.sum(p * np.exp(-2 * alpha * h) + q * np.exp(2 * alpha * h))


def second_bound(p, q, h, alpha):
    spread = np.exp(2 * alpha) + np.exp(-2 * alpha) - 1
    return np.sum((p + q) * spread) - 2 * alpha * np.sum(h * (p - q))
