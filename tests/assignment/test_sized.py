"""Assignment under bounds on sizes, against linear programs and brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import sidelight.assignment._sized as module
from sidelight.assignment import assign_sized
from sidelight.assignment._sized import size_bound, solve_flow
from sidelight.exceptions import InfeasibleConstraints, SidelightError


def optimum(cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, sizes: Any = None) -> float:
    """The linear program over shares of rows, by HiGHS."""
    n, k = cost.shape
    sizes = np.ones(n) if sizes is None else sizes
    once = sparse.kron(sparse.eye(n), np.ones((1, k))).tocsr()
    filled = sparse.kron(sizes[None, :], sparse.eye(k)).tocsr()
    found = linprog(
        cost.ravel(),
        A_ub=sparse.vstack([filled, -filled]),
        b_ub=np.concatenate([upper, -lower]),
        A_eq=once,
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def brute_force(
    cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, sizes: np.ndarray, edges: Any
) -> float:
    n, k = cost.shape
    best = np.inf
    for choice in itertools.product(range(k), repeat=n):
        labels = np.array(choice)
        filled = np.bincount(labels, sizes, minlength=k)
        apart = all(labels[i] != labels[j] for i, j in edges)
        if apart and np.all(filled >= lower - 1e-9) and np.all(filled <= upper + 1e-9):
            best = min(best, cost[np.arange(n), labels].sum())
    return best


def random_problem(
    rng: np.random.Generator, kind: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    cost = {
        "plain": lambda: rng.normal(size=(n, k)),
        "ties": lambda: rng.integers(0, 3, size=(n, k)).astype(float),
        "duplicates": lambda: rng.normal(size=(3, k))[rng.integers(3, size=n)],
    }[kind]()
    counts = np.bincount(rng.integers(k, size=n), minlength=k)
    lower = np.maximum(counts - rng.integers(0, 4, size=k), 0).astype(float)
    upper = (counts + rng.integers(0, 4, size=k)).astype(float)
    which = rng.integers(4)
    if which == 0:
        lower[:] = 0
    elif which == 1:
        upper[:] = n
    elif which == 2:
        lower = upper = counts.astype(float)
    return cost, lower, upper


@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates"])
@pytest.mark.parametrize("seed", range(8))
def test_equals_the_linear_program(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(25):
        cost, lower, upper = random_problem(rng, kind)
        n, k = cost.shape
        found = assign_sized(cost, lower, upper)
        filled = np.bincount(found.labels, minlength=k)
        assert np.all(filled >= lower)
        assert np.all(filled <= upper)
        assert found.optimal
        assert found.cost == pytest.approx(optimum(cost, lower, upper), abs=1e-9)
        assert found.cost == pytest.approx(cost[np.arange(n), found.labels].sum())
        # The prices prove it without any solver: weak duality holds for all of them.
        proof = size_bound(cost, np.ones(n), lower, upper, found.prices)
        assert proof == pytest.approx(found.cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_any_start_gives_the_same_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, lower, upper = random_problem(rng, "plain")
    plain = assign_sized(cost, lower, upper)
    other = assign_sized(rng.normal(size=cost.shape), lower, upper)
    warm = assign_sized(cost, lower, upper, start=other)
    assert warm.cost == pytest.approx(plain.cost, abs=1e-9)
    far = solve_flow(cost, np.ones(len(cost)), lower, upper, 10 * rng.normal(size=len(lower)))
    assert cost[np.arange(len(cost)), far.labels].sum() == pytest.approx(plain.cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_brute_force_with_sizes_and_conflicts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 9)), int(rng.integers(2, 4))
    cost = rng.random((n, k)) if seed % 2 else rng.integers(0, 4, size=(n, k)).astype(float)
    sizes = (np.ones(n), rng.integers(0, 4, size=n).astype(float), rng.random(n) + 0.1)[seed % 3]
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.2]
    edges = pairs if seed % 4 else []
    total = sizes.sum()
    lower = np.floor(rng.random(k) * total / k)
    upper = np.ceil(total / k + rng.random(k) * total / 2)
    best = brute_force(cost, lower, upper, sizes, edges)
    conflicts = np.array(edges, dtype=np.int64).reshape(-1, 2)
    if best == np.inf:
        with pytest.raises(SidelightError):
            assign_sized(cost, lower, upper, sizes=sizes, conflicts=conflicts)
        return
    found = assign_sized(cost, lower, upper, sizes=sizes, conflicts=conflicts)
    assert found.cost == pytest.approx(best, abs=1e-9)
    assert found.optimal
    assert found.bound <= found.cost + 1e-12
    filled = np.bincount(found.labels, sizes, minlength=k)
    assert np.all(filled >= lower - 1e-6)
    assert np.all(filled <= upper + 1e-6)
    assert all(found.labels[i] != found.labels[j] for i, j in edges)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_problems_are_proved_optimal(balanced: bool, dtype: Any) -> None:
    """Large enough for prices from samples of samples, and for rows that stay out of play."""
    rng = np.random.default_rng(3)
    n, k = 30_000, 12
    X = rng.normal(size=(n, 3))
    centers = 0.3 * X[:k]
    cost = np.sum((X[:, None] - centers) ** 2, axis=2).astype(dtype)
    lower = np.full(k, float(n // k if balanced else n // k // 2))
    upper = np.full(k, float(n // k if balanced else 2 * n // k))
    found = assign_sized(cost, lower, upper)
    filled = np.bincount(found.labels, minlength=k)
    assert np.all(filled >= lower)
    assert np.all(filled <= upper)
    proof = size_bound(cost.astype(float), np.ones(n), lower, upper, found.prices)
    assert found.cost == pytest.approx(proof, rel=1e-12)
    # Neither a move nor a swap of two rows pays.
    inside = filled < upper
    gaps = cost.astype(float) - cost[np.arange(n), found.labels][:, None]
    movable = filled[found.labels] > lower[found.labels]
    assert gaps[np.ix_(movable, inside)].min(initial=0.0) >= -1e-9
    arcs = np.array([gaps[found.labels == h].min(axis=0) for h in range(k)])
    assert (arcs + arcs.T).min() >= -1e-9


def test_a_similar_problem_starts_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prices of the last assignment leave next to nothing to do."""
    rng = np.random.default_rng(0)
    n, k = 20_000, 8
    cost = rng.random((n, k))
    bounds = np.full(k, n / k)
    first = assign_sized(cost, bounds, bounds)
    calls = []
    real = module.move_to_bounds
    monkeypatch.setattr(module, "move_to_bounds", lambda *a: calls.append(a) or real(*a))
    again = assign_sized(cost, bounds, bounds, start=first)
    assert again.cost == pytest.approx(first.cost, abs=1e-9)
    assert sum(len(call[0]) for call in calls) < n / 10  # rows that were put into play


