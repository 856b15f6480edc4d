"""Grids: places, distances around the ends, neighborhoods and their rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.exceptions import SidelightError
from sidelight.mixture.som._grid import Grid, make_grid

GRIDS = [
    Grid((7, 7)),
    Grid((4, 9)),
    Grid((12,)),
    Grid((3, 4, 2)),
    Grid((6, 5), "hexagonal"),
    Grid((6, 5), periodic=True),
    Grid((6, 5), "hexagonal", periodic=True),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_places_have_mean_0_and_mean_variance_1(grid: Grid) -> None:
    np.testing.assert_allclose(grid.positions.mean(axis=0), 0, atol=1e-12)
    assert grid.positions.var(axis=0).mean() == pytest.approx(1)
    np.testing.assert_allclose(grid.standard_positions.var(axis=0), 1)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_inner_nodes_have_all_their_neighbors(grid: Grid) -> None:
    n_neighbors = grid.are_adjacent.sum(axis=1) - 1
    most = 6 if grid.topology == "hexagonal" else 3 ** len(grid.shape) - 1
    if len(grid.shape) < 3:  # of two nodes along an axis none is inside
        assert n_neighbors.max() == most
    if grid.periodic:
        assert (n_neighbors == most).all()


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_all_nodes_of_a_torus_are_alike(topology: str) -> None:
    grid = Grid((6, 5), topology, periodic=True)  # type: ignore[arg-type]
    distances = np.sort(grid.squared_distances, axis=1)
    np.testing.assert_allclose(distances, np.repeat(distances[:1], 30, axis=0), atol=1e-12)
    assert np.ptp(grid.neighborhood(1.0).entropy) < 1e-12


@given(mass=st.floats(0.05, 0.99), number=st.integers(0, len(GRIDS) - 1))
@settings(max_examples=30, deadline=None)
def test_rate_has_the_mass_that_was_asked_for(mass: float, number: int) -> None:
    grid = GRIDS[number]
    shares = grid.neighborhood(grid.rate_of_mass(mass)).shares
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.median(np.diagonal(shares)) == pytest.approx(max(mass, 1 / grid.n_nodes), rel=1e-6)


def test_rates_grow_to_the_last_one() -> None:
    grid = Grid((7, 7))
    rates = grid.rates(0.8, 1.1)
    assert rates[0] == pytest.approx(3 / grid.squared_distances.max())
    np.testing.assert_allclose(np.diff(np.log(rates[:-1])), np.log(1.1))
    assert rates[-1] == grid.rate_of_mass(0.8) <= 1.1 * rates[-2]
    assert grid.rates(1.0, 1.1)[-1] == np.inf
    assert grid.rates(1e-6, 1.1) == [0.0]
    assert Grid((1,)).rates(0.8, 1.1) == [0.0]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_row_of_one_node_is_placed_there_and_found_there(grid: Grid) -> None:
    placed = grid.place(np.eye(grid.n_nodes))
    np.testing.assert_allclose(placed, grid.positions, atol=1e-9)
    np.testing.assert_array_equal(grid.nearest(placed), np.arange(grid.n_nodes))


def test_mean_over_the_seam_of_a_ring_is_at_the_seam() -> None:
    ring = Grid((10,), periodic=True)
    ends = np.zeros((1, 10))
    ends[0, [1, 9]] = 0.5
    np.testing.assert_allclose(ring.place(ends), ring.positions[[0]], atol=1e-9)
    np.testing.assert_allclose(Grid((10,)).place(ends), ring.positions[[5]], atol=1e-9)


def test_shapes_without_a_grid_are_told() -> None:
    with pytest.raises(SidelightError, match="4 axes"):
        make_grid((2, 2, 2, 2), "rectangular", False)
    with pytest.raises(SidelightError, match="two axes"):
        make_grid((5,), "hexagonal", False)
    with pytest.raises(SidelightError, match="5 rows"):
        make_grid((5, 4), "hexagonal", True)
