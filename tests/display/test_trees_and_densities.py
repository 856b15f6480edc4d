"""Trees, distances and densities: heights, lengths and levels are those of the models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints
from sidelight.cluster import ConstrainedAgglomeration, KMeans, MPCKMeans
from sidelight.display import DendrogramDisplay, DensityDisplay, PairDistancesDisplay
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.metric import DCA, RCA
from sidelight.mixture import (
    BernoulliMixture,
    FeatureSaliencyMixture,
    GaussianMixture,
    NonparametricMixture,
    ProjectedDiscriminativeMixture,
)
from sidelight.pictures._histograms import pair_distances
from sidelight.pictures._pairs import Distances, PairDistances
from sidelight.pictures.clusters._density import SHARES


class TestDendrogram:
    def test_heights_are_those_of_the_merges(self, blobs, ax):
        model = ConstrainedAgglomeration(3).fit(blobs[0])
        display = DendrogramDisplay.from_estimator(model, ax=ax)
        corners = np.array(display.drawn_.lines["branches"].get_segments())
        np.testing.assert_allclose(corners[:, 1, 1], model.linkage_[:, 2])
        np.testing.assert_allclose(corners[:, 2, 1], model.linkage_[:, 2])
        # Every branch comes down on its two children.
        heights = np.concatenate([np.zeros(60), model.linkage_[:, 2]])
        ends = np.sort(corners[:, [0, 3], 1], axis=1)
        children = np.sort(heights[model.linkage_[:, :2].astype(int)], axis=1)
        np.testing.assert_allclose(ends, children)
        assert sorted(display.picture.rows) == list(range(60))

    def test_forbidden_merges_are_dashed_above(self, blobs, known, ax):
        model = ConstrainedAgglomeration(3).fit(blobs[0], constraints=known)
        display = DendrogramDisplay.from_estimator(model, ax=ax)
        forbidden = np.isinf(model.linkage_[:, 2])
        assert forbidden.any()
        dashed = np.array(display.drawn_.lines["forbidden"].get_segments())
        assert len(dashed) == forbidden.sum()
        assert len(display.drawn_.lines["branches"].get_segments()) == (~forbidden).sum()
        assert dashed[:, 1, 1].min() > model.linkage_[~forbidden, 2].max()
        assert "must stay apart" in ax.get_title()

    def test_branches_and_leaves_have_the_colors_of_their_clusters(self, blobs, ax):
        model = ConstrainedAgglomeration(3).fit(blobs[0])
        display = DendrogramDisplay.from_estimator(model, ax=ax)
        colors = display.drawn_.points.get_facecolors()
        of_cluster = {}
        for row, color in zip(display.picture.rows, colors, strict=True):
            of_cluster.setdefault(model.labels_[row], set()).add(tuple(color))
        assert all(len(found) == 1 for found in of_cluster.values())
        branches = {tuple(color) for color in display.drawn_.lines["branches"].get_colors()}
        assert len(branches) == 4  # three clusters, and merges of several
        colors = display.drawn_.lines["branches"].get_colors()
        assert (colors[-2:] == colors[-1]).all()  # the last two merges join clusters

    def test_a_large_tree_is_cut(self, ax):
        X = np.random.default_rng(0).normal(size=(1_200, 2))
        model = ConstrainedAgglomeration(2, linkage="single").fit(X)
        display = DendrogramDisplay.from_estimator(model, ax=ax)
        corners = np.array(display.drawn_.lines["branches"].get_segments())
        np.testing.assert_allclose(corners[:, 1, 1], model.linkage_[-149:, 2])
        assert "the last 149 of 1,199 merges" in ax.get_title()

    def test_names_of_the_rows(self, ax):
        X = np.array([[0.0], [1.0], [5.0]])
        model = ConstrainedAgglomeration(2).fit(X)
        display = DendrogramDisplay.from_estimator(model, names=["a", "b", "c"], ax=ax)
        ticks = [tick.get_text() for tick in ax.get_xticklabels()]
        assert ticks == [["a", "b", "c"][row] for row in display.picture.rows]
        with pytest.raises(InvalidRequest, match="2 names but the tree joins 3 rows"):
            DendrogramDisplay.from_estimator(model, names=["a", "b"])
        with pytest.raises(InvalidRequest, match="KMeans has no tree"):
            DendrogramDisplay.from_estimator(KMeans(2, random_state=0).fit(X))

    def test_rows_that_are_never_merged(self, ax):
        apart = Constraints.from_labels([0, 1, 2])
        model = ConstrainedAgglomeration(3).fit(np.eye(3), constraints=apart)
        display = DendrogramDisplay.from_estimator(model, ax=ax)
        assert len(display.drawn_.lines["branches"].get_segments()) == 0
        assert len(display.drawn_.lines["forbidden"].get_segments()) == 2


def mean_length(rows):
    """Mean distance of the random pairs that a display measures by."""
    pairs = np.random.default_rng(0).integers(len(rows), size=(2_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1).mean()


class TestPairDistances:
    @pytest.mark.parametrize("form", ["array", "frame", "pipeline"])
    def test_distances_before_and_after(self, blobs, known, ax, form):
        X = blobs[0]
        given = pd.DataFrame(X, columns=list("abcd")) if form == "frame" else X
        steps = [StandardScaler()] if form == "pipeline" else []
        scaled = StandardScaler().fit_transform(X) if form == "pipeline" else X
        metric = DCA().fit(scaled, constraints=known)
        model = make_pipeline(*steps, DCA()) if steps else DCA()
        options = {"dca__constraints": known} if steps else {"constraints": known}
        model.fit(given, **options)
        display = PairDistancesDisplay.from_estimator(model, given, known, ax=ax)
        image = metric.transform(scaled)
        for kind, pairs in (("together", known.must_link), ("apart", known.cannot_link)):
            for when, rows in (("before", X), ("after", image)):
                length = np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1)
                expected = length / mean_length(rows)
                drawn = display.drawn_[when == "after"].middles[kind]
                assert drawn.get_xdata()[0] == pytest.approx(np.median(expected))
                picture = display.picture[when == "after"]
                (series,) = [one for one in picture.series if one.name == kind]
                counts = np.histogram(np.minimum(expected, picture.edges[-1]), picture.edges)[0]
                np.testing.assert_allclose(series.values, counts / len(expected))

    def test_order_counts_couples_of_pairs(self, ax):
        known = PairDistances(
            together=Distances(np.array([1.0, 4.0]), np.array([1.0, 1.0])),
            apart=Distances(np.array([2.0, 3.0, 5.0]), np.array([2.0, 2.0, 2.0])),
        )
        display = PairDistancesDisplay(pair_distances(known)).plot(ax)
        assert known.order("before") == pytest.approx(4 / 6)
        assert known.order("after") == 1.0
        assert "67% before, 100% after" in ax.get_title()
        areas = [
            np.sum(np.abs(steps.get_data().values - steps.get_data().baseline))
            for drawn in display.drawn_
            for steps in drawn.bars.values()
        ]
        np.testing.assert_allclose(areas, areas[0])  # the same area, whatever the number of pairs

    @pytest.mark.parametrize("metric", ["shared", "per-cluster"])
    def test_metrics_of_a_clusterer(self, blobs, known, ax, metric):
        X = blobs[0]
        model = MPCKMeans(3, metric_type=metric, shape="full", random_state=0)
        model.fit(X, constraints=known)
        display = PairDistancesDisplay.from_estimator(model, X, known, ax=ax)

        def length(i, j):
            offset = X[i] - X[j]
            metrics = [model.metrics_] * 2
            if metric == "per-cluster":
                metrics = [model.metrics_[model.labels_[row]] for row in (i, j)]
            return np.sqrt(np.mean([offset @ A @ offset for A in metrics]))

        pairs = np.random.default_rng(0).integers(len(X), size=(2_000, 2))
        typical = np.mean([length(i, j) for i, j in pairs if i != j])
        expected = np.array([length(i, j) for i, j in known.cannot_link]) / typical
        (apart,) = [one for one in display.picture[1].series if one.name == "apart"]
        assert apart.middle == pytest.approx(np.median(expected))

    def test_one_kind_of_pairs_is_enough(self, blobs, ax):
        known = Constraints([(0, 1), (2, 3), (20, 25)], n_samples=60)
        model = RCA().fit(blobs[0], constraints=known)
        display = PairDistancesDisplay.from_estimator(model, blobs[0], known, ax=ax)
        assert display.picture[0].note == ""
        assert [list(drawn.bars) for drawn in display.drawn_] == [["together"], ["together"]]

    def test_wrong_requests(self, blobs, known):
        X = blobs[0]
        with pytest.raises(InvalidRequest, match="KMeans learned no distance of its own"):
            PairDistancesDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X, known)
        model = DCA().fit(X, constraints=known)
        with pytest.raises(SidelightError, match="state no pair, label or group"):
            PairDistancesDisplay.from_estimator(model, X, Constraints(n_samples=60))


class TestDensity:
    @pytest.mark.parametrize("form", ["array", "frame"])
    def test_two_features_are_scored_on_the_grid(self, blobs, ax, form):
        X = blobs[0][:, :2]
        given = pd.DataFrame(X, columns=["a", "b"]) if form == "frame" else X
        model = GaussianMixture(2, random_state=0).fit(given)
        display = DensityDisplay.from_estimator(model, given, ax=ax)
        across, up = np.meshgrid(display.picture.heights.x, display.picture.heights.y)
        grid = np.column_stack([across.ravel(), up.ravel()])
        plain = GaussianMixture(2, random_state=0).fit(X)
        np.testing.assert_allclose(
            display.picture.heights.values.ravel(), plain.score_samples(grid)
        )
        assert display.picture.text.startswith("density;")

    def test_contours_hold_their_share_of_the_rows(self, ax):
        X = np.random.default_rng(0).normal(size=(2_000, 2))
        model = GaussianMixture(1, random_state=0).fit(X)
        display = DensityDisplay.from_estimator(model, X, ax=ax)
        scores = model.score_samples(X)
        for level, share in zip(display.drawn_.contours.levels, SHARES, strict=True):
            assert np.mean(scores >= level) == pytest.approx(share, abs=1e-3)
        assert list(display.picture.heights.names) == ["95%", "75%", "50%", "25%"]

    @pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
    def test_of_more_features_the_density_of_the_projection(self, blobs, ax, covariance_type):
        X = blobs[0]
        model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
        display = DensityDisplay.from_estimator(model, X, ax=ax)
        assert "of the rows in this plane" in display.picture.text
        pca = PCA(2).fit(X)
        sign = np.sign((display.picture.xy * pca.transform(X)).sum(axis=0))
        axes = pca.components_.T * sign
        full = {
            "full": model.covariances_,
            "tied": [model.covariances_] * 3,
            "diag": [np.diag(c) for c in np.atleast_2d(model.covariances_)],
            "spherical": [c * np.eye(4) for c in np.ravel(model.covariances_)],
        }[covariance_type]
        place = np.array([display.picture.heights.x[13], display.picture.heights.y[57]])
        expected = sum(
            weight
            * multivariate_normal((mean - X.mean(axis=0)) @ axes, axes.T @ C @ axes).pdf(place)
            for weight, mean, C in zip(model.weights_, model.means_, full, strict=True)
        )
        assert display.picture.heights.values[57, 13] == pytest.approx(np.log(expected))
        # It is a density: it sums to one, up to what lies beyond the frame.
        step = np.diff(display.picture.heights.x)[0] * np.diff(display.picture.heights.y)[0]
        assert np.exp(display.picture.heights.values).sum() * step == pytest.approx(1.0, abs=0.05)

    def test_of_other_mixtures_a_slice_through_the_mean(self, blobs, ax):
        X = blobs[0]
        for model in (
            NonparametricMixture(2, random_state=0),
            FeatureSaliencyMixture(random_state=0),
        ):
            model.fit(X)
            display = DensityDisplay.from_estimator(model, X, features=[1, 3], ax=ax)
            assert "plane through the mean" in display.picture.text
            assert "plane through the mean" in ax.get_title()
            place = X.mean(axis=0)
            place[[1, 3]] = display.picture.heights.x[20], display.picture.heights.y[30]
            assert display.picture.heights.values[30, 20] == pytest.approx(
                model.score_samples([place])[0]
            )

    def test_components_of_a_projection_are_no_marginal(self, blobs, known, ax):
        model = ProjectedDiscriminativeMixture(3, random_state=0)
        model.fit(blobs[0], constraints=known)
        display = DensityDisplay.from_estimator(model, blobs[0], ax=ax)
        assert "plane through the mean" in display.picture.text

    def test_one_feature_is_a_curve(self, blobs, ax):
        X = blobs[0][:, :1]
        model = GaussianMixture(2, random_state=0).fit(X)
        display = DensityDisplay.from_estimator(model, X, ax=ax)
        x, y = display.drawn_.curve.get_data()
        np.testing.assert_allclose(y, np.exp(model.score_samples(x[:, None])))
        assert ax.get_ylabel() == "density"
        assert min(ax.get_yticks()) >= 0

    def test_new_rows_and_a_pipeline(self, blobs, ax):
        X = blobs[0][:, :2]
        model = make_pipeline(StandardScaler(), GaussianMixture(2, random_state=0)).fit(X)
        display = DensityDisplay.from_estimator(model, X[:7], ax=ax)
        assert len(display.picture.xy) == 7
        place = [[display.picture.heights.x[3], display.picture.heights.y[5]]]
        assert display.picture.heights.values[5, 3] == pytest.approx(model.score_samples(place)[0])

    def test_missing_values_are_filled(self, blobs, ax):
        X = blobs[0].copy()
        X[4, 1] = np.nan
        model = GaussianMixture(2, random_state=0).fit(X)
        display = DensityDisplay.from_estimator(model, X, features=[0, 1], ax=ax)
        np.testing.assert_allclose(display.picture.xy, model.impute(X)[:, :2])

    def test_other_densities_are_refused(self, blobs):
        counts = (blobs[0] > 1).astype(float)
        with pytest.raises(InvalidRequest, match="no contours between the rows"):
            DensityDisplay.from_estimator(BernoulliMixture(2, random_state=0).fit(counts), counts)
        with pytest.raises(InvalidRequest, match="KMeans is no mixture"):
            DensityDisplay.from_estimator(KMeans(2, random_state=0).fit(counts), counts)
