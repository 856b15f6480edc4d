"""Rounding of the linear program: guarantees, limits, and the repaired step of region growing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relational.correlation.enumerate import optimum, pair_scores, random_graph
from tests.strategies import signed_graphs

from sidelight import Constraints, Relations
from sidelight.datasets import make_signed_graph
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._lp import solve_lp
from sidelight.relational.correlation._rounding import (
    balls,
    four_approximation,
    grow_regions,
    lp_pivot,
    plain_distances,
)


def star(m: int) -> SignedGraph:
    """A hub with ``m`` leaves that it wants and that do not want each other."""
    first, second = np.triu_indices(m + 1, 1)
    scores = np.where(first == 0, 1.0, -1.0)
    edges = np.column_stack([first, second])
    return signed_graph(Relations(edges, scores, n_samples=m + 1), Constraints(n_samples=m + 1))


def star_distances(m: int) -> np.ndarray:
    x = np.ones((m + 1, m + 1))
    x[0] = x[:, 0] = 0.5
    np.fill_diagonal(x, 0.0)
    return x


def grow_at(graph: SignedGraph, x: np.ndarray, c: float, *, printed: bool) -> np.ndarray:
    """Region growing from its definition; as printed, volumes are taken at the node's distance."""
    n = graph.n
    weights = np.maximum(pair_scores(graph), 0.0)
    total = np.triu(weights * x, 1).sum()
    remaining = np.ones(n, bool)
    labels = np.full(n, -1)
    while remaining.any():
        u = int(np.flatnonzero(remaining)[0])
        distances = np.unique(x[u, remaining])
        for d, following in zip(distances, [*distances[1:], np.inf], strict=True):
            ball = remaining & (x[u] <= d + 1e-12)
            outside = remaining & ~ball
            r = d if printed else max(d, min(following, 1 / c))
            crossing = weights[np.ix_(ball, outside)]
            cut = crossing.sum()
            volume = total / n + np.triu((weights * x)[np.ix_(ball, ball)], 1).sum()
            volume += (crossing * (r - x[u, ball])[:, None]).sum()
            if cut <= c * np.log(n + 1) * volume + 1e-9 * weights.sum() / 2:
                break
        labels[ball] = u
        remaining &= ~ball
    return labels


@pytest.mark.parametrize(("m", "printed", "repaired"), [(12, 66, 12), (25, 300, 25)])
def test_printed_step_fails_on_a_star(m, printed, repaired):
    graph, x = star(m), star_distances(m)
    assert graph.cost(grow_at(graph, x, 3.0, printed=True)) == printed
    regions = grow_regions(graph, x)
    assert graph.cost(regions.labels) == repaired
    assert regions.radii.max() <= 1 / 3
    found = solve_lp(graph)
    assert found.value == m / 2
    np.testing.assert_allclose(found.x, x, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(signed_graphs(), st.sampled_from([2.2, 3.0, 5.0]), st.integers(0, 99))
def test_guarantees_of_region_growing(graph, c, seed):
    found = solve_lp(graph)
    x = found.x
    order = np.random.default_rng(seed).permutation(graph.n)
    for distances, is_whole in ((x, True), (found.distances, False)):
        regions = grow_regions(graph, distances, c=c, order=order)
        labels = regions.labels
        same = labels[:, None] == labels
        assert not graph.violates(labels)
        assert np.all(regions.radii <= 1 / c)
        assert x[same].max(initial=0.0) <= 2 / c + 1e-7
        scores = pair_scores(graph)
        together, apart = np.maximum(scores, 0.0), np.maximum(-scores, 0.0)
        total = np.triu(together * x, 1).sum()
        factor = np.log(graph.n + 1)
        joined = np.triu(apart * same, 1).sum()
        assert joined <= c / (c - 2) * np.triu(apart * (1 - x), 1).sum() + 1e-6
        assert np.triu(together * ~same, 1).sum() <= 2 * c * factor * total + 1e-6
        assert np.triu(together * ~same, 1).sum() == pytest.approx(regions.cuts.sum(), abs=1e-9)
        slack = 1e-9 * together.sum() + 1e-9
        assert np.all(regions.cuts <= c * factor * regions.volumes + slack)
        if is_whole and np.array_equal(order, np.arange(graph.n)):
            np.testing.assert_array_equal(labels, grow_at(graph, x, c, printed=False))


@pytest.mark.parametrize("seed", range(12))
def test_region_growing_by_its_definition(seed):
    """Incremental cuts and volumes stop where those of the definition do."""
    graph = random_graph(seed, 14, density=0.6)
    x = solve_lp(graph).x
    regions = grow_regions(graph, x, c=2.5)
    np.testing.assert_array_equal(regions.labels, grow_at(graph, x, 2.5, printed=False))


def test_order_decides_on_centers():
    graph = star(4)
    regions = grow_regions(graph, star_distances(4), order=np.array([3, 0, 1, 2, 4]))
    assert regions.centers.tolist() == [3, 0, 1, 2, 4]


def all_roundings(graph: SignedGraph, x: np.ndarray, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        grow_regions(graph, x, order=rng.permutation(graph.n)).labels,
        lp_pivot(graph, x, rng),
        lp_pivot(graph, x, np.random.RandomState(seed)),
        four_approximation(graph, x, rng),
        balls(graph, x),
        balls(graph, x, 0.25),
    ]


@settings(max_examples=40, deadline=None)
@given(signed_graphs(), st.integers(0, 99))
def test_what_must_not_join_does_not(graph, seed):
    """Also with distances that say otherwise."""
    found = solve_lp(graph)
    for x in (found.x, found.distances, plain_distances(graph), np.zeros((graph.n, graph.n))):
        for labels in all_roundings(graph, x, seed):
            assert not graph.violates(labels)
            assert graph.cost(labels) >= found.value - 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_integral_distances_are_the_clusters(seed):
    graph = random_graph(seed, 8, density=0.8, n_cannot=1)
    found = solve_lp(graph)
    if not found.integral:
        return
    best = optimum(graph)
    expected = found.x == 0
    for labels in all_roundings(graph, found.distances, seed):
        np.testing.assert_array_equal(labels[:, None] == labels, expected)
        assert graph.cost(labels) == pytest.approx(best)


def test_enough_of_them_are_integral():
    """So that the test before this one tests something."""
    found = [solve_lp(random_graph(seed, 8, density=0.8, n_cannot=1)) for seed in range(30)]
    assert sum(solution.integral for solution in found) >= 10


@pytest.mark.parametrize("seed", range(6))
def test_expected_ratios_on_complete_scores(seed):
    """2.5 times the linear program for LP-pivot in the mean, 4 times in any order."""
    graph = random_graph(seed, 9, density=1.0, unit=True)
    found = solve_lp(graph)
    rng = np.random.default_rng(seed)
    costs = [graph.cost(lp_pivot(graph, found.x, rng)) for _ in range(600)]
    assert np.mean(costs) - 4 * np.std(costs) / np.sqrt(600) <= 2.5 * found.value
    assert max(graph.cost(four_approximation(graph, found.x, rng)) for _ in range(100)) <= (
        4 * found.value
    )


def test_pivot_joins_with_the_probability_that_distances_say():
    """Of two nodes at distance x, 1 - x of the draws join them."""
    graph = random_graph(0, 2, density=1.0)
    rng = np.random.default_rng(0)
    for x in (0.0, 0.3, 1.0):
        distances = np.array([[0.0, x], [x, 0.0]])
        joined = [len(set(lp_pivot(graph, distances, rng).tolist())) == 1 for _ in range(3000)]
        assert np.mean(joined) == pytest.approx(1 - x, abs=0.04 if 0 < x < 1 else 0)


def test_four_approximation_at_its_limits():
    """Exactly one half is near, a mean of exactly one quarter is too far."""
    graph = random_graph(0, 3, density=1.0)
    x = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])
    order = FirstOrder([0, 1, 2])
    assert four_approximation(graph, x, order).tolist() == [0, 1, 2]
    nearer = np.where(x == 0.5, 0.49, x)
    assert four_approximation(graph, nearer, order).tolist() == [0, 0, 0]


