"""Harmonic functions: identities of the Dirichlet problem, limits, and other solvers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation
from tests.semi_supervised.graph.graphs import blobs, permuted, random_graph, some_labels

from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import full_graph, neighbor_graph
from sidelight.semi_supervised import (
    HarmonicClassifier,
    MinCutClassifier,
    SpectralGraphTransducer,
)
from sidelight.semi_supervised.graph._harmonic_solve import Dirichlet


def on_graph(W: np.ndarray, labels: np.ndarray, **params: object) -> HarmonicClassifier:
    params = {"graph": "precomputed", "class_shares": "free", **params}
    return HarmonicClassifier(**params).fit(W, labels)


@settings(deadline=None, max_examples=25)
@given(st.integers(4, 14), st.integers(2, 4), st.integers(0, 10**6))
def test_every_unlabeled_row_is_the_average_of_its_neighbors(
    n: int, n_classes: int, seed: int
) -> None:
    n_classes = min(n_classes, n - 1)
    W = random_graph(n, seed)
    labels = some_labels(n, n_classes, n_classes, seed)
    f = on_graph(W, labels).label_distributions_
    averages = W @ f / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(f[labels < 0], averages[labels < 0], atol=1e-10)
    np.testing.assert_array_equal(f[labels >= 0], np.eye(n_classes)[labels[labels >= 0]])
    np.testing.assert_allclose(f.sum(axis=1), 1)
    assert f.min() >= 0


def test_it_is_the_published_formula() -> None:
    W, labels = random_graph(12, 0), some_labels(12, 3, 5, 0)
    u, known = labels < 0, labels >= 0
    L = np.diag(W.sum(axis=1)) - W
    expected = np.linalg.solve(L[np.ix_(u, u)], W[np.ix_(u, known)] @ np.eye(3)[labels[known]])
    model = on_graph(W, labels)
    np.testing.assert_allclose(model.label_distributions_[u], expected, atol=1e-12)
    f = model.label_distributions_
    energy = 0.5 * sum(W[i, j] * np.sum((f[i] - f[j]) ** 2) for i in range(12) for j in range(12))
    assert model.objective_ == pytest.approx(energy / W.max())


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_limit_of_label_propagation(seed: int) -> None:
    """scikit-learn's iteration on the same weights, run to its end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    labels = some_labels(25, 3, 6, seed)
    W = full_graph(X, sigma=1.0)  # exp(-d²/2): gamma is 1/2
    ours = on_graph(W, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = LabelPropagation(gamma=0.5, max_iter=100_000, tol=1e-13).fit(X, labels)
    # Its graph has loops of weight 1, which change how fast a walk is, not where it ends.
    np.testing.assert_allclose(ours.label_distributions_, theirs.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)


def test_it_is_where_a_random_walk_first_meets_a_label() -> None:
    W, labels = random_graph(6, 4), np.array([0, -1, -1, 1, -1, -1])
    P = W / W.sum(axis=1, keepdims=True)
    P[labels >= 0] = np.eye(6)[labels >= 0]
    ends = np.linalg.matrix_power(P, 2**14)
    np.testing.assert_allclose(on_graph(W, labels).label_distributions_, ends[:, [0, 3]], atol=1e-9)


def test_iterations_are_told_where_they_do_not_suffice() -> None:
    X, _, known = blobs(1500)
    model = HarmonicClassifier().fit(X, known)
    assert model.converged_
    assert 1 < model.n_iter_ == len(model.history_)
    assert np.all(np.diff(model.history_) <= 0)
    with pytest.warns(ConvergenceWarning, match=r"residual of .* in 3 steps \(max_iter=3\)"):
        short = HarmonicClassifier(max_iter=3, class_shares="labels").fit(X, known)
    assert not short.converged_


def test_of_labeled_rows_only_it_is_the_classifier_by_neighbors() -> None:
    X, y, _ = blobs(200)
    new = X[:50] + 0.3
    ours = HarmonicClassifier(7, weights="connectivity").fit(X, y)
    theirs = KNeighborsClassifier(7).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new))
    assert ours.objective_ > 0


def test_new_rows_average_what_they_are_similar_to() -> None:
    W, labels = random_graph(9, 1), some_labels(9, 2, 3, 1)
    model = on_graph(W, labels)
    new = np.random.default_rng(0).uniform(size=(4, 9))
    expected = new @ model.label_distributions_ / new.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), expected)
    np.testing.assert_allclose(model.decision_function(new), expected[:, 1] - expected[:, 0])
    # An unlabeled row of the fit comes out as it is: its value is harmonic.
    free = labels < 0
    np.testing.assert_allclose(
        model.predict_proba(W[free]), model.label_distributions_[free], atol=1e-10
    )


