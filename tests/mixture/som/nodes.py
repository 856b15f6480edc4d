"""Small maps for the tests: rows of every family, their parts, parameters and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight.mixture.som._blocks import parts_of
from sidelight.mixture.som._families import complete_nodes
from sidelight.mixture.som._grid import Grid, GridNeighborhood
from sidelight.mixture.som._parts import FamilySettings
from sidelight.mixture.som._steps import ConstrainedEM, NodeParameters, Winners

FAMILIES = (
    "spherical",
    "own-spherical",
    "diag",
    "full",
    "ppca",
    "origin-ppca",
    "bernoulli",
    "categorical",
    "paired",
    "multinomial",
    "mixed",
)


def rows_of(family: str, n: int = 90, seed: int = 0, missing: float = 0.0) -> np.ndarray:
    """Rows that fit a family, in three overlapping groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    numbers = rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[group]
    if family == "multinomial":
        return rng.poisson(np.exp(0.4 * numbers)).astype(float)
    if family == "bernoulli":
        rows = (numbers > 0.5).astype(float)
    elif family in ("categorical", "paired"):
        rows = np.clip(np.round(numbers), -1, 2)
    elif family == "mixed":
        rows = np.column_stack([numbers[:, :2], numbers[:, 2] > 0.5, np.round(numbers[:, 3:] / 2)])
    else:
        rows = numbers
    return np.where(rng.uniform(size=rows.shape) < missing, np.nan, rows)


def blocks_of(family: str, n_columns: int) -> list[tuple[str, Any]]:
    if family == "mixed":
        return [("full", [0, 1]), ("bernoulli", [2]), ("categorical", [3])]
    name = {"own-spherical": "spherical", "origin-ppca": "ppca", "paired": "categorical"}
    return [(name.get(family, family), np.arange(n_columns))]


@dataclass
class Nodes:
    """A small map: parts, tables, the steps, and parameters after a first m-step."""

    grid: Grid
    parts: list[Any]
    tables: list[Any]
    steps: ConstrainedEM
    parameters: NodeParameters

    def stage(self, rate: float) -> GridNeighborhood:
        return self.grid.neighborhood(rate)

    def joint(self, parameters: NodeParameters | None = None) -> np.ndarray:
        """``log π_s + log p(x_n | s)`` of all rows."""
        parameters = parameters or self.parameters
        joint = parameters.log_weights
        for part, table, own in zip(self.parts, self.tables, parameters.parts, strict=True):
            aware = part.for_rows(complete_nodes(own), table)
            joint = joint + aware.log_density(aware.features(table))
        return joint

    def bound(self, parameters: NodeParameters, now: Winners) -> float:
        """``F`` and log-prior of given winners, once more from the parameters."""
        return self.steps.e_step(parameters, now.neighborhood, now.winners, 0).bound


def make_nodes(
    rows: np.ndarray,
    family: str,
    shape: tuple[int, ...] = (4,),
    *,
    rate: float = 1.0,
    seed: int = 0,
    weights: np.ndarray | None = None,
    periodic: bool = False,
    reg_covar: float = 0.0,
    **options: Any,
) -> Nodes:
    settings = FamilySettings(
        n_factors=1,
        centered=family != "origin-ppca",
        shared_variance=family != "own-spherical",
        reg_covar=reg_covar,
        pairs=family == "paired",
    )
    grid = Grid(shape, periodic=periodic)
    parts = parts_of(rows, blocks_of(family, rows.shape[1]), settings, None)
    tables = [part.encode(rows) for part in parts]
    weights = np.ones(len(rows)) if weights is None else weights
    steps = ConstrainedEM(tables, weights, **options)
    k = grid.n_nodes
    whole = NodeParameters(
        tuple(part.whole(t, weights, k) for part, t in zip(parts, tables, strict=True)),
        np.full(k, -np.log(k)),
    )
    winners = np.random.default_rng(seed).integers(0, k, len(rows)).astype(np.int32)
    episodes = options.get("episodes")
    if episodes is not None:
        winners = winners[np.unique(episodes, return_index=True)[1]][
            np.unique(episodes, return_inverse=True)[1]
        ]
    first = steps.e_step(whole, grid.neighborhood(rate), winners, 0)
    return Nodes(grid, parts, tables, steps, steps.m_step(first))
