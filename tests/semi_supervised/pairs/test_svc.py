"""Pairwise support vector machines: duality, optimality conditions, and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from tests.semi_supervised.pairs.problems import hinge, objective, problem, values_of

from sidelight import Constraints
from sidelight.exceptions import ConstraintWarning
from sidelight.semi_supervised import PairwiseSVC
from sidelight.semi_supervised._core._kernel import make_kernel
from sidelight.semi_supervised.pairs._dual import coordinate_ascent, make_box
from sidelight.semi_supervised.pairs._geometry import Geometry
from sidelight.semi_supervised.pairs._interior import (
    DenseQuadratic,
    FactoredQuadratic,
    interior_point,
)
from sidelight.semi_supervised.pairs._terms import make_terms

LAM = 0.05


EXACT = {"alpha": LAM, "gamma": 0.4, "tol": 1e-11}


def fit(X, labels, known=None, **others):
    """The optimum, with a penalty at which it is not 0."""
    others = {"penalty": 0.1 if others.get("kernel") == "linear" else 0.6, **others}
    return PairwiseSVC(**{**EXACT, **others}).fit(X, labels, constraints=known)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("groups", [False, True])
def test_the_duality_gap_closes_at_the_objective_of_the_definition(kernel, n_classes, groups):
    X, labels, known = problem(n_classes, groups=groups)
    model = fit(X, labels, known, kernel=kernel)
    expected = objective(model, X, labels, known, kind="svm", gamma=0.4)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    assert 0 <= model.gap_ < 1e-8
    assert model.converged_
    assert np.all(np.diff(model.history_) <= 0)


def test_no_function_near_the_end_is_better():
    """The gap is a bound of ours; the objective by its definition is one that is not."""
    X, labels, known = problem(groups=True)
    model = fit(X, labels, known, kernel="linear")
    rng = np.random.default_rng(0)
    best = model.objective_
    coef = model.coef_.copy()
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(10):
            model.coef_[...] = coef + size * rng.normal(size=3)
            assert objective(model, X, labels, known, kind="svm") >= best - 1e-9


def test_without_pairs_it_is_a_support_vector_machine():
    X, labels, _ = problem()
    labeled = labels >= 0
    other = LinearSVC(loss="hinge", C=1 / (2 * LAM), fit_intercept=False, tol=1e-10, max_iter=10**6)
    other.fit(X[labeled], labels[labeled])
    model = fit(X, labels, kernel="linear")
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.4))
    features = vectors * np.sqrt(np.maximum(values, 0))
    other.fit(features[labeled], labels[labeled])
    expected = features @ other.coef_[0]
    np.testing.assert_allclose(fit(X, labels).decision_function(X), expected, atol=1e-4)


def test_more_pairs_than_rows_are_solved_through_features():
    X, labels, known = problem(n_pairs=120)
    model = fit(X, labels, known)
    assert model.gap_ < 1e-8
    expected = objective(model, X, labels, known, kind="svm", gamma=0.4)
    assert model.objective_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_order_of_pairs_and_names_of_classes(kernel):
    X, labels, known = problem()
    f = fit(X, labels, known, kernel=kernel).decision_function(X)
    turned = np.where(labels < 0, -1, 1 - labels)
    other = fit(X, turned, known, kernel=kernel).decision_function(X)
    np.testing.assert_allclose(f, -other, atol=1e-5)
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(
        place[known.must_link[:, ::-1]],
        place[known.cannot_link[:, ::-1]],
        must_link_weight=known.must_link_weight,
        cannot_link_weight=known.cannot_link_weight,
        n_samples=len(X),
    )
    moved = fit(X[order], labels[order], moved, kernel=kernel).decision_function(X)
    np.testing.assert_allclose(f, moved, atol=1e-5)


def test_large_penalties_tie_the_values_of_pairs():
    X, labels, _ = problem()
    known = Constraints([(0, 21), (22, 23)], [(1, 24), (25, 26)], n_samples=40)
    f = fit(X, labels, known, penalty=100.0).decision_function(X)
    gaps = [f[0] - f[21], f[22] - f[23], f[1] + f[24], f[25] + f[26]]
    assert np.abs(gaps).max() < 1e-7


def test_pairs_that_outweigh_the_labels_are_told():
    """Then ``f = 0`` costs least; by default all pairs together count as the labels do."""
    X, labels, known = problem(n_pairs=200, weights=False)
    with pytest.warns(ConstraintWarning, match="to tell 1 from other classes is 0.*penalty, now 1"):
        silent = fit(X, labels, known, penalty=1.0, kernel="linear")
    assert np.abs(silent.decision_function(X)).max() < 1e-5
    model = PairwiseSVC().fit(X, labels, constraints=known)
    assert model.penalty_ == pytest.approx(0.5 * 8 / 200)
    assert np.abs(model.decision_function(X)).max() > 0.1


def test_linked_rows_that_are_equal_do_no_harm():
    X, labels, _ = problem()
    X[20:] = X[20]
    known = Constraints([(20, 21), (22, 30), (0, 23)], n_samples=40)
    for kernel in ("rbf", "linear"):
        model = fit(X, labels, known, kernel=kernel)
        assert model.gap_ < 1e-8


def test_classes_by_the_coding_matrix_are_the_largest_values():
    X, labels, known = problem(4, n_labels=12)
    model = fit(X, labels, known)
    values = values_of(model, X)
    code = 2 * np.eye(4) - 1
    costs = hinge(code[None] * values[:, None, :]).sum(axis=2)
    chosen = costs[np.arange(len(X)), model.predict(X)]
    np.testing.assert_allclose(chosen, costs.min(axis=1), atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_are_dense_rows(kernel):
    X, labels, known = problem(3, groups=True)
    X[np.abs(X) < 0.5] = 0
    dense = fit(X, labels, known, kernel=kernel).decision_function(X)
    thin = fit(sparse.csr_matrix(X), labels, known, kernel=kernel)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), dense, atol=1e-5)


def test_many_features_by_coordinate_ascent(monkeypatch):
    X, labels, known = problem(groups=True)
    settings = {"kernel": "linear", "alpha": 0.5, "tol": 1e-9}
    exact = fit(X, labels, known, **settings).coef_
    for module in ("_svc", "_geometry"):
        monkeypatch.setattr(f"sidelight.semi_supervised.pairs.{module}.MAX_DENSE", 1)
    for rows in (X, sparse.csr_matrix(X)):
        model = fit(rows, labels, known, random_state=0, **settings)
        assert model.n_iter_ >= 5
        np.testing.assert_allclose(model.coef_, exact, atol=1e-4)
        again = fit(rows, labels, known, random_state=0, **settings)
        np.testing.assert_array_equal(model.coef_, again.coef_)


def test_stopping_before_the_optimum_is_told():
    X, labels, known = problem()
    with pytest.warns(UserWarning, match=r"stopped after 1 steps \(max_iter=1\).*duality gap is"):
        model = fit(X, labels, known, max_iter=1)
    assert not model.converged_
    assert model.gap_ > 1e-3


# --- what it is made of ---


@pytest.mark.parametrize("against_rest", [False, True])
def test_optimality_conditions(against_rest):
    """Variables between their limits belong to terms at their kink, others to one side of it."""
    X, labels, known = problem(3 if against_rest else 2, groups=True)
    terms = make_terms(labels, known)
    geometry = Geometry(make_kernel("rbf", 0.4, X), X, terms)
    B = terms.design
    Q = B @ (B @ geometry.gram).T / (2 * LAM)
    box = make_box(terms, 1, against_rest, 0.6)
    t = interior_point(DenseQuadratic(Q), box, max_iter=100, tol=1e-13).best
    slack = box.wanted - Q @ t
    assert np.all((t >= box.low) & (t <= box.high))
    width = box.high - box.low
    inside = (t - box.low > 1e-5 * width) & (box.high - t > 1e-5 * width)
    assert inside.sum() > 5
    assert np.abs(slack[inside]).max() < 1e-5
    pairs = slice(len(terms.labeled), len(terms.labeled) + len(terms.same))
    apart = np.abs(slack[pairs]) > 1e-4  # f_i != f_j, so that |γ| = μ w
    assert apart.any()
    np.testing.assert_allclose(np.abs(t[pairs])[apart], 0.6 * terms.same_weight[apart], rtol=1e-4)


@pytest.mark.parametrize("against_rest", [False, True])
def test_the_terms_are_maxima_over_the_box(against_rest):
    _, labels, known = problem(3 if against_rest else 2)
    terms = make_terms(labels, known)
    box = make_box(terms, 1, against_rest, 0.6)
    z = np.random.default_rng(0).normal(size=terms.n_terms)
    n, m = len(terms.labeled), len(terms.same)
    signs = np.where(labels[labels >= 0] == 1, 1, -1)
    far = z[n + m :]
    apart = hinge(-far) if against_rest else np.abs(far)
    expected = (
        hinge(signs * z[:n]).sum()
        + 0.6 * terms.same_weight @ np.abs(z[n : n + m])
        + 0.6 * terms.apart_weight @ apart
    )
    assert box.loss(z) == pytest.approx(expected)


def test_the_signs_of_the_source_would_open_a_gap():
    """With the sign of the pairs turned in ``f``, the gap stays wide open."""
    X, labels, known = problem()
    terms = make_terms(labels, known)
    geometry = Geometry(make_kernel("rbf", 0.4, X), X, terms)
    B = terms.design
    Q = B @ (B @ geometry.gram).T / (2 * LAM)
    box = make_box(terms, 1, False, 0.6)
    search = interior_point(DenseQuadratic(Q), box, max_iter=100, tol=1e-12)
    primal, dual = box.bounds(search.best, Q @ search.best)
    assert primal - dual < 1e-9 * primal
    turned = search.best.copy()
    turned[len(terms.labeled) :] *= -1
    primal, dual = box.bounds(turned, Q @ turned)
    assert primal - dual > 0.1 * primal


@pytest.mark.parametrize("n_pairs", [14, 200])
def test_all_solvers_find_the_same(n_pairs):
    X, labels, known = problem(n_pairs=n_pairs)
    terms = make_terms(labels, known)
    geometry = Geometry(make_kernel("linear", 1.0, X), X, terms)
    B, features, lam = terms.design, geometry.features, 0.5
    box = make_box(terms, 1, False, 0.6)
    Q = (B @ features) @ (B @ features).T / (2 * lam)
    limits = {"max_iter": 3000, "tol": 1e-9}
    searches = [
        interior_point(DenseQuadratic(Q), box, **limits),
        interior_point(FactoredQuadratic(features, B, 2 * lam), box, **limits),
        coordinate_ascent(
            sparse.csr_array(features), B, box, lam, np.random.RandomState(0), **limits
        ),
    ]
    weights = [features.T @ (B.T @ search.best) / (2 * lam) for search in searches]
    for search, w in zip(searches, weights, strict=True):
        assert search.is_within(1e-9)
        assert search.history[-1] == pytest.approx(searches[0].history[-1], rel=1e-8)
        np.testing.assert_allclose(w, weights[0], atol=1e-4)


def test_weights_are_the_widths_of_the_box():
    _, labels, known = problem()
    terms = make_terms(labels, known)
    box = make_box(terms, 1, False, 0.6)
    weights = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    np.testing.assert_allclose(box.high[8:], 0.6 * weights)
    np.testing.assert_allclose(box.low[8:], -0.6 * weights)
