"""ConstraintSearchCV: finds what the pairs speak for, and never looks at what it holds out."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import sidelight
from sidelight import Constraints
from sidelight.cluster import COPKMeans, PCKMeans
from sidelight.evaluation import ConstraintSearchCV, _search, adjusted_rand_index
from sidelight.evaluation._constraints import held_out_satisfaction, satisfaction
from sidelight.exceptions import InfeasibleConstraints, SidelightError


def blobs(n_classes=4, size=40, seed=0):
    rng = np.random.default_rng(seed)
    centers = 12 * rng.permutation(np.eye(n_classes, 5))
    classes = rng.permutation(np.repeat(np.arange(n_classes), size))
    return centers[classes] + rng.normal(size=(len(classes), 5)), classes


@pytest.fixture(scope="module")
def data():
    X, classes = blobs()
    return X, classes, Constraints.sample(classes, 150, random_state=0)


class Spy(ClusterMixin, BaseEstimator):
    """Answers with what it was told, and writes down what that was."""

    seen = []  # noqa: RUF012

    def __init__(self, merge=1):
        self.merge = merge

    def fit(self, X, y=None, *, constraints=None):
        Spy.seen.append(constraints)
        self.labels_ = constraints.components() // self.merge
        return self


class Infeasible(ClusterMixin, BaseEstimator):
    """Fails where it is told to."""

    def __init__(self, n_clusters=2, fails=(), fails_on_all=()):
        self.n_clusters = n_clusters
        self.fails = fails
        self.fails_on_all = fails_on_all

    def fit(self, X, y=None, *, constraints=None):
        told_all = constraints.n_pairs == 60
        if self.n_clusters in self.fails or (told_all and self.n_clusters in self.fails_on_all):
            raise InfeasibleConstraints(f"{self.n_clusters} are too few", k=self.n_clusters)
        self.labels_ = np.arange(len(X)) % self.n_clusters
        return self


class Fixed(ClusterMixin, BaseEstimator):
    """Takes no constraints; clusters are given."""

    def __init__(self, labels=None):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)
        return self


class TestFindsTheNumberOfClusters:
    @pytest.mark.parametrize("cv", [5, 0.3])
    def test_of_an_estimator_that_listens(self, data, cv):
        X, classes, known = data
        search = ConstraintSearchCV(
            PCKMeans(n_init=3),
            {"n_clusters": [2, 3, 4, 5, 6]},
            constraints_cv=cv,
            random_state=0,
        ).fit(X, constraints=known)
        assert search.best_params_ == {"n_clusters": 4}
        assert search.best_score_ == pytest.approx(1)
        assert adjusted_rand_index(classes, search.labels_) == 1
        assert np.array_equal(search.predict(X), search.labels_)
        assert search.transform(X).shape == (160, 4)
        assert search.n_features_in_ == 5

    @pytest.mark.parametrize(
        ("estimator", "grid"),
        [
            (SklearnKMeans(n_init=5), {"n_clusters": [2, 3, 4, 5, 6]}),
            (AgglomerativeClustering(), {"n_clusters": [2, 3, 4, 5, 6]}),
            (DBSCAN(min_samples=3), {"eps": [0.05, 4.0, 100.0]}),
        ],
    )
    def test_of_an_estimator_that_does_not(self, data, estimator, grid):
        X, classes, known = data
        search = ConstraintSearchCV(estimator, grid, random_state=0).fit(X, constraints=known)
        assert adjusted_rand_index(classes, search.labels_) > 0.95
        assert search.n_splits_ == 1

    @pytest.mark.parametrize("estimator", [SklearnKMeans(n_init=5), PCKMeans(n_init=3)])
    def test_from_partial_labels(self, estimator):
        X, classes = blobs()
        y = np.where(np.arange(len(X)) % 5 == 0, classes, -1)
        grid = {"n_clusters": [3, 4, 5]}
        search = ConstraintSearchCV(estimator, grid, random_state=0).fit(X, y)
        assert search.best_params_ == {"n_clusters": 4}
        assert search.best_score_ == pytest.approx(1)


class TestPipelines:
    GRID = ({"cluster__n_clusters": [3, 4, 5]},)

    def search(self, last):
        steps = [("scale", StandardScaler()), ("cluster", last)]
        return ConstraintSearchCV(Pipeline(steps), list(self.GRID), random_state=0)

    def test_by_name_of_the_step(self, data):
        X, classes, known = data
        search = self.search(PCKMeans(n_init=2)).fit(X, constraints=known)
        assert search.best_params_ == {"cluster__n_clusters": 4}
        assert search.best_estimator_[-1].n_violations_ == 0
        assert adjusted_rand_index(classes, search.predict(X)) == 1

    def test_by_metadata_routing(self, data):
        X, classes, known = data
        with sklearn.config_context(enable_metadata_routing=True):
            search = self.search(PCKMeans(n_init=2)).fit(X, constraints=known)
            assert search.best_params_ == {"cluster__n_clusters": 4}
            asked = PCKMeans(n_init=2).set_fit_request(constraints=True)
            assert self.search(asked).fit(X, constraints=known).best_score_ == search.best_score_
        assert adjusted_rand_index(classes, search.labels_) == 1

    def test_constraints_reach_the_last_step(self, data):
        X, _, known = data
        Spy.seen.clear()
        ConstraintSearchCV(make_pipeline(PCA(2), Spy()), {}, random_state=0).fit(
            X, constraints=known
        )
        assert len(Spy.seen) == 6
        assert all(0 < seen.n_pairs < known.n_pairs for seen in Spy.seen[:5])
        assert Spy.seen[5] == known

    def test_pipeline_that_does_not_listen(self, data):
        X, _, known = data
        search = self.search(SklearnKMeans(n_init=3)).fit(X, constraints=known)
        assert search.best_params_ == {"cluster__n_clusters": 4}

    def test_methods_may_compete(self, data):
        X, _, known = data
        grid = {"cluster": [SklearnKMeans(4, n_init=3), Spy(), PCKMeans(4, n_init=2)]}
        pipeline = Pipeline([("cluster", Spy())])
        search = ConstraintSearchCV(pipeline, grid, random_state=0).fit(X, constraints=known)
        assert search.best_index_ in (0, 2)
        assert search.n_splits_ == 5
        assert search.cv_results_["mean_test_score"][1] < 0.6


class TestHoldsOut:
    def test_nothing_held_out_follows_from_what_was_told(self, monkeypatch):
        _, classes = blobs()
        known = Constraints.sample(classes, 100, random_state=1)
        scored = []
        count = _search.held_out_satisfaction

        def listen(train, held_out, labels, known):
            scored.append(held_out)
            return count(train, held_out, labels, known)

        monkeypatch.setattr(_search, "held_out_satisfaction", listen)
        Spy.seen.clear()
        X = np.zeros((len(classes), 1))
        search = ConstraintSearchCV(Spy(), {}, n_repeats=2, random_state=0)
        search.fit(X, constraints=known)
        assert len(scored) == 10
        for told, held_out in zip(Spy.seen, scored, strict=False):
            component = told.components()
            conflicts = {tuple(edge) for edge in told.closure().conflicts}
            assert held_out.n_pairs > 0
            for i, j in held_out.must_link:
                assert component[i] != component[j]
            for i, j in held_out.cannot_link:
                assert tuple(sorted((component[i], component[j]))) not in conflicts
        # Knowing only what it was told, the spy respects no must-link that was held out.
        assert search.cv_results_["mean_test_must_link"][0] == 0

    def test_a_held_out_label_is_scored_against_all_others(self):
        known = Constraints(labels=[0, 0, 1, 1, -1], must_link=[(0, 1)])
        train = Constraints(labels=[0, 0, 1, -1, -1], must_link=[(0, 1)])
        held_out = Constraints(labels=[-1, -1, -1, 1, -1])
        clusters = [0, 1, 1, 0, 0]
        kept = held_out_satisfaction(train, held_out, clusters, known)
        # Row 3 with rows 0 and 1 (apart: one kept), and with row 2 (together: not kept).
        assert (kept.must_link, kept.must_link_kept) == (1, 0)
        assert (kept.cannot_link, kept.cannot_link_kept) == (2, 1)
        everything = held_out_satisfaction(known, known, clusters, known)
        assert everything == satisfaction(known, clusters)

    def test_nothing_to_score(self):
        known = Constraints.from_labels([0, -1, -1, -1])
        with pytest.raises(SidelightError, match="says nothing on any pair"):
            ConstraintSearchCV(Fixed(), {"labels": [np.zeros(4)]}).fit(
                np.zeros((4, 1)), constraints=known
            )

    def test_without_listening_all_constraints_are_scored(self, data):
        X, classes, known = data
        search = ConstraintSearchCV(Fixed(), {"labels": [classes]}, balanced=False)
        assert search.fit(X, constraints=known).best_score_ == 1
        half = np.where(classes < 2, 0, classes)
        search = ConstraintSearchCV(Fixed(), {"labels": [half]}, balanced=False)
        expected = sidelight.evaluation.constraint_satisfaction(known, half)
        assert search.fit(X, constraints=known).best_score_ == pytest.approx(expected)


class TestScores:
    def test_balanced_does_not_fall_for_singletons(self):
        classes = np.repeat(np.arange(10), 10)
        X = np.zeros((100, 1))
        known = Constraints.sample(classes, 200, random_state=0)
        rng = np.random.default_rng(0)
        half_right = np.where(rng.random(100) < 0.25, rng.integers(0, 10, 100), classes)
        grid = {"labels": [np.arange(100), half_right]}
        plain = ConstraintSearchCV(Fixed(), grid, balanced=False).fit(X, constraints=known)
        fair = ConstraintSearchCV(Fixed(), grid).fit(X, constraints=known)
        assert fair.best_index_ == 1
        assert fair.cv_results_["mean_test_score"][0] == 0.5
        assert plain.cv_results_["mean_test_score"][0] > 0.85

    def test_ties_are_reported_and_the_fewest_clusters_win(self):
        classes = np.repeat([0, 1], 10)
        known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 19)], n_samples=20)
        finer = classes * 2 + (np.arange(20) > 17)
        wrong = np.zeros(20, dtype=int)
        grid = {"labels": [finer, wrong, classes, 1 - classes]}
        search = ConstraintSearchCV(Fixed(), grid).fit(np.zeros((20, 1)), constraints=known)
        assert search.best_index_ == 2
        assert len(search.ties_) == 3
        assert [tie["labels"] is wrong for tie in search.ties_] == [False] * 3
        assert search.cv_results_["rank_test_score"].tolist() == [1, 4, 1, 1]
        assert search.cv_results_["mean_n_clusters"].tolist() == [3, 1, 2, 2]

    def test_ties_within_one_standard_error(self, data):
        X, _, known = data
        search = ConstraintSearchCV(
            SklearnKMeans(n_init=1), {"n_clusters": [4, 5, 9]}, n_repeats=6, random_state=0
        ).fit(X, constraints=known)
        results = search.cv_results_
        best = search.best_index_
        error = results["std_test_score"][best] / np.sqrt(6)
        near = results["mean_test_score"] >= search.best_score_ - max(error, 1e-12)
        assert search.ties_ == [results["params"][i] for i in np.flatnonzero(near)]

    def test_table(self, data):
        X, _, known = data
        grid = [{"n_clusters": [3, 4]}, {"n_clusters": [4], "penalty": [2.0]}]
        search = ConstraintSearchCV(PCKMeans(n_init=1), grid, n_repeats=2, random_state=0)
        table = search.fit(X, constraints=known).cv_results_
        splits = np.array([table[f"split{number}_test_score"] for number in range(10)])
        assert splits.shape == (10, 3)
        assert table["std_test_score"] == pytest.approx(splits.std(axis=0))
        both = (table["mean_test_must_link"] + table["mean_test_cannot_link"]) / 2
        assert table["mean_test_score"] == pytest.approx(both)
        assert table["param_n_clusters"].tolist() == [3, 4, 4]
        assert table["param_penalty"].mask.tolist() == [True, True, False]
        assert np.all(table["mean_fit_time"] > 0)
        assert table["error"].tolist() == [None] * 3


class TestFailures:
    X = np.zeros((30, 1))
    KNOWN = Constraints(
        must_link=[(i, i + 2) for i in range(28)],
        cannot_link=[(i, i + 1) for i in range(29)] + [(0, 3), (0, 5), (0, 7)],
        n_samples=30,
    )

    def test_infeasible_candidates_are_reported(self):
        grid = {"n_clusters": [1, 2, 3]}
        search = ConstraintSearchCV(Infeasible(fails=(1, 3)), grid, random_state=0)
        search.fit(self.X, constraints=self.KNOWN)
        assert search.best_params_ == {"n_clusters": 2}
        assert search.cv_results_["error"].tolist() == ["1 are too few", None, "3 are too few"]
        assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False, True]
        assert search.cv_results_["rank_test_score"].tolist() == [2, 1, 2]

    def test_the_next_best_is_taken_when_all_constraints_are_too_many(self):
        grid = {"n_clusters": [2, 3]}
        search = ConstraintSearchCV(Infeasible(fails_on_all=(2,)), grid, random_state=0)
        search.fit(self.X, constraints=self.KNOWN)
        assert search.best_params_ == {"n_clusters": 3}
        assert search.cv_results_["error"].tolist() == ["2 are too few", None]

    def test_all_fail(self):
        search = ConstraintSearchCV(Infeasible(fails=(1, 2)), {"n_clusters": [2, 1]})
        with pytest.raises(SidelightError, match="first failed: 2 are too few"):
            search.fit(self.X, constraints=self.KNOWN)

    def test_other_errors_are_not_hidden(self, data):
        X, _, known = data
        with pytest.raises(ValueError, match="n_clusters"):
            ConstraintSearchCV(SklearnKMeans(), {"n_clusters": [-1]}).fit(X, constraints=known)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"constraints_cv": 1}, "constraints_cv"),
            ({"constraints_cv": 1.5}, "constraints_cv"),
            ({"constraints_cv": "five"}, "constraints_cv"),
            ({"n_repeats": 0}, "n_repeats"),
            ({"n_jobs": 0}, "n_jobs"),
        ],
    )
    def test_settings(self, settings, message):
        with pytest.raises(ValueError, match=message):
            ConstraintSearchCV(Spy(), {}, **settings).fit(self.X, constraints=self.KNOWN)

    def test_nothing_known(self):
        for nothing in (None, Constraints(n_samples=30)):
            with pytest.raises(SidelightError, match="at least a few"):
                ConstraintSearchCV(Spy(), {}).fit(self.X, constraints=nothing)
        with pytest.raises(TypeError, match="Constraints object, not list"):
            ConstraintSearchCV(Spy(), {}).fit(self.X, constraints=[(0, 1)])

    def test_interrupted_search_keeps_what_is_finished(self):
        class Impatient(Infeasible):
            def fit(self, X, y=None, *, constraints=None):
                if self.n_clusters == 3:
                    raise KeyboardInterrupt
                return super().fit(X, constraints=constraints)

        search = ConstraintSearchCV(Impatient(), {"n_clusters": [2, 3, 4]}, random_state=0)
        keep_best = sidelight.progress(show=False, keep_best=True)
        with pytest.warns(UserWarning, match="interrupted"), keep_best:
            search.fit(self.X, constraints=self.KNOWN)
        assert search.best_params_ == {"n_clusters": 2}
        assert [bool(error) for error in search.cv_results_["error"]] == [False, True, True]
        with pytest.raises(KeyboardInterrupt):
            clone(search).fit(self.X, constraints=self.KNOWN)


class TestIsAnEstimator:
    @pytest.mark.parametrize("n_jobs", [2, 3, -1])
    def test_any_number_of_jobs_gives_the_same(self, data, n_jobs):
        X, _, known = data
        grid = {"n_clusters": [3, 1, 4, 5]}  # 1 cannot keep the cannot-links
        search = ConstraintSearchCV(COPKMeans(n_init=2), grid, random_state=7)
        one = clone(search).fit(X, constraints=known)
        with joblib.parallel_config("threading"):
            many = search.set_params(n_jobs=n_jobs).fit(X, constraints=known)
        np.testing.assert_array_equal(many.labels_, one.labels_)
        assert many.best_params_ == one.best_params_
        assert [bool(error) for error in many.cv_results_["error"]] == [False, True, False, False]
        for name, column in one.cv_results_.items():
            if name != "mean_fit_time" and not name.startswith("param"):
                np.testing.assert_array_equal(column, many.cv_results_[name])

    def test_deterministic(self, data):
        X, _, known = data
        grid = {"n_clusters": [3, 4, 5]}
        first, again = (
            ConstraintSearchCV(PCKMeans(n_init=1), grid, random_state=7).fit(X, constraints=known)
            for _ in range(2)
        )
        assert np.array_equal(first.labels_, again.labels_)
        for name, column in first.cv_results_.items():
            if name != "mean_fit_time" and not name.startswith("param"):
                np.testing.assert_array_equal(column, again.cv_results_[name])

    def test_own_random_state_of_the_estimator_is_kept(self, data):
        X, _, known = data
        search = ConstraintSearchCV(PCKMeans(4, random_state=3), {}, random_state=0)
        assert search.fit(X, constraints=known).best_estimator_.random_state == 3
        search = ConstraintSearchCV(PCKMeans(4), {}, random_state=0).fit(X, constraints=known)
        assert search.best_estimator_.random_state is not None
        assert search.estimator.random_state is None

    def test_clone_params_pickle(self, data):
        X, _, known = data
        search = ConstraintSearchCV(PCKMeans(n_init=1), {"n_clusters": [4]}, random_state=0)
        assert clone(search).get_params()["estimator__n_init"] == 1
        assert "ConstraintSearchCV" in repr(search)
        search.fit(X, constraints=known)
        copy = pickle.loads(pickle.dumps(search))
        assert np.array_equal(copy.predict(X), search.labels_)
        assert not hasattr(clone(search), "cv_results_")

    def test_methods_of_the_estimator_are_offered(self, data):
        listening = ConstraintSearchCV(PCKMeans(), {})
        assert hasattr(listening, "predict")
        assert hasattr(listening, "transform")
        assert not hasattr(ConstraintSearchCV(AgglomerativeClustering(), {}), "predict")
        with pytest.raises(sklearn.exceptions.NotFittedError):
            listening.predict(data[0])

    def test_without_refit(self, data):
        X, _, known = data
        search = ConstraintSearchCV(PCKMeans(n_init=1), {"n_clusters": [4]}, refit=False)
        search.fit(X, constraints=known)
        assert search.best_params_ == {"n_clusters": 4}
        assert not hasattr(search, "best_estimator_")
        with pytest.raises(AttributeError, match="refit=False"):
            search.predict(X)

    def test_fit_predict(self, data):
        X, classes, known = data
        search = ConstraintSearchCV(PCKMeans(n_init=1), {"n_clusters": [4]}, random_state=0)
        assert adjusted_rand_index(classes, search.fit_predict(X, constraints=known)) == 1

    def test_as_a_step_of_a_pipeline(self, data):
        X, classes, known = data
        with sklearn.config_context(enable_metadata_routing=True):
            search = ConstraintSearchCV(PCKMeans(n_init=1), {"n_clusters": [3, 4]}, random_state=0)
            search.set_fit_request(constraints=True)
            model = make_pipeline(StandardScaler(), search).fit(X, constraints=known)
        assert adjusted_rand_index(classes, model[-1].labels_) == 1
