"""Clustering by feedback: the divergence and its gradient, the weighted mixture, the dialogue."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from experiments.recipes.documents import make_two_factor_documents
from hypothesis import given, settings
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from scipy.special import logsumexp
from tests.strategies import SEEDS

from sidelight import Constraints
from sidelight._fit.em.discrete import MultinomialComponents
from sidelight._fit.em.loop import ExpectationMaximization, Parameters, em, log_joint_blocks
from sidelight.cluster import FeedbackClustering
from sidelight.cluster.feedback._multinomial import WeightedTerms, random_log_frequencies
from sidelight.cluster.feedback._term_weights import Documents, evidence, normalize, warp
from sidelight.engine import as_rows, threads
from sidelight.evaluation import adjusted_rand_index, purity
from sidelight.exceptions import ConstraintWarning, SidelightError


def counts(seed: int, n: int = 12, n_terms: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(n, n_terms)).astype(float)
    X[:, 0] += 1  # nothing is empty
    return X


# ------------------------------------------------------------------ the mixture


def test_one_cluster_is_the_frequencies_of_the_corpus() -> None:
    X = counts(1)
    model = FeedbackClustering(1, random_state=0).fit(X)
    expected = (1 + X.sum(axis=0)) / (X.shape[1] + X.sum())
    np.testing.assert_allclose(model.cluster_centers_, [expected])


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
    totals = documents.data.sum(axis=0)
    assert model.term_weights_ @ totals == pytest.approx(totals.sum())
    assert not np.allclose(model.term_weights_, 1)


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


# ------------------------------------------------------------------ few documents, few pairs


def small_collection(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """125 documents of five topics, a fifth of the words from forty words of the topic."""
    rng = np.random.default_rng(seed)
    background = 0.8 * rng.dirichlet(np.full(800, 0.3))
    shares = np.tile(background, (5, 1))
    for topic in shares:
        topic[rng.choice(800, 40, replace=False)] += 0.2 / 40
    y = np.arange(125) % 5
    return np.array([rng.multinomial(80, shares[topic]) for topic in y]), y


@pytest.mark.parametrize("params", [{}, {"schedule": "unsatisfied", "variant": "published"}])
def test_one_pair_changes_little_of_a_small_collection(params: dict[str, Any]) -> None:
    X, y = small_collection(0)
    model = FeedbackClustering(5, random_state=0, **params).fit(X)
    apart = next(
        (i, j)
        for i in range(125)
        for j in range(i)
        if y[i] != y[j] and model.labels_[i] == model.labels_[j]
    )
    model.add_feedback("apart", apart).refit()
    assert model.cluster_sizes_.max() < 60
    lengths = X @ model.term_weights_
    assert lengths.sum() == pytest.approx(X.sum())
    assert np.all((lengths > 0.5 * X.sum(axis=1)) & (lengths < 2 * X.sum(axis=1)))


def test_a_faithful_user_does_not_lose_by_ten_rounds() -> None:
    gained = []
    for seed in range(4):
        X, y = small_collection(seed)
        rng = np.random.default_rng(seed)
        model = FeedbackClustering(5, random_state=seed).fit(X)
        before = adjusted_rand_index(y, model.labels_)
        for _ in range(10):
            for kind, same in (("together", True), ("apart", False)):
                pairs = rng.integers(125, size=(1000, 2))
                joined = np.equal(*model.labels_[pairs].T)
                wrong = (np.equal(*y[pairs].T) == same) & (joined != same)
                if wrong.any():
                    model.add_feedback(kind, pairs[wrong.argmax()])
            model.refit()
        gained.append(adjusted_rand_index(y, model.labels_) - before)
    assert np.mean(gained) > -0.02


def short_documents(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """125 documents of 20 to 60 words, a tenth of them from words of their topic."""
    rng = np.random.default_rng(seed)
    shares = np.tile(0.9 * rng.dirichlet(np.full(800, 0.3)), (5, 1))
    for topic in shares:
        topic[rng.choice(800, 40, replace=False)] += 0.1 / 40
    y = np.arange(125) % 5
    return np.array([rng.multinomial(rng.integers(20, 61), shares[topic]) for topic in y]), y


def one_pair_apart(X: np.ndarray, y: np.ndarray, seed: int, **params: Any) -> FeedbackClustering:
    """A clustering after one pair of its documents was said to belong apart."""
    model = FeedbackClustering(5, random_state=seed, **params).fit(X)
    joined = (model.labels_[:, None] == model.labels_) & (y[:, None] != y)
    return model.add_feedback("apart", np.argwhere(joined)[0].tolist()).refit()


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.ConstraintWarning")
@pytest.mark.parametrize("params", [{}, {"schedule": "unsatisfied", "variant": "published"}])
@pytest.mark.parametrize("seed", range(4))
def test_one_pair_does_not_empty_clusters(seed: int, params: dict[str, Any]) -> None:
    # The prior of the objective is largest for a cluster without documents.
    assert one_pair_apart(*small_collection(seed), seed, **params).cluster_sizes_.min() > 0
    # With short documents it outweighs them: 123 to 125 of 125 came into one cluster.
    assert one_pair_apart(*short_documents(seed), seed, **params).cluster_sizes_.max() < 100


def test_documents_that_fall_into_one_cluster_are_told() -> None:
    X, y = short_documents(2)
    with pytest.warns(ConstraintWarning, match=r"documents are in one cluster; undo\(\)"):
        one_pair_apart(X, y, 2, variant="published", step=12.0, n_init=1)


def test_lost_clusters_are_told() -> None:
    X, y = short_documents(1)
    with pytest.warns(ConstraintWarning, match=r"clusters? of 5 got no document; undo\(\)"):
        one_pair_apart(X, y, 1)


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
    with pytest.warns(ConstraintWarning, match="does not use groups"):
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
        ({"schedule": "x"}, {"variant": "x"}),
        ({"n_init": 0}, {"max_iter": 0}, {"min_df": 0}, {"step": -1.0}, {"tol": np.inf}),
    ):
        with pytest.raises(ValueError, match="must be"):
            FeedbackClustering(**wrong).fit(X)


# --- what it is made of ---


PUBLISHED = pytest.mark.parametrize("published", [False, True])


def distance(X: np.ndarray, i: int, j: int, gamma: np.ndarray, published: bool) -> float:
    """D' of two documents, written out."""
    s, t = X[i].sum(), X[j].sum()
    a, b = (1 + X[i]) / (s + X.shape[1]), (1 + X[j]) / (t + X.shape[1])
    m = (a + b) / 2 if published else (s * a + t * b) / (s + t)
    return float(np.sum(gamma * (s * a * np.log(a / m) + t * b * np.log(b / m))))


