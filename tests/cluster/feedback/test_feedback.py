"""Clustering by feedback: the divergence and its gradient, the weighted mixture, the dialogue."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from scipy.special import logsumexp

from sidelight import Constraints
from sidelight.cluster import FeedbackClustering
from sidelight.cluster.feedback._multinomial import (
    Mixture,
    expectation,
    fit_mixture,
    random_frequencies,
)
from sidelight.cluster.feedback._term_weights import Documents, average, normalise, warp
from sidelight.datasets import make_two_factor_documents
from sidelight.engine import as_rows, threads
from sidelight.evaluation import purity
from sidelight.exceptions import ConstraintWarning, SidelightError

SEEDS = st.integers(0, 2**32 - 1)
MEANS = ["length", "midpoint"]


def counts(seed: int, n: int = 12, n_terms: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(n, n_terms)).astype(float)
    X[:, 0] += 1  # nothing is empty
    return X


def distance(X: np.ndarray, i: int, j: int, gamma: np.ndarray, mean: str) -> float:
    """D' of two documents, written out."""
    s, t = X[i].sum(), X[j].sum()
    a, b = (1 + X[i]) / (s + X.shape[1]), (1 + X[j]) / (t + X.shape[1])
    m = (a + b) / 2 if mean == "midpoint" else (s * a + t * b) / (s + t)
    return float(np.sum(gamma * (s * a * np.log(a / m) + t * b * np.log(b / m))))


# ------------------------------------------------------------------ the divergence


@given(SEEDS)
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("mean", MEANS)
def test_gradient_by_finite_differences_and_what_a_step_does(mean: str, seed: int) -> None:
    X = counts(seed)
    gamma = np.random.default_rng(seed).uniform(0.5, 2, size=X.shape[1])
    documents = Documents(X, mean, 1)
    g = documents.gradient(0, 1)
    for j in range(X.shape[1]):
        more = gamma.copy()
        more[j] += 0.25
        change = distance(X, 0, 1, more, mean) - distance(X, 0, 1, gamma, mean)
        assert change / 0.25 == pytest.approx(g[j], abs=1e-9)
    here = distance(X, 0, 1, gamma, mean)
    for sign in (1, -1):
        (pull, _) = documents.pull_of_pairs(np.array([[0, 1]]), np.array([float(sign)]))
        direction = average([pull], X.shape[1])
        np.testing.assert_allclose(
            direction, sign * X.shape[1] * g / np.abs(g).sum() if g.any() else 0 * g, atol=1e-9
        )
        after = distance(X, 0, 1, warp(gamma, direction, 0.7), mean)
        assert sign * (after - here) >= -1e-12


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_no_term_joins_with_the_length_weighted_mean(seed: int) -> None:
    X = counts(seed)
    assert np.all(Documents(X, "length", 1).gradient(0, 1) >= -1e-15)


def test_jensen_shannon_identity_symmetry_and_zero() -> None:
    X = counts(5)
    X[1] = np.roll(X[0], 2)  # the same length
    documents = Documents(X, "midpoint", 1)
    a, b = ((1 + x) / (x.sum() + X.shape[1]) for x in X[:2])
    divergence = jensenshannon(a, b) ** 2
    assert documents.gradient(0, 1).sum() == pytest.approx(2 * X[0].sum() * divergence)
    np.testing.assert_allclose(documents.gradient(2, 3), documents.gradient(3, 2))
    X[4] = X[5]
    np.testing.assert_array_equal(Documents(X, "midpoint", 1).gradient(4, 5), 0)


@pytest.mark.parametrize("mean", MEANS)
def test_pairs_add_up_and_rare_terms_are_left_alone(mean: str) -> None:
    X = counts(7)
    X[:, 3] = 0
    X[2, 3] = 4  # in one document only
    documents = Documents(sparse.csr_matrix(X), mean, 2)
    pairs = np.array([[0, 1], [2, 3], [2, 5]])
    pull, twins = documents.pull_of_pairs(pairs, np.array([1.0, -2.0, 0.5]))
    expected = np.zeros(X.shape[1])
    for (i, j), weight in zip(pairs, [1.0, -2.0, 0.5], strict=True):
        g = np.where(documents.learnt, documents.gradient(i, j), 0)
        expected += weight * g / np.abs(g).sum()
    np.testing.assert_allclose(pull.direction, expected, atol=1e-12)
    assert pull.weight == 3.5
    assert not twins.any()
    assert pull.direction[3] == 0


