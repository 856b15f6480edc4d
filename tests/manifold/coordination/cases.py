"""Rows and charts that the tests of this room share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_s_curve


def s_curve(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of an S-shaped surface, and the coordinates along it."""
    X, t = make_s_curve(n, noise=0.02, random_state=seed)
    return X, np.column_stack([t, X[:, 1]])


def explained(places: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Shares of the variance of true coordinates that an affine map of the places explains."""
    design = np.column_stack([np.ones(len(places)), places])
    rest = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return 1 - rest.var(axis=0) / truth.var(axis=0)


def random_charts(
    n: int = 40, k: int = 4, h: int = 2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Random responsibilities and local coordinates."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, 0.5), size=n), rng.normal(size=(n, k, h))
