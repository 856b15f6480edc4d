"""The cheapest assignment with enough members of every kind, against general solvers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from sidelight.assignment import _at_least as at_least
from sidelight.assignment import assign_at_least, share_at_least
from sidelight.exceptions import SidelightError


def program(cost, amounts, members, least):
    """Equalities and inequalities of the transportation program, as dense matrices."""
    n, k = cost.shape
    once = np.kron(np.eye(n), np.ones(k))
    holds = [
        np.kron(members[:, j].astype(float), np.eye(k)[h])
        for j in range(members.shape[1])
        for h in range(k)
    ]
    return once, amounts, np.array(holds), least.ravel()


def random_problem(seed, n_kinds=None):
    rng = np.random.RandomState(seed)
    n, k = rng.randint(5, 14), rng.randint(1, 5)
    n_kinds = n_kinds or rng.randint(1, 4)
    members = rng.rand(n, n_kinds) < 0.6
    return rng.rand(n, k), rng.randint(1, 4, n), members, rng.randint(0, 3, (n_kinds, k))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_it_is_the_integer_optimum(seed, shared):
    cost, amounts, members, least = random_problem(seed)
    amounts = amounts if shared else np.ones_like(amounts)
    once, q, holds, m = program(cost, amounts, members, least)
    best = milp(
        cost.ravel(),
        constraints=[LinearConstraint(once, q, q), LinearConstraint(holds, m, np.inf)],
        integrality=np.ones(cost.size),
        bounds=Bounds(0, np.inf),
    )
    if best.x is None:
        with pytest.raises(SidelightError):
            share_at_least(cost, amounts, members, least)
        return
    found = share_at_least(cost, amounts, members, least)
    assert found.optimal
    assert found.cost == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_array_equal(found.shares.sum(axis=1), amounts)
    assert np.all(members.T.astype(int) @ found.shares >= least)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_one_kind_or_nested_ones_reach_the_linear_optimum(seed, nested):
    """A network program: divided rows would gain nothing."""
    cost, _, members, least = random_problem(seed, 2 if nested else 1)
    if nested:
        members[:, 1] &= members[:, 0]
    once, q, holds, m = program(cost, np.ones(len(cost)), members, least)
    best = linprog(cost.ravel(), A_ub=-holds, b_ub=-m, A_eq=once, b_eq=q)
    if best.x is None:
        return
    found = assign_at_least(cost, members, least)
    assert found.cost == pytest.approx(best.fun, abs=1e-9)
    assert found.bound == pytest.approx(best.fun, abs=1e-9)


@pytest.mark.parametrize("nested", [True, False])
def test_large_problems_by_prices_are_those_of_the_whole_program(nested, monkeypatch):
    rng = np.random.RandomState(0)
    X, centers = rng.normal(size=(1500, 2)), rng.normal(size=(6, 2))
    cost = np.sum((X[:, None] - centers) ** 2, axis=2)
    members = np.column_stack([np.ones(1500, bool), rng.rand(1500) < 0.2])
    if not nested:
        members[:, 0] = rng.rand(1500) < 0.5
    least = np.floor(0.9 * members.sum(axis=0) / 6).astype(int)[:, None] * np.ones((2, 6), int)
    whole = assign_at_least(cost, members, least)
    monkeypatch.setattr(at_least, "SMALL", 800)
    monkeypatch.setattr(at_least, "ENTRIES_PER_BOUND", 20)
    found = assign_at_least(cost, members, least)
    again = assign_at_least(cost, members, least, prices=found.prices)
    assert whole.optimal
    assert found.cost == pytest.approx(whole.cost, rel=1e-6 if nested else 1e-4)
    assert again.cost == pytest.approx(whole.cost, rel=1e-6 if nested else 1e-4)
    counts = [np.bincount(found.labels[members[:, j]], minlength=6) for j in range(2)]
    assert np.all(np.array(counts) >= least)


def test_shapes_are_checked():
    with pytest.raises(SidelightError, match="2 x 3"):
        assign_at_least(np.zeros((4, 3)), np.ones((4, 2)), np.ones((1, 3)))
    with pytest.raises(SidelightError, match="each of the 4 rows"):
        assign_at_least(np.zeros((4, 3)), np.ones((3, 1)), np.ones((1, 3)))
    with pytest.raises(SidelightError, match="NaN"):
        assign_at_least(np.full((2, 2), np.nan), np.ones((2, 1)), np.ones((1, 2)))


def test_rows_that_may_be_in_few_clusters_only():
    """A sample of them may have no assignment where all of them have one."""
    rng = np.random.RandomState(0)
    n, k = 2400, 6
    cost = np.full((n, k), np.inf)
    own = np.arange(n) % k
    cost[np.arange(n), own] = rng.rand(n)
    others = rng.permutation(n)[:1500]
    cost[others, (own[others] + 1) % k] = 0.0
    found = assign_at_least(cost, np.ones((n, 1), bool), np.full((1, k), n // k))
    np.testing.assert_array_equal(np.bincount(found.labels), np.full(k, n // k))
    assert np.isfinite(found.cost)
    assert found.cost < cost[np.arange(n), own].sum()
