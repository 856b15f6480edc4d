"""Exact solutions are those of the enumeration of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.relational.correlation.enumerate import optimum, random_graph
from tests.strategies import signed_graphs

from sidelight import Constraints, Relations
from sidelight.datasets import make_signed_graph
from sidelight.relational.correlation import _exact
from sidelight.relational.correlation._exact import solve_exact
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._lp import solve_lp


@pytest.fixture(params=["subsets", "linear program, subsets", "programs"])
def _solver(request, monkeypatch):
    """All ways: by all subsets at once, after the linear program, or by integer programs."""
    if request.param != "subsets":
        monkeypatch.setattr(_exact, "FEW_NODES", 1)
    if request.param == "programs":
        monkeypatch.setattr(_exact, "MAX_SUBSETS", 1)


def check_optimal(graph: SignedGraph) -> None:
    best = optimum(graph)
    found = solve_exact(graph)
    assert found.optimal
    assert not graph.violates(found.labels)
    assert graph.cost(found.labels) == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(signed_graphs())
def test_enumeration_of_all_partitions(graph):
    check_optimal(graph)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.usefixtures("_solver")
def test_all_ways_against_enumeration(seed):
    check_optimal(random_graph(seed, 9, density=0.9, unit=seed % 2 == 0, n_cannot=seed % 3))
    options = {"n_must": 1, "n_cannot": 2, "n_sources": 2, "absent": 0.4}
    check_optimal(random_graph(seed, 9, density=0.7, **options))


def test_integer_programs_are_needed_by_some():
    """So that the tests of programs test more than integral linear programs."""
    graphs = [random_graph(seed, 9, density=0.9, unit=seed % 2 == 0) for seed in range(25)]
    assert sum(not solve_lp(graph).integral for graph in graphs) >= 3


@pytest.mark.parametrize("seed", range(3))
def test_integer_programs_agree_with_subsets(seed, monkeypatch):
    """Random signs, whose linear program is far from integral."""
    graph = random_graph(seed, 13, density=1.0, unit=True)
    by_subsets = solve_exact(graph)
    monkeypatch.setattr(_exact, "FEW_NODES", 1)
    monkeypatch.setattr(_exact, "MAX_SUBSETS", 1)
    by_programs = solve_exact(graph)
    assert by_subsets.optimal
    assert by_programs.optimal
    assert by_subsets.bound == by_programs.bound
    assert solve_lp(graph).bound <= by_subsets.bound


@pytest.mark.parametrize("n", [40, 100])
def test_planted_graphs(n):
    sample = make_signed_graph(n, 5, flip=0.12, random_state=1)
    graph = signed_graph(sample.relations, Constraints(n_samples=n))
    found = solve_exact(graph)
    assert found.optimal
    assert graph.cost(found.labels) == found.bound <= graph.cost(sample.target)


def test_time_that_runs_out():
    """Random signs of 40 nodes are far too hard; what is returned is still a bound and a cost."""
    graph = random_graph(0, 40, density=1.0, unit=True)
    found = solve_exact(graph, time_limit=1.0)
    assert not found.optimal
    cost = graph.cost(found.labels)
    assert solve_lp(graph, max_rounds=1).value <= found.bound < cost
    assert found.component_bounds.sum() == pytest.approx(found.bound)


def test_a_known_partition_is_kept_if_nothing_better_is_found(monkeypatch):
    graph = random_graph(0, 30, density=1.0, unit=True)
    monkeypatch.setattr(_exact, "N_ROUNDINGS", 0)
    known = solve_exact(graph, time_limit=1.0).labels
    again = solve_exact(graph, time_limit=0.0, labels=known)
    assert graph.cost(again.labels) <= graph.cost(known)


def test_components_and_single_nodes():
    """Two components, one of which begins with the linear program, and nodes without edges."""
    small, large = random_graph(1, 8, density=0.9), random_graph(2, 15, density=0.9)
    parts = [graph.scores.tocoo() for graph in (small, large)]
    edges = [
        np.column_stack([part.row, part.col])[part.row < part.col] + shift
        for part, shift in zip(parts, (0, 8), strict=True)
    ]
    scores = [part.data[part.row < part.col] for part in parts]
    relations = Relations(np.concatenate(edges), np.concatenate(scores), n_samples=26)
    graph = signed_graph(relations, Constraints(n_samples=26))
    found = solve_exact(graph)
    assert found.optimal
    assert found.bound == pytest.approx(solve_exact(small).bound + solve_exact(large).bound)
    assert found.bound == pytest.approx(optimum(small) + solve_exact(large).bound)
    assert len(np.unique(found.labels[23:])) == 3
