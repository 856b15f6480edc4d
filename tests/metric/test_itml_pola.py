"""ITML and POLA: projections, optimality, online steps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from sidelight import Constraints
from sidelight._fit.scatter import pair_differences, root
from sidelight._kernels.metric.pair_metric import itml_sweep, pola_epoch
from sidelight.exceptions import ConstraintWarning
from sidelight.metric import ITML, POLA
from sidelight.metric._itml import log_det


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, Constraints.sample(y, 60, random_state=0)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0, 1e9])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_step_meets_its_bound(gamma, sign):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(4, 4))
    A = B @ B.T + np.eye(4)
    v = rng.normal(size=(1, 4))
    bound = 0.5 * float(v[0] @ A @ v[0]) if sign > 0 else 2.0 * float(v[0] @ A @ v[0])
    target, dual = np.array([bound]), np.zeros(1)
    itml_sweep(A, v, np.array([sign]), target, dual, gamma, False, np.empty(4))
    assert v[0] @ A @ v[0] == pytest.approx(target[0], rel=1e-9)
    assert np.linalg.eigvalsh(A).min() > 0
    if gamma > 1e6:
        assert target[0] == pytest.approx(bound, rel=1e-6)


def test_itml_fulfils_its_optimality_conditions(iris):
    X, _, known = iris
    model = ITML(tol=1e-9, max_iter=100_000).fit(X, constraints=known)
    assert model.converged_
    A = model.get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(A).min() > 0
    gaps = pair_differences(X, np.concatenate([known.must_link, known.cannot_link]))
    sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    differs = np.any(gaps != 0, axis=1)
    gaps, sign = gaps[differs], sign[differs]
    # A⁻¹ = A₀⁻¹ + Σ δ λ vv', and ξ⁻¹ = ξ₀⁻¹ - δ λ / γ: stationarity of the Lagrangian.
    lam = model.multipliers_
    inverse = np.eye(4) + (gaps * (sign * lam)[:, None]).T @ gaps
    np.testing.assert_allclose(np.linalg.inv(A), inverse, rtol=1e-5, atol=1e-6)
    start = np.where(sign > 0, *model.bounds_)
    xi = 1 / (1 / start - sign * lam)
    distance = np.einsum("nd,nd->n", gaps @ A, gaps)
    slack = sign * (xi - distance)
    assert slack.min() > -1e-4 * distance.max()
    assert np.abs(lam * slack).max() < 1e-3 * distance.max()
    assert model.objective_ == pytest.approx(
        log_det(A, np.eye(4)) + np.sum(xi / start - np.log(xi / start) - 1), rel=1e-4
    )


def test_satisfied_pairs_leave_the_prior_alone(iris):
    X, _, known = iris
    model = ITML(bounds=(1e3, 1e3 + 1)).fit(
        X, constraints=Constraints(known.must_link, n_samples=150)
    )
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.eye(4), atol=1e-12)
    inverse = ITML(prior="covariance").fit(X, constraints=Constraints(n_samples=150))
    np.testing.assert_allclose(
        inverse.get_mahalanobis_matrix(), np.linalg.inv(np.cov(X.T, bias=True)), rtol=1e-3
    )


def test_itml_helps_kmeans_on_iris(iris):
    X, y, _ = iris
    scores = []
    for seed in range(5):
        known = Constraints.sample(y, 75, random_state=seed)
        mapped = ITML(random_state=0).fit(X, constraints=known).transform(X)
        labels = KMeans(3, n_init=5, random_state=0).fit_predict(mapped)
        scores.append(adjusted_rand_score(y, labels))
    assert np.mean(scores) > 0.8  # 0.62 without pairs, 0.93 in the specification


def test_equal_rows_that_are_to_be_apart_are_left_out():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    names = ["ann", "bob", "cem", "dan"]
    known = Constraints([("cem", "dan")], [("ann", "bob"), ("ann", "cem")], ids=names)
    without = Constraints([(2, 3)], [(0, 2)], n_samples=4)
    for model in (ITML(random_state=0), POLA(random_state=0)):
        with pytest.warns(ConstraintWarning, match="1 of 2 cannot-links.*'ann' and 'bob'"):
            A = model.fit(X, constraints=known).get_mahalanobis_matrix()
        expected = model.fit(X, constraints=without).get_mahalanobis_matrix()
        np.testing.assert_allclose(A, expected)


def test_a_pola_step_is_the_nearest_point_without_loss():
    rng = np.random.default_rng(0)
    for sign in (1.0, -1.0):
        B = rng.normal(size=(3, 3))
        A, b = B @ B.T, np.array([2.0])
        v = rng.normal(size=(1, 3)) * (2.0 if sign > 0 else 0.1)
        before, start = A.copy(), b.copy()
        loss = 1 - sign * (b[0] - v[0] @ A @ v[0])
        assert loss > 0
        pola_epoch(A, b, v, np.array([sign]), np.arange(1), np.zeros((3, 3)))
        alpha = loss / (np.dot(v[0], v[0]) ** 2 + 1)
        expected = before - sign * alpha * np.outer(v[0], v[0])
        values, vectors = np.linalg.eigh(expected)
        assert np.count_nonzero(values < -1e-12) <= (1 if sign > 0 else 0)  # interlacing
        np.testing.assert_allclose(A, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
        assert b[0] == pytest.approx(max(start[0] + sign * alpha, 1.0))
        at_step = 1 - sign * (start[0] + sign * alpha - v[0] @ expected @ v[0])
        assert at_step == pytest.approx(0.0, abs=1e-9)


def test_pola_hardly_updates_any_more_on_separable_pairs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([3.0 * y + rng.normal(0, 0.1, 80), rng.normal(size=80)])
    known = Constraints.sample(y, 200, random_state=0)
    few, many = (
        POLA(n_epochs=n, average=False, random_state=0).fit(X, constraints=known) for n in (60, 90)
    )
    shown = 30 * known.n_pairs
    assert many.n_updates_ - few.n_updates_ < 0.01 * shown < few.n_updates_
    pairs = np.concatenate([known.must_link, known.cannot_link])
    expected = np.repeat([True, False], [len(known.must_link), len(known.cannot_link)])
    np.testing.assert_array_equal(many.same(pairs, X), expected)


def test_a_stream_in_parts_is_the_stream():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    first = Constraints([(0, 1), (2, 3)], n_samples=30)
    second = Constraints(cannot_link=[(4, 5), (6, 7)], n_samples=30)
    parts = POLA(average=False).partial_fit(X, constraints=first)
    parts.partial_fit(X, constraints=second)
    whole = POLA(average=False).partial_fit(X, constraints=first | second)
    np.testing.assert_allclose(
        parts.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), atol=1e-12
    )


def test_roots_of_metrics():
    rng = np.random.default_rng(0)
    for rank in (2, 4):
        B = rng.normal(size=(4, rank))
        W = root(B @ B.T)
        assert len(W) == rank
        np.testing.assert_allclose(W.T @ W, B @ B.T, atol=1e-10)
