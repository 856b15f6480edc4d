"""Multinomial, Bernoulli and categorical mixtures against naive Bayes and against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

from sidelight import Constraints
from sidelight.mixture import BernoulliMixture, CategoricalMixture, MultinomialMixture


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), size=3)
    y = rng.integers(0, 3, 400)
    X = np.array([rng.multinomial(rng.integers(5, 40), topics[topic]) for topic in y], dtype=float)
    return X, y


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(1)
    theta = rng.uniform(0.05, 0.95, size=(3, 12))
    y = rng.integers(0, 3, 500)
    return (rng.uniform(size=(500, 12)) < theta[y]).astype(float), y


def test_multinomial_with_all_labels_is_naive_bayes(documents):
    X, y = documents
    bayes = MultinomialNB(alpha=0.5).fit(X, y)
    model = MultinomialMixture(3, alpha=0.5).fit(X, constraints=Constraints.from_labels(y))
    np.testing.assert_allclose(model.feature_log_prob_, bayes.feature_log_prob_)
    np.testing.assert_allclose(np.log(model.weights_), bayes.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba(X), bayes.predict_proba(X), atol=1e-12)


def test_bernoulli_with_all_labels_is_naive_bayes(answers):
    X, y = answers
    bayes = BernoulliNB(alpha=0.5).fit(X, y)
    known = Constraints.from_labels(y)
    for rows in (X, sparse.csr_array(X)):
        model = BernoulliMixture(3, alpha=0.5).fit(rows, constraints=known)
        np.testing.assert_allclose(np.log(model.means_), bayes.feature_log_prob_)
        np.testing.assert_allclose(model.predict_proba(rows), bayes.predict_proba(X), atol=1e-12)


def test_categorical_with_all_labels_is_naive_bayes():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([rng.integers(0, 3 + y), rng.integers(0, 2, 300), rng.integers(y, 4)])
    bayes = CategoricalNB(alpha=0.3).fit(X, y)
    model = CategoricalMixture(2, alpha=0.3).fit(X, constraints=Constraints.from_labels(y))
    for ours, theirs in zip(model.category_probabilities_, bayes.feature_log_prob_, strict=True):
        np.testing.assert_allclose(np.log(ours), theirs)


def test_two_categories_are_a_bernoulli(answers):
    X, y = answers
    partial = np.where(np.arange(len(y)) % 9 == 0, y, -1)
    bernoulli = BernoulliMixture(3, random_state=0, n_init=1, init_params="random").fit(X, partial)
    categorical = CategoricalMixture(3, random_state=0, n_init=1, init_params="random")
    categorical.fit(X, partial)
    np.testing.assert_allclose(categorical.history_, bernoulli.history_)
    yes = np.column_stack([p[:, 1] for p in categorical.category_probabilities_])
    np.testing.assert_allclose(yes, bernoulli.means_)


@pytest.mark.parametrize("mixture", [BernoulliMixture, CategoricalMixture])
def test_a_gap_is_summed_out(mixture, answers):
    model = mixture(3, random_state=0, n_init=1).fit(answers[0][:, :5])
    row = np.array([1.0, np.nan, 0.0, np.nan, 1.0])
    completions = []
    for values in itertools.product([0.0, 1.0], repeat=2):
        full = row.copy()
        full[[1, 3]] = values
        completions.append(full)
    densities = model.score_samples(np.array(completions))
    assert model.score_samples(row[None])[0] == pytest.approx(logsumexp(densities))
    nothing = np.full((1, 5), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.weights_)


@pytest.mark.parametrize("mixture", [BernoulliMixture, CategoricalMixture])
def test_gaps_at_random_do_little_harm(mixture, answers):
    X, y = answers
    holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.2, np.nan, X)
    model = mixture(3, random_state=0).fit(holes)
    assert np.all(np.diff(model.history_) <= 1e-12)
    whole = mixture(3, random_state=0).fit(X)
    kept = adjusted_rand_score(y, model.labels_) / adjusted_rand_score(y, whole.labels_)
    assert kept > 0.7


def test_topics_are_found_again_and_dense_equals_sparse(documents):
    X, y = documents
    model = MultinomialMixture(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    thin = MultinomialMixture(3, random_state=0).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(thin.labels_, model.labels_)
    np.testing.assert_allclose(thin.feature_log_prob_, model.feature_log_prob_)


def test_multinomial_ascends_its_objective_and_ends_where_it_is_flat(documents):
    X, _ = documents
    model = MultinomialMixture(3, random_state=1, tol=1e-12, max_iter=2000, alpha=0.2).fit(X)
    log_theta = model.feature_log_prob_
    weights = model.weights_

    def objective(log_theta):
        joint = X @ log_theta.T + np.log(weights)
        return logsumexp(joint, axis=1).sum() + 0.2 * log_theta.sum()

    assert -model.objective_ * len(X) == pytest.approx(objective(log_theta))
    rng = np.random.default_rng(0)
    for _ in range(5):  # along the simplex the derivative is zero
        direction = rng.normal(size=log_theta.shape)

        def moved(step, direction=direction):
            shifted = log_theta + step * direction
            return objective(shifted - logsumexp(shifted, axis=1, keepdims=True))

        slope = (moved(1e-4) - moved(-1e-4)) / 2e-4
        assert abs(slope) < 1e-3 * abs(objective(log_theta)) ** 0.5


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match=r"Negative values.*row 2 has -3"):
        MultinomialMixture(2).fit(np.array([[1.0, 2.0], [0.0, 1.0], [-3.0, 1.0]]))


def test_a_feature_never_observed_is_named():
    with pytest.raises(ValueError, match="No value of column 1 is known"):
        CategoricalMixture(2).fit(np.array([[1.0, np.nan], [0.0, np.nan], [1.0, np.nan]]))


def test_samples_have_the_shares_of_the_model(answers):
    X, _ = answers
    model = BernoulliMixture(3, random_state=0).fit(X)
    drawn, labels = model.sample(60_000)
    for s in range(3):
        np.testing.assert_allclose(drawn[labels == s].mean(axis=0), model.means_[s], atol=0.02)
    kinds = CategoricalMixture(2, random_state=0).fit(X * 5 + 1)
    assert set(np.unique(kinds.sample(100)[0])) == {1.0, 6.0}