class FirstOrder(np.random.RandomState):
    """Permutations that are the same every time."""

    def __init__(self, order: list[int]) -> None:
        super().__init__(0)
        self.order = np.array(order)

    def permutation(self, n: int) -> np.ndarray:  # type: ignore[override]
        return self.order


def test_balls_begin_with_the_node_nearest_to_all():
    """Of a path 0 - 1 - 2, node 1 is the center; its ball is kept up to the mean distance."""
    x = np.array([[0.0, 0.4, 0.8], [0.4, 0.0, 0.4], [0.8, 0.4, 0.0]])
    graph = random_graph(0, 3, density=1.0)
    assert balls(graph, x, 0.4).tolist() == [1, 1, 1]
    assert balls(graph, x, 0.39).tolist() == [0, 1, 2]


def test_plain_distances():
    edges, scores = np.array([[0, 1], [1, 2], [2, 3]]), np.array([2.0, 4.0, -1.0])
    relations = Relations(edges, scores, n_samples=5)
    graph = signed_graph(relations, Constraints(cannot_link=[(0, 2)], n_samples=5), absent=1.0)
    x = plain_distances(graph).matrix
    assert x[0, 1] == 0.25
    assert x[1, 2] == 0.0
    assert x[0, 2] == 1.0  # they must not join
    assert x[2, 3] == x[3, 4] == 1.0  # no positive edges join them
    np.testing.assert_array_equal(x, x.T)


def test_consistent_scores_are_recovered_from_plain_distances():
    sample = make_signed_graph(60, 4, flip=0.0, random_state=0)
    graph = signed_graph(sample.relations, Constraints(n_samples=60))
    x = plain_distances(graph)
    for labels in (balls(graph, x), four_approximation(graph, x, np.random.default_rng(0))):
        assert graph.cost(labels) == 0
        same = sample.target[:, None] == sample.target
        np.testing.assert_array_equal(labels[:, None] == labels, same)


def test_same_seed_same_clusters():
    graph = random_graph(3, 20, density=1.0, unit=True)
    x = solve_lp(graph).distances
    first, second = (lp_pivot(graph, x, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    third = [lp_pivot(graph, x, np.random.default_rng(seed)).tolist() for seed in range(9)]
    assert len(set(map(tuple, third))) > 1


def test_relabeled_nodes_grow_the_same_regions():
    graph = random_graph(5, 12, density=0.7)
    x = solve_lp(graph).x
    order = np.random.default_rng(1).permutation(graph.n)
    swapped = SignedGraph(
        scores=graph.scores[order][:, order],
        absent=0.0,
        mass=graph.mass,
        conflicts=graph.conflicts,
        sources=graph.sources,
        constant=graph.constant,
        total=graph.total,
        node=graph.node,
    )
    labels = grow_regions(graph, x, order=order).labels
    moved = grow_regions(swapped, x[np.ix_(order, order)]).labels
    np.testing.assert_array_equal(labels[order][:, None] == labels[order], moved[:, None] == moved)