@pytest.mark.parametrize("mean", MEANS)
def test_a_cluster_counts_as_one_long_document(mean: str) -> None:
    X = counts(8)
    frequencies = (1 + X[4]) / (X[4].sum() + X.shape[1])
    documents = Documents(X, mean, 1)
    pull = documents.pull_of_cluster(np.array([0, 2]), frequencies, X[4].sum(), -1)
    pairs, _ = documents.pull_of_pairs(np.array([[0, 4], [2, 4]]), np.array([-0.5, -0.5]))
    np.testing.assert_allclose(pull.direction, pairs.direction)


# ------------------------------------------------------------------ the mixture


def start(X: np.ndarray, k: int, gamma: Any = None, seed: int = 0) -> Mixture:
    theta = random_frequencies(as_rows(X), k, np.random.RandomState(seed))
    return Mixture(np.full(k, 1 / k), theta, np.ones(X.shape[1]) if gamma is None else gamma)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_em_never_lowers_the_penalised_likelihood(seed: int) -> None:
    X = counts(seed, n=30)
    gamma = np.random.default_rng(seed).uniform(0.1, 3, size=X.shape[1])
    fit = fit_mixture(as_rows(X), start(X, 3, gamma), tol=0, max_iter=30)
    assert np.all(np.diff(fit.history) <= 1e-9 * np.abs(fit.history[:-1]))
    value = logsumexp(fit.mixture.logits(X), axis=1).sum() + np.log(fit.mixture.frequencies).sum()
    assert fit.objective == pytest.approx(-value)


def test_one_cluster_is_the_frequencies_of_the_corpus() -> None:
    X = counts(1)
    fit = fit_mixture(as_rows(X), start(X, 1))
    expected = (1 + X.sum(axis=0)) / (X.shape[1] + X.sum())
    np.testing.assert_allclose(fit.mixture.frequencies, [expected])


def test_weighted_mode_is_plain_em_on_weighted_counts() -> None:
    X = counts(2, n=25)
    gamma = np.random.default_rng(0).uniform(0.2, 4, size=X.shape[1])
    theta = start(X, 3).frequencies
    shares = np.full(3, 1 / 3)
    weighted = fit_mixture(as_rows(X), Mixture(shares, theta, gamma))
    plain = fit_mixture(as_rows(X * gamma), Mixture(shares, theta, np.ones(len(gamma))))
    np.testing.assert_allclose(weighted.history, plain.history)
    np.testing.assert_allclose(weighted.mixture.frequencies, plain.mixture.frequencies)
    scaled = fit_mixture(as_rows(X), Mixture(shares, theta, np.full(len(gamma), 2.5)))
    counted = fit_mixture(as_rows(2.5 * X), Mixture(shares, theta, np.ones(len(gamma))))
    np.testing.assert_allclose(scaled.history, counted.history)


def test_text_mode_counts_every_term_once() -> None:
    X = counts(3, n=25)
    gamma = np.random.default_rng(0).uniform(0.2, 4, size=X.shape[1])
    begin = start(X, 2, gamma)
    chances = np.exp(begin.logits(X) - logsumexp(begin.logits(X), axis=1, keepdims=True))
    one = fit_mixture(as_rows(X), begin, m_step="text", max_iter=1, tol=0)
    sums = chances.T @ X
    np.testing.assert_allclose(
        one.mixture.frequencies, (1 + sums) / (X.shape[1] + sums.sum(axis=1, keepdims=True))
    )


