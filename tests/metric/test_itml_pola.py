"""ITML and POLA: projections, optimality, online steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sidelight import Constraints
from sidelight._fit.scatter import pair_differences, root
from sidelight._kernels.metric.pair_metric import pola_epoch
from sidelight.exceptions import ConstraintWarning
from sidelight.metric import ITML, POLA
from sidelight.metric._itml import log_det


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, Constraints.sample(y, 60, random_state=0)


def project(A, v, sign, xi, dual, gamma):
    """One Bregman projection of the paper, with the step that holds for every ``γ``; in place."""
    for n in range(len(v)):
        p = v[n] @ A @ v[n]
        alpha = min(dual[n], sign[n] * gamma / (gamma + 1) * (1 / p - 1 / xi[n]))
        beta = sign[n] * alpha / (1 - sign[n] * alpha * p)
        A += beta * np.outer(A @ v[n], A @ v[n])
        xi[n] = gamma * xi[n] / (gamma + sign[n] * alpha * xi[n])
        dual[n] -= alpha


@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0, 1e4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_single_pair_meets_its_bound_as_one_published_projection_does(gamma, sign):
    rng = np.random.default_rng(0)
    prior = rng.normal(size=(4, 4))
    prior = prior @ prior.T + np.eye(4)
    X = rng.normal(size=(2, 4))
    v = X[:1] - X[1:]
    here = float(v[0] @ prior @ v[0])
    bounds = (0.5 * here, 4 * here) if sign > 0 else (0.25 * here, 2 * here)
    pair = {"must_link" if sign > 0 else "cannot_link": [(0, 1)]}
    model = ITML(penalty=gamma, prior=prior, bounds=bounds, tol=1e-12)
    model.fit(X, constraints=Constraints(**pair, n_samples=2))
    A, xi, dual = prior.copy(), np.array([bounds[0 if sign > 0 else 1]]), np.zeros(1)
    project(A, v, [sign], xi, dual, gamma)
    assert v[0] @ A @ v[0] == pytest.approx(xi[0], rel=1e-9)
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), A, rtol=1e-5, atol=1e-6 * np.abs(A).max()
    )
    np.testing.assert_allclose(model.dual_variables_, dual, rtol=1e-4)


def test_itml_that_stops_early_says_how_far_it_is():
    X, y = load_wine(return_X_y=True)
    known = Constraints.sample(y, 500, random_state=0)
    best = ITML(random_state=0).fit(X, constraints=known).objective_
    with pytest.warns(ConvergenceWarning, match=r"3 steps.*objective is .*the least possible"):
        model = ITML(max_iter=3, random_state=0).fit(X, constraints=known)
    assert not model.converged_
    assert (1 - model.gap_) * model.objective_ <= best < model.objective_


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


def dependent(scale=(1.0, 1.0, 1.0, 1.0, 1.0), order=(0, 1, 2, 3, 4), dtype=np.float64):
    """Rows of which the third column is the sum of the first two, with 40 pairs."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) + 5.0
    X = np.column_stack([X[:, :2], X[:, 0] + X[:, 1], X[:, 2:]])
    known = Constraints.sample(rng.integers(3, size=60), 40, random_state=0)
    return (X * scale)[:, order].astype(dtype), known


def test_a_covariance_prior_leaves_out_the_directions_that_columns_do_not_have():
    X, known = dependent()
    kept = [0, 1, 3, 4]
    plain = ITML(prior="covariance", random_state=0).fit(X[:, kept], constraints=known)
    pairs = np.column_stack(np.triu_indices(60, 1))
    expected = plain.pair_distance(pairs, X[:, kept])
    for scale in ((1.0,) * 5, (1e6, 1e-3, 7.0, 1e5, 0.1)):
        for order in ((0, 1, 2, 3, 4), (4, 2, 0, 3, 1)):
            Z, _ = dependent(scale, order)
            table = pd.DataFrame(Z, columns=[f"x{j}" for j in order])
            model = ITML(prior="covariance", random_state=0)
            with pytest.warns(ConstraintWarning, match="in only 4 of 5 directions") as caught:
                model.fit(table, constraints=known)
            text = str(caught[0].message)
            assert all(f"'x{j}'" in text for j in (0, 1, 2))
            assert "'x3'" not in text
            assert model.components_.shape == (4, 5)
            np.testing.assert_allclose(model.pair_distance(pairs, table), expected, rtol=1e-6)


