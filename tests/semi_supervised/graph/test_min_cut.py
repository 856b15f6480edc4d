"""Minimum cuts: brute force over all labelings, another solver, bounds, degenerate cuts."""

from __future__ import annotations

import re
import warnings
from itertools import combinations, product

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
    model = MinCutClassifier(graph="precomputed", class_shares="free").fit(W, labels)
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
        MinCutClassifier(10, class_shares="free").fit(X, known)
    with pytest.warns(ConstraintWarning) as told:
        MinCutClassifier(10).fit(X, known)
    (one,) = (str(warning.message) for warning in told)
    assert re.search(r"gives class \d (0|1|99|100)% of the unlabeled rows instead of", one)


def test_several_cuts_give_probabilities() -> None:
    X, _, known = blobs(150, 30)
    free = {"class_shares": "free", "random_state": 0}
    one = MinCutClassifier(**free).fit(X, known)
    many = MinCutClassifier(n_cuts=15, **free).fit(X, known)
    again = MinCutClassifier(n_cuts=15, **free).fit(X, known)
    p = many.label_distributions_
    np.testing.assert_array_equal(p, again.label_distributions_)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.isin(one.label_distributions_, (0, 1)).all()
    assert ((p > 0) & (p < 1)).any()
    np.testing.assert_allclose(p * 15, np.round(p * 15), atol=1e-9)
    assert many.objective_ >= one.objective_ - 1e-9
    calm = MinCutClassifier(n_cuts=3, noise=0.0, **free).fit(X, known)
    np.testing.assert_array_equal(calm.label_distributions_, one.label_distributions_)


def test_degenerate_cuts_do_not_vote_where_there_are_others() -> None:
    """Of 40 random graphs 28 are cut around the labels, the others between two clouds."""
    rng = np.random.default_rng(27)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 2.2 * y[:, None]
    known = np.full(120, -1)
    known[[0, 1, 60, 61]] = 0, 0, 1, 1
    model = MinCutClassifier(n_cuts=40, noise=0.9, class_shares="free", random_state=0)
    model.fit(X, known)
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


def labelings(labels: np.ndarray, n_classes: int, rows: np.ndarray | None = None) -> np.ndarray:
    """All classes of the unlabeled rows, or of some of them, one labeling in each row."""
    free = np.flatnonzero(labels < 0) if rows is None else rows
    found = np.tile(labels, (n_classes ** len(free), 1))
    found[:, free] = list(product(range(n_classes), repeat=len(free)))
    return found


def cuts_of(W: np.ndarray, all_classes: np.ndarray) -> np.ndarray:
    """Weight between the classes, in units of the largest weight."""
    apart = all_classes[:, :, None] != all_classes[:, None, :]
    return np.asarray((apart * W).sum(axis=(1, 2)) / 2 / W.max())


