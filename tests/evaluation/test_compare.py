"""compare: planted cases are told apart, budgets hold, and nothing depends on the machine."""

from __future__ import annotations

import signal
import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.mixture import GaussianMixture as SklearnMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sidelight
from sidelight import Constraints, catalog
from sidelight.cluster import KMeans, PCKMeans
from sidelight.evaluation import adjusted_rand_index, compare
from sidelight.evaluation.comparison import _setting
from sidelight.evaluation.comparison._contestants import choose_numbers, middle_out, size_parameter
from sidelight.evaluation.inner import seconds_of
from sidelight.exceptions import InfeasibleConstraints, InvalidParameter, SidelightError
from sidelight.metric import RCA


def blobs(n_classes=3, size=30, apart=6.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), size))
    return apart * np.eye(n_classes)[y] + rng.normal(size=(len(y), n_classes)), y


def wrong_direction(n=160, seed=0):
    """Two classes that a small feature shows, and a large one that has to do with nothing."""
    rng = np.random.default_rng(seed)
    y, other = rng.integers(2, size=n), rng.integers(2, size=n)
    return np.column_stack([3 * y, 12 * other]) + rng.normal(size=(n, 2)) * [0.5, 1.0], y


class Told(ClusterMixin, BaseEstimator):
    """Finds the given classes, or others as soon as anything is known."""

    def __init__(self, plain=None, told=None, n_clusters=2):
        self.plain = plain
        self.told = told
        self.n_clusters = n_clusters

    def fit(self, X, y=None, *, constraints=None):
        knows = constraints is not None and not constraints.is_empty
        rows = np.asarray(X)[:, -1].astype(int)
        self.labels_ = np.asarray(self.told if knows else self.plain)[rows]
        return self


class Slow(Told):
    def fit(self, X, y=None, *, constraints=None):
        time.sleep(600)


class Picky(Told):
    """Cannot be fitted with some numbers of clusters, nor without knowledge."""

    def fit(self, X, y=None, *, constraints=None):
        if self.n_clusters > 2:
            raise InfeasibleConstraints("too many for me", k=self.n_clusters)
        if constraints.is_empty:
            raise SidelightError("I must know something")
        return super().fit(X, constraints=constraints)


def numbered(X):
    """Rows with their numbers behind them, so that estimators know who they are."""
    return np.column_stack([X, np.arange(len(X))])


class TestDidItHelp:
    def test_it_helped(self):
        X, y = wrong_direction()
        known = Constraints.sample(y, 60, random_state=0)
        found = compare(X, "pckmeans,mpckmeans", constraints=known, n_clusters=2, n_jobs=1)
        assert adjusted_rand_index(y, found.labels_) > 0.9
        assert found.best_.plain_score < 0.65
        assert found.best_.gain > 2 * found.best_.gain_error
        assert any(said.startswith("The knowledge helped: +0.") for said in found.verdict)

    def test_it_was_of_no_use(self):
        X, y = blobs()
        known = Constraints.sample(y, 40, random_state=0)
        found = compare(X, "pckmeans", constraints=known, n_clusters=3, n_jobs=1)
        assert found.best_.score == found.best_.plain_score == 1
        assert any(said.startswith("No sign that the knowledge helped") for said in found.verdict)

    def test_it_hurt(self):
        X, y = blobs(2)
        spoiled = np.random.default_rng(0).integers(2, size=len(y))
        known = Constraints.sample(y, 60, random_state=0)
        methods = {"mine": Told(plain=y, told=spoiled)}
        found = compare(numbered(X), methods, constraints=known, n_clusters=2, n_jobs=1)
        assert found.best_.plain_score == 1
        assert any(said.startswith("The knowledge hurt: -0.") for said in found.verdict)

    def test_what_cannot_do_without_is_compared_with_kmeans(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 40, random_state=0)
        methods = {"picky": Picky(told=y, plain=y), "pckmeans": PCKMeans()}
        found = compare(numbered(X), methods, constraints=known, n_clusters=2, n_jobs=1)
        plain = {one.name: one.plain for one in found.candidates}
        assert plain == {"picky": "kmeans", "pckmeans": "pckmeans"}
        row = next(row for row in found.rows() if row[0] == "picky")
        assert row[3].endswith("(kmeans)")

    def test_a_method_that_uses_nothing_has_no_twin(self):
        X, y = blobs()
        known = Constraints.sample(y, 40, random_state=0)
        found = compare(X, ["kmeans"], constraints=known, n_clusters=3, n_jobs=1)
        assert found.best_.plain is None
        assert np.isnan(found.best_.gain)
        assert "kmeans uses nothing of what is known." in found.verdict


