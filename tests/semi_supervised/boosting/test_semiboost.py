"""SemiBoost: rounds, objective, machines (checks 4 to 11 of the specification, and limits)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.semi_supervised.boosting.data import bell, digits, objective, two_blobs

import sidelight
from sidelight.exceptions import ConstraintWarning
from sidelight.semi_supervised import SemiBoostClassifier


def boost(**params):
    return SemiBoostClassifier(**{"similarity": "rbf", "sigma": 1.0, "random_state": 0, **params})


def parts(X, known, sigma=1.0):
    """Similarities of unlabeled rows to labeled ones and to each other, and labels as signs."""
    S, U, L = bell(X, sigma), np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    return S[np.ix_(U, L)], S[np.ix_(U, U)], 2.0 * known[L] - 1


# ------------------------------------------------------------------ the objective falls


@pytest.mark.parametrize("sampling", ["weight", "weighted", "top"])
@pytest.mark.parametrize("estimator", ["stump", "tree"])
def test_objective_falls_and_stays_under_its_bound(estimator, sampling):
    X, _, known = two_blobs(distance=1.5)
    model = boost(estimator=estimator, sampling=sampling).fit(X, known)
    assert len(model.estimator_weights_) == len(model.estimator_errors_) == model.n_iter_ > 3
    assert len(model.history_) == model.n_iter_ + 1
    assert np.all(np.diff(model.history_) < 0)
    steps = np.cumprod(1 / np.cosh(2 * model.estimator_weights_))
    assert np.all(model.history_[1:] <= model.history_[0] * steps * (1 + 1e-6))
    np.testing.assert_allclose(
        model.estimator_weights_, np.log(1 / model.estimator_errors_ - 1) / 4, rtol=1e-10
    )


def test_recorded_objective_is_that_of_the_ensemble():
    X, _, known = two_blobs(n=30)
    S_ul, S_uu, y = parts(X, known)
    model = boost(n_estimators=4).fit(X, known)
    C = len(y) / len(S_uu)
    values = [np.zeros(len(S_uu)), *model.staged_decision_function(X[known < 0])]
    expected = [objective(H, S_ul, S_uu, y, C) for H in values]
    np.testing.assert_allclose(model.history_, expected, rtol=1e-6)
    assert model.objective_ == model.history_[-1]


def test_margins_grow_on_digits():
    X, y = digits()
    known = np.where(np.arange(len(y)) < 10, y, -1)
    model = SemiBoostClassifier(random_state=0).fit(X, known)
    assert np.all(np.diff(model.mean_margins_) > -1e-9)
    H = model.decision_function(X[model.unlabeled_])
    assert model.mean_margins_[-1] == pytest.approx(np.abs(H).mean())
    assert model.score(X[known < 0], y[known < 0]) > 0.95


def test_functional_gradient_takes_fixed_steps_and_ends_when_they_are_too_long():
    X, _, known = two_blobs(distance=1.5)
    short = boost(step=0.01).fit(X, known)
    np.testing.assert_array_equal(short.estimator_weights_, np.full(20, 0.01))
    assert np.all(np.diff(short.history_) < 0)
    # The first step follows the gradient: F falls by twice the step times Σ |p - q| h z.
    exact = boost(n_estimators=1).fit(X, known)
    assert (short.pseudo_labels_history_[0] == exact.pseudo_labels_history_[0]).all()
    fall = 2 * 0.01 * (1 - 2 * short.estimator_errors_[0]) * short.history_[0]
    assert short.history_[0] - short.history_[1] == pytest.approx(fall, rel=0.1)
    long = boost(step=0.3, n_estimators=200).fit(X, known)
    assert long.stop_reason_ == "a step of this length raises the objective"
    assert 1 <= long.n_iter_ < 200
    assert np.all(np.diff(long.history_) < 0)


# ------------------------------------------------------------------ pseudo-labels


def test_first_pseudo_labels_are_the_vote_of_the_labeled_rows():
    X, _, known = two_blobs()
    S_ul, _, y = parts(X, known)
    for C in (0.0, "ratio", 3.0):
        model = boost(unlabeled_weight=C, n_estimators=1).fit(X, known)
        np.testing.assert_array_equal(model.pseudo_labels_history_[0], np.sign(S_ul @ y))
        assert model.pseudo_labels_history_.dtype == np.int8


def test_without_unlabeled_pairs_a_memorizing_learner_is_adaboost_on_the_votes():
    X, _, known = two_blobs(distance=1.0)
    S_ul, _, y = parts(X, known)
    a, b = S_ul @ (y > 0), S_ul @ (y < 0)
    model = boost(estimator="tree", unlabeled_weight=0.0, n_estimators=5).fit(X, known)
    H = np.zeros(len(a))
    for alpha, error in zip(model.estimator_weights_, model.estimator_errors_, strict=True):
        p, q = a * np.exp(-2 * H), b * np.exp(2 * H)
        z = np.sign(p - q)
        assert error == pytest.approx(np.minimum(p, q).sum() / (p + q).sum(), rel=1e-9)
        H += alpha * z
    np.testing.assert_allclose(model.decision_function(X[known < 0]), H, rtol=1e-9)
    one = boost(estimator="tree", unlabeled_weight=0.0, n_estimators=1).fit(X, known)
    np.testing.assert_array_equal(np.sign(one.decision_function(X[known < 0])), np.sign(a - b))


@pytest.mark.parametrize("sampling", ["top", "weight"])
def test_other_names_of_the_classes_turn_the_sign(sampling):
    X, _, known = two_blobs(distance=1.5)
    model = boost(sampling=sampling).fit(X, known)
    turned = boost(sampling=sampling).fit(X, np.where(known < 0, -1, 1 - known))
    np.testing.assert_allclose(
        turned.decision_function(X), -model.decision_function(X), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("sampling", ["weighted", "top", "weight"])
def test_scale_of_the_similarities_does_not_matter(sampling):
    X, _, known = two_blobs(distance=1.5)
    S = bell(X, 1.0)
    plain = boost(similarity=S, sampling=sampling).fit(X, known)
    scaled = boost(similarity=S * 1e-200, sampling=sampling).fit(X, known)
    np.testing.assert_allclose(scaled.estimator_weights_, plain.estimator_weights_, rtol=1e-9)
    np.testing.assert_array_equal(scaled.pseudo_labels_history_, plain.pseudo_labels_history_)
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("estimator", ["tree", "neighbors"])
def test_blocks_of_similar_rows_take_the_class_of_their_labeled_row(estimator):
    rng = np.random.default_rng(0)
    block = np.repeat(np.arange(6), 8)
    X = rng.normal(size=(48, 3))  # features say nothing of the blocks
    S = (block[:, None] == block) * rng.uniform(0.5, 1.0, (48, 48))
    S = (S + S.T) / 2
    known = np.full(48, -1)
    known[::8] = np.arange(6) % 2
    fraction = 1.0 if estimator == "neighbors" else 0.5
    model = boost(estimator=estimator, similarity=S, fraction=fraction).fit(X, known)
    np.testing.assert_array_equal(model.transduction_, block % 2)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("estimator", ["stump", "logistic", "neighbors", "svm"])
def test_without_unlabeled_rows_it_is_the_learner(estimator):
    X, y, _ = two_blobs(distance=1.5)
    model = SemiBoostClassifier(estimator, random_state=0).fit(X[:40], y[:40])
    plain = type(model.estimators_[0])(**model.estimators_[0].get_params()).fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.stop_reason_ == "there are no unlabeled rows"
    assert model.n_iter_ == 0
    assert model.objective_ == 0.0


def test_without_unlabeled_rows_the_loss_of_labels_makes_it_adaboost():
    X, y, _ = two_blobs(n=120, distance=1.5)
    model = SemiBoostClassifier(labeled_loss=1.0, n_estimators=15, random_state=0).fit(X, y)
    peer = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=15, random_state=0
    ).fit(X, y)
    # Theirs weighs learners by ln((1 - ε)/ε), ours is a quarter of it.
    np.testing.assert_allclose(model.estimator_weights_, peer.estimator_weights_ / 4, rtol=1e-8)
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("sampling", ["weight", "weighted"])
def test_loss_of_labels_is_part_of_the_objective(sampling):
    X, _, known = two_blobs(n=30, distance=1.0)
    S_ul, S_uu, y = parts(X, known)
    model = boost(labeled_loss=0.7, n_estimators=4, sampling=sampling).fit(X, known)
    mass = 0.7 * S_ul.sum() / len(y)
    zero = np.zeros(len(X))
    expected = [
        objective(H[known < 0], S_ul, S_uu, y, len(y) / len(S_uu))
        + mass * np.exp(-2 * y * H[known >= 0]).sum()
        for H in (zero, *model.staged_decision_function(X))
    ]
    np.testing.assert_allclose(model.history_, expected, rtol=1e-6)
    assert np.all(np.diff(model.history_) < 0)
    assert model.confidences_.shape == (24,)


def test_similar_rows_show_which_feature_tells_the_classes_apart():
    """One labeled row per class, which differ as much in a feature that does not matter."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = np.column_stack([rng.normal(size=400), 2.0 * y + 0.3 * rng.normal(size=400)])
    known = np.full(400, -1)
    for code, place in enumerate(((-1.5, 0.0), (1.5, 2.0))):
        far = ((X - place) ** 2).sum(axis=1) + 1e3 * (y != code)
        known[np.argmin(far)] = code
    scores = [  # the first tree has two features that are as good, and takes one at random
        SemiBoostClassifier("tree", random_state=seed).fit(X, known).score(X, y)
        for seed in range(3)
    ]
    assert np.median(scores) > 0.99
    plain = DecisionTreeClassifier(random_state=2).fit(X[known >= 0], known[known >= 0])
    assert plain.score(X, y) < 0.6


