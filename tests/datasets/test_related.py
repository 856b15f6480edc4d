"""Generators of graphs, references and maps: what is planted is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tests.strategies import SEEDS

from sidelight.datasets import (
    make_areas,
    make_attributed_graph,
    make_references,
    make_signed_graph,
)
from sidelight.datasets.related._pair_sampling import draw_numbers, pairs_of_blocks
from sidelight.evaluation import clustering_accuracy
from sidelight.exceptions import SidelightError


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_numbers_of_pairs(sizes: list[int]) -> None:
    block = np.repeat(np.arange(len(sizes)), sizes)
    within, across = pairs_of_blocks(np.array(sizes))
    inside = [tuple(pair) for pair in within.pairs(np.arange(within.n_pairs)).tolist()]
    outside = [tuple(pair) for pair in across.pairs(np.arange(across.n_pairs)).tolist()]
    assert all(block[p] == block[q] and p < q for p, q in inside)
    assert all(block[p] != block[q] and p < q for p, q in outside)
    assert len({*inside, *outside}) == len(block) * (len(block) - 1) // 2
    assert len(inside) + len(outside) == len({*inside, *outside})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.floats(0, 1), SEEDS)
def test_numbers_drawn_are_different(n_all: int, share: float, seed: int) -> None:
    n_drawn = round(share * n_all)
    numbers = draw_numbers(n_all, n_drawn, np.random.RandomState(seed))
    assert len(numbers) == n_drawn
    assert np.all(np.diff(numbers) > 0)
    assert not len(numbers) or (numbers[0] >= 0 and numbers[-1] < n_all)


def test_every_number_is_as_likely_as_any_other() -> None:
    rng = np.random.RandomState(0)
    for n_drawn in (8, 25):  # drawn with repetitions, and by a permutation
        counts = np.zeros(40)
        for _ in range(4000):
            counts[draw_numbers(40, n_drawn, rng)] += 1
        expected = 4000 * n_drawn / 40
        assert np.sum((counts - expected) ** 2 / expected) < 85  # far above 39 degrees of freedom


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(1, 6), SEEDS)
def test_all_signs(n: int, k: int, seed: int) -> None:
    graph, target = make_signed_graph(n, k, flip=0.0, random_state=seed)
    assert graph.n_edges == n * (n - 1) // 2
    same = target[graph.edges[:, 0]] == target[graph.edges[:, 1]]
    np.testing.assert_array_equal(graph.scores, np.where(same, 1.0, -1.0))
    sizes = np.bincount(target, minlength=k)
    assert sizes.max() - sizes.min() <= 1
    assert make_signed_graph(n, k, flip=0.0, random_state=seed).relations == graph


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.integers(1, 8), st.floats(0, 20), st.floats(0, 1), SEEDS)
def test_sparse_signs(n: int, k: int, degree: float, inside: float, seed: int) -> None:
    graph, target = make_signed_graph(
        n, k, degree=degree, inside=inside, flip=0.0, random_state=seed
    )
    n_edges = min(round(n * degree / 2), n * (n - 1) // 2)
    assert graph.n_edges == n_edges
    same = target[graph.edges[:, 0]] == target[graph.edges[:, 1]]
    np.testing.assert_array_equal(graph.scores, np.where(same, 1.0, -1.0))
    sizes = np.bincount(target)
    most = int((sizes * (sizes - 1) // 2).sum())
    rest = n * (n - 1) // 2 - most
    assert same.sum() == max(min(round(inside * n_edges), most), n_edges - rest)


def test_flips_and_strength() -> None:
    graph, target = make_signed_graph(300, 6, flip=0.12, random_state=0)
    same = target[graph.edges[:, 0]] == target[graph.edges[:, 1]]
    assert np.mean((graph.scores > 0) != same) == pytest.approx(0.12, abs=0.005)
    graph, target = make_signed_graph(300, 6, flip=0.0, strength=2.0, random_state=0)
    same = target[graph.edges[:, 0]] == target[graph.edges[:, 1]]
    assert graph.scores[same].mean() == pytest.approx(2.0, abs=0.03)
    assert graph.scores[~same].mean() == pytest.approx(-2.0, abs=0.03)
    assert graph.scores[same].std() == pytest.approx(1.0, abs=0.03)


def test_attributed_graph_is_that_of_the_book() -> None:
    """k-means has about 0.85 of the nodes right at separation 2, as the stand-in has it."""
    found = []
    for seed in range(5):
        X, relations, target = make_attributed_graph(2.0, random_state=seed)
        assert np.bincount(target).tolist() == [100, 100, 100]
        labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
        found.append(clustering_accuracy(target, labels))
        same = target[relations.edges[:, 0]] == target[relations.edges[:, 1]]
        assert same.sum() == pytest.approx(3 * 4950 * 0.06, rel=0.1)
        assert (~same).sum() == pytest.approx(30000 * 0.002, rel=0.4)
    assert np.mean(found) == pytest.approx(0.85, abs=0.03)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 25), st.integers(1, 6), st.integers(1, 4), st.floats(0, 0.3), SEEDS)
def test_clusters_of_attributed_graphs_are_connected(
    size: int, k: int, d: int, p_in: float, seed: int
) -> None:
    X, relations, target = make_attributed_graph(
        3.0, n_per_cluster=size, n_clusters=k, n_features=d, p_in=p_in, p_out=0, random_state=seed
    )
    assert X.shape == (size * k, d)
    for cluster in range(k):
        assert relations.restrict(target == cluster).components().max() == 0
    assert relations.components().max() == k - 1  # no edge across


def test_centers_are_apart() -> None:
    X, _, target = make_attributed_graph(
        5.0, n_per_cluster=400, n_clusters=7, n_features=3, p_in=0.01, random_state=0
    )
    centers = np.array([X[target == k].mean(axis=0) for k in range(7)])
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(7, 1)]
    assert gaps.min() == pytest.approx(5 * np.sqrt(2), abs=0.3)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.sampled_from(["lattice", "planar"]), st.data())
def test_regions_are_connected(n: int, layout: Any, data: Any) -> None:
    k = data.draw(st.integers(1, n))
    areas = make_areas(n, layout=layout, n_clusters=k, random_state=data.draw(SEEDS))
    assert len(areas.coordinates) == n
    assert areas.relations.components().max() == 0
    assert sorted(set(areas.target.tolist())) == list(range(k))
    for region in range(k):
        assert areas.relations.restrict(areas.target == region).components().max() == 0


def test_neighbors_on_maps() -> None:
    lattice = make_areas(100, random_state=0)
    gaps = np.abs(np.diff(lattice.coordinates[lattice.relations.edges], axis=1)[:, 0])
    assert (gaps.sum(axis=1) == 1).all()
    assert lattice.relations.n_edges == 2 * 10 * 9
    planar = make_areas(500, layout="planar", random_state=0)
    # A planar graph has at most 3 n - 6 edges, a triangulation nearly as many.
    assert 2.8 * 500 < planar.relations.n_edges <= 3 * 500 - 6
    clean = make_areas(400, noise=0.0, n_clusters=4, random_state=0)
    assert len(np.unique(clean.X, axis=0)) == 4


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(0, 60), st.integers(0, 40), st.data())
def test_references_follow_the_relations(n: int, m: int, r: int, data: Any) -> None:
    m = min(m, n * (n - 1) // 2)
    p_continue = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    X, relations, target = make_references(
        n, m, r, p_continue=p_continue, random_state=data.draw(SEEDS)
    )
    assert X.shape == (len(target), 1)
    assert relations.n_hyperedges == r
    incidence = relations.incidence.tocsc()
    assert np.all(np.diff(relations.incidence.indptr) == 1)
    for k in range(r):
        members = np.sort(incidence.indices[incidence.indptr[k] : incidence.indptr[k + 1]])
        entities = target[members]
        assert len(set(entities.tolist())) == len(entities) >= 1
        assert p_continue or len(entities) == 1


def test_attributes_and_sizes_of_references() -> None:
    X, relations, target = make_references(
        3000, 3000, 20_000, p_ambiguous=0.4, p_continue=0.5, random_state=0
    )
    value = np.round(X[:, 0] / 12)
    assert np.abs(X[:, 0] - 12 * value).std() < 1
    by_entity = np.full(3000, -1.0)
    by_entity[target] = value
    assert (by_entity[target] == value).mean() > 0.999
    n_values, n_seen = len(np.unique(value)), len(np.unique(target))
    assert 1 - n_values / n_seen == pytest.approx(0.4, abs=0.04)
    # Sizes: 1 + min(degree, Geometric), degree Poisson with mean 2.
    size = np.bincount(relations.incidence.indices)
    rng = np.random.default_rng(0)
    simulated = 1 + np.minimum(rng.poisson(2, 200_000), rng.geometric(0.5, 200_000) - 1)
    assert size.mean() == pytest.approx(simulated.mean(), abs=0.05)
    whole = make_references(200, 100, 300, p_continue=1.0, random_state=0)
    pairs = set()
    incidence = whole.relations.incidence.tocsc()
    for k in range(300):
        start, *others = whole.target[incidence.indices[incidence.indptr[k] :]][
            : incidence.indptr[k + 1] - incidence.indptr[k]
        ]
        pairs |= {frozenset((start, other)) for other in others}
    assert len(pairs) <= 100  # all neighbors of every start, and nothing else


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_signed_graph(0), "n_samples must be a whole number of at least 1"),
        (lambda: make_signed_graph(10, flip=1.5), "flip must be a number between 0 and 1"),
        (lambda: make_signed_graph(10, degree=-1), "degree must be a finite number"),
        (lambda: make_signed_graph(30_000), "more than the"),
        (lambda: make_attributed_graph(n_per_cluster=100_000), "more than the"),
        (lambda: make_references(3, 4), "3 entities have 3 pairs"),
        (lambda: make_references(p_continue=2), "p_continue must be"),
        (lambda: make_areas(layout="hexagons"), "layout must be"),  # type: ignore[arg-type]
        (lambda: make_areas(3, n_clusters=4), "4 regions need as many areas"),
        (lambda: make_attributed_graph(np.inf), "separation must be a finite number"),
        (lambda: make_attributed_graph(n_per_cluster=2.5), "n_per_cluster must be"),  # type: ignore[arg-type]
    ],
)
def test_bad_options(make: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        make()