def test_a_covariance_prior_has_no_directions_made_of_rounding():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(37, 3))
        X = np.column_stack([X, np.full(37, rng.uniform()), X @ rng.normal(size=3)])
        for dtype in (np.float64, np.float32):
            with pytest.warns(ConstraintWarning, match="in only 3 of 5 directions"):
                model = ITML(prior="covariance", random_state=0).fit(X.astype(dtype))
            assert np.linalg.eigvalsh(model.get_mahalanobis_matrix()).max() < 1e3


def test_a_covariance_prior_with_fewer_rows_than_columns():
    X = np.random.default_rng(0).normal(size=(5, 9))
    known = Constraints([(0, 1)], [(2, 3)], n_samples=5)
    with pytest.warns(ConstraintWarning, match="in only 4 of 9 directions"):
        model = ITML(prior="covariance").fit(X, constraints=known)
    assert np.isfinite(model.transform(X)).all()
    with pytest.warns(ConstraintWarning, match="All rows are the same"):
        ITML(prior="covariance").fit(np.ones((4, 2)))


def test_a_prior_of_lower_rank_is_refused_whatever_its_rounding():
    X, known = dependent()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(5, 3)) * 10.0 ** rng.uniform(-3, 3)
        with pytest.raises(ValueError, match="must be positive definite, and only 3 of the 5"):
            ITML(prior=B @ B.T).fit(X, constraints=known)
    with pytest.raises(ValueError, match="must be positive definite"):
        ITML(prior=-np.eye(5)).fit(X, constraints=known)


def test_units_of_features_lose_no_direction_of_the_metric():
    X, known = dependent()
    X = X[:, [0, 1, 3, 4]]
    units = np.array([1e9, 1.0, 1e-5, 1.0])
    plain = ITML(prior="covariance", random_state=0).fit(X, constraints=known)
    other = ITML(prior="covariance", random_state=0).fit(X * units, constraints=known)
    pairs = np.column_stack(np.triu_indices(60, 1))
    np.testing.assert_allclose(
        other.pair_distance(pairs, X * units), plain.pair_distance(pairs, X), rtol=1e-5
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
    np.testing.assert_array_equal(many.predict_pairs(pairs, X) == 1, expected)


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


def test_pola_averages_the_threshold_with_the_metric(iris):
    """The averages are those of all states of the last epoch, shown pair by pair."""
    X, _, known = iris
    X = X / 3
    model = POLA(average=True).partial_fit(X, constraints=known).partial_fit(X, constraints=known)
    parts = POLA(average=False)
    for _ in range(2):
        matrices, thresholds = [], []
        for kind in ("must_link", "cannot_link"):
            for pair in getattr(known, kind):
                if np.any(X[pair[0]] != X[pair[1]]):
                    parts.partial_fit(X, constraints=Constraints(**{kind: [pair]}, n_samples=150))
                    matrices.append(parts._A.copy())
                    thresholds.append(parts.threshold_**2)
    assert model.threshold_**2 == pytest.approx(np.mean(thresholds))
    assert model.threshold_**2 != pytest.approx(thresholds[-1], rel=1e-3)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.mean(matrices, axis=0), atol=1e-9)


# --- what it is made of ---


@pytest.mark.parametrize("penalty", [0.2, 1.0, 5.0])
def test_many_rounds_of_the_published_projections_lead_to_the_same_metric(penalty):
    X, y = load_iris(return_X_y=True)
    X = X / X.std(axis=0)
    known = Constraints.sample(y, 25, random_state=1)
    model = ITML(penalty=penalty, tol=1e-10).fit(X, constraints=known)
    v = pair_differences(X, np.concatenate([known.must_link, known.cannot_link]))
    sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    A, xi, dual = np.eye(4), np.where(sign > 0, *model.bounds_), np.zeros(len(sign))
    for _ in range(1500):
        project(A, v, sign, xi, dual, penalty)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), A, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_itml_converges_at_its_defaults_with_thousands_of_pairs(load, scaled):
    X, y = load(return_X_y=True)
    X = X / X.std(axis=0) if scaled else X
    known = Constraints.sample(y, 4000, random_state=0)
    model = ITML(random_state=0).fit(X, constraints=known)
    assert model.converged_
    assert 0 <= model.gap_ <= 1e-6
    assert model.n_iter_ < 200
    # The dual value of the multipliers, by its definition, bounds every metric from below.
    v = pair_differences(X, np.concatenate([known.must_link, known.cannot_link]))
    sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    differs = np.any(v != 0, axis=1)
    v, sign = v[differs], sign[differs]
    lam, start = model.dual_variables_, np.where(sign > 0, *model.bounds_)
    M = np.eye(X.shape[1]) + (v * (sign * lam)[:, None]).T @ v
    dual = np.linalg.slogdet(M)[1] + np.log(start * (1 / start - sign * lam)).sum()
    assert dual == pytest.approx(model.objective_, rel=2e-6)


