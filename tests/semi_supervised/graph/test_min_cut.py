"""Minimum cuts: brute force over all labelings, another solver, bounds, degenerate cuts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow
from tests.semi_supervised.graph.graphs import blobs, random_graph, some_labels

from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import cut_values, neighbor_graph
from sidelight.semi_supervised import MinCutClassifier
from sidelight.semi_supervised.graph._flow import (
    cut_by_isolation,
    cut_in_two,
    edges_of,
    improve_by_swaps,
    separate,
)


def test_the_flow_is_that_of_scipy() -> None:
    X, y, _ = blobs(600)
    labels = np.where(np.arange(600) % 30 == 0, y % 2, -1)
    W = neighbor_graph(X, 6)
    W.data = np.ceil(1000 * W.data)
    model = MinCutClassifier(graph="precomputed").fit(W, labels)
    total = sparse.lil_array((602, 602))
    total[:600, :600] = W
    for code in (0, 1):
        total[np.flatnonzero(labels == code), 600 + code] = 1e8
        total[600 + code, np.flatnonzero(labels == code)] = 1e8
    flow = maximum_flow(sparse.csr_array(total, dtype=np.int32), 600, 601).flow_value
    assert model.objective_ * W.data.max() == pytest.approx(flow)
    assert cut_values(W, model.transduction_).cut == pytest.approx(flow)


def test_a_degenerate_cut_is_told_with_numbers() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + 2 * y[:, None]
    known = np.full(200, -1)
    known[[0, 150]] = 0, 1
    with pytest.warns(
        ConstraintWarning,
        match=r"degenerate: of 198 unlabeled rows.* \d \(99 expected by the labels\)",
    ):
        MinCutClassifier(10).fit(X, known)


def test_several_cuts_give_probabilities() -> None:
    X, _, known = blobs(150, 30)
    one = MinCutClassifier(random_state=0).fit(X, known)
    many = MinCutClassifier(n_cuts=15, random_state=0).fit(X, known)
    again = MinCutClassifier(n_cuts=15, random_state=0).fit(X, known)
    p = many.label_distributions_
    np.testing.assert_array_equal(p, again.label_distributions_)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.isin(one.label_distributions_, (0, 1)).all()
    assert ((p > 0) & (p < 1)).any()
    np.testing.assert_allclose(p * 15, np.round(p * 15), atol=1e-9)
    assert many.objective_ >= one.objective_ - 1e-9
    calm = MinCutClassifier(n_cuts=3, noise=0.0, random_state=0).fit(X, known)
    np.testing.assert_array_equal(calm.label_distributions_, one.label_distributions_)


def test_degenerate_cuts_do_not_vote_where_there_are_others() -> None:
    """Of 40 random graphs 28 are cut around the labels, the others between two clouds."""
    rng = np.random.default_rng(27)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 2.2 * y[:, None]
    known = np.full(120, -1)
    known[[0, 1, 60, 61]] = 0, 0, 1, 1
    model = MinCutClassifier(n_cuts=40, noise=0.9, random_state=0).fit(X, known)
    counts = np.bincount(model.transduction_, minlength=2)
    assert counts.min() > 20


def test_of_labeled_rows_only_the_cut_is_that_of_the_labels() -> None:
    X, y, _ = blobs(90)
    model = MinCutClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, y)
    assert np.mean(model.predict(X) == y) > 0.8


def test_parts_without_labels_hang_on_the_others() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [7.0], [7.1], [7.2]])
    with pytest.warns(ConstraintWarning, match="3 of 9 rows"):
        model = MinCutClassifier(1).fit(X, [0, -1, -1, 1, *[-1] * 5])
    np.testing.assert_array_equal(model.transduction_, [0] * 3 + [1] * 6)


# --- what it is made of ---


def lightest_cut(W: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """Minimum over all labelings of the unlabeled rows."""
    free = np.flatnonzero(labels < 0)
    best = np.inf
    classes = labels.copy()
    for choice in product(range(n_classes), repeat=len(free)):
        classes[free] = choice
        best = min(best, W[classes[:, None] != classes[None, :]].sum() / 2)
    return float(best)


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 10), st.integers(0, 10**6), st.booleans())
def test_two_classes_are_cut_at_the_minimum(n: int, seed: int, whole: bool) -> None:
    """``whole`` weights make ties, of which any is a minimum."""
    W = random_graph(n, seed)
    W = np.ceil(3 * W) if whole else W
    labels = some_labels(n, 2, min(n, 2 + seed % 3), seed)
    classes = cut_in_two(edges_of(sparse.csr_array(W), labels))
    found = W[classes[:, None] != classes[None, :]].sum() / 2
    assert found == pytest.approx(lightest_cut(W, labels, 2))
    np.testing.assert_array_equal(classes[labels >= 0], labels[labels >= 0])


@settings(deadline=None, max_examples=30)
@given(st.integers(4, 8), st.integers(3, 4), st.integers(0, 10**6))
def test_more_classes_keep_the_bound_of_isolating_cuts(n: int, n_classes: int, seed: int) -> None:
    W = random_graph(n, seed)
    labels = some_labels(n, n_classes, n_classes, seed)
    edges = edges_of(sparse.csr_array(W), labels)
    best = lightest_cut(W, labels, n_classes)
    start = cut_by_isolation(edges, n_classes)
    classes, history = improve_by_swaps(edges, start, n_classes)
    assert best * (1 - 1e-9) <= history[-1] <= edges.cut(start) * (1 + 1e-9)
    assert edges.cut(start) <= (2 - 2 / n_classes) * best * (1 + 1e-9)
    assert edges.cut(classes) == pytest.approx(history[-1])
    np.testing.assert_array_equal(classes[labels >= 0], labels[labels >= 0])


def test_isolated_sets_of_classes_are_disjoint() -> None:
    for seed in range(20):
        labels = some_labels(30, 4, 8, seed)
        edges = edges_of(sparse.csr_array(random_graph(30, seed, 0.15)), labels)
        inside = np.array([separate(edges, code)[0] for code in range(4)])
        assert inside.sum(axis=0).max() == 1


def test_swaps_make_the_cut_of_several_classes_lighter() -> None:
    gains = []
    for seed in range(10):
        labels = some_labels(40, 4, 10, seed)
        edges = edges_of(sparse.csr_array(random_graph(40, seed, 0.1)), labels)
        start = cut_by_isolation(edges, 4)
        gains.append(edges.cut(start) - improve_by_swaps(edges, start, 4)[1][-1])
    assert min(gains) >= 0
    assert max(gains) > 0.1


def test_rows_on_which_minimum_cuts_differ_go_where_rows_are_fewer() -> None:
    """A chain of equal weights can be cut anywhere; one class has rows of its own already."""
    W = np.zeros((9, 9))
    for i, j in [(0, 1), (1, 2), (2, 3), (3, 4)]:
        W[i, j] = W[j, i] = 1.0
    for leaf in range(5, 9):  # hang on the first row
        W[0, leaf] = W[leaf, 0] = 5.0
    labels = np.array([0, -1, -1, -1, 1, *[-1] * 4])
    classes = cut_in_two(edges_of(sparse.csr_array(W), labels))
    np.testing.assert_array_equal(classes, [0, 1, 1, 1, 1, 0, 0, 0, 0])
