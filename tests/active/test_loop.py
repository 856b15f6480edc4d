"""The loop around strategy, oracle and clusterer; and the oracles."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from tests.active.conftest import Spy

from sidelight import Constraints
from sidelight.active import ActiveClusterer, CallableOracle, LabelOracle, MinMax, Oracle
from sidelight.cluster import COPKMeans, PCKMeans
from sidelight.evaluation import adjusted_rand_index, pairwise_f1
from sidelight.exceptions import SidelightError

NAMES = ("random", "explore-consolidate", "min-max", "npu", "cobras")


@pytest.mark.parametrize("name", NAMES)
def test_the_budget_is_kept_and_everything_is_told(name, mixed):
    X, y = mixed
    oracle = LabelOracle(y)
    model = ActiveClusterer(PCKMeans(3, n_init=1, random_state=0), name, 23, random_state=0)
    assert model.fit(X, oracle=oracle) is model
    assert model.n_queries_ == oracle.n_queries == model.answers_.n_answers == 23
    assert model.constraints_ == model.answers_.constraints
    assert model.constraints_.violations(y).n == 0
    counts = [n for n, _ in model.history_]
    assert counts == sorted(set(counts))
    assert (counts[0], counts[-1]) == (0, 23)
    np.testing.assert_array_equal(model.history_[-1][1], model.labels_)
    again = PCKMeans(3, n_init=1, random_state=0).fit(X, constraints=model.constraints_)
    np.testing.assert_array_equal(model.estimator_.labels_, again.labels_)
    if name != "cobras":
        np.testing.assert_array_equal(model.labels_, again.labels_)
        np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_clusters_of_cobras_are_its_own(mixed):
    X, y = mixed
    model = ActiveClusterer(PCKMeans(3, n_init=1, random_state=0), "cobras", 60, random_state=0)
    model.fit(X, oracle=LabelOracle(y))
    np.testing.assert_array_equal(model.labels_, model.strategy_.labels_)
    np.testing.assert_array_equal(model.history_[-1][1], model.labels_)
    speakers = model.strategy_.representatives_
    squared = ((X[:, None] - X[speakers]) ** 2).sum(axis=2)
    nearest = model.labels_[speakers][squared.argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X), nearest)
    # Before its first splitting and joining is complete it has none.
    early = clone(model).set_params(budget=1).fit(X, oracle=LabelOracle(y))
    np.testing.assert_array_equal(early.labels_, early.estimator_.labels_)
    with pytest.raises(SidelightError, match="no clusters yet"):
        early.strategy_.predict(X)


def test_it_ends_when_nothing_is_left_to_ask(mixed):
    X, y = mixed
    model = ActiveClusterer(COPKMeans(3, random_state=0), budget=10_000, random_state=0)
    model.fit(X, oracle=LabelOracle(y))
    assert model.n_queries_ < 3 * len(y)
    assert adjusted_rand_index(y, model.labels_) == 1


def test_no_budget_is_plain_clustering(mixed):
    X, y = mixed
    model = ActiveClusterer(PCKMeans(3, random_state=0), budget=0).fit(X, oracle=LabelOracle(y))
    np.testing.assert_array_equal(model.labels_, PCKMeans(3, random_state=0).fit(X).labels_)
    assert len(model.history_) == 1


def test_prior_constraints_are_kept_and_their_pairs_not_asked(mixed):
    X, y = mixed
    known = Constraints.from_labels(np.where(np.arange(len(y)) % 2, y, -1))
    model = ActiveClusterer(COPKMeans(3, random_state=0), "random", 30, random_state=0)

    class Watching(Spy):
        def query(self, i, j):
            self.answers = model.answers_
            return super().query(i, j)

    model.fit(X, oracle=Watching(y), constraints=known)
    assert model.constraints_ & known == known
    assert known.violations(model.labels_).n == 0


def test_not_knowing_counts_as_a_question_and_is_not_repeated(mixed):
    X, y = mixed
    spy = Spy(y, unsure=0.5)
    model = ActiveClusterer(PCKMeans(3, n_init=1), MinMax(), 40, random_state=0)
    model.fit(X, oracle=spy)
    assert model.n_queries_ == len(spy.asked) == 40
    assert model.answers_.n_skipped > 5
    assert len({frozenset(pair) for pair in spy.asked}) == 40


def test_asking_well_beats_asking_at_random():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = {
        name: np.mean(
            [
                pairwise_f1(
                    y,
                    ActiveClusterer(
                        PCKMeans(3, n_init=1, random_state=seed), name, 100, random_state=seed
                    )
                    .fit(X, oracle=LabelOracle(y))
                    .labels_,
                )
                for seed in range(3)
            ]
        )
        for name in ("random", "explore-consolidate", "min-max")
    }
    assert scores["explore-consolidate"] > scores["random"]
    assert scores["min-max"] > scores["random"]


def test_the_loop_is_an_estimator_like_others(mixed):
    X, y = mixed
    model = ActiveClusterer(PCKMeans(3, n_init=1, random_state=0), MinMax(), 10, random_state=5)
    copy = clone(model)
    assert copy.strategy is not model.strategy
    assert copy.get_params()["estimator__n_clusters"] == 3
    first = model.fit(X.tolist(), oracle=LabelOracle(y)).answers_.entries
    assert copy.fit(X, oracle=lambda i, j: bool(y[i] == y[j])).answers_.entries == first
    assert not hasattr(model.strategy, "_answers")  # the parameter itself was not started


def test_ctrl_c_keeps_the_answers_so_far(mixed):
    import sidelight

    X, y = mixed

    class Impatient(Spy):
        def query(self, i, j):
            if len(self.asked) == 7:
                raise KeyboardInterrupt
            return super().query(i, j)

    model = ActiveClusterer(PCKMeans(3, n_init=1), budget=50, random_state=0)
    with sidelight.progress(show=False, keep_best=True), pytest.warns(UserWarning, match="after 7"):
        model.fit(X, oracle=Impatient(y))
    assert model.answers_.n_answers == 7
    assert model.history_[-1][0] == model.n_queries_ == 7


def test_mistakes_are_explained(mixed):
    X, y = mixed
    with pytest.raises(ValueError, match="budget"):
        ActiveClusterer(PCKMeans(3), budget=-1).fit(X, oracle=LabelOracle(y))
    with pytest.raises(SidelightError, match=r"query\(i, j\)"):
        ActiveClusterer(PCKMeans(3)).fit(X, oracle=3)
    with pytest.raises(SidelightError, match="about 5 rows"):
        ActiveClusterer(PCKMeans(3)).fit(
            X, oracle=LabelOracle(y), constraints=Constraints(n_samples=5)
        )
    with pytest.raises(TypeError, match="True, False or None"):
        ActiveClusterer(PCKMeans(3), budget=1).fit(X, oracle=lambda i, j: "yes")


# ------------------------------------------------------------------ oracles


def test_noise_flips_about_that_share_and_always_the_same_pairs():
    y = np.repeat([0, 1], 50)
    oracle = LabelOracle(y, noise=0.2, random_state=0)
    pairs = [(i, j) for i in range(100) for j in range(i)]
    first = np.array([oracle.query(i, j) for i, j in pairs])
    truth = np.array([y[i] == y[j] for i, j in pairs])
    assert np.mean(first != truth) == pytest.approx(0.2, abs=0.02)
    again = LabelOracle(y, noise=0.2, random_state=0)
    backwards = np.array([again.query(j, i) for i, j in reversed(pairs)])[::-1]
    np.testing.assert_array_equal(first, backwards)
    other = LabelOracle(y, noise=0.2, random_state=1)
    assert np.any(first != np.array([other.query(i, j) for i, j in pairs]))


def test_oracles_are_oracles():
    assert isinstance(LabelOracle([0, 1]), Oracle)
    assert isinstance(CallableOracle(lambda i, j: None), Oracle)
    assert CallableOracle(lambda i, j: None).query(0, 1) is None
    with pytest.raises(SidelightError, match="knows no class"):
        LabelOracle([-1, -1])
    with pytest.raises(ValueError, match="probability"):
        LabelOracle([0, 1], noise=2)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_answers_never_make_a_contradiction(name, mixed):
    X, y = mixed
    oracle = LabelOracle(y, noise=0.3, random_state=0)
    model = ActiveClusterer(PCKMeans(3, n_init=1), name, 60, random_state=0).fit(X, oracle=oracle)
    assert model.constraints_.contradiction() is None