def loudness(g: np.ndarray) -> np.ndarray:
    """What a pair says of every term, written out."""
    return g * np.abs(g).sum() / np.sum(g**2) if g.any() else 0 * g


# ------------------------------------------------------------------ the divergence


@given(SEEDS)
@settings(max_examples=30, deadline=None)
@PUBLISHED
def test_gradient_by_finite_differences_and_what_a_step_does(published: bool, seed: int) -> None:
    X = counts(seed)
    gamma = np.random.default_rng(seed).uniform(0.5, 2, size=X.shape[1])
    documents = Documents(X, 1, published=published)
    g = documents.gradient(0, 1)
    for j in range(X.shape[1]):
        more = gamma.copy()
        more[j] += 0.25
        change = distance(X, 0, 1, more, published) - distance(X, 0, 1, gamma, published)
        assert change / 0.25 == pytest.approx(g[j], abs=1e-9)
    here = distance(X, 0, 1, gamma, published)
    for sign in (1, -1):
        (pull, _) = documents.pull_of_pairs(np.array([[0, 1]]), np.array([float(sign)]))
        u = loudness(g)
        direction = evidence([pull])
        np.testing.assert_allclose(direction, sign * u / (5 + np.abs(u)), atol=1e-9)
        after = distance(X, 0, 1, warp(gamma, direction, 0.7), published)
        assert sign * (after - here) >= -1e-12


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_no_term_joins_with_the_length_weighted_mean(seed: int) -> None:
    X = counts(seed)
    assert np.all(Documents(X, 1, published=False).gradient(0, 1) >= -1e-15)


def test_jensen_shannon_identity_symmetry_and_zero() -> None:
    X = counts(5)
    X[1] = np.roll(X[0], 2)  # the same length
    documents = Documents(X, 1, published=True)
    a, b = ((1 + x) / (x.sum() + X.shape[1]) for x in X[:2])
    divergence = jensenshannon(a, b) ** 2
    assert documents.gradient(0, 1).sum() == pytest.approx(2 * X[0].sum() * divergence)
    np.testing.assert_allclose(documents.gradient(2, 3), documents.gradient(3, 2))
    X[4] = X[5]
    np.testing.assert_array_equal(Documents(X, 1, published=True).gradient(4, 5), 0)


