"""Spectral graph transducer: the optimum on the sphere, its constraints, balance, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.semi_supervised.graph.graphs import blobs, random_graph, some_labels

from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import laplacian
from sidelight.semi_supervised import SpectralGraphTransducer
from sidelight.semi_supervised.graph._secular import minimize_on_sphere
from sidelight.semi_supervised.graph._spectral_transducer import (
    balanced_vectors,
    squared_ranks,
    transduce,
)


def test_labels_count_the_more_the_larger_the_penalty() -> None:
    X, _, known = blobs(300, 30)
    known = np.where(known == 2, -1, known)
    known[np.flatnonzero(known == 0)[0]] = 1  # one wrong label
    gaps = []
    for penalty in (1e-3, 1.0, 1e6):
        model = SpectralGraphTransducer(penalty=penalty, random_state=0).fit(X, known)
        labeled = known >= 0
        gaps.append(np.abs(model.transduction_values_[labeled] - (2 * known[labeled] - 1)).mean())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.2


@pytest.mark.parametrize("spectrum", ["laplacian", "squares"])
def test_several_classes_from_a_few_labels(spectrum: str) -> None:
    X, y, known = blobs(400)
    penalty = 1.0 if spectrum == "laplacian" else 3200.0
    model = SpectralGraphTransducer(spectrum=spectrum, penalty=penalty, random_state=0)
    model.fit(X, known)
    assert model.transduction_values_.shape == (400, 3)
    assert np.mean(model.transduction_ == y) > 0.9
    assert np.mean(model.predict(X) == y) > 0.9


def test_new_rows_average_the_values_of_the_nearest() -> None:
    X, _, known = blobs(120)
    model = SpectralGraphTransducer(4, weights="connectivity", random_state=0).fit(X, known)
    new = X[:6] + 0.2
    near = np.argsort(((X[None] - new[:, None]) ** 2).sum(axis=2), axis=1)[:, :4]
    np.testing.assert_allclose(
        model.decision_function(new), model.transduction_values_[near].mean(axis=1)
    )


def test_parts_without_labels_hang_on_the_others() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [7.0], [7.1], [7.2]])
    with pytest.warns(ConstraintWarning, match="3 of 9 rows"):
        model = SpectralGraphTransducer(1, random_state=0).fit(X, [0, -1, -1, 1, *[-1] * 5])
    np.testing.assert_array_equal(model.transduction_, [0] * 3 + [1] * 6)


def test_more_eigenvectors_than_rows_are_all_but_one() -> None:
    X, _, known = blobs(30)
    model = SpectralGraphTransducer(n_components=500, random_state=0).fit(X, known)
    assert len(model.eigenvalues_) == 29


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_optimum_of_a_general_solver(seed: int) -> None:
    """SLSQP on ``z`` itself, with both constraints, from several starts."""
    n, penalty = 9, 0.7
    W, labels = random_graph(n, seed), some_labels(n, 2, 4, seed)
    L = laplacian(W).toarray()
    model = SpectralGraphTransducer(graph="precomputed", penalty=penalty, random_state=0)
    model.fit(W, labels)

    known = labels >= 0
    share = model.class_shares_[1]
    upper, lower = np.sqrt((1 - share) / share), -np.sqrt(share / (1 - share))
    gamma = np.where(labels == 1, upper, lower)[known]
    among = (labels[known] == 1).mean()
    C = penalty * np.where(labels[known] == 1, 0.5 / among, 0.5 / (1 - among))

    def objective(z: np.ndarray) -> float:
        return float(z @ L @ z + np.sum(C * (z[known] - gamma) ** 2))

    constraints = [
        {"type": "eq", "fun": lambda z: z.sum()},
        {"type": "eq", "fun": lambda z: z @ z - n},
    ]
    rng = np.random.default_rng(0)
    runs = [
        minimize(objective, rng.normal(size=n), method="SLSQP", constraints=constraints)
        for _ in range(8)
    ]
    best = min((run for run in runs if run.success), key=lambda run: run.fun)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-4)
    z = model.transduction_values_ * (upper - lower) / 2 + (upper + lower) / 2
    assert objective(z) == pytest.approx(model.objective_)
    assert z.sum() == pytest.approx(0, abs=1e-8)
    assert z @ z == pytest.approx(n)
    np.testing.assert_allclose(z, best.x, atol=5e-3)


# --- what it is made of ---


def symmetric(d: int, rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(d, d))
    return A @ A.T + np.diag(rng.uniform(0, 2, d))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 7), st.integers(0, 10**6), st.floats(-3, 3))
def test_secular_equation_finds_the_minimum_on_the_sphere(d: int, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    G, b, r2 = symmetric(d, rng), 10**size * rng.normal(size=d), rng.uniform(0.5, 20)
    w = minimize_on_sphere(G, b, r2)
    assert w @ w == pytest.approx(r2)
    # The multiplier is at most the least eigenvalue: this proves the global minimum.
    multiplier = w @ (G @ w - b) / r2
    scale = np.abs(G).max() * np.sqrt(r2) + np.abs(b).max()
    np.testing.assert_allclose(G @ w - multiplier * w, b, atol=1e-7 * scale)
    assert multiplier <= np.linalg.eigvalsh(G)[0] + 1e-7 * scale


def test_the_hard_case_has_a_minimum_too() -> None:
    """Nothing of ``b`` along the least eigenvector, and too little elsewhere."""
    w = minimize_on_sphere(np.diag([1.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0]), 9.0)
    np.testing.assert_allclose(np.abs(w), [np.sqrt(9 - 0.25), 0.5, 0], atol=1e-9)
    w = minimize_on_sphere(np.diag([1.0, 3.0]), np.array([0.0, 100.0]), 9.0)
    np.testing.assert_allclose(w, [0, 3], atol=1e-9)
    w = minimize_on_sphere(np.diag([2.0, 2.0, 5.0]), np.zeros(3), 4.0)
    assert w @ w == pytest.approx(4)
    assert w[2] == pytest.approx(0)


def test_vectors_are_orthogonal_to_one_and_diagonalize_the_laplacian() -> None:
    W = random_graph(15, 0)
    L = laplacian(W).toarray()
    values, vectors = np.linalg.eigh(L)
    energies, balanced = balanced_vectors(values[:6], vectors[:, :6])
    np.testing.assert_allclose(balanced.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(balanced.T @ balanced, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(balanced.T @ L @ balanced, np.diag(energies), atol=1e-12)


def test_equal_eigenvalues_have_equal_ranks() -> None:
    found = squared_ranks(np.array([0.0, 0.0, 1e-9, 0.3, 0.5, 0.5 + 1e-9]))
    np.testing.assert_array_equal(found, [1, 1, 1, 16, 25, 25])


def test_two_classes_mirror_each_other() -> None:
    W, labels = random_graph(14, 1), some_labels(14, 2, 5, 1)
    values, vectors = balanced_vectors(*np.linalg.eigh(laplacian(W).toarray()))
    shares = np.array([0.3, 0.7])
    one, first = transduce(vectors, values, labels, 1, shares[1], 2.0)
    zero, second = transduce(vectors, values, labels, 0, shares[0], 2.0)
    np.testing.assert_allclose(one, -zero, atol=1e-9)
    assert first == pytest.approx(second)
