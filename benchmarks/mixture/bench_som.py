"""Self-organizing maps against MiniSom: batch training, same rows, same grid, same passes.

``ours error`` and ``their error`` are the mean distances of the rows to their nearest node,
``ours twisted`` and ``their twisted`` the shares of rows whose two nearest nodes are not neighbors;
both of both maps are computed by the same code. The neighborhoods of both shrink to the same
width. The second table is seconds per iteration of the self-organizing mixture.
"""

from __future__ import annotations

import math
import time
import warnings

import numpy as np
from benchmarks.harness import Row, clock, compare
from sklearn.exceptions import ConvergenceWarning

from sidelight.engine import as_rows
from sidelight.mixture import KohonenMap, SelfOrganizingMixture
from sidelight.mixture.som._grid import Grid
from sidelight.mixture.som._nearest import two_nearest

SIDE = 20


def run(quick: bool) -> list[Row]:
    rows = [against_minisom(2_000 if quick else 20_000, 30, epochs=3 if quick else 20)]
    sizes = [(50_000, 50, 10)] if quick else [(100_000, 50, 10), (1_000_000, 50, 10)]
    return rows + [mixture_iteration(*size, component) for size in sizes for component in FAMILIES]


FAMILIES = ("spherical", "diag")


def sheet(n: int, d: int) -> np.ndarray:
    """Rows near a curved sheet in many dimensions."""
    rng = np.random.default_rng(0)
    place = rng.uniform(-1, 1, size=(n, 2))
    curved = np.column_stack([place, place**2, np.sin(3 * place), place[:, :1] * place[:, 1:]])
    return curved @ rng.normal(size=(curved.shape[1], d)) + 0.1 * rng.normal(size=(n, d))


def against_minisom(n: int, d: int, epochs: int) -> Row:
    from minisom import MiniSom

    X = sheet(n, d)
    grid = Grid((SIDE, SIDE))
    theirs = MiniSom(
        SIDE,
        SIDE,
        d,
        sigma=last_sigma(grid) * 3,  # it falls to a third
        learning_rate=1.0,
        random_seed=0,
    )
    theirs.pca_weights_init(X)
    ours = KohonenMap((SIDE, SIDE), n_epochs=epochs, winner_mass=MASS)
    ours.fit(X[:1000])

    def train() -> float:
        started = time.perf_counter()
        theirs.train_batch_offline(X, epochs)
        return time.perf_counter() - started

    row = compare(
        f"n={n:,}, d={d}, {SIDE} x {SIDE} nodes, {epochs} passes",
        lambda: ours.fit(X),
        train,
        peer="MiniSom",
        seconds_of=float,
        limit=0.05,
        repeats=1,
    )
    means = theirs.get_weights().reshape(SIDE * SIDE, d)
    best, second, distances = two_nearest(as_rows(X), means, X.mean(axis=0))
    return {
        **row,
        "ours error": ours.quantization_error_,
        "their error": float(distances.mean()),
        "ours twisted": ours.topographic_error_,
        "their twisted": float(np.mean(~grid.are_adjacent[best, second])),
    }


#: Share that a node has of its own neighborhood at the end.
MASS = 0.8


def last_sigma(grid: Grid) -> float:
    """Width at the end in lattice units: ``exp(-λ d²) = exp(-d² / 2σ²)``."""
    return math.sqrt(grid.scale**2 / (2 * grid.rate_of_mass(MASS)))


def mixture_iteration(n: int, d: int, side: int, component: str) -> Row:
    X = np.random.default_rng(0).normal(size=(n, d))
    model = SelfOrganizingMixture(
        (side, side), component=component, winner_mass=0.05, cooling=2.0, max_iter=5, tol=0.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = clock(lambda: model.fit(X))
    return {
        "case": f"mixture, {component}, n={n:,}, d={d}, k={side * side}",
        "seconds of the fit": seconds,
        "iterations": model.n_iter_,
        "seconds per iteration": seconds / model.n_iter_,
    }