class TestWhichOne:
    def test_it_finds_the_number_of_clusters(self):
        X, y = blobs(4)
        known = Constraints.sample(y, 80, random_state=0)
        found = compare(X, ["pckmeans"], constraints=known, n_clusters=range(2, 7), n_jobs=1)
        assert (found.best_.k, found.best_.n_clusters) == (4, 4)
        assert adjusted_rand_index(y, found.labels_) > 0.97
        assert found.best_estimator_.n_clusters == 4
        assert np.array_equal(found.best_estimator_.labels_, found.labels_)

    def test_the_fitted_one_is_that_of_a_plain_fit_with_everything(self):
        X, y = blobs()
        known = Constraints.sample(y, 30, random_state=1)
        found = compare(X, {"mine": PCKMeans(random_state=7)}, constraints=known, n_clusters=3)
        alone = PCKMeans(n_clusters=3, random_state=7).fit(X, constraints=known)
        assert np.array_equal(found.labels_, alone.labels_)

    def test_noise_is_called_noise_and_more_statements_are_counted(self):
        rng = np.random.default_rng(0)
        X, y = blobs(2, size=60)
        one, other = (np.where(rng.random(len(y)) < 0.15, 1 - y, y) for _ in range(2))
        known = Constraints.sample(y, 24, random_state=0)
        methods = {"one": Told(one, one), "other": Told(other, other)}
        found = compare(numbered(X), methods, constraints=known, n_clusters=2, n_jobs=1)
        difference = found._verdict.ahead
        assert abs(difference.value) < 2 * difference.error
        said = " ".join(found.verdict)
        assert "is smaller than" in said
        if abs(difference.value) > 0.005:
            needed = 24 * ((2 * difference.error / difference.value) ** 2 - 1)
            assert f"about {int(np.ceil(needed)):,} more" in said
            assert "ActiveClusterer" in said

    def test_leaders_and_their_agreement(self):
        X, y = blobs()
        known = Constraints.sample(y, 40, random_state=0)
        found = compare(X, "pckmeans,kmeans", constraints=known, n_clusters=[2, 3], n_jobs=1)
        assert found.leaders[0] is found.best_ is found.candidates[0]
        assert sorted(one.name for one in found.leaders) == ["kmeans", "pckmeans"]
        matrix = found.agreement()
        expected = adjusted_rand_index(found.leaders[0].labels, found.leaders[1].labels)
        assert matrix[0, 1] == matrix[1, 0] == pytest.approx(expected)
        assert np.array_equal(np.diag(matrix), [1, 1])

    def test_methods_are_proposed_by_what_is_known(self):
        X, y = blobs(2, size=20)
        pairs = Constraints.sample(y, 20, random_state=0)
        found = compare(X, constraints=pairs, n_clusters=2, n_splits=2)
        proposed = catalog.candidates(pairs, len(X), 2)
        assert {one.name for one in found.candidates} == {method.name for method in proposed}
        assert all(one.learns for one in found.candidates)


class TestTheSameEverywhere:
    def test_for_any_number_of_processes(self):
        X, y = blobs(3, apart=2.5)
        known = Constraints.sample(y, 30, random_state=0)
        wanted = {"constraints": known, "n_clusters": [2, 3, 4], "random_state": 3}
        here = compare(X, "pckmeans,kmeans", n_jobs=1, **wanted)
        there = compare(X, "pckmeans,kmeans", n_jobs=2, **wanted)
        assert np.array_equal(here.labels_, there.labels_)
        first, second = here.table(), there.table()
        for name in set(first) - {"seconds"}:
            np.testing.assert_array_equal(first[name], second[name])
        assert here.verdict == there.verdict

    def test_other_seeds_draw_other_folds(self):
        X, y = blobs(3, apart=0.7)
        known = Constraints.sample(y, 30, random_state=0)
        scores = {
            compare(
                X, "pckmeans", constraints=known, n_clusters=3, random_state=s, n_jobs=1
            ).best_.score
            for s in range(3)
        }
        assert len(scores) > 1