def lightest_by_count(W: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weight of the lightest cut for every number of unlabeled rows in class 1."""
    found = labelings(labels, 2)
    counts, cuts = found[:, labels < 0].sum(axis=1), cuts_of(W, found)
    return np.array([cuts[counts == count].min() for count in range(np.sum(labels < 0) + 1)])


def on_the_path(lightest: np.ndarray) -> np.ndarray:
    """Numbers of rows that are cheapest at some price: the corners of the lower convex hull."""
    n = np.arange(len(lightest))
    corners = []
    for k in n:
        left = (lightest[k] - lightest[:k]) / (k - n[:k])
        right = (lightest[k + 1 :] - lightest[k]) / (n[k + 1 :] - k)
        if not len(left) or not len(right) or left.max() < right.min():
            corners.append(k)
    return np.array(corners)


@settings(deadline=None, max_examples=60)
@given(st.integers(4, 10), st.integers(0, 10**6), st.floats(0.02, 0.98))
def test_two_classes_have_the_share_of_the_nearest_cut_with_a_price(
    n: int, seed: int, share: float
) -> None:
    """By enumeration: the labeling is cheapest at its price, and no other price comes nearer."""
    W = random_graph(n, seed, 0.3)
    labels = some_labels(n, 2, 2, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        model = MinCutClassifier(graph="precomputed", class_shares=[1 - share, share])
        model.fit(W, labels)
    lightest, free = lightest_by_count(W, labels), labels < 0
    price = model.class_prices_[1] - model.class_prices_[0]
    counts = np.arange(len(lightest))
    prices = model.class_prices_[0] * (len(lightest) - 1 - counts) + model.class_prices_[1] * counts
    assert model.objective_ == pytest.approx((lightest + prices).min())
    found = int(model.transduction_[free].sum())
    assert lightest[found] + price * found == pytest.approx((lightest + price * counts).min())
    wanted = share * free.sum()
    assert abs(found - wanted) <= np.abs(on_the_path(lightest) - wanted).min() + 1e-9
    np.testing.assert_array_equal(model.transduction_[~free], labels[~free])


def test_more_of_a_class_has_a_lower_price_and_the_same_rows_and_others() -> None:
    X, y, _ = blobs(300)
    labels = np.where(np.arange(300) % 25 == 0, y % 2, -1)
    sizes, inside, last = [], np.zeros(300, dtype=bool), np.inf
    for share in np.arange(0.05, 1.0, 0.1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            model = MinCutClassifier(class_shares=[1 - share, share]).fit(X, labels)
        price = model.class_prices_[1] - model.class_prices_[0]
        assert price <= last + 1e-9
        assert not np.any(inside & (model.transduction_ == 0))
        inside, last = model.transduction_ == 1, price
        sizes.append(inside.sum())
        assert model.class_prices_.min() == 0
        assert model.class_shares_[1] == pytest.approx(share)
    assert len(set(sizes)) > 3


@settings(deadline=None, max_examples=30)
@given(st.integers(6, 9), st.integers(0, 10**6))
def test_of_several_classes_no_exchange_between_two_is_cheaper(n: int, seed: int) -> None:
    W, n_classes = random_graph(n, seed, 0.3), 3
    labels = some_labels(n, n_classes, n_classes, seed)
    free, shares = labels < 0, np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0))
    model = MinCutClassifier(graph="precomputed", class_shares=shares)
    plain = MinCutClassifier(graph="precomputed", class_shares="free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        model.fit(W, labels)
        plain.fit(W, labels)

    def cost(classes: np.ndarray) -> np.ndarray:
        return cuts_of(W, classes) + model.class_prices_[classes[:, free]].sum(axis=1)

    found = model.transduction_
    assert model.objective_ == pytest.approx(cost(found[None])[0])
    for a, b in combinations(range(n_classes), 2):
        rows = np.flatnonzero(free & ((found == a) | (found == b)))
        others = labelings(found, 2, rows)
        others[:, rows] = np.array([a, b])[others[:, rows]]
        assert model.objective_ <= cost(others).min() * (1 + 1e-8)
    errors = [
        np.abs(np.bincount(one.transduction_[free], minlength=3) / free.sum() - shares).sum()
        for one in (model, plain)
    ]
    assert errors[0] <= errors[1] + 1e-9
    assert np.all(np.diff(model.history_) <= 1e-12)


def test_without_prices_it_is_the_lightest_cut() -> None:
    W = random_graph(9, 3, 0.4)
    labels = some_labels(9, 2, 3, 3)
    free = MinCutClassifier(graph="precomputed", class_shares="free").fit(W, labels)
    assert free.objective_ == pytest.approx(lightest_by_count(W, labels).min())
    np.testing.assert_array_equal(free.class_prices_, 0)
    u = labels < 0
    share = np.mean(free.transduction_[u])
    np.testing.assert_allclose(free.class_shares_, [1 - share, share])


def test_prices_correct_cuts_around_the_labels() -> None:
    """Two wide classes with four labels each: one of them often has nearly all rows."""
    right = {}
    for shares in ("free", "auto"):
        found = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            y = np.repeat([0, 1], 100)
            X = rng.normal(size=(200, 2)) + np.outer(y, [2.6, 0.0])
            known = np.full(200, -1)
            known[:4], known[100:104] = 0, 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintWarning)
                model = MinCutClassifier(10, class_shares=shares).fit(X, known)
            found.append(np.mean(model.transduction_ == y))
        right[shares] = np.mean(found)
    assert right["auto"] > right["free"] + 0.1


def test_shares_of_several_cuts() -> None:
    X, y, known = blobs(300, 30)
    shares = np.bincount(y) / 300
    model = MinCutClassifier(n_cuts=5, class_shares=shares, random_state=0).fit(X, known)
    found = model.label_distributions_[known < 0].mean(axis=0)
    np.testing.assert_allclose(found, shares, atol=0.1)
    W = neighbor_graph(X, 5)
    counts = np.bincount(model.transduction_[known < 0])
    cut = cut_values(W, model.transduction_).cut / W.data.max()
    assert model.objective_ == pytest.approx(cut + counts @ model.class_prices_)


def test_shares_that_no_price_gives_are_told() -> None:
    """Of 20 and 80 rows that hang together a cut gives a class one of them, never a half."""
    W = np.zeros((100, 100))
    W[:20, :20] = W[20:, 20:] = 1.0
    W[0, 20] = W[20, 0] = 0.1
    labels = np.full(100, -1)
    labels[[5, 50]] = 1, 0
    with pytest.warns(ConstraintWarning, match=r"0 81% of the unlabeled rows instead of 50%"):
        model = MinCutClassifier(graph="precomputed", class_shares="equal").fit(W, labels)
    np.testing.assert_array_equal(model.transduction_, np.arange(100) < 20)
    np.testing.assert_allclose(model.class_shares_, 0.5)


# --- what it is made of ---


def lightest_cut(W: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """Minimum over all labelings of the unlabeled rows."""
    return float(cuts_of(W, labelings(labels, n_classes)).min() * W.max())


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
    classes, history = improve_by_swaps(edges, start, np.zeros(n_classes))
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
        gains.append(edges.cut(start) - improve_by_swaps(edges, start, np.zeros(4))[1][-1])
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