@pytest.mark.parametrize("scale", [1e-60, 1e-5, 1e60])
def test_units_of_similarities_do_not_count(scale: float) -> None:
    W, labels = random_graph(10, 2), some_labels(10, 2, 3, 2)
    plain, scaled = on_graph(W, labels), on_graph(scale * W, labels)
    np.testing.assert_allclose(scaled.label_distributions_, plain.label_distributions_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_proba(scale * W), plain.predict_proba(W), rtol=1e-9)
    assert scaled.objective_ == pytest.approx(plain.objective_)


def test_order_of_rows_does_not_count() -> None:
    W, labels = random_graph(12, 5), some_labels(12, 3, 4, 5)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(
        on_graph(permuted(W, order), labels[order]).label_distributions_,
        on_graph(W, labels).label_distributions_[order],
        atol=1e-12,
    )


@pytest.mark.parametrize("shares", ["labels", "equal", [0.2, 0.5, 0.3], "auto"])
def test_probabilities_have_the_shares(shares: Any) -> None:
    """Means over the unlabeled rows, by powers of the harmonic function and factors of classes."""
    X, y, known = blobs(300)
    known[np.flatnonzero(known == 0)[2:]] = -1
    free = HarmonicClassifier(class_shares="free").fit(X, known)
    model = HarmonicClassifier(class_shares=shares).fit(X, known)
    u = known < 0
    counts = np.bincount(known[known >= 0])
    wanted = {"labels": counts / counts.sum(), "equal": np.ones(3) / 3}
    expected = model.class_shares_ if shares == "auto" else wanted.get(str(shares), shares)
    p = model.label_distributions_[u]
    np.testing.assert_allclose(p.mean(axis=0), expected, atol=1e-6)
    np.testing.assert_allclose(model.class_shares_, expected)
    powers = free.label_distributions_[u] ** model.sharpness_ * model.class_factors_
    np.testing.assert_allclose(p, powers / powers.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_array_equal(free.class_factors_, 1)
    assert free.sharpness_ == 1
    if shares == "auto":
        np.testing.assert_allclose(model.class_shares_, np.bincount(y) / 300, atol=0.1)


def clouds(seed: int, apart: float = 1.7) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Two clouds that overlap a little, the second of which has 12 % of the rows."""
    rng = np.random.default_rng(seed)
    y = (np.arange(500) < 60).astype(int)
    return rng.normal(size=(500, 4)) + apart * y[:, None], y, rng


@pytest.mark.parametrize("cls", [HarmonicClassifier, SpectralGraphTransducer])
def test_a_small_class_keeps_its_size(cls: Any) -> None:
    """A class of 12 % with 40 labels drawn at random; ten more labels of each would make 25 %."""
    shares, means = [], []
    for seed in range(5):
        X, y, rng = clouds(seed)
        known = np.full(500, -1)
        drawn = rng.permutation(500)[:40]
        known[drawn] = y[drawn]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = cls().fit(X, known)
        shares.append(np.mean(model.transduction_[known < 0] == 1))
        means.append(model.class_shares_[1])
        if cls is HarmonicClassifier:
            mean = model.label_distributions_[known < 0, 1].mean()
            assert mean == pytest.approx(means[-1])
    assert np.abs(np.mean(shares) - 0.12) < 0.02
    assert np.abs(np.mean(means) - 0.12) < 0.02


@pytest.mark.parametrize("cls", [HarmonicClassifier, SpectralGraphTransducer, MinCutClassifier])
def test_labels_that_are_no_random_sample_are_told(cls: Any) -> None:
    X, y, rng = clouds(0, apart=2.5)
    known = np.full(500, -1)
    for code in (0, 1):
        known[rng.permutation(np.flatnonzero(y == code))[:20]] = code
    with pytest.warns(
        ConstraintWarning, match=r"50% of the labeled rows are of class .*class_shar"
    ):
        model = cls().fit(X, known)
    assert np.mean(model.transduction_ == y) > 0.93
    assert np.abs(model.class_shares_[1] - 0.12) < 0.06
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = cls(class_shares=[0.88, 0.12]).fit(X, known)
    np.testing.assert_allclose(told.class_shares_, [0.88, 0.12])
    with pytest.raises(SidelightError, match="2 numbers above 0"):
        cls(class_shares=[0.5, 0.4]).fit(X, known)


def test_probabilities_are_calibrated() -> None:
    """The log loss of unlabeled rows is below that of the harmonic function, and of rates."""
    losses: dict[str, list[float]] = {"auto": [], "free": []}
    for seed in range(4):
        X, y, rng = clouds(seed)
        known = np.full(500, -1)
        drawn = rng.permutation(500)[:50]
        known[drawn] = y[drawn]
        u = known < 0
        for shares, found in losses.items():
            p = HarmonicClassifier(class_shares=shares).fit(X, known).label_distributions_[u]
            found.append(-np.log(np.maximum(p[np.arange(u.sum()), y[u]], 1e-6)).mean())
    assert np.mean(losses["auto"]) < 0.8 * np.mean(losses["free"])
    assert np.mean(losses["auto"]) < 0.5 * -(0.12 * np.log(0.12) + 0.88 * np.log(0.88))


def test_class_masses_help_where_labels_are_few() -> None:
    """Two wide classes with a label each: one of them takes all without."""
    right = {}
    for shares in ("free", "auto"):
        found = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            y = np.repeat([0, 1], 150)
            X = rng.normal(size=(300, 4)) + 2.6 * y[:, None]
            known = np.full(300, -1)
            known[[0, 150]] = 0, 1
            model = HarmonicClassifier(class_shares=shares).fit(X, known)
            found.append(np.mean(model.transduction_ == y))
        right[shares] = np.mean(found)
    assert right["auto"] > right["free"] + 0.03


def test_a_part_without_labels_takes_the_class_at_its_nearest_row() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [7.0], [7.1], [7.2], [8.5], [8.6]])
    y = np.array([0, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1])
    expected = [0] * 3 + [1] * 8
    for weights in ("gaussian", "local", "connectivity"):
        with pytest.warns(
            ConstraintWarning, match=r"5 of 11 rows \(such as row 6, in 2 parts\).*shortest link"
        ):
            model = HarmonicClassifier(1, weights=weights, class_shares="free").fit(X, y)
        np.testing.assert_array_equal(model.transduction_, expected)
        np.testing.assert_allclose(model.label_distributions_[3:, 1], 1)


def test_given_similarities_have_no_links_to_parts_without_labels() -> None:
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 2] = W[3, 4] = 1.0
    with pytest.warns(ConstraintWarning, match=r"2 of 5 rows \(such as row 3, in 1 part\).*mean"):
        model = on_graph(W + W.T, np.array([0, -1, 1, -1, -1]))
    np.testing.assert_allclose(
        model.label_distributions_[1:], [[0.5, 0.5], [0, 1], *[[0.5] * 2] * 2]
    )
    with pytest.warns(ConstraintWarning, match="1 of 2 new rows, row 1 the first"):
        np.testing.assert_allclose(model.predict_proba(np.eye(5)[:2] * [[1], [0]])[0], [1, 0])


def test_edges_too_weak_to_carry_a_class_are_none() -> None:
    """A tight group whose edges to all others are lost in rounding: no noise for a class."""
    W = random_graph(12, 3)
    W[:6, 6:] *= 1e-14
    W[6:, :6] *= 1e-14
    with pytest.warns(ConstraintWarning, match="6 of 12 rows"):
        model = on_graph(W, np.array([0, 1, *[-1] * 10]))
    np.testing.assert_allclose(model.label_distributions_[6:], 0.5)


def test_far_away_rows_are_as_their_nearest_row() -> None:
    X, _, known = blobs(200)
    for weights in ("gaussian", "local", "fuzzy", "cosine"):
        model = HarmonicClassifier(weights=weights).fit(X, known)
        far = 1e6 * X[:5]
        assert np.isfinite(model.predict_proba(far)).all()
        np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1)


def test_bad_input_is_told() -> None:
    labels = np.array([0, -1, 1])
    with pytest.raises(SidelightError, match="symmetric; rows"):
        on_graph(np.triu(np.ones((3, 3))), labels)
    with pytest.raises(SidelightError, match="square"):
        on_graph(np.ones((3, 2)), labels)
    with pytest.raises(SidelightError, match=r"not negative; row 0, column 1"):
        on_graph(-np.ones((3, 3)) + np.eye(3), labels)
    model = on_graph(np.ones((3, 3)), labels)
    with pytest.raises(SidelightError, match=r"Similarities are finite and not negative; .* -1"):
        model.predict([[1.0, -1.0, 0.0]])
    with pytest.warns(UserWarning, match="sigma=2.0 is not used"):
        HarmonicClassifier(weights="local", sigma=2.0).fit(np.eye(3), labels)
    with pytest.raises(SidelightError, match="class_shares must be"):
        HarmonicClassifier(class_shares="no").fit(np.eye(3), labels)
    with pytest.raises(SidelightError, match="joins all 15,001 rows"):
        HarmonicClassifier(graph="full").fit(
            np.zeros((15_001, 1)), np.where(np.arange(15_001) < 2, np.arange(15_001), -1)
        )


# --- what it is made of ---


def test_conjugate_gradients_agree_with_the_factorization() -> None:
    X, _, known = blobs(500)
    W = neighbor_graph(X, 8)
    problem = Dirichlet(W, known, 3)
    exact = problem.solve_densely()
    assert exact is not None
    states = []
    for state in problem.iterate():
        states.append(state)
        if state.residual < 1e-12:
            break
    np.testing.assert_allclose(state.distributions, exact.distributions, atol=1e-9)
    assert state.energy == pytest.approx(exact.energy, rel=1e-9)
    energies = [one.energy for one in states]
    assert np.all(np.diff(energies) <= 1e-12 * energies[0])
