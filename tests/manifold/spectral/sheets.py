"""Rows on known manifolds, and comparisons of maps."""

from __future__ import annotations

import numpy as np


def roll(n: int = 500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a Swiss roll, and their coordinates on the flat sheet."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    height = 21 * rng.uniform(size=n)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]), np.column_stack([arc, height])


def strip(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a flat strip, turned in three dimensions, and their coordinates."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(size=(n, 2)) * [3.0, 1.0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return flat @ turn[:2], flat


def assert_same_up_to_sign(found: np.ndarray, wanted: np.ndarray, close: float = 1e-8) -> None:
    """Assert that maps agree, each coordinate up to its sign."""
    signs = np.sign(np.sum(found * wanted, axis=0))
    extent = np.abs(wanted).max()
    np.testing.assert_allclose(found * signs, wanted, rtol=0, atol=close * extent)


def explained(truth: np.ndarray, places: np.ndarray) -> float:
    """Least share of the variance of a true coordinate that a linear map of places explains."""
    both = np.column_stack([places, np.ones(len(places))])
    left = truth - both @ np.linalg.lstsq(both, truth, rcond=None)[0]
    return float(1 - (left.var(axis=0) / truth.var(axis=0)).max())