def test_brute_force_on_three_documents() -> None:
    X = np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 1]])
    mixture = start(X, 2)
    likelihood, sizes, sums, labels = expectation(as_rows(X), mixture)
    joint = np.array(
        [[mixture.shares[i] * np.prod(mixture.frequencies[i] ** x) for i in range(2)] for x in X]
    )
    assert likelihood == pytest.approx(np.log(joint.sum(axis=1)).sum())
    chances = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(sizes, chances.sum(axis=0))
    np.testing.assert_allclose(sums, chances.T @ X)
    np.testing.assert_array_equal(labels, joint.argmax(axis=1))


# ------------------------------------------------------------------ the dialogue


@pytest.fixture(scope="module")
def documents() -> Any:
    return make_two_factor_documents(200, topic_share=(0.2, 0.25), random_state=1)


def test_feedback_turns_the_clustering(documents: Any) -> None:
    subject, mode = documents.target, documents.extras["mode"]
    plain = FeedbackClustering(2, random_state=0).fit(documents.data)
    for y in (subject, mode):
        known = Constraints.sample(y, 60, protocol="balanced", random_state=3)
        model = FeedbackClustering(2, random_state=0).fit(documents.data, constraints=known)
        assert purity(y, model.labels_) > 0.9
        assert model.n_violations_ == known.violations(model.labels_).n
        np.testing.assert_array_equal(model.clusterings_[0], plain.labels_)
    assert min(purity(subject, plain.labels_), purity(mode, plain.labels_)) < 0.65
    np.testing.assert_array_equal(plain.term_weights_, 1)


def test_pairs_said_one_by_one_equal_pairs_given_at_once(documents: Any) -> None:
    known = Constraints.sample(documents.target, 12, random_state=0)
    at_once = FeedbackClustering(2, random_state=0).fit(documents.data, constraints=known)
    spoken = FeedbackClustering(2, random_state=0).fit(documents.data)
    said = [("together", p) for p in known.must_link] + [("apart", p) for p in known.cannot_link]
    for kind, pair in reversed(said):
        spoken.add_feedback(kind, pair)
    assert spoken.n_violations_ == known.violations(spoken.labels_).n
    assert len(spoken.clusterings_) == 1
    spoken.refit()
    np.testing.assert_allclose(spoken.term_weights_, at_once.term_weights_)
    np.testing.assert_array_equal(spoken.labels_, at_once.labels_)


def test_undo_goes_back_step_by_step(documents: Any) -> None:
    model = FeedbackClustering(2, random_state=0).fit(documents.data)
    first = model.labels_.copy()
    i, j = np.flatnonzero(first == first[0])[:2]
    model.add_feedback("apart", [i, j]).refit()
    second, weights = model.labels_.copy(), model.term_weights_.copy()
    model.add_feedback("keep", cluster=0).refit()
    assert len(model.clusterings_) == 3
    model.undo()
    assert [f.kind for f in model.feedback_] == ["apart", "keep"]
    np.testing.assert_array_equal(model.labels_, second)
    np.testing.assert_array_equal(model.term_weights_, weights)
    model.undo().undo()
    assert len(model.feedback_) == 1
    assert model.n_violations_ == 1
    np.testing.assert_array_equal(model.labels_, first)
    model.refit()  # the same chance as before
    np.testing.assert_array_equal(model.labels_, second)
    model.undo().undo()
    with pytest.raises(SidelightError, match="Nothing is left"):
        model.undo()


def test_kinds_about_clusters_pull_as_they_should(documents: Any) -> None:
    model = FeedbackClustering(2, n_init=1, random_state=0).fit(documents.data)
    row = int(np.flatnonzero(model.labels_ == 0)[0])
    for kind, rows, sign in (("move", [row], -1), ("bad-cluster", [], 1), ("keep", [], -1)):
        model.add_feedback(kind, rows, cluster=1)
        pull = model._states[-1].pulls[-1]
        assert sign * pull.direction.sum() > 0
        assert model.feedback_[-1].kind == kind
    model.refit(reinit=False)
    assert model.term_weights_.mean() == pytest.approx(1)
    assert not np.allclose(model.term_weights_, 1)


