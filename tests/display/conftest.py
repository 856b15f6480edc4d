"""Axes without a window, and figures that do not outlive their test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sidelight import Constraints

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    """Fail if a display changes settings of Matplotlib; close what it opened."""
    import matplotlib.pyplot as plt

    plt.close("all")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")


@pytest.fixture
def ax() -> Any:
    """Axes that pyplot knows nothing of."""
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="session")
def blobs() -> tuple[Any, Any]:
    """Three clusters in four features."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    centers = np.array([[0.0, 0, 0, 0], [6, 0, 1, 0], [0, 5, 0, 2]])
    return centers[y] + rng.normal(size=(60, 4)), y


@pytest.fixture(scope="session")
def known(blobs: tuple[Any, Any]) -> Constraints:
    """Statements that the classes satisfy."""
    return Constraints.sample(blobs[1], 30, random_state=0)