def test_permuted_rows_and_clusters() -> None:
    rng = np.random.default_rng(1)
    cost, lower, upper = rng.random((60, 4)), np.array([3.0, 20, 5, 0]), np.array([10.0, 30, 30, 9])
    found = assign_sized(cost, lower, upper)
    rows, clusters = rng.permutation(60), rng.permutation(4)
    other = assign_sized(cost[rows][:, clusters], lower[clusters], upper[clusters])
    np.testing.assert_array_equal(clusters[other.labels], found.labels[rows])


def test_rows_of_equal_size_are_rows() -> None:
    rng = np.random.default_rng(2)
    cost = rng.random((50, 3))
    lower, upper = np.array([10.0, 15, 1]), np.array([20.0, 15, 30])
    plain = assign_sized(cost, lower, upper)
    double = assign_sized(cost, 2 * lower - 1, 2 * upper + 1, sizes=np.full(50, 2.0))
    assert double.cost == pytest.approx(plain.cost)
    assert double.optimal


@pytest.mark.parametrize("whole", [True, False])
def test_sizes_of_many_rows_stay_near_the_bound(whole: bool) -> None:
    rng = np.random.default_rng(5)
    n, k = 3000, 5
    cost = rng.random((n, k))
    sizes = rng.integers(1, 6, size=n).astype(float) if whole else rng.random(n) + 0.1
    mean = sizes.sum() / k
    lower, upper = np.full(k, 0.99 * mean), np.full(k, 1.01 * mean)
    found = assign_sized(cost, lower, upper, sizes=sizes)
    filled = np.bincount(found.labels, sizes, minlength=k)
    assert np.all((filled >= lower - 1e-6) & (filled <= upper + 1e-6))
    assert found.bound <= optimum(cost, lower, upper, sizes) + 1e-6
    assert found.cost <= found.bound * (1 + 1e-3)


def test_where_rows_must_not_go() -> None:
    cost = np.array([[0.0, np.inf], [0.0, np.inf], [0.0, 5.0]])
    assert list(assign_sized(cost, [0, 1], [3, 3]).labels) == [0, 0, 1]
    with pytest.raises(SidelightError, match="may be in meets the bounds"):
        assign_sized(cost, [0, 2], [3, 3])
    with pytest.raises(SidelightError, match="Row 1 may be in no cluster"):
        assign_sized([[0.0, 1.0], [np.inf, np.inf]], [0, 0], [2, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, np.nan]], [0, 0], [1, 1]), "NaN"),
        (([1.0, 2.0], [0, 0], [1, 1]), "matrix"),
        (([[1.0, 2.0]], [0], [1, 1]), "2 clusters"),
        (([[1.0, 2.0]], [1, 1], [1, 1]), "there is 1 to divide"),
        (([[1.0, 2.0]], [0, 0], [0, 0]), "there is 1 to divide"),
        (([[1.0, 2.0]], [1, 0], [0, 1]), "Cluster 0 is to hold at least 1 and at most 0"),
    ],
)
def test_bad_input(arguments: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        assign_sized(*arguments)


def test_impossible_together() -> None:
    with pytest.raises(InfeasibleConstraints, match="cannot-links"):
        # A star of three needs its middle alone, which is too few.
        assign_sized(np.ones((4, 2)), [2, 2], [2, 2], conflicts=[(0, 1), (0, 2), (0, 3)])
    with pytest.raises(InfeasibleConstraints, match="count differently"):
        assign_sized(np.ones((3, 2)), [4, 4], [4, 4], sizes=[3.0, 3.0, 2.0])
