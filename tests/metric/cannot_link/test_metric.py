"""CannotLinkMetric: primal, dual and support vector machine, online steps, kernels, sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from sidelight import Constraints
from sidelight._fit.scatter import pair_differences
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric import CannotLinkMetric
from sidelight.metric.cannot_link import _learned as module
from sidelight.metric.cannot_link._choice import choose_ascent, choose_products
from sidelight.metric.cannot_link._model import ModelAscent, PairModel
from sidelight.metric.cannot_link._solver import CoordinateAscent, solve
from sidelight.metric.cannot_link._sweeps import GramSweeps, MetricSweeps, PairGraph, SparseSweeps

EXACT = {"tol": 1e-10, "max_iter": 3000, "random_state": 0}


def apart(pairs, n):
    return Constraints(cannot_link=pairs, n_samples=n)


def random_problem(seed=0, n=30, d=4, n_pairs=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    pairs = rng.integers(n, size=(3 * n_pairs, 2))
    return X, apart(pairs[pairs[:, 0] != pairs[:, 1]][:n_pairs], n)


def sparse_problem(seed=0, n=60, d=200, entries=6, n_pairs=150):
    rng = np.random.default_rng(seed)
    places = np.array([rng.choice(d, entries, replace=False) for _ in range(n)]).ravel()
    X = sparse.csr_array(
        (rng.uniform(0.5, 2.0, n * entries), (np.repeat(np.arange(n), entries), places)), (n, d)
    )
    pairs = rng.integers(n, size=(3 * n_pairs, 2))
    return X, apart(pairs[pairs[:, 0] != pairs[:, 1]][:n_pairs], n)


# ------------------------------------------------------------------ closed forms


def test_one_pair():
    X = np.array([[1.0, 2.0, 0.0], [0.0, 4.0, 2.0]])
    d = X[0] - X[1]
    A = CannotLinkMetric(np.inf).fit(X, constraints=apart([(0, 1)], 2)).get_mahalanobis_matrix()
    np.testing.assert_allclose(A, np.outer(d, d) / np.dot(d, d) ** 2, atol=1e-12)


def test_orthogonal_differences():
    scales = np.array([0.5, 1.0, 3.0])
    X = np.vstack([np.zeros(3), np.diag(scales)])
    model = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=apart([(0, 1), (0, 2), (0, 3)], 4))
    np.testing.assert_allclose(model.dual_variables_, scales**-4.0, rtol=1e-8)


# ------------------------------------------------------------------ optimality


def test_gram_and_laplacian_give_all_distances():
    X, known = random_problem(2)
    model = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=known)
    W = np.zeros((30, 30))
    np.add.at(W, tuple(model.cannot_links_.T), model.dual_variables_)
    W += W.T
    laplacian, gram = np.diag(W.sum(axis=1)) - W, X @ X.T
    M = gram @ laplacian @ gram
    i, j = np.triu_indices(30, 1)
    expected = M[i, i] + M[j, j] - 2 * M[i, j]
    np.testing.assert_allclose(model.pair_distance(np.column_stack([i, j]), X) ** 2, expected)
    A = model.get_mahalanobis_matrix()
    assert np.sum(A**2) == pytest.approx(np.trace(laplacian @ gram @ laplacian @ gram))


# ------------------------------------------------------------------ invariances


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
def test_scale_and_rotation(seed, scale):
    X, known = random_problem(seed, n=12, d=3, n_pairs=10)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    one = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=known)
    A = one.get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(A).min() >= -1e-10 * np.abs(A).max()
    scaled = CannotLinkMetric(np.inf, **EXACT).fit(scale * X, constraints=known)
    close = {"rtol": 1e-4, "atol": 1e-5 * np.abs(A).max()}
    np.testing.assert_allclose(scaled.get_mahalanobis_matrix() * scale**2, A, **close)
    assert scaled.dual_variables_.sum() * scale**4 == pytest.approx(
        one.dual_variables_.sum(), rel=1e-6
    )
    turned = CannotLinkMetric(np.inf, **EXACT).fit(X @ turn.T, constraints=known)
    np.testing.assert_allclose(turned.get_mahalanobis_matrix(), turn @ A @ turn.T, **close)


def test_repeated_pairs_and_order_change_nothing():
    X, known = random_problem(3)
    A = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=known).get_mahalanobis_matrix()
    twice = np.concatenate([X, X])
    again = apart(np.concatenate([known.cannot_link, known.cannot_link + 30]), 60)
    other = CannotLinkMetric(np.inf, **EXACT).fit(twice, constraints=again)
    np.testing.assert_allclose(other.get_mahalanobis_matrix(), A, atol=1e-5 * np.abs(A).max())
    seed = {**EXACT, "random_state": 7}
    other = CannotLinkMetric(np.inf, **seed).fit(X, constraints=known)
    np.testing.assert_allclose(other.get_mahalanobis_matrix(), A, atol=1e-5 * np.abs(A).max())


def test_soft_becomes_hard_and_weights_are_prices():
    X, known = random_problem(4)
    hard = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=known)
    soft = CannotLinkMetric(1.01 * hard.dual_variables_.max(), **EXACT).fit(X, constraints=known)
    assert soft.objective_ == pytest.approx(hard.objective_, rel=1e-8)
    softer = CannotLinkMetric(0.5 * hard.dual_variables_.max(), **EXACT).fit(X, constraints=known)
    assert softer.objective_ < hard.objective_ * (1 - 1e-6)
    pairs = known.cannot_link
    double = Constraints(
        cannot_link=pairs, cannot_link_weight=np.full(len(pairs), 2.0), n_samples=30
    )
    weighted = CannotLinkMetric(0.01, **EXACT).fit(X, constraints=double)
    plain = CannotLinkMetric(0.02, **EXACT).fit(X, constraints=known)
    assert weighted.objective_ == pytest.approx(plain.objective_, rel=1e-8)


# ------------------------------------------------------------------ online


def test_online_is_feasible_but_longer_than_the_batch():
    X, known = random_problem(6)
    online = CannotLinkMetric(np.inf).partial_fit(X, constraints=known)
    batch = CannotLinkMetric(np.inf, **EXACT).fit(X, constraints=known)
    assert online.pair_distance(known.cannot_link, X).min() >= 1 - 1e-9
    assert np.linalg.norm(online.get_mahalanobis_matrix()) > np.linalg.norm(
        batch.get_mahalanobis_matrix()
    )


# ------------------------------------------------------------------ kernels, sparse rows


def test_linear_kernels_are_linear():
    X, known = random_problem(7)
    new = np.random.default_rng(1).normal(size=(10, 4))
    plain = CannotLinkMetric(0.05, **EXACT).fit(X, constraints=known)
    given_kernel = CannotLinkMetric(0.05, base_kernel="precomputed", **EXACT)
    given_kernel.fit(X @ X.T, constraints=known)
    named = CannotLinkMetric(
        0.05, base_kernel="poly", kernel_params={"degree": 1, "gamma": 1.0, "coef0": 3.0}, **EXACT
    ).fit(X, constraints=known)
    pairs = np.column_stack(np.triu_indices(10, 1))
    expected = plain.pair_distance(pairs, new)
    np.testing.assert_allclose(given_kernel.pair_distance(pairs, new @ X.T), expected, rtol=1e-5)
    np.testing.assert_allclose(named.pair_distance(pairs, new), expected, rtol=1e-5)
    mapped = named.transform(new)
    gaps = mapped[pairs[:, 0]] - mapped[pairs[:, 1]]
    np.testing.assert_allclose(np.linalg.norm(gaps, axis=1), expected, rtol=1e-5)
    distance = named.get_metric()
    assert distance(new[0], new[1]) == pytest.approx(expected[0], rel=1e-5)
    assert distance(new[0], new[1], squared=True) == pytest.approx(expected[0] ** 2, rel=1e-5)
    with pytest.raises(ValueError, match="u must be one vector"):
        distance(new[:2], new[:2])
    with pytest.raises(SidelightError, match="no matrix of features"):
        named.get_mahalanobis_matrix()


def test_kernel_distances_of_new_rows():
    X, known = random_problem(8)
    new = np.random.default_rng(2).normal(size=(6, 4))
    model = CannotLinkMetric(base_kernel="rbf", kernel_params={"gamma": 0.3}, **EXACT)
    model.fit(X, constraints=known)
    k = rbf_kernel(X, new, gamma=0.3)
    i, j = model.cannot_links_.T
    edges = k[i] - k[j]
    pairs = np.column_stack(np.triu_indices(6, 1))
    expected = ((edges[:, pairs[:, 0]] - edges[:, pairs[:, 1]]) ** 2).T @ model.dual_variables_
    np.testing.assert_allclose(model.pair_distance(pairs, new) ** 2, expected, rtol=1e-6)
    inner = model.kernel(new)
    np.testing.assert_allclose(inner, edges.T @ (edges * model.dual_variables_[:, None]), atol=1e-8)


def test_leading_directions_of_a_kernel_are_those_of_the_metric():
    X, known = random_problem(7)
    pairs = np.column_stack(np.triu_indices(30, 1))
    plain = CannotLinkMetric(0.05, n_components=2, **EXACT).fit(X, constraints=known)
    other = CannotLinkMetric(0.05, n_components=2, base_kernel="precomputed", **EXACT)
    other.fit(X @ X.T, constraints=known)
    assert other.transform(X @ X.T).shape == plain.transform(X).shape == (30, 2)
    np.testing.assert_allclose(
        other.pair_distance(pairs, X @ X.T), plain.pair_distance(pairs, X), rtol=1e-4, atol=1e-5
    )


# ------------------------------------------------------------------ bad input


def test_equal_rows_are_left_out():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    known = Constraints(cannot_link=[("ann", "bob"), ("ann", "cem")], ids=["ann", "bob", "cem"])
    with pytest.warns(ConstraintWarning, match="1 of 2 cannot-links.*'ann' and 'bob'"):
        model = CannotLinkMetric().fit(X, constraints=known)
    np.testing.assert_array_equal(model.cannot_links_, [[0, 2]])
    with (
        pytest.warns(ConstraintWarning),
        pytest.raises(SidelightError, match=r"Every cannot-link joins.*row 0 and row 1"),
    ):
        CannotLinkMetric().fit(X, constraints=apart([(0, 1)], 3))


def test_cannot_links_are_needed():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(SidelightError, match="there are none"):
        CannotLinkMetric().fit(X, constraints=Constraints([(0, 1)], n_samples=3))
    with pytest.warns(ConstraintWarning, match="Euclidean"):
        model = CannotLinkMetric().fit(X)
    np.testing.assert_array_equal(model.get_mahalanobis_matrix(), np.eye(2))


def test_warnings_and_wrong_parameters():
    X, known = sparse_problem()
    frequent = X.toarray()
    frequent[:30, 3] = 1.0
    with pytest.warns(UserWarning, match=r"1 features \(the first is number 3\)"):
        CannotLinkMetric().fit(sparse.csr_array(frequent), constraints=known)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        CannotLinkMetric(np.inf, max_iter=1, tol=1e-12).fit(X, constraints=known)
    with pytest.raises(ValueError, match="penalty must be a number above 0"):
        CannotLinkMetric(0.0).fit(X, constraints=known)
    with pytest.raises(SidelightError, match="rows to come"):
        CannotLinkMetric(base_kernel="precomputed").partial_fit(np.eye(3))
    with pytest.raises(ValueError, match="square"):
        CannotLinkMetric(base_kernel="precomputed").fit(X, constraints=known)


# --- what it is made of ---


def squares(A, gaps):
    return np.einsum("pd,de,pe->p", gaps, A, gaps)


# ------------------------------------------------------------------ optimality


@pytest.mark.parametrize("C", [0.003, 0.05, 1.0, np.inf])
def test_optimality_conditions_and_no_gap(C):
    X, known = random_problem()
    model = CannotLinkMetric(C, **EXACT).fit(X, constraints=known)
    assert model.converged_
    gaps = pair_differences(X, model.cannot_links_)
    alpha = model.dual_variables_
    A = (gaps * alpha[:, None]).T @ gaps
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), A, atol=1e-9)
    assert np.linalg.eigvalsh(A).min() > -1e-12
    margins = squares(A, gaps)
    assert np.all((alpha >= 0) & (alpha <= C))
    assert np.all(margins[alpha == 0] >= 1 - 1e-6)
    np.testing.assert_allclose(margins[(alpha > 0) & (alpha < C)], 1.0, atol=1e-6)
    assert np.all(margins[alpha == C] <= 1 + 1e-6)
    slack = 0.0 if np.isinf(C) else C * np.maximum(1 - margins, 0).sum()
    primal = 0.5 * np.sum(A**2) + slack
    dual = alpha.sum() - 0.5 * np.sum(((gaps @ gaps.T) ** 2) * np.outer(alpha, alpha))
    assert primal == pytest.approx(dual, rel=1e-7)
    assert model.objective_ == pytest.approx(primal, rel=1e-7)
    assert np.all(np.diff(model.history_) <= 1e-12)
    if np.isinf(C):  # the smallest distance for the length of A
        assert margins.min() / np.linalg.norm(A) == pytest.approx(1 / np.linalg.norm(A), rel=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_it_is_a_support_vector_machine(C):
    X, known = random_problem(1)
    A = CannotLinkMetric(C, **EXACT).fit(X, constraints=known).get_mahalanobis_matrix()
    gaps = pair_differences(X, known.cannot_link)
    sign = np.repeat([1, -1], len(gaps))
    # Every example and its mirror image, so that the bias is 0; each has half the price.
    inner = (gaps @ gaps.T) ** 2
    mirrored = np.block([[inner, -inner], [-inner, inner]])
    dual = SVC(C=C / 2, kernel="precomputed", tol=1e-9).fit(mirrored, sign)
    alpha = np.zeros(2 * len(gaps))
    alpha[dual.support_] = np.abs(dual.dual_coef_[0])
    weights = alpha.reshape(2, -1).sum(axis=0)
    np.testing.assert_allclose((gaps * weights[:, None]).T @ gaps, A, atol=1e-5 * np.abs(A).max())
    features = np.einsum("pd,pe->pde", gaps, gaps).reshape(len(gaps), -1)
    primal = LinearSVC(
        C=C / 2, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0
    ).fit(np.vstack([features, -features]), sign)
    np.testing.assert_allclose(primal.coef_.reshape(4, 4), A, atol=1e-4 * np.abs(A).max())


def test_all_ways_to_the_margins_agree():
    X, known = sparse_problem()
    pairs = known.cannot_link
    for C in (0.002, np.inf):
        graph = PairGraph(pairs[:, 0].copy(), pairs[:, 1].copy(), np.full(len(pairs), C))
        gram = (X @ X.T).toarray()
        ways = (MetricSweeps(X, graph), GramSweeps(gram, graph), SparseSweeps(X, graph))
        found = [
            solve(
                CoordinateAscent(way),
                graph.upper,
                max_iter=2000,
                tol=1e-9,
                rng=np.random.RandomState(0),
            )
            for way in ways
        ]
        for other in found[1:]:
            assert other.dual == pytest.approx(found[0].dual, rel=1e-8)
            np.testing.assert_allclose(other.margins, found[0].margins, rtol=1e-4)


def words(seed=0, n=60, d=3000, n_pairs=150):
    """Rows in so many words that the metric is not formed."""
    return sparse_problem(seed, n=n, d=d, entries=40, n_pairs=n_pairs)


def test_the_model_has_the_right_diagonal_and_products_are_exact():
    X, known = words()
    first, second = np.ascontiguousarray(known.cannot_link.T)
    graph = PairGraph(first, second, np.full(len(first), np.inf))
    model = PairModel(X, graph)
    gaps = (X[first] - X[second]).toarray()
    Q = (gaps @ gaps.T) ** 2
    np.testing.assert_allclose(model.differences.toarray(), gaps)
    held = (model._values, model._places, model._indptr)
    F = sparse.csr_array(held, (len(first), sum(X.shape))).toarray()
    np.testing.assert_allclose((F**2).sum(axis=1) + model._rest, Q.diagonal())
    for p, (i, j) in enumerate(known.cannot_link):
        along = [(X[[k]].toarray()[0] @ gaps[p]) ** 2 / np.sum(X[[k]].data ** 2) for k in (i, j)]
        np.testing.assert_allclose(F[p, X.shape[1] + np.array([i, j])], along)
    weight = np.random.default_rng(0).normal(size=len(first))
    np.testing.assert_allclose(model.products(weight), Q @ weight)
    gram = choose_products(X, graph)
    assert isinstance(gram, GramSweeps)
    np.testing.assert_allclose(gram.gram, (X @ X.T).toarray())
    np.testing.assert_allclose(gram.products(weight), Q @ weight)
    np.testing.assert_allclose(SparseSweeps(X, graph).products(weight), Q @ weight)


@pytest.mark.parametrize("C", [3e-6, 1e-5, np.inf])
@pytest.mark.parametrize("by", ["features", "gram"])
def test_ascent_in_the_model_comes_to_the_same_optimum(C, by):
    X, known = words(1, n_pairs=700)
    first, second = np.ascontiguousarray(known.cannot_link.T)
    graph = PairGraph(first, second, np.full(len(first), C))
    model, sweeps = PairModel(X, graph), choose_products(X, graph)
    products = model.products if by == "features" else sweeps.products
    settings = {"max_iter": 200, "tol": 1e-9, "rng": np.random.RandomState(0)}
    found = solve(ModelAscent(model, products, lambda: sweeps), graph.upper, **settings)
    other = solve(CoordinateAscent(sweeps), graph.upper, **settings)
    assert found.converged
    assert found.dual == pytest.approx(other.dual, rel=1e-8)
    np.testing.assert_allclose(found.margins, other.margins, rtol=1e-4)
    assert np.all((found.alpha >= 0) & (found.alpha <= C))
    assert np.all(np.diff(found.history) <= 1e-12 * abs(found.history[-1]))
    np.testing.assert_allclose(sweeps.products(found.alpha), found.margins, rtol=1e-9)


def test_many_sparse_features_go_by_the_model_and_few_steps_are_enough():
    X, known = words(2, n=200, d=6000, n_pairs=600)
    graph = PairGraph(*np.ascontiguousarray(known.cannot_link.T), np.ones(len(known.cannot_link)))
    assert isinstance(choose_ascent(X, graph), ModelAscent)
    assert isinstance(choose_ascent(X[:, :30], graph), CoordinateAscent)
    model = CannotLinkMetric(random_state=0).fit(X, constraints=known)
    assert model.converged_
    assert model.n_iter_ <= 8
    assert np.all(np.diff(model.history_) <= 0)


def test_coordinate_ascent_goes_on_where_the_model_is_poor():
    # Words that come twenty at a time: pairs share products of words, which the model leaves out.
    rng = np.random.default_rng(0)
    topics = rng.uniform(size=(40, 250)) < 0.02
    topics[np.arange(40), rng.integers(250, size=40)] = True
    X = sparse.csr_array(np.repeat(topics, 20, axis=1).astype(float))
    pairs = np.column_stack(np.triu_indices(40, 1))[rng.permutation(780)[:300]]
    graph = PairGraph(*np.ascontiguousarray(pairs.T), np.full(300, np.inf))
    begun = []

    def sweeps():
        begun.append(True)
        return choose_products(X, graph)

    model = PairModel(X, graph)
    settings = {"max_iter": 300, "tol": 1e-6, "rng": np.random.RandomState(0)}
    found = solve(ModelAscent(model, model.products, sweeps), graph.upper, **settings)
    assert begun
    assert found.converged
    other = solve(CoordinateAscent(choose_products(X, graph)), graph.upper, **settings)
    assert found.dual == pytest.approx(other.dual, rel=1e-5)


# ------------------------------------------------------------------ online


@pytest.mark.parametrize("C", [0.01, np.inf])
@pytest.mark.parametrize("held_by", ["metric", "pairs", "sparse pairs", "kernel"])
def test_online_steps_are_their_closed_forms(C, held_by, monkeypatch):
    X, known = random_problem(5, n_pairs=100)
    expected = np.zeros((4, 4))
    n_updates = 0
    for i, j in known.cannot_link:
        d = X[i] - X[j]
        short = 1 - d @ expected @ d
        if short > 0:
            step = min(short / np.dot(d, d) ** 2, C)
            expected += step * np.outer(d, d)
            n_updates += 1
            assert d @ expected @ d <= 1 + 1e-12
            if np.isinf(C):
                assert d @ expected @ d == pytest.approx(1.0)
    rows = sparse.csr_array(X) if held_by == "sparse pairs" else X
    if held_by in ("pairs", "sparse pairs"):
        monkeypatch.setattr(module, "ALL_DIRECTIONS", 1)
    model = CannotLinkMetric(C, base_kernel=np.dot if held_by == "kernel" else "linear")
    first, second = known.cannot_link[:37], known.cannot_link[37:]
    model.partial_fit(rows, constraints=apart(first, 30))
    model.partial_fit(rows, constraints=apart(second, 30))
    assert model.n_updates_ == n_updates
    i, j = np.triu_indices(30, 1)
    np.testing.assert_allclose(
        model.pair_distance(np.column_stack([i, j]), rows) ** 2,
        squares(expected, X[i] - X[j]),
        atol=1e-9,
    )


# ------------------------------------------------------------------ kernels, sparse rows


def test_many_dimensions_without_a_matrix(monkeypatch):
    X, known = sparse_problem()
    plain = CannotLinkMetric(**EXACT).fit(X, constraints=known)
    pairs = np.column_stack(np.triu_indices(60, 1))
    expected = plain.pair_distance(pairs, X)
    monkeypatch.setattr(module, "ALL_DIRECTIONS", 10)
    large = CannotLinkMetric(**EXACT).fit(X, constraints=known)
    assert not hasattr(large, "components_")
    np.testing.assert_allclose(large.pair_distance(pairs, X), expected, rtol=1e-5)
    dense = X.toarray()
    np.testing.assert_allclose(
        large.pair_distance(dense[pairs].reshape(-1, 2, 200)), expected, rtol=1e-5
    )
    np.testing.assert_allclose(large.kernel(X), plain.kernel(X), atol=1e-6)
    assert large.get_metric()(dense[0], dense[1]) == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(
        large.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), atol=1e-6
    )
    with pytest.raises(SidelightError, match="n_components=100"):
        large.transform(X)
    few = CannotLinkMetric(n_components=5, **EXACT).fit(X, constraints=known)
    values, vectors = np.linalg.eigh(plain.get_mahalanobis_matrix())
    leading = (vectors * np.maximum(values, 0))[:, -5:] @ vectors[:, -5:].T
    np.testing.assert_allclose(few.components_.T @ few.components_, leading, atol=1e-6)
    monkeypatch.setattr(module, "ALL_DIRECTIONS", 100)  # fewer rows than features
    by_rows = CannotLinkMetric(**EXACT).fit(X, constraints=known)
    np.testing.assert_allclose(by_rows.pair_distance(pairs, X), expected, rtol=1e-5, atol=1e-6)
