"""Neighbor lists against lists made from scratch, after every row that comes or goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from tests.strategies import SEEDS

from sidelight.graphs import distance_graph
from sidelight.manifold import MapUpdate
from sidelight.manifold.incremental._edges import EdgeRules
from sidelight.manifold.incremental._map_graph import MapGraph
from sidelight.manifold.incremental._neighborhood import Neighborhood


def edges_of(graph: object) -> set[tuple[int, int]]:
    matrix = graph.tocoo()
    return set(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True))


def in_order(near: Neighborhood) -> np.ndarray:
    return np.argsort(near.serials[: near.n])


def assert_lists_are_exact(near: Neighborhood, k: int) -> None:
    """Every list holds the nearest rows in the order of (distance, serial number)."""
    rows, serials = near.rows[: near.n], near.serials[: near.n]
    apart = cdist(rows, rows)
    for i in range(near.n):
        others = np.delete(np.arange(near.n), i)
        wanted = others[np.lexsort((serials[others], apart[i, others]))][:k]
        assert near.near[i, : near.counts[i]].tolist() == wanted.tolist()


@settings(max_examples=30, deadline=None)
@given(
    seed=SEEDS,
    k=st.integers(1, 4),
    grid=st.booleans(),
)
def test_edges_are_those_of_a_graph_from_scratch(seed: int, k: int, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    near = Neighborhood(2, k, None)
    for step in range(25):
        if near.n > 2 and rng.uniform() < 0.4:
            near.remove(int(rng.integers(near.n)))
        else:
            # On a grid of whole numbers ties and equal rows abound, and distances are exact.
            row = rng.integers(0, 3, 2).astype(float) if grid else rng.normal(size=2)
            near.add(row, step)
        assert_lists_are_exact(near, k)
    order = in_order(near)
    wanted = distance_graph(near.rows[order], n_neighbors=k)
    assert edges_of(near.graph()[order][:, order]) == edges_of(wanted)


@pytest.mark.parametrize(("k", "radius"), [(4, None), (1, 0.7)])
@pytest.mark.parametrize("conformal", [False, True])
def test_graph_of_the_geodesics_is_that_from_scratch(
    k: int, radius: float | None, conformal: bool
) -> None:
    """Only the edges that a row touches are looked at: none may be forgotten."""
    rng = np.random.default_rng(3)
    near = Neighborhood(3, k, radius)
    graph = MapGraph(near, EdgeRules(conformal, "largest"))
    for step in range(45):
        if near.n > 12 and rng.uniform() < 0.4:
            graph.remove(int(rng.integers(near.n)), MapUpdate())
        else:
            graph.add(rng.normal(size=3), step, MapUpdate())
        found, wanted = graph.paths.graph, graph.rules.graph(near)
        assert edges_of(found) == edges_of(wanted)
        np.testing.assert_array_equal(found.data, wanted.data)


def test_update_counts_the_edges() -> None:
    rng = np.random.default_rng(0)
    near = Neighborhood(3, 3, None)
    graph = MapGraph(near, EdgeRules(False, "bridge"))
    n_edges = 0
    for step in range(60):
        update = MapUpdate()
        graph.add(rng.normal(size=3), step, update)
        n_edges += update.edges_added - update.edges_deleted
        assert n_edges == graph.paths.graph.nnz // 2
    update = MapUpdate()
    graph.remove(5, update)
    assert n_edges + update.edges_added - update.edges_deleted == graph.paths.graph.nnz // 2
