"""Constant, equal and shifted columns: no score is a ratio of rounding errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sidelight import Constraints
from sidelight._fit.moments import moments
from sidelight.engine import as_rows
from sidelight.feature_selection import (
    ConstraintScore,
    FisherScore,
    ForwardConstraintSelector,
    LaplacianScore,
    OnlineConstraintSelector,
    VarianceScore,
)
from sidelight.feature_selection._groups import hierarchical_groups
from sidelight.feature_selection._scores import class_scatters, graph_sums
from sidelight.graphs import full_graph, neighbor_graph

SCORES = {
    "variance": VarianceScore(),
    "fisher": FisherScore(),
    "laplacian": LaplacianScore(),
    "ratio": ConstraintScore(),
    "difference": ConstraintScore(criterion="difference"),
    "product": ConstraintScore(criterion="laplacian*constraint"),
    "locality": ConstraintScore(criterion="locality"),
    "forward": ForwardConstraintSelector(),
    "online": OnlineConstraintSelector(random_state=0),
}


FORMS = {
    "dense": lambda X: X,
    "csr": sparse.csr_array,
    "float32": lambda X: X.astype(np.float32),
}


def example(n: int = 70, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A feature in which classes lie five deviations apart, and two of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return np.column_stack([5.0 * y + rng.normal(size=n), rng.normal(size=(n, 2)) * [1, 2]]), y


def knowledge(y: np.ndarray, by: str) -> dict[str, object]:
    if by == "labels":
        return {"y": y}
    return {"constraints": Constraints.sample(y, 60, random_state=0)}


@pytest.mark.parametrize("by", ["labels", "pairs"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SCORES)
def test_constant_columns_come_last_and_equal_ones_have_equal_scores(name, form, by):
    if name == "fisher" and by == "pairs":
        by = "labels"
    X, y = example()
    n = len(X)
    noise = np.array([1, 1 + 2e-16])[np.arange(n) % 2] / 3  # a third, up to its last digit
    flat = [np.full(n, value) for value in (0.1, 1 / 3, 1e8 + 0.3)]
    if form != "float32" and name != "online":  # which takes pairs as they come
        flat.append(noise)
    table = np.column_stack([flat[0], X, *flat[1:], X])
    model = SCORES[name].fit(FORMS[form](table), **knowledge(y, by))
    constant = [0, *range(4, 4 + len(flat) - 1)]
    none = 0.0 if name in ("variance", "online") else np.nan
    np.testing.assert_array_equal(model.scores_[constant], none)
    assert set(model.ranking_[constant]) == set(range(7, 7 + len(flat)))
    if name != "forward":  # whose second of two equal columns adds nothing
        np.testing.assert_allclose(model.scores_[-3:], model.scores_[1:4], rtol=1e-12)
        assert np.argmin(model.ranking_) == 1


@pytest.mark.parametrize("by", ["labels", "pairs"])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("name", SCORES)
def test_a_shift_changes_no_score(name, form, by):
    if name == "fisher" and by == "pairs":
        by = "labels"
    X, y = example(seed=1)
    far = FORMS[form](X + np.array([1e8, -1e8, 0.0]))
    here = SCORES[name].fit(X, **knowledge(y, by)).scores_.copy()
    np.testing.assert_allclose(SCORES[name].fit(far, **knowledge(y, by)).scores_, here, rtol=1e-6)


@pytest.mark.parametrize("name", SCORES)
def test_the_order_of_the_columns_orders_the_scores(name):
    X, y = example(seed=2)
    one = SCORES[name].fit(X, y).scores_.copy()
    np.testing.assert_allclose(SCORES[name].fit(X[:, [2, 0, 1]], y).scores_, one[[2, 0, 1]])


def test_a_feature_that_is_constant_within_classes_is_perfect():
    y = np.arange(60) % 3
    X = np.column_stack([y * 0.1 + 1 / 3, y + np.random.default_rng(0).normal(0, 0.01, 60)])
    for rows in (X, sparse.csr_array(X), X + 1e8):
        scores = FisherScore().fit(rows, y).scores_
        assert np.isinf(scores[0])
        assert np.isfinite(scores[1])
        assert ConstraintScore().fit(rows, y).scores_[0] == 0.0


# --- what it is made of ---


@pytest.mark.parametrize("seed", range(3))
def test_scatters_of_classes_by_their_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.4)
    X[:, 3] = 0.0
    X[:, 4] += 3.0  # stored everywhere
    X[:, 5] = 1 / 3
    codes = np.append(rng.integers(0, 6, 48), [6, 6])
    codes = np.unique(codes, return_inverse=True)[1]
    weight = rng.uniform(1, 3, codes.max() + 1)
    within, between = np.zeros(6), np.zeros(6)
    for code in range(codes.max() + 1):
        members = X[codes == code]
        within += weight[code] * ((members - members.mean(axis=0)) ** 2).sum(axis=0)
        between += len(members) * (members.mean(axis=0) - X.mean(axis=0)) ** 2
    for rows in (X, sparse.csr_array(X)):
        found = class_scatters(rows, codes, weight)
        np.testing.assert_allclose(found[0], within, atol=1e-13)
        np.testing.assert_allclose(found[1], between, atol=1e-13)
        assert found[0][5] == found[1][5] == 0.0


def test_sums_over_edges_of_rows_far_from_a_zero():
    """A sparse column with one zero cannot be moved; its differences are exact all the same."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=(40, 1))
    W = neighbor_graph(f[1:], 4)
    W = sparse.csr_array(sparse.block_diag([np.zeros((1, 1)), W]))  # nothing joins the first row
    far = np.vstack([[[0.0]], f[1:] + 1e8])
    np.testing.assert_allclose(graph_sums(sparse.csr_array(far), W), graph_sums(f, W), rtol=1e-6)


def test_moments_of_sparse_rows_far_from_the_origin():
    X, _ = example(3_000)
    X[:, 2] = 0.0
    X[5, 2] = 1.0
    far = sparse.csr_array(X + np.array([1e8, 1e8, 0.0]))
    for full in (False, True):
        found = moments(as_rows(far), full=full)
        np.testing.assert_allclose(found.variances, X.var(axis=0), rtol=1e-6)
    constant = sparse.csr_array(np.full((500, 1), 0.1))
    assert moments(as_rows(constant)).variances[0] == 0.0


def test_graphs_and_groups_of_rows_far_from_the_origin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 20))  # so many features are compared by their squared lengths
    for rows in (X + 1e8, sparse.csr_array(X + 1e8)):
        np.testing.assert_allclose(
            neighbor_graph(rows, 5).toarray(), neighbor_graph(X, 5).toarray(), atol=1e-6
        )
        np.testing.assert_allclose(full_graph(rows), full_graph(X), atol=1e-6)
    twins = np.repeat(rng.normal(size=(80, 3)), 20, axis=1) + 0.1 * rng.normal(size=(80, 60))
    for rows in (twins + 1e8, sparse.csr_array(twins + 1e8)):
        np.testing.assert_array_equal(hierarchical_groups(rows), hierarchical_groups(twins))
