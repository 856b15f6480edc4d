"""Curves, bars and candidates: heights are the scores, bars their standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from sidelight import Constraints
from sidelight.active import ActiveClusterer, LabelOracle
from sidelight.cluster import GlobalKMeans, KMeans, PCKMeans, SizeConstrainedKMeans
from sidelight.display import (
    ClusterDisplay,
    ComparisonDisplay,
    ConvergenceDisplay,
    LearningCurveDisplay,
    SearchDisplay,
    SizesDisplay,
)
from sidelight.display._comparison import NUMBERS
from sidelight.evaluation import ConstraintSearchCV, adjusted_rand_index, compare
from sidelight.exceptions import InvalidRequest
from sidelight.mixture import GaussianMixture, GreedyMixture
from sidelight.pictures._comparison import candidate_scores
from sidelight.pictures.kinds._palette import LIGHT


def points_and_bars(line, bars=None):
    """Places of points, and half the length of their error bars."""
    places = np.column_stack(line.get_data())
    if bars is None:
        return places, None
    lengths = [np.ptp(ends, axis=0).sum() / 2 for ends in bars.get_segments() if len(ends)]
    return places, np.array(lengths)


def curve(display, name):
    """The same of a curve."""
    return points_and_bars(display.drawn_.lines[name], display.drawn_.errors.get(name))


def heights(display):
    """Heights of the bars of sizes."""
    return [bar.get_height() for bar in display.drawn_.bars["size"]]


def candidates(display, name):
    """Places and error bars of the candidates."""
    line, _, bars = display.drawn_.bars[name]
    return points_and_bars(line, *bars)


class TestConvergence:
    def test_curves_are_the_histories(self, blobs, ax):
        models = {f"seed {s}": KMeans(3, n_init=1, random_state=s).fit(blobs[0]) for s in (0, 1)}
        display = ConvergenceDisplay.from_estimator(models, ax=ax)
        for name, model in models.items():
            x, y = display.drawn_.lines[name].get_data()
            np.testing.assert_array_equal(y, model.history_)
            np.testing.assert_array_equal(x, np.arange(1, len(model.history_) + 1))

    def test_an_open_end_is_a_search_that_was_stopped(self, ax):
        noise = np.random.default_rng(0).normal(size=(200, 2))
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            model = GaussianMixture(3, max_iter=2, tol=1e-9, random_state=3).fit(noise)
        ConvergenceDisplay.from_estimator(model, ax=ax)
        assert "stopped before convergence" in ax.get_title()
        assert ax.lines[-1].get_markerfacecolor() != ax.lines[-1].get_color()

    def test_estimators_of_one_class_get_numbers(self, blobs, ax):
        models = [KMeans(2, random_state=0).fit(blobs[0]) for _ in range(3)]
        display = ConvergenceDisplay.from_estimator(models, ax=ax)
        assert list(display.drawn_.lines) == ["KMeans", "KMeans 2", "KMeans 3"]

    def test_other_histories_are_refused(self, blobs):
        active = ActiveClusterer(PCKMeans(3, random_state=0), "random", 3, random_state=0)
        active.fit(blobs[0], oracle=LabelOracle(blobs[1]))
        with pytest.raises(InvalidRequest, match="does not hold the objective"):
            ConvergenceDisplay.from_estimator(active)
        with pytest.raises(InvalidRequest, match="keeps no history_"):
            ConvergenceDisplay.from_estimator(KNeighborsClassifier().fit(*blobs))


class TestSizes:
    def test_bars_and_bounds(self, blobs, ax):
        model = SizeConstrainedKMeans(3, min_size=[10, 15, 0], max_size=[25, 30, 60])
        model.set_params(random_state=0).fit(blobs[0])
        display = SizesDisplay.from_estimator(model, ax=ax)
        assert heights(display) == model.cluster_sizes_.tolist()
        marks = np.array(display.drawn_.marks.get_segments())
        # A lower bound of 0 and an upper one of all rows say nothing.
        assert marks[:, 0, 1].tolist() == marks[:, 1, 1].tolist() == [10, 25, 15, 30]
        assert marks[:, :, 0].mean(axis=1).tolist() == [0, 0, 1, 1]
        assert "all sizes within bounds" in ax.get_title()

    def test_sizes_beyond_their_bounds_are_outlined(self, ax):
        labels = [0, 0, 0, 1, -1, -1]
        display = SizesDisplay.from_labels(labels, bounds=(2, 4), ax=ax)
        assert heights(display) == [3, 1, 2]
        bars = display.drawn_.bars["size"]
        assert "1 size out of bounds" in ax.get_title()
        assert [bar.get_linewidth() > 1 for bar in bars] == [False, True, False]
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "none"]
        assert to_hex(bars[2].get_facecolor()) == "#8b93a1"

    def test_weights_are_sizes_too(self, blobs, ax):
        weight = np.linspace(0.5, 2.0, 60)
        model = SizeConstrainedKMeans(3, min_size=10.0, random_state=0)
        model.fit(blobs[0], sample_weight=weight)
        display = SizesDisplay.from_estimator(model, ax=ax)
        expected = np.bincount(model.labels_, weight)
        np.testing.assert_allclose(heights(display), expected)
        assert "all sizes within bounds" in ax.get_title()

    def test_colors_are_those_of_the_map(self, blobs, ax):
        model = KMeans(3, random_state=0).fit(blobs[0])
        drawn = ClusterDisplay.from_estimator(model, blobs[0], like=(model.labels_ + 1) % 3, ax=ax)
        display = SizesDisplay.from_estimator(model, like=drawn, ax=ax)
        colors = [to_hex(bar.get_facecolor()) for bar in display.drawn_.bars["size"]]
        assert colors == [LIGHT[1], LIGHT[2], LIGHT[0]]

    def test_many_clusters(self, ax):
        display = SizesDisplay.from_labels(np.arange(60) % 30, ax=ax)
        assert len(heights(display)) == 30
        assert len(ax.texts) == 0


class TestSearch:
    def test_cross_validated_scores_with_standard_errors(self, blobs, known, ax):
        search = ConstraintSearchCV(PCKMeans(), {"n_clusters": [4, 2, 3]}, random_state=0)
        search.fit(blobs[0], constraints=known)
        display = SearchDisplay.from_estimator(search, ax=ax)
        places, bars = curve(display, "ConstraintSearchCV")
        order = [1, 2, 0]
        np.testing.assert_array_equal(places[:, 0], [2, 3, 4])
        np.testing.assert_allclose(places[:, 1], search.cv_results_["mean_test_score"][order])
        errors = search.cv_results_["std_test_score"][order] / np.sqrt(search.n_splits_)
        np.testing.assert_allclose(bars, errors, atol=1e-12)
        (chosen,) = display.drawn_.chosen["ConstraintSearchCV"].get_xdata()
        assert chosen == search.best_params_["n_clusters"]

    def test_other_parameters_have_their_chosen_value(self, blobs, ax):
        grid = {"n_neighbors": [1, 3, 5], "weights": ["uniform", "distance"]}
        search = GridSearchCV(KNeighborsClassifier(), grid, cv=3).fit(*blobs)
        display = SearchDisplay.from_estimator(search, ax=ax)
        places, _ = curve(display, "GridSearchCV")
        chosen = search.best_params_["weights"]
        expected = [
            score
            for params, score in zip(
                search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
            )
            if params["weights"] == chosen
        ]
        np.testing.assert_allclose(places[:, 1], expected)
        with pytest.raises(InvalidRequest, match="values of 'weights' are not numbers"):
            SearchDisplay.from_estimator(search, x="weights")
        with pytest.raises(InvalidRequest, match="'p' was not searched over"):
            SearchDisplay.from_estimator(search, x="p")

    def test_searches_of_estimators(self, blobs, ax):
        model = GreedyMixture(5, selection="bic", random_state=0).fit(blobs[0])
        display = SearchDisplay.from_estimator(model, ax=ax)
        places, bars = curve(display, "GreedyMixture")
        np.testing.assert_array_equal(places[:, 0], model.search_["n_components"])
        np.testing.assert_array_equal(places[:, 1], model.search_["bic"])
        assert bars is None
        assert display.picture.curves[0].chosen == len(model.weights_)
        other = SearchDisplay.from_estimator(model, y="aic", ax=ax)
        np.testing.assert_array_equal(other.picture.curves[0].y, model.search_["aic"])
        with pytest.raises(InvalidRequest, match=r"y is one of the columns of search_: .*bic"):
            SearchDisplay.from_estimator(model, y="nothing")
        path = SearchDisplay.from_estimator(GlobalKMeans(4).fit(blobs[0]), ax=ax)
        assert path.drawn_.chosen == {}  # nothing was chosen: all numbers up to four were asked for
        with pytest.raises(InvalidRequest, match="KMeans searched nothing"):
            SearchDisplay.from_estimator(KMeans(2, random_state=0).fit(blobs[0]))


class TestLearningCurve:
    def test_means_and_standard_errors(self, ax):
        table = np.array([[0.1, 0.3, 0.2], [0.5, np.nan, 0.9], [np.nan, np.nan, 0.4]])
        display = LearningCurveDisplay.from_scores([0, 10, 20], {"method": table}, ax=ax)
        places, bars = curve(display, "method")
        np.testing.assert_allclose(places[:, 1], [0.2, 0.7, 0.4])
        expected = [np.std([0.1, 0.3, 0.2], ddof=1) / np.sqrt(3), 0.4 / np.sqrt(2) / np.sqrt(2), 0]
        np.testing.assert_allclose(bars, expected, atol=1e-12)

    def test_only_rows_without_statements_are_scored(self, blobs, ax):
        X, y = blobs
        display = LearningCurveDisplay.from_estimator(
            PCKMeans(3), X, y, n_statements=(0, 12), n_draws=2, random_state=5, ax=ax
        )
        (drawn,) = display.picture.curves
        for row, number in enumerate((0, 12)):
            scores = []
            for draw in range(2):
                known = Constraints.sample(y, number, random_state=5 + draw)
                model = PCKMeans(3, random_state=5 + draw).fit(X, constraints=known)
                free = np.setdiff1d(np.arange(60), known.mentioned)
                scores.append(adjusted_rand_index(y[free], model.labels_[free]))
            assert drawn.y[row] == pytest.approx(np.mean(scores))
            assert drawn.errors[row] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(2))

    def test_shapes_are_checked(self):
        with pytest.raises(InvalidRequest, match=r"scores of 'a' have shape \(2,\)"):
            LearningCurveDisplay.from_scores([0, 1], {"a": [0.1, 0.2]})


class TestComparison:
    TABLE = {  # noqa: RUF012
        "name": ["low", "failed", "high", "middle"],
        "k": [3, 3, None, 4],
        "n_clusters": [3, None, 5, 4],
        "score": [0.6, np.nan, 0.9, 0.7],
        "error": [0.05, np.nan, 0.02, 0.03],
        "plain_score": [0.5, np.nan, np.nan, 0.72],
        "gain_error": [0.04, np.nan, np.nan, 0.06],
        "stability": [0.5, np.nan, 0.9, 1.0],
        "seconds": [1.5, np.nan, 0.25, 10.0],
    }

    def test_points_bars_and_columns(self, ax):
        display = ComparisonDisplay.from_comparison(self.TABLE, ax=ax)
        places, bars = candidates(display, "score")
        np.testing.assert_allclose(places[:, 0], [0.9, 0.7, 0.6])
        assert (np.diff(places[:, 1]) < 0).all()
        np.testing.assert_allclose(bars, [0.02, 0.03, 0.05])
        plain, plain_bars = candidates(display, "score without")
        np.testing.assert_allclose(plain[1:, 0], [0.72, 0.5])
        np.testing.assert_allclose(plain_bars, [0.06, 0.04])
        names = [tick.get_text() for tick in ax.get_yticklabels()]
        assert names == ["high, 5 found", "middle, k = 4", "low, k = 3"]
        texts = [text.get_text() for text in ax.texts]
        assert texts == ["stability", "0.90", "1.00", "0.50", "seconds", "0.25", "10", "1.5"]
        assert "1 candidate not finished or failed" in ax.get_xlabel()

    def test_a_comparison_as_it_is(self, blobs, known, ax):
        found = compare(
            blobs[0],
            {"kmeans": KMeans(), "pckmeans": PCKMeans()},
            constraints=known,
            n_clusters=[2, 3],
            n_jobs=1,
        )
        display = ComparisonDisplay.from_comparison(found, ax=ax)
        table = found.table()
        places, bars = candidates(display, "score")
        order = np.argsort(-table["score"], kind="stable")
        np.testing.assert_array_equal(places[:, 0], table["score"][order])
        np.testing.assert_allclose(bars, table["error"][order])
        assert display.drawn_.chosen.get_xdata() == found.best_.score

    def test_without_statements_stability_is_drawn(self, ax):
        table = self.TABLE | {"score": np.full(4, np.nan), "plain_score": np.full(4, np.nan)}
        display = ComparisonDisplay.from_comparison(table, ax=ax)
        assert [name.partition(",")[0] for name in display.picture.names] == [
            "middle",
            "high",
            "low",
        ]
        assert ax.get_xlabel().startswith("stability")
        assert list(display.drawn_.bars) == ["score"]

    def test_of_many_candidates_the_best_and_the_chosen_one(self, ax):
        score = np.linspace(0.9, 0.1, 40)
        names = [f"m{i}" for i in range(40)]
        missing = dict.fromkeys(NUMBERS, np.full(40, np.nan))
        picture = candidate_scores(missing | {"name": names, "score": score}, 30)
        ComparisonDisplay(picture).plot(ax)
        assert picture.names == [*names[:24], "m30"]
        assert picture.chosen == 24
        assert "the best 25 of 40 candidates" in ax.get_xlabel()

    def test_other_things_are_refused(self):
        with pytest.raises(InvalidRequest, match=r"what sidelight\.evaluation\.compare returns"):
            ComparisonDisplay.from_comparison([1, 2])
        with pytest.raises(InvalidRequest, match="No candidate of the comparison has a score"):
            ComparisonDisplay.from_comparison({"name": ["a"], "score": [np.nan]})