class TestBudget:
    def test_a_result_comes_in_time(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 30, random_state=0)
        methods = {"quick": KMeans(), "slow": Slow()}
        started = time.monotonic()
        found = compare(numbered(X), methods, constraints=known, n_clusters=2, budget=1.5, n_jobs=2)
        assert time.monotonic() - started < 60  # one fit would take ten minutes
        assert found.best_.name == "quick"
        assert [one.status for one in found.candidates] == ["scored", "not finished"]
        assert any("Time was up after 1.5 s: 1 of 2" in said for said in found.verdict)
        assert "not finished" in repr(found)

    def test_nothing_in_time_is_an_error_that_says_so(self):
        X, _ = blobs(2)
        with pytest.raises(SidelightError, match=r"finished within 0\.2 s"):
            compare(X, {"slow": Slow()}, n_clusters=2, budget="0.2s", n_jobs=1)

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("90", 90), ("90s", 90), ("2m", 120), ("1m30s", 90), ("0.5h", 1800), (" 2 M ", 120)],
    )
    def test_times_are_read(self, text, seconds):
        assert seconds_of(text) == seconds

    @pytest.mark.parametrize("text", ["", "soon", "2 weeks", "m2", "-3s", 0, -1, True])
    def test_what_is_no_time_is_refused(self, text):
        with pytest.raises(InvalidParameter, match="budget"):
            compare(np.zeros((4, 1)), "kmeans", budget=text)


class TestTrouble:
    def test_a_failing_candidate_is_listed_with_its_reason(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 30, random_state=0)
        found = compare(
            numbered(X), {"picky": Picky(y, y)}, constraints=known, n_clusters=[2, 3], n_jobs=1
        )
        assert found.best_.k == 2
        failed = found.candidates[-1]
        assert (failed.k, failed.status, failed.reason) == (3, "failed", "too many for me")
        assert any("1 candidate failed" in said and "too many" in said for said in found.verdict)
        assert "too many for me" in repr(found)

    def test_all_failing_is_an_error(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 30, random_state=0)
        with pytest.raises(SidelightError, match=r"could be fitted\..*too many for me"):
            compare(numbered(X), {"picky": Picky(y, y)}, constraints=known, n_clusters=4)

    def test_ctrl_c_keeps_what_is_scored_when_asked(self):
        X, _ = blobs(2)

        class Interrupting(Told):
            def fit(self, X, y=None, *, constraints=None):
                signal.raise_signal(signal.SIGINT)

        methods = {"quick": KMeans(), "interrupting": Interrupting()}
        with sidelight.progress(show=False, keep_best=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare(X, methods, n_clusters=2, n_jobs=1)
        assert found.best_.name == "quick"
        assert any("It was interrupted: 1 of 2" in said for said in found.verdict)
        with pytest.raises(KeyboardInterrupt):
            compare(X, methods, n_clusters=2, n_jobs=1)

    def test_contradictory_statements_are_left_to_the_methods(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 20, random_state=0)
        known = known | Constraints(cannot_link=known.must_link[:1], n_samples=len(y))
        found = compare(X, "pckmeans,copkmeans", constraints=known, n_jobs=1, n_clusters=2)
        assert found.best_.name == "pckmeans"
        assert {one.name: one.status for one in found.candidates}["copkmeans"] == "failed"
        assert any("contradict" in said for said in found.remarks)

    def test_gaps_are_told_where_no_method_models_them(self):
        X, y = blobs(2)
        X[3, 1] = np.nan
        with pytest.raises(SidelightError, match="Values are missing"):
            compare(X, constraints=Constraints.sample(y, 20, random_state=0))
        partial = np.where(np.arange(len(y)) % 3 == 0, y, -1)
        found = compare(X, y=partial, n_jobs=1)
        assert {one.name for one in found.candidates} == {"gaussian-mixture"}

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"methods": "pkmeans"}, "did you mean"),
            ({"methods": "rca"}, "only clusters are compared"),
            ({"methods": []}, "No method is left"),
            ({"n_clusters": 0}, "between 1 and the number of rows"),
            ({"n_clusters": [2, "x"]}, "whole number"),
            ({"n_splits": 1}, "n_splits must be"),
            ({"n_jobs": 0}, "n_jobs must be"),
            ({"constraints": Constraints(n_samples=3)}, "about 3 rows but X has 4"),
        ],
    )
    def test_wrong_usage_is_told(self, given, message):
        with pytest.raises(SidelightError, match=message):
            compare(np.arange(4.0).reshape(4, 1), **given)