@PUBLISHED
def test_pairs_add_up_and_rare_terms_are_left_alone(published: bool) -> None:
    X = counts(7)
    X[:, 3] = 0
    X[2, 3] = 4  # in one document only
    documents = Documents(sparse.csr_matrix(X), 2, published=published)
    pairs = np.array([[0, 1], [2, 3], [2, 5]])
    pull, twins = documents.pull_of_pairs(pairs, np.array([1.0, -2.0, 0.5]))
    said = np.array(
        [
            weight * loudness(np.where(documents.learned, documents.gradient(i, j), 0))
            for (i, j), weight in zip(pairs, [1.0, -2.0, 0.5], strict=True)
        ]
    )
    np.testing.assert_allclose(pull.direction, said.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(pull.magnitude, np.abs(said).sum(axis=0), atol=1e-12)
    assert not twins.any()
    assert pull.direction[3] == 0


@PUBLISHED
def test_a_cluster_counts_as_one_long_document(published: bool) -> None:
    X = counts(8)
    frequencies = (1 + X[4]) / (X[4].sum() + X.shape[1])
    documents = Documents(X, 1, published=published)
    pull = documents.pull_of_cluster(np.array([0, 2]), frequencies, X[4].sum(), -1)
    pairs, _ = documents.pull_of_pairs(np.array([[0, 4], [2, 4]]), np.array([-0.5, -0.5]))
    np.testing.assert_allclose(pull.direction, pairs.direction)
    np.testing.assert_allclose(pull.magnitude, pairs.magnitude)


# ------------------------------------------------------------------ the mixture


def start(
    X: np.ndarray, k: int, gamma: Any = None, *, published: bool = False
) -> tuple[WeightedTerms, np.ndarray]:
    logs = random_log_frequencies(as_rows(X), k, np.random.RandomState(0))
    gamma = np.ones(X.shape[1]) if gamma is None else gamma
    return WeightedTerms(logs, 1.0, gamma, published), np.full(k, -np.log(k))


def joint(X: np.ndarray, components: Any, log_weights: np.ndarray) -> np.ndarray:
    return log_joint_blocks(as_rows(X), components, log_weights, lambda found: found)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_em_never_lowers_the_penalized_likelihood(seed: int) -> None:
    X = counts(seed, n=30)
    gamma = np.random.default_rng(seed).uniform(0.1, 3, size=X.shape[1])
    fit = em(as_rows(X), *start(X, 3, gamma), tol=0, max_iter=30)
    assert np.all(np.diff(fit.history) <= 1e-9 * np.abs(fit.history[:-1]))
    value = logsumexp(joint(X, fit.components, fit.log_weights), axis=1).sum()
    by_hand = X * gamma @ np.log(fit.components.frequencies).T + fit.log_weights
    assert value == pytest.approx(logsumexp(by_hand, axis=1).sum())
    assert 30 * fit.objective == pytest.approx(-value - fit.components.log_probabilities.sum())


def test_weighted_terms_are_plain_em_on_weighted_counts() -> None:
    X = counts(2, n=25)
    gamma = np.random.default_rng(0).uniform(0.2, 4, size=X.shape[1])
    for weights in (gamma, np.full(len(gamma), 2.5)):
        components, log_weights = start(X, 3, weights)
        weighted = em(as_rows(X), components, log_weights)
        plain = MultinomialComponents(components.log_probabilities, 1.0)
        counted = em(as_rows(X * weights), plain, log_weights)
        np.testing.assert_allclose(weighted.history, counted.history)
        np.testing.assert_allclose(
            weighted.components.log_probabilities, counted.components.log_probabilities
        )


def test_the_published_m_step_counts_every_term_once() -> None:
    X = counts(3, n=25)
    gamma = np.random.default_rng(0).uniform(0.2, 4, size=X.shape[1])
    begin = start(X, 2, gamma, published=True)
    logits = joint(X, *begin)
    chances = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    steps = ExpectationMaximization(as_rows(X))
    one = steps.m_step(steps.e_step(Parameters(*begin)))
    sums = chances.T @ X
    np.testing.assert_allclose(
        one.components.frequencies, (1 + sums) / (X.shape[1] + sums.sum(axis=1, keepdims=True))
    )


def test_brute_force_on_three_documents() -> None:
    X = np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 1]])
    components, log_weights = start(X, 2)
    found = ExpectationMaximization(as_rows(X)).e_step(Parameters(components, log_weights))
    theta = components.frequencies
    product = np.array([[0.5 * np.prod(theta[i] ** x) for i in range(2)] for x in X])
    value = np.log(product.sum(axis=1)).sum() + np.log(theta).sum()
    assert -3 * found.objective == pytest.approx(value)
    chances = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.statistics[0], chances.sum(axis=0))
    np.testing.assert_allclose(found.statistics[1], chances.T @ X)
    np.testing.assert_allclose(joint(X, components, log_weights), np.log(product))


# ------------------------------------------------------------------ the dialogue


def test_unsatisfied_only_steps_along_what_is_violated(documents: Any) -> None:
    model = FeedbackClustering(2, schedule="unsatisfied", random_state=0).fit(documents.data)
    same = np.flatnonzero(model.labels_ == 0)
    model.add_feedback("together", same[:2]).refit()
    np.testing.assert_allclose(model.term_weights_, 1)
    here = np.flatnonzero(model.labels_ == 0)[:2]
    model.add_feedback("apart", here).refit()
    pull, _ = model._documents.pull_of_pairs(here[None], np.ones(1))
    expected = normalize(
        warp(np.ones(600), evidence([pull]), model.step), documents.data.sum(axis=0)
    )
    np.testing.assert_allclose(model.term_weights_, expected)