def test_unsatisfied_only_steps_along_what_is_violated(documents: Any) -> None:
    model = FeedbackClustering(2, schedule="unsatisfied", random_state=0).fit(documents.data)
    same = np.flatnonzero(model.labels_ == 0)
    model.add_feedback("together", same[:2]).refit()
    np.testing.assert_allclose(model.term_weights_, 1)
    here = np.flatnonzero(model.labels_ == 0)[:2]
    model.add_feedback("apart", here).refit()
    pull, _ = model._documents.pull_of_pairs(here[None], np.ones(1))
    expected = normalise(warp(np.ones(600), average([pull], 600), model.step))
    np.testing.assert_allclose(model.term_weights_, expected)


def test_numbers_of_clusters_stay(documents: Any) -> None:
    model = FeedbackClustering(2, random_state=0).fit(documents.data)
    before = model.labels_
    model.refit()  # nothing was said: the same clusters, from other starts
    assert np.mean(model.labels_ == before) > 0.5
    np.testing.assert_array_equal(model.predict(documents.data), model.labels_)
    chances = model.predict_proba(documents.data)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.labels_)


def test_sparse_dense_precision_pickle_and_threads(documents: Any) -> None:
    known = Constraints.sample(documents.target, 10, random_state=0)
    results = []
    for X in (documents.data, documents.data.toarray(), documents.data.astype(np.float32)):
        results.append(FeedbackClustering(2, random_state=0).fit(X, constraints=known))
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels_, results[0].labels_)
    assert results[2].term_weights_.dtype == results[2].cluster_centers_.dtype == np.float32
    assert results[2].predict_proba(documents.data.astype(np.float32)).dtype == np.float32
    again = pickle.loads(pickle.dumps(results[0])).refit()
    np.testing.assert_array_equal(again.labels_, results[0].refit().labels_)
    with threads(1):
        one = FeedbackClustering(2, random_state=0).fit(documents.data, constraints=known)
    np.testing.assert_array_equal(one.history_, results[1].history_)


# ------------------------------------------------------------------ bad input


def test_bad_counts_name_the_row() -> None:
    X = counts(0)
    known = Constraints(ids=[f"doc{i}" for i in range(len(X))])
    for kind in (np.array, sparse.csr_array):
        negative, empty = X.copy(), X.copy()
        negative[3, 2] = -1
        empty[5] = 0
        with pytest.raises(ValueError, match=r"Negative values.*'doc3'"):
            FeedbackClustering().fit(kind(negative), constraints=known)
        with pytest.raises(SidelightError, match=r"'doc5' has no terms"):
            FeedbackClustering().fit(kind(empty), constraints=known)


def test_equal_documents_cannot_be_told_apart() -> None:
    X = counts(0)
    X[4] = X[7]
    known = Constraints(cannot_link=[(4, 7), (0, 1)], n_samples=len(X))
    with pytest.warns(ConstraintWarning, match="row 4 and row 7 .* same counts"):
        FeedbackClustering(random_state=0).fit(X, constraints=known)
    model = FeedbackClustering(random_state=0).fit(X)
    with pytest.warns(ConstraintWarning, match="same counts"):
        model.add_feedback("apart", [7, 4])
    with pytest.warns(ConstraintWarning, match="labels and groups"):
        model.fit(X, constraints=Constraints.from_groups([0, 0] + [-1] * (len(X) - 2)))


def test_incomplete_feedback_and_choices() -> None:
    X = counts(0)
    model = FeedbackClustering(2, random_state=0).fit(X)
    for kind, rows, cluster, words in [
        ("near", [0, 1], None, "kind must be"),
        ("apart", [3, 3], None, "two or more different"),
        ("move", [], 1, "at least one"),
        ("move", [0], 2, "0 to 1"),
        ("keep", [], None, "needs a cluster"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.add_feedback(kind, rows, cluster=cluster)
    with pytest.raises(SidelightError):
        model.add_feedback("apart", [0, 99])
    for wrong in itertools.chain(
        ({"schedule": "x"}, {"mean": "x"}, {"m_step": "x"}),
        ({"n_init": 0}, {"max_iter": 0}, {"min_df": 0}, {"step": -1.0}, {"tol": np.inf}),
    ):
        with pytest.raises(ValueError, match="must be"):
            FeedbackClustering(**wrong).fit(X)