class TestWithout:
    def test_without_knowledge_stability_decides_and_it_says_so(self):
        X, _ = blobs(3, size=40)
        found = compare(X, "kmeans", n_clusters=[2, 3, 5], n_jobs=1)
        assert found.best_.k == 3
        assert found.n_statements == 0
        assert np.isnan(found.best_.score)
        assert "the most stable" in found.verdict[0]
        assert "nothing but stability decided" in found.verdict[1]

    def test_one_statement_cannot_be_held_out(self):
        X, _ = blobs(2)
        known = Constraints([(0, 1)], n_samples=len(X))
        found = compare(X, "pckmeans", constraints=known, n_clusters=2, n_jobs=1)
        assert found.n_statements == 0
        assert any("could be held out" in said for said in found.remarks)

    def test_few_statements_get_fewer_folds(self):
        X, y = blobs(2)
        known = Constraints.sample(y, 3, random_state=0)
        found = compare(X, "pckmeans", constraints=known, n_clusters=2, n_jobs=1)
        assert found.n_statements == 3
        assert 0 <= found.best_.score <= 1


class TestWhateverClusters:
    def test_estimators_and_pipelines_of_scikit_learn(self):
        X, y = blobs(3)
        known = Constraints.sample(y, 40, random_state=0)
        methods = {
            "their k-means": SklearnKMeans(n_init=3),
            "scaled": make_pipeline(StandardScaler(), SklearnMixture(n_init=2)),
            "learned": make_pipeline(RCA(), KMeans()),
            "linkage": AgglomerativeClustering(),
            "density": DBSCAN(eps=1.5),
        }
        found = compare(X, methods, constraints=known, n_clusters=[2, 3], n_jobs=1)
        assert {one.name for one in found.scored} == set(methods)
        assert {one.k for one in found.candidates if one.name == "density"} == {None}
        assert adjusted_rand_index(y, found.labels_) > 0.9
        learned = next(one for one in found.scored if one.name == "learned" and one.k == 3)
        assert learned.plain == "learned"
        theirs = next(one for one in found.scored if one.name == "their k-means")
        assert theirs.plain is None

    def test_data_frames_are_aligned_by_their_index(self):
        pandas = pytest.importorskip("pandas")
        X, y = blobs(2)
        ids = [f"r{number}" for number in range(len(X))]
        known = Constraints.sample(y, 40, random_state=0, ids=ids)
        frame = pandas.DataFrame(X, index=ids, columns=["a", "b"]).iloc[::-1]
        found = compare(frame, "pckmeans", constraints=known, n_clusters=2, n_jobs=1)
        assert found.best_.score == 1
        assert adjusted_rand_index(y[::-1], found.labels_) == 1

    def test_partial_labels(self):
        X, y = blobs(3)
        partial = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        found = compare(X, "constrained-kmeans", y=partial, n_jobs=1)
        assert found.best_.k == 3  # as many as there are classes
        assert found.best_.score > 0.9
        assert found.n_statements == np.sum(partial >= 0)

    def test_many_rows_are_sampled_and_the_best_is_fitted_to_all(self, monkeypatch):
        monkeypatch.setattr(_setting, "MAX_ROWS", 60)
        X, y = blobs(2, size=100)
        known = Constraints.sample(y, 15, random_state=0)
        for budget in (None, 60.0):
            found = compare(X, "pckmeans", constraints=known, n_clusters=2, n_jobs=1, budget=budget)
            assert len(found.compared) == len(found.best_.labels) == 60
            assert np.isin(known.mentioned, found.compared).all()
            assert len(found.labels_) == len(found.best_estimator_.labels_) == 200
            assert any("60 of 200 rows" in said for said in found.remarks)
        blind = compare(X, {"linkage": AgglomerativeClustering()}, n_clusters=2, n_jobs=1)
        assert len(blind.compared) == 200  # it could not assign the others