# ------------------------------------------------------------------ learners and sampling


class NoWeights(ClassifierMixin, BaseEstimator):
    """A learner without weights, whose classes are words."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_ = np.array([X[codes == code].mean(axis=0) for code in range(2)])
        self.n_samples_seen_ = len(X)
        return self

    def predict(self, X):
        distances = ((X[:, None] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]


def test_samples_are_taken_where_the_learner_has_no_weights():
    X, y, known = two_blobs(n=106)
    for learner in (NoWeights(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = boost(estimator=learner, percentile=20.0).fit(X, known)
        drawn = boost(estimator=learner, percentile=20.0, sampling="weighted").fit(X, known)
        np.testing.assert_array_equal(model.decision_function(X), drawn.decision_function(X))
        assert model.score(X, y) > 0.85
    for sampling, fraction, number in (("top", 0.1, 10), ("weighted", 0.3, 30), ("top", 1.0, 100)):
        model = boost(estimator=NoWeights(), sampling=sampling, fraction=fraction).fit(X, known)
        assert model.estimators_[0].n_samples_seen_ == 6 + number


def test_top_takes_the_rows_of_the_largest_weights():
    X, _, known = two_blobs(n=106)
    S_ul, _, y = parts(X, known)
    lead = S_ul @ y
    model = boost(estimator=NoWeights(), sampling="top", n_estimators=1).fit(X, known)
    chosen = np.argsort(-np.abs(lead))[:10]
    rows = np.concatenate([X[known >= 0], X[known < 0][chosen]])
    signs = np.concatenate([y, np.sign(lead[chosen])])
    for code, sign in enumerate((-1, 1)):
        expected = rows[signs == sign].mean(axis=0)
        np.testing.assert_allclose(model.estimators_[0].means_[code], expected)


def test_an_unlucky_draw_is_tried_again():
    class Unlucky(NoWeights):
        """Says the opposite for the first times."""

        n_fits = 0

        def fit(self, X, y):
            Unlucky.n_fits += 1
            self.turned_ = Unlucky.n_fits <= 2
            return super().fit(X, y)

        def predict(self, X):
            return 1 - super().predict(X) if self.turned_ else super().predict(X)

    X, _, known = two_blobs()
    model = boost(estimator=Unlucky(), n_estimators=1, n_retries=2).fit(X, known)
    assert Unlucky.n_fits == 3
    assert model.n_iter_ == 1
    Unlucky.n_fits = 0
    with pytest.warns(ConstraintWarning, match="no use for the unlabeled rows"):
        model = boost(estimator=Unlucky(), n_estimators=1, n_retries=1).fit(X, known)
    assert Unlucky.n_fits == 3  # two draws, and the learner of the labeled rows
    assert model.stop_reason_ == "no learner agrees with the confidences better than chance"


# ------------------------------------------------------------------ more than two classes


def test_machines_of_two_classes_are_fits_to_two_classes():
    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(150) % 10 == 0, y, -1)
    model = boost(n_estimators=5).fit(X, known)
    assert [machine.pair for machine in model.machines_] == [(0, 1), (0, 2), (1, 2)]
    for machine in model.machines_:
        first, second = machine.pair
        kept = np.isin(known, (-1, first, second))
        alone = boost(n_estimators=5).fit(X[kept], known[kept])
        np.testing.assert_allclose(machine.alphas, alone.estimator_weights_, rtol=1e-4)
        np.testing.assert_allclose(machine.decide(X), alone.decision_function(X), rtol=1e-4)
    assert model.objective_ == pytest.approx(sum(m.history[-1] for m in model.machines_))
    assert len(model.estimators_) == len(model.pseudo_labels_history_) == 3


def test_more_classes_are_learned():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    known = np.where(np.arange(len(y)) % 12 == 0, y, -1)
    model = SemiBoostClassifier(random_state=0).fit(X, known)
    assert model.score(X[known < 0], y[known < 0]) > 0.85
    np.testing.assert_array_equal(model.transduction_[known < 0], model.predict(X)[known < 0])


def test_probabilities():
    X, _, known = two_blobs(distance=1.5)
    model = boost().fit(X, known)
    H = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-4 * H)))
    X, y = load_iris(return_X_y=True)
    three = boost(n_estimators=5).fit(X, np.where(np.arange(150) % 10 == 0, y, -1))
    p = np.stack([1 / (1 + np.exp(-4 * m.decide(X))) for m in three.machines_])
    product = np.stack([(1 - p[0]) * (1 - p[1]), p[0] * (1 - p[2]), p[1] * p[2]], axis=1)
    expected = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(three.predict_proba(X), expected, rtol=1e-9)


def test_probabilities_say_more_than_the_shares_of_the_classes():
    """On breast cancer, of which the shares have a log loss of .66."""
    X, y = load_breast_cancer(return_X_y=True)
    X, known = StandardScaler().fit_transform(X), np.full(len(y), -1)
    drawn = np.random.default_rng(0).permutation(len(y))[:40]
    known[drawn] = y[drawn]
    free = np.flatnonzero(known < 0)
    p = SemiBoostClassifier(random_state=0).fit(X, known).predict_proba(X)
    assert -np.log(np.maximum(p[free, y[free]], 1e-12)).mean() < 0.25


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_lead_to_the_end(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    known = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    model = boost(estimator="tree").fit(X, known)
    values = list(model.staged_decision_function(X))
    assert len(values) == model.n_iter_
    np.testing.assert_array_equal(values[-1], model.decision_function(X))
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    short = boost(estimator="tree", n_estimators=1).fit(X, known)
    if n_classes == 2:
        np.testing.assert_array_equal(values[0], short.decision_function(X))


def test_an_interruption_keeps_what_is_done():
    class Interrupted(KNeighborsClassifier):
        n_fits = 0

        def fit(self, X, y):
            Interrupted.n_fits += 1
            if Interrupted.n_fits == 4:
                raise KeyboardInterrupt
            return super().fit(X, y)

    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(150) % 10 == 0, y, -1)
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(UserWarning, match="interrupted"),
    ):
        model = boost(estimator=Interrupted(3)).fit(X, known)
    assert not model.converged_
    assert [len(machine.errors) for machine in model.machines_] == [3, 0, 0]
    assert model.score(X, y) > 0.9


# --- what it is made of ---


# ------------------------------------------------------------------ learners and sampling


def test_draws_without_replacement_follow_the_weights():
    from sidelight.semi_supervised.boosting._machine import _choose

    rng = np.random.RandomState(0)
    weight = np.array([0.0, 1.0, 2.0, 5.0])
    seen = np.zeros((4, 4))
    for _ in range(4000):
        one, other = _choose(weight, 2, "weighted", rng)
        seen[one, other] += 1
    share = weight / weight.sum()
    for i, j in itertools.combinations(range(4), 2):
        expected = share[i] * share[j] * (1 / (1 - share[i]) + 1 / (1 - share[j]))
        assert seen[i, j] / 4000 == pytest.approx(expected, abs=0.03)
    np.testing.assert_array_equal(_choose(weight, 9, "weighted", rng), [1, 2, 3])
