"""Connected k-center: relaxation, conversion, bounds, hardness gadgets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relational.connected.graphs import (
    assert_valid,
    connected_partitions,
    is_connected,
    nodes_of,
    radius,
    random_connected,
    relaxed_optimum,
    tree_partitions,
)

from sidelight.datasets import make_areas
from sidelight.exceptions import SidelightError
from sidelight.relational import ConnectedKCenter
from sidelight.relational.connected import _relaxation
from sidelight.relational.connected._connected_kcenter import completed, disjoint
from sidelight.relational.connected._relaxation import exact, greedy


def test_complete_graph_is_k_center() -> None:
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(9, 2))
        distances = np.linalg.norm(X[:, None] - X[None], axis=2)
        for k in (1, 2, 3):
            optimum = min(
                distances[:, list(centers)].min(axis=1).max()
                for centers in itertools.combinations(range(9), k)
            )
            model = ConnectedKCenter(k, random_state=0).fit(X)
            assert model.lower_bound_ == pytest.approx(optimum)
            assert model.radius_ == pytest.approx(optimum)
            assert model.gap_ == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_trees_by_cutting_edges(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(11, 2)), random_connected(rng, 11, 0)
    optimum = min(radius(X, labels) for labels in tree_partitions(edges, 11, k))
    for method in ("exact", "greedy"):
        model = ConnectedKCenter(k, method=method, n_init=3, random_state=0).fit(X, relations=edges)
        assert_valid(model, edges, k)
        assert model.lower_bound_ <= optimum * (1 + 1e-9)
        assert model.radius_ >= optimum * (1 - 1e-9)
        assert model.radius_ <= model.radius_bound_ * (1 + 1e-9)


def gadget(clauses: list[tuple[int, ...]], n_variables: int) -> tuple[np.ndarray, np.ndarray]:
    """The graph that has a connected 2-partition of radius 1 iff the formula is satisfiable.

    Literals are +-1, +-2, ...; nodes p0, p1, literals, clauses, then a_i and b_i.
    """
    literal = {}
    for i in range(1, n_variables + 1):
        literal[i], literal[-i] = 2 * i, 2 * i + 1
    n_literals = 2 * n_variables
    place = [1.0, 3.0] + [2.0] * n_literals + [4.0] * len(clauses)
    edges = [(p, q) for q in literal.values() for p in (0, 1)]
    for number, clause in enumerate(clauses):
        edges += [(literal[u], 2 + n_literals + number) for u in set(clause)]
    for i in range(1, n_variables + 1):
        for x in (4.0, 0.0):  # a_i, b_i
            edges += [(literal[i], len(place)), (literal[-i], len(place))]
            place.append(x)
    return np.array(place)[:, None], np.array(edges)


@pytest.mark.parametrize(
    ("clauses", "satisfiable"),
    [
        ([(1, 1, 2), (-1, -1, 2)], True),
        ([(1, 2), (-1, 2), (1, -2)], True),
        ([(1, 2), (-1, 2), (1, -2), (-1, -2)], False),
        ([(1,), (-1,)], False),
        ([(1, -2)], True),
    ],
)
def test_satisfiability_gadgets(clauses: list[tuple[int, ...]], satisfiable: bool) -> None:
    n_variables = max(abs(u) for clause in clauses for u in clause)
    X, edges = gadget(clauses, n_variables)
    if len(X) <= 12:
        legal = any(radius(X, labels) <= 1 for labels in connected_partitions(edges, len(X), 2))
    else:  # p0 and b on one side, p1, a and clauses on the other: only literals can choose
        legal = False
        fixed = (X[:, 0] > 2).astype(int)
        literals = np.flatnonzero(X[:, 0] == 2)
        for sides in itertools.product((0, 1), repeat=len(literals)):
            labels = fixed.copy()
            labels[literals] = sides
            legal |= all(is_connected(edges, np.flatnonzero(labels == j)) for j in (0, 1))
    assert legal == satisfiable
    model = ConnectedKCenter(2, method="exact", n_init=20, random_state=0).fit(X, relations=edges)
    assert_valid(model, edges, 2)
    assert model.lower_bound_ == 1.0  # clusters that overlap share their literals
    assert model.radius_ >= (1.0 if satisfiable else 2.0)


def test_as_many_clusters_as_rows_and_equal_rows() -> None:
    X = np.arange(6.0)[:, None]
    path = [(i, i + 1) for i in range(5)]
    for relations in (None, path):
        for method in ("exact", "greedy"):
            model = ConnectedKCenter(6, method=method).fit(X, relations=relations)
            assert model.radius_ == model.lower_bound_ == model.gap_ == 0.0
            model = ConnectedKCenter(3, method=method).fit(np.zeros((6, 1)), relations=relations)
            assert model.radius_ == 0.0
            assert len(np.unique(model.labels_)) == 3


def test_lower_bound_of_many_rows_is_within_the_factor() -> None:
    areas = make_areas(1500, layout="planar", n_clusters=6, random_state=0)
    model = ConnectedKCenter(6, n_init=3, random_state=0).fit(areas.X, relations=areas.relations)
    assert_valid(model, areas.relations.edges, 6)
    assert model.method_ == "greedy"
    assert 0 < model.lower_bound_ <= model.radius_ <= model.radius_bound_
    assert model.gap_ == pytest.approx(1 - model.lower_bound_ / model.radius_)


# --- what it is made of ---


@given(st.integers(0, 10_000), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_relaxations_against_enumeration(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 9))
    X, edges = rng.normal(size=(n, 2)), random_connected(rng, n, 3 if n > 2 else 0)
    optimum = relaxed_optimum(X, edges, k)
    nodes = nodes_of(X, edges)
    found = exact(nodes, k)
    assert found is not None
    assert found.reach == found.lower_bound == pytest.approx(optimum)
    rough = greedy(nodes, k)
    assert rough.lower_bound <= optimum * (1 + 1e-9)
    assert rough.reach <= 2 * optimum * (1 + 1e-5)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(["exact", "greedy"]))
@settings(max_examples=30, deadline=None)
def test_conversion_is_disjoint_connected_and_within_the_bound(
    seed: int, k: int, method: str
) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(20, 2)), random_connected(rng, 20, 8)
    nodes = nodes_of(X, edges)
    found = exact(nodes, k) if method == "exact" else greedy(nodes, k)
    assert found is not None
    labels, centers = disjoint(nodes, found.centers, found.reach)
    bound = (2 * k - 1) * found.reach * (1 + 1e-9)
    for parts, seeds in ((labels, centers), completed(nodes, labels.copy(), centers, k)):
        assert set(parts.tolist()) == set(range(len(seeds)))
        np.testing.assert_array_equal(parts[seeds], np.arange(len(seeds)))
        for j in range(len(seeds)):
            assert is_connected(edges, np.flatnonzero(parts == j))
        assert np.linalg.norm(X - X[seeds[parts]], axis=1).max() <= bound
    assert len(seeds) == k


def chain_of_overlaps(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions 0..2k-1, centers at the even ones, each of which reaches its two neighbors."""
    edges = [(0, 1)]
    for i in range(1, k):
        edges += [(2 * i - 1, 2 * i), (2 * i - 1, 2 * i + 1)]
    return np.arange(2.0 * k)[:, None], np.array(edges), np.arange(0, 2 * k, 2)


@pytest.mark.parametrize("k", range(2, 7))
def test_counterexample_to_the_constant_factor(k: int) -> None:
    """Algorithm 2 passes one label along the chain: radius 2k - 1, although 1 is possible."""
    X, edges, centers = chain_of_overlaps(k)
    labels, seeds = disjoint(nodes_of(X, edges), centers, 1.0)
    assert np.linalg.norm(X - X[seeds[labels]], axis=1).max() == 2 * k - 1
    model = ConnectedKCenter(k, method="exact", random_state=0).fit(X, relations=edges)
    assert model.lower_bound_ == 1.0
    assert model.radius_bound_ == 2 * k - 1
    assert model.radius_ < 2 * k - 1 or k == 2


def test_exact_refuses_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SidelightError, match=r"2001 rows only up to 2000: use method=greedy"):
        ConnectedKCenter(2, method="exact").fit(np.arange(2001.0)[:, None])
    monkeypatch.setattr(_relaxation, "MAX_TESTS", 5)
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(SidelightError, match="tested 5 balls for one radius"):
        ConnectedKCenter(3, method="exact").fit(X)
    assert ConnectedKCenter(3).fit(X).method_ == "greedy"