class TestNumbers:
    def test_by_default_from_labels_or_from_two_to_eight(self):
        pairs = Constraints([(0, 1)], [(1, 2)], n_samples=50)
        assert choose_numbers(None, pairs, 50) == [2, 3, 4, 5, 6, 7, 8]
        assert choose_numbers(None, Constraints(labels=[0, 1, 2, -1]), 4) == [3]
        clique = [(i, j) for i in range(6) for j in range(i)]
        apart = Constraints(cannot_link=clique, n_samples=50)
        assert choose_numbers(None, apart, 50) == [6, 7, 8, 9]
        assert choose_numbers(None, Constraints(n_samples=4), 4) == [2, 3]

    def test_as_given(self):
        nothing = Constraints(n_samples=50)
        assert choose_numbers(4, nothing, 50) == [4]
        assert choose_numbers(range(2, 5), nothing, 50) == [2, 3, 4]
        assert choose_numbers(np.array([5, 3, 3]), nothing, 50) == [3, 5]

    def test_from_the_middle(self):
        assert middle_out([2, 3, 4, 5]) == [3, 4, 2, 5]
        assert middle_out([7]) == [7]

    def test_size_parameters(self):
        assert size_parameter(make_pipeline(StandardScaler(), KMeans())) == "kmeans__n_clusters"
        assert size_parameter(SklearnMixture()) == "n_components"
        assert size_parameter(DBSCAN()) is None


class TestPages:
    def test_the_short_table_and_html(self):
        X, y = blobs(3)
        known = Constraints.sample(y, 30, random_state=0)
        found = compare(X, {"<b>": PCKMeans()}, constraints=known, n_clusters=[2, 3], n_jobs=1)
        text = repr(found)
        assert "Stable" in text
        assert found.verdict[0] in text
        assert "<b>" not in found._repr_html_()
        assert "&lt;b&gt;" in found._repr_html_()
        table = found.table()
        assert len(table["k"]) == 2
        assert table["score"].dtype == np.float64
        assert repr(found.best_).startswith("<Candidate <b> with k = 3: 1.00")


def test_proposals():
    pairs = Constraints([(0, 1)], [(1, 2)], n_samples=100)
    names = [method.name for method in catalog.candidates(pairs, 100, 5)]
    assert len(names) == 4
    assert "contracted-spectral-clustering" in names
    many = [method.name for method in catalog.candidates(pairs, 10**6, 5)]
    assert not any("spectral" in name for name in many)
    wide = [method.name for method in catalog.candidates(pairs, 1000, 5000)]
    assert not any("mixture" in name or name == "mpckmeans" for name in wide)
    labels = catalog.candidates(Constraints(labels=[0, 1, -1]), 100, 5)
    assert "gaussian-mixture" in [method.name for method in labels]
    assert all("labels" in method.tags.knowledge for method in labels)
    sparse = catalog.candidates(pairs, 100, 5, sparse=True)
    assert sparse
    assert all(method.tags.sparse for method in sparse)
    missing = catalog.candidates(Constraints(labels=[0, 1, -1]), 100, 5, missing=True)
    assert [method.name for method in missing] == ["gaussian-mixture"]
    nothing = catalog.candidates(Constraints(n_samples=9), 100, 5)
    assert "kmeans" in [method.name for method in nothing]
    everything = [*names, *many, *wide, *(method.name for method in (*labels, *nothing))]
    assert not any("size" in name for name in everything)