def test_itml_fulfils_its_optimality_conditions(iris):
    X, _, known = iris
    model = ITML(tol=1e-13).fit(X, constraints=known)
    assert model.converged_
    A = model.get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(A).min() > 0
    gaps = pair_differences(X, np.concatenate([known.must_link, known.cannot_link]))
    sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    differs = np.any(gaps != 0, axis=1)
    gaps, sign = gaps[differs], sign[differs]
    # A⁻¹ = A₀⁻¹ + Σ δ λ vv', and ξ⁻¹ = ξ₀⁻¹ - δ λ / γ: stationarity of the Lagrangian.
    lam = model.dual_variables_
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


def test_a_pola_step_is_the_nearest_point_without_loss():
    rng = np.random.default_rng(0)
    for sign in (1.0, -1.0):
        B = rng.normal(size=(3, 3))
        A, b = B @ B.T, np.array([2.0])
        v = rng.normal(size=(1, 3)) * (2.0 if sign > 0 else 0.1)
        before, start = A.copy(), b.copy()
        loss = 1 - sign * (b[0] - v[0] @ A @ v[0])
        assert loss > 0
        pola_epoch(
            A, b, v, np.array([sign]), np.ones(1), np.arange(1), np.zeros((3, 3)), np.zeros(1)
        )
        alpha = loss / (np.dot(v[0], v[0]) ** 2 + 1)
        expected = before - sign * alpha * np.outer(v[0], v[0])
        values, vectors = np.linalg.eigh(expected)
        assert np.count_nonzero(values < -1e-12) <= (1 if sign > 0 else 0)  # interlacing
        np.testing.assert_allclose(A, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
        assert b[0] == pytest.approx(max(start[0] + sign * alpha, 1.0))
        at_step = 1 - sign * (start[0] + sign * alpha - v[0] @ expected @ v[0])
        assert at_step == pytest.approx(0.0, abs=1e-9)


def test_a_weight_is_a_pair_given_as_often_for_itml_and_a_share_of_the_step_for_pola():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(12, 3))] * 2)  # the same pair can be given with other rows
    must, cannot = np.array([(0, 1), (2, 3), (4, 5)]), np.array([(6, 7), (8, 9), (0, 10)])
    heavy = Constraints(
        must, cannot, must_link_weight=[1, 2, 1], cannot_link_weight=[2, 1, 1], n_samples=24
    )
    twice = Constraints(
        np.vstack([must, must[1] + 12]), np.vstack([cannot, cannot[0] + 12]), n_samples=24
    )
    one, other = (ITML(tol=1e-12).fit(X, constraints=k) for k in (heavy, twice))
    assert one.objective_ == pytest.approx(other.objective_)
    np.testing.assert_allclose(
        one.get_mahalanobis_matrix(), other.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-7
    )
    A, b = np.eye(3), np.array([1.0])
    half, b_half = A.copy(), b.copy()
    pair = (X[:1] - X[1:2], np.ones(1))
    for matrix, threshold, share in ((A, b, 1.0), (half, b_half, 0.5)):
        totals = np.zeros((3, 3)), np.zeros(1)
        pola_epoch(matrix, threshold, *pair, np.array([share]), np.arange(1), *totals)
    assert b_half[0] - 1 == pytest.approx((b[0] - 1) / 2)


def test_roots_of_metrics():
    rng = np.random.default_rng(0)
    for rank in (2, 4):
        B = rng.normal(size=(4, rank))
        W = root(B @ B.T)
        assert len(W) == rank
        np.testing.assert_allclose(W.T @ W, B @ B.T, atol=1e-10)
