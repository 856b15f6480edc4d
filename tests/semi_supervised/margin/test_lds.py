"""Low-density separation: distances, gradient, balance, and the classifier for new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from tests.graphs.indices import with_small_indices

from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import distance_graph
from sidelight.semi_supervised import LowDensitySeparation
from sidelight.semi_supervised.margin import _lds, _low_density
from sidelight.semi_supervised.margin._lds import learner_values
from sidelight.semi_supervised.margin._low_density import (
    GradientTSVM,
    density_distances,
    descend_in_stages,
    gaussian_of,
    spectral_features,
)


def few_labels(y, per_class=2):
    labels = np.full(len(y), -1)
    for code in np.unique(y):
        labels[np.flatnonzero(y == code)[:per_class]] = code
    return labels


# ------------------------------------------------------------------ separation


def test_balance_of_a_fit():
    X, y = make_moons(100, noise=0.1, random_state=0)
    labels = few_labels(y)
    labels[np.flatnonzero(y == 1)[2:5]] = 1
    known = labels[labels >= 0]
    shares = ("labels", "equal", [0.3, 0.7], "auto")
    expected = [(known == 1).mean(), 0.5, 0.7, 0.5]
    for given, share in zip(shares, expected, strict=True):
        model = LowDensitySeparation(class_shares=given).fit(X, labels)
        assert model.class_shares_[1] == pytest.approx(share, abs=0.03 if given == "auto" else 1e-9)
        mean = model.transduction_values_[labels < 0].mean()
        assert mean == pytest.approx(2 * model.class_shares_[1] - 1, abs=1e-8)


# ------------------------------------------------------------------ use


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_two_moons_and_rings_with_four_labels(make):
    shape = {"factor": 0.5} if make is make_circles else {}
    X, y = make(300, noise=0.05, random_state=0, **shape)
    model = LowDensitySeparation("rbf-svm").fit(X, few_labels(y))
    assert np.mean(model.transduction_ == y) > 0.99
    new, truth = make(200, noise=0.05, random_state=1, **shape)
    assert model.score(new, truth) > 0.97


def test_without_unlabeled_rows_it_is_the_estimator():
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
    model = LowDensitySeparation(random_state=0).fit(X, y)
    peer = LinearSVC(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X))
    np.testing.assert_array_equal(model.transduction_, y)


def test_new_rows_are_classified_by_the_estimator_of_the_transduction():
    X, y = make_moons(120, noise=0.05, random_state=0)
    model = LowDensitySeparation(random_state=0).fit(X, few_labels(y))
    peer = LinearSVC(random_state=0).fit(X, model.transduction_)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X))
    assert np.any(model.transduction_ != model.predict(X))  # a line does not part moons


def test_more_classes():
    X, y = make_blobs(150, centers=4, cluster_std=1.0, random_state=3)
    model = LowDensitySeparation().fit(X, few_labels(y, 3))
    assert model.transduction_values_.shape == (150, 4)
    assert np.mean(model.transduction_ == y) > 0.95
    assert model.decision_function(X).shape == (150, 4)


def test_sparse_rows_give_what_dense_ones_do():
    X, y = make_blobs(80, n_features=6, centers=2, cluster_std=2.0, random_state=0)
    X = np.where(X > 0, X, 0)
    labels = few_labels(y, 5)
    one = LowDensitySeparation("logistic").fit(X, labels)
    other = LowDensitySeparation("logistic").fit(sparse.csr_matrix(X), labels)
    np.testing.assert_allclose(other.transduction_values_, one.transduction_values_, atol=1e-5)
    np.testing.assert_array_equal(other.transduction_, one.transduction_)


def test_the_unit_of_the_rows_does_not_matter():
    X, y = make_moons(100, noise=0.05, random_state=0)
    one = LowDensitySeparation().fit(X, few_labels(y))
    other = LowDensitySeparation().fit(1024 * X, few_labels(y))
    np.testing.assert_allclose(other.transduction_values_, one.transduction_values_, atol=1e-6)
    assert other.edge_length_ == pytest.approx(1024 * one.edge_length_)


def test_parts_without_labels_are_told():
    X, y = make_blobs(60, centers=[[0, 0], [10, 0], [0, 50]], cluster_std=0.5, random_state=0)
    labels = np.where(y == 2, -1, few_labels(y))
    with pytest.warns(ConstraintWarning, match="20 unlabeled rows.*joined to the others"):
        model = LowDensitySeparation(n_neighbors=4).fit(X, labels)
    assert model.n_cut_off_ == 20
    assert np.isfinite(model.transduction_values_).all()
    np.testing.assert_array_equal(model.transduction_[y < 2], y[y < 2])


def test_a_search_that_is_cut_short_is_told():
    X, y = make_moons(50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped a stage after 1 steps"):
        model = LowDensitySeparation(max_iter=1).fit(X, few_labels(y))
    assert not model.converged_


def test_estimators_that_are_none():
    X, y = make_moons(50, random_state=0)
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(SidelightError, match="has no predict"):
        LowDensitySeparation(StandardScaler()).fit(X, few_labels(y))


# --- what it is made of ---


@pytest.fixture(scope="module")
def graph():
    X = np.random.default_rng(0).normal(size=(60, 2))
    return distance_graph(X, n_neighbors=6)


# ------------------------------------------------------------------ distances


def test_small_rho_gives_path_lengths(graph):
    expected = shortest_path(with_small_indices(graph), directed=False)
    np.testing.assert_allclose(density_distances(graph, 0.0), expected, rtol=1e-12)
    np.testing.assert_allclose(density_distances(graph, 1e-7), expected, rtol=1e-5)
    kernel = gaussian_of(density_distances(graph, 1e-7), 0.8)
    np.testing.assert_allclose(kernel, np.exp(-(expected**2) / (2 * 0.8**2)), atol=1e-5)


def test_large_rho_gives_the_longest_edge_that_cannot_be_avoided(graph):
    tree = minimum_spanning_tree(with_small_indices(graph))
    tree = (tree + tree.T).toarray()
    n = len(tree)
    longest = np.zeros((n, n))
    for start in range(n):  # along the tree the longest edge is the smallest possible
        reached, stack = {start}, [start]
        while stack:
            here = stack.pop()
            for there in np.flatnonzero(tree[here]):
                if there not in reached:
                    longest[start, there] = max(longest[start, here], tree[here, there])
                    reached.add(there)
                    stack.append(there)
    np.testing.assert_allclose(density_distances(graph, 300.0), longest, atol=0.02)


def test_distances_between_the_limits(graph):
    rho = 3.0
    lengths = graph.copy()
    lengths.data = np.exp(rho * lengths.data) - 1
    expected = np.log(1 + shortest_path(with_small_indices(lengths), directed=False)) / rho
    found = density_distances(graph, rho)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(found, found.T)
    assert np.all(found <= density_distances(graph, 0.0) + 1e-12)


def test_lengths_beyond_the_range_stay_finite(graph):
    far = graph * 1e5
    assert np.isfinite(density_distances(sparse.csr_array(far), 2.0)).all()


def test_features_have_the_products_of_the_centered_kernel(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))
    kernel = gaussian_of(np.linalg.norm(X[:, None] - X[None], axis=2), 1.0)
    H = np.eye(50) - 1 / 50
    features = spectral_features(kernel, 0.0)
    np.testing.assert_allclose(features @ features.T, H @ kernel @ H, atol=1e-9)
    values = np.linalg.eigvalsh(H @ kernel @ H)[::-1]
    fewer = spectral_features(kernel, 0.1)
    np.testing.assert_allclose((fewer**2).sum(axis=0), values[values > 0.1 * values[0]], rtol=1e-9)
    monkeypatch.setattr(_low_density, "ALL_EIGENVECTORS", 10)
    monkeypatch.setattr(_low_density, "LEADING_EIGENVECTORS", 30)
    leading = spectral_features(kernel, 0.1)
    np.testing.assert_allclose(leading @ leading.T, fewer @ fewer.T, atol=1e-9)


# ------------------------------------------------------------------ separation


def test_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    signs = np.concatenate([[1.0, -1.0, 1.0], np.zeros(20)])
    problem = GradientTSVM.balanced(rng.normal(size=(23, 5)), signs, signs[signs != 0].mean())
    w = rng.normal(size=5)
    expected = [
        (problem.objective(w + e, 3.0, 0.7)[0] - problem.objective(w - e, 3.0, 0.7)[0]) / 2e-6
        for e in 1e-6 * np.eye(5)
    ]
    np.testing.assert_allclose(problem.objective(w, 3.0, 0.7)[1], expected, rtol=1e-6, atol=1e-7)
    f = problem.values(w)
    value = 0.5 * w @ w + 3.0 * np.sum(np.maximum(1 - signs[:3] * f[:3], 0) ** 2)
    assert problem.objective(w, 3.0, 0.7)[0] == pytest.approx(
        value + 0.7 * np.exp(-3 * f[3:] ** 2).sum()
    )


@pytest.mark.parametrize("n_positive", [1, 3, 5])
def test_balance(n_positive):
    rng = np.random.default_rng(1)
    signs = np.zeros(40)
    signs[:6] = -1
    signs[:n_positive] = 1
    problem = GradientTSVM.balanced(rng.normal(size=(40, 4)) + 3, signs, signs[signs != 0].mean())
    found = descend_in_stages(problem, 10.0, 1.0, max_iter=500, tol=1e-8)
    assert found.values[6:].mean() == pytest.approx(signs[:6].mean(), abs=1e-9)
    assert found.converged
    assert len(found.history) == 11


# ------------------------------------------------------------------ use


def test_what_is_too_much_is_refused(monkeypatch):
    X, y = make_moons(50, random_state=0)
    monkeypatch.setattr(_lds, "MAX_ROWS", 40)
    with pytest.raises(SidelightError, match=r"all 50 rows.*more than 40 are refused"):
        LowDensitySeparation().fit(X, few_labels(y))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_of_any_learner(n_classes):
    class OnlyClasses:
        def __init__(self, inner):
            self.inner = inner

        def predict(self, rows):
            return self.inner.predict(rows)

    X, y = make_blobs(60, centers=n_classes, cluster_std=3.0, random_state=0)
    neighbors = KNeighborsClassifier(3).fit(X, y)
    for learner in (RidgeClassifier().fit(X, y), neighbors, OnlyClasses(neighbors)):
        values = learner_values(learner, X, n_classes)
        assert values.shape == ((60,) if n_classes == 2 else (60, n_classes))
        chosen = values > 0 if n_classes == 2 else values.argmax(axis=1)
        np.testing.assert_array_equal(chosen, learner.predict(X))
