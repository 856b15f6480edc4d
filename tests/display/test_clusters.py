"""The map of the rows: what is drawn is where the mathematics puts it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture as TheirMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans, SphericalKMeans
from sidelight.display import ClusterDisplay
from sidelight.evaluation import ConstraintSearchCV
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.metric import RCA
from sidelight.mixture import GaussianMixture
from sidelight.pictures.kinds._palette import palette


def same_up_to_sign(a, b):
    signs = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(a * signs, b, atol=1e-8 * np.abs(b).max())


def offsets(collection):
    return np.asarray(collection.get_offsets())


def segments(display):
    return {kind: np.array(lines.get_segments()) for kind, lines in display.drawn_.lines.items()}


def test_two_features_are_drawn_as_they_are(blobs, ax):
    X, y = blobs[0][:, :2], blobs[1]
    display = ClusterDisplay.from_labels(X, y, ax=ax)
    np.testing.assert_array_equal(offsets(display.drawn_.points), X)
    colors = [to_hex(color) for color in display.drawn_.points.get_facecolors()]
    assert colors == [palette(3, "light")[code] for code in y]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 0", "feature 1")


@pytest.mark.parametrize("form", ["array", "csr", "pandas", "polars", "float32"])
def test_more_features_are_drawn_on_their_principal_components(blobs, ax, form):
    X, y = blobs
    given = {
        "array": X,
        "csr": sparse.csr_matrix(X),
        "pandas": pd.DataFrame(X),
        "polars": pl.DataFrame(X),
        "float32": X.astype(np.float32),
    }[form]
    display = ClusterDisplay.from_labels(given, y, ax=ax)
    model = PCA(2).fit(X)
    tolerance = 1e-4 if form == "float32" else 1e-8
    expected = model.transform(X)
    signs = np.sign((offsets(display.drawn_.points) * expected).sum(axis=0))
    np.testing.assert_allclose(
        offsets(display.drawn_.points) * signs, expected, atol=tolerance * 10
    )
    assert ax.get_xlabel() == f"1st component ({model.explained_variance_ratio_[0]:.0%})"


def test_one_feature_is_a_strip(blobs, ax):
    display = ClusterDisplay.from_labels(blobs[0][:, :1], blobs[1], ax=ax)
    np.testing.assert_array_equal(offsets(display.drawn_.points)[:, 0], blobs[0][:, 0])
    assert ax.get_ylabel() == "(random height)"
    assert len(ax.get_yticks()) == 0


def test_chosen_features_are_drawn_as_they_are(blobs, ax):
    X = pd.DataFrame(blobs[0], columns=["a", "b", "c", "d"])
    model = GaussianMixture(2, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(model, X, features=["c", 0], ax=ax)
    np.testing.assert_array_equal(offsets(display.drawn_.points), X[["c", "a"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    np.testing.assert_allclose(display.picture.centers, model.means_[:, [2, 0]])
    for shape in display.picture.shapes:
        np.testing.assert_allclose(
            shape.covariance, model.covariances_[shape.cluster][np.ix_([2, 0], [2, 0])]
        )
    with pytest.raises(InvalidRequest, match=r"no feature 'age'.*a, b, c, d"):
        ClusterDisplay.from_estimator(model, X, features=["age", "a"])
    with pytest.raises(InvalidRequest, match="names 3 features; a map shows two"):
        ClusterDisplay.from_estimator(model, X, features=[0, 1, 2])


def test_statements_are_lines_between_their_rows(blobs, ax):
    X, y = blobs[0][:, :2], blobs[1]
    known = Constraints([(0, 1), (0, 25)], [(0, 30), (3, 4), (40, 20)], n_samples=60)
    display = ClusterDisplay.from_labels(X, y, constraints=known, ax=ax)
    found = segments(display)
    np.testing.assert_array_equal(found["must-link"], [X[[0, 1]]])
    np.testing.assert_array_equal(found["violated must-link"], [X[[0, 25]]])
    np.testing.assert_array_equal(found["cannot-link"], [X[[0, 30]], X[[20, 40]]])
    np.testing.assert_array_equal(found["violated cannot-link"], [X[[3, 4]]])
    assert np.flatnonzero(display.picture.marks["wrong"]).tolist() == [0, 3, 4, 25]
    assert "2 of 5 statements violated" in ax.get_title()
    solid, dashed = display.drawn_.lines["must-link"], display.drawn_.lines["cannot-link"]
    assert solid.get_linestyles()[0][1] is None
    assert dashed.get_linestyles()[0][1] is not None
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[1] == "violated must-link (1)"


def test_known_labels_and_groups_are_outlined(blobs, ax):
    X, y = blobs
    labels, groups = np.full(60, -1), np.full(60, -1)
    labels[[2, 30]] = 0, 1
    groups[[5, 6, 7]] = 0
    known = Constraints(labels=labels, groups=groups)
    display = ClusterDisplay.from_labels(X, y, constraints=known, ax=ax)
    np.testing.assert_array_equal(
        offsets(display.drawn_.marks["known label"]), display.picture.xy[[2, 30]]
    )
    np.testing.assert_array_equal(
        offsets(display.drawn_.marks["group member"]), display.picture.xy[[5, 6, 7]]
    )


def test_centers_are_projected_like_the_rows(blobs, ax):
    X = blobs[0]
    model = KMeans(3, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(model, X, ax=ax)
    drawn = np.column_stack(display.drawn_.centers.get_data())
    same_up_to_sign(drawn, PCA(2).fit(X).transform(model.cluster_centers_))
    for cluster in range(3):  # projection is linear: a mean of places is the place of the mean
        np.testing.assert_allclose(
            drawn[cluster], display.picture.xy[model.labels_ == cluster].mean(axis=0), atol=1e-8
        )


def test_centers_of_directions_are_not_drawn(blobs, ax):
    X = np.abs(blobs[0]) + 1
    display = ClusterDisplay.from_estimator(SphericalKMeans(2, random_state=0).fit(X), X, ax=ax)
    assert display.drawn_.centers is None


def test_ellipses_of_a_mixture_are_at_two_deviations(blobs, ax):
    X = blobs[0][:, :2]
    model = GaussianMixture(2, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(model, X, ax=ax)
    for component, ellipse in enumerate(display.drawn_.ellipses):
        offset = ellipse.get_xy() - model.means_[component]
        squared = np.einsum("ij,jk,ik->i", offset, model.precisions_[component], offset)
        np.testing.assert_allclose(squared, 4.0)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
@pytest.mark.parametrize("metric", ["shared", "per-cluster"])
def test_ellipses_of_a_metric_are_balls(blobs, known, ax, shape, metric):
    X = blobs[0][:, :3]  # as many features as clusters: a vector for each is also square
    model = MPCKMeans(3, metric_type=metric, shape=shape, random_state=0).fit(X, constraints=known)
    display = ClusterDisplay.from_estimator(model, X, ax=ax)
    assert len(display.picture.shapes) == 3
    axes = PCA(2).fit(X).components_.T
    for cluster, drawn in enumerate(display.picture.shapes):
        learned = model.metrics_ if metric == "shared" else model.metrics_[cluster]
        A = np.diag(learned) if shape == "diagonal" else learned
        offset = X[model.labels_ == cluster] - model.cluster_centers_[cluster]
        spread = np.mean(np.einsum("ij,jk,ik->i", offset, A, offset)) / 3
        expected = axes.T @ np.linalg.inv(A) @ axes * spread
        np.testing.assert_allclose(np.diag(drawn.covariance), np.diag(expected), rtol=1e-6)
        assert abs(drawn.covariance[0, 1]) == pytest.approx(abs(expected[0, 1]), abs=1e-8)


def test_rows_in_no_cluster_are_grey(blobs, ax):
    labels = np.where(blobs[1] == 2, -1, blobs[1])
    display = ClusterDisplay.from_labels(blobs[0], labels, ax=ax)
    colors = {to_hex(color) for color in display.drawn_.points.get_facecolors()[labels == -1]}
    assert colors == {"#8b93a1"}
    assert "2 clusters, 20 rows in none" in ax.get_title()
    assert [text.get_text() for text in display.drawn_.names] == ["0", "1"]


def test_names_of_classes_and_many_clusters(blobs, ax):
    words = np.array(["setosa", "versicolor", "a very long name of a class"])[blobs[1]]
    display = ClusterDisplay.from_labels(blobs[0], words, ax=ax)
    assert "setosa" in [text.get_text() for text in display.drawn_.names]
    assert all(len(text.get_text()) <= 16 for text in display.drawn_.names)
    many = ClusterDisplay.from_labels(blobs[0], np.arange(60) % 25, ax=ax)
    assert many.drawn_.names == []
    assert len({to_hex(color) for color in many.drawn_.points.get_facecolors()}) == 25


def test_many_rows_are_sampled_and_statements_are_kept(ax):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30_000, 3)), rng.integers(3, size=30_000)
    known = Constraints(cannot_link=[(29_998, 29_999), (5, 17)], n_samples=30_000)
    display = ClusterDisplay.from_labels(X, labels, constraints=known, ax=ax)
    assert len(display.picture.xy) == 4_000
    assert {5, 17, 29_998, 29_999} <= set(display.picture.rows.tolist())
    assert "4,000 of 30,000 rows drawn" in ax.get_title()
    lines = {one.name: display.picture.rows[one.pairs] for one in display.picture.lines}
    pairs = np.sort(np.concatenate(list(lines.values())), axis=None)
    assert pairs.tolist() == [5, 17, 29_998, 29_999]
    again = ClusterDisplay.from_labels(X, labels, constraints=known, ax=ax)
    np.testing.assert_array_equal(again.picture.xy, display.picture.xy)


def test_colors_like_another_display_or_labels(blobs, ax):
    X, y = blobs
    first = ClusterDisplay.from_labels(X, y, ax=ax)
    turned = (y + 1) % 3
    for like in (first, y, pd.Series(y), np.array(["x", "y", "z"])[y]):
        second = ClusterDisplay.from_labels(X, turned, like=like, ax=ax)
        np.testing.assert_array_equal(second.picture.codes, first.picture.codes)
        assert second.picture.names == {0: "1", 1: "2", 2: "0"}
    more = ClusterDisplay.from_labels(X, np.where(np.arange(60) < 5, 7, turned), like=first, ax=ax)
    assert (more.picture.codes[:5] == 3).all()  # a cluster of its own gets a color of its own
    with pytest.raises(SidelightError, match="like has 59 labels but X has 60 rows"):
        ClusterDisplay.from_labels(X, y, like=y[1:], ax=ax)


def test_data_frames_are_found_by_their_index(blobs, ax):
    X = pd.DataFrame(blobs[0][:, :2], columns=["a", "b"], index=[f"r{i}" for i in range(60)])
    known = Constraints([("r0", "r59")], [("r1", "r2")], ids=X.index[::-1])
    display = ClusterDisplay.from_labels(X, blobs[1], constraints=known, ax=ax)
    np.testing.assert_array_equal(
        segments(display)["violated must-link"], [X.loc[["r0", "r59"]].to_numpy()]
    )
    assert {text.text for text in display.picture.texts} == {"r0", "r59", "r1", "r2"}
    shown = {text.get_text() for text in ax.texts}
    assert {"r0", "r59"} <= shown
    turned = pd.Series(blobs[1], index=X.index).iloc[::-1]
    with pytest.raises(SidelightError, match="labels and X have different indexes"):
        ClusterDisplay.from_labels(X, turned)


def test_pipelines_searches_and_their_mixtures(blobs, known, ax):
    X, _ = blobs
    pipe = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(X)
    display = ClusterDisplay.from_estimator(pipe, X, ax=ax)
    np.testing.assert_array_equal(display.picture.codes, pipe[-1].labels_)
    assert display.drawn_.centers is None  # they are in the units of the scaler
    search = ConstraintSearchCV(PCKMeans(random_state=0), {"n_clusters": [3]}, random_state=0)
    display = ClusterDisplay.from_estimator(search.fit(X, constraints=known), X, ax=ax)
    assert len(display.picture.centers) == 3
    theirs = TheirMixture(3, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(theirs, X, ax=ax)
    np.testing.assert_array_equal(display.picture.codes, theirs.predict(X))
    assert len(display.picture.shapes) == 3


def test_missing_values_are_filled_for_the_picture(blobs, ax):
    X, y = blobs[0][:, :2].copy(), blobs[1]
    X[3, 0] = np.nan
    display = ClusterDisplay.from_labels(X, y, ax=ax)
    assert display.picture.xy[3, 0] == pytest.approx(np.nanmean(X[:, 0]))
    model = GaussianMixture(3, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(model, X, ax=ax)
    np.testing.assert_allclose(display.picture.xy, model.impute(X))


def test_regions_are_the_predictions(blobs, ax):
    X = pd.DataFrame(blobs[0][:, :2], columns=["a", "b"])
    model = KMeans(3, random_state=0).fit(X)
    like = (model.labels_ + 1) % 3
    display = ClusterDisplay.from_estimator(model, X, regions=True, like=like, ax=ax)
    regions = display.picture.regions
    across, up = np.meshgrid(regions.x, regions.y)
    grid = pd.DataFrame(np.column_stack([across.ravel(), up.ravel()]), columns=["a", "b"])
    np.testing.assert_array_equal(regions.codes.ravel(), (model.predict(grid) + 1) % 3)
    with pytest.raises(InvalidRequest, match="X has 4 features, and KMeans can predict"):
        ClusterDisplay.from_estimator(
            KMeans(2, random_state=0).fit(blobs[0]), blobs[0], regions=True
        )


def test_options_of_the_scatter_are_passed_on(blobs, ax):
    sizes = np.arange(1.0, 61.0)
    display = ClusterDisplay.from_labels(*blobs, s=sizes, alpha=0.5, ax=ax)
    np.testing.assert_array_equal(display.drawn_.points.get_sizes(), sizes)
    assert display.drawn_.points.get_alpha() == 0.5


def test_wrong_requests_are_answered_by_sentences(blobs, ax):
    X, y = blobs
    with pytest.raises(SidelightError, match="X has 60 rows but there are labels of 59"):
        ClusterDisplay.from_labels(X, y[1:])
    with pytest.raises(SidelightError, match="X has 60 rows but the constraints are about 59"):
        ClusterDisplay.from_labels(X, y, constraints=Constraints(n_samples=59))
    metric = RCA().fit(X, constraints=Constraints([(0, 1), (2, 3)], n_samples=60))
    with pytest.raises(InvalidRequest, match="RCA gives no clusters"):
        ClusterDisplay.from_estimator(metric, X)
    with pytest.raises(ValueError, match=r"Columns \['town'\] are not numbers"):
        ClusterDisplay.from_labels(pd.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]}), [0, 1])
    endless = pd.DataFrame({"a": [1.0, np.inf], "b": [0.0, 1.0]}, index=["ann", "bob"])
    with pytest.raises(SidelightError, match=r"infinite values.*\n.*row 'bob', column 'a'"):
        ClusterDisplay.from_labels(endless, [0, 1])
    with pytest.raises(InvalidRequest, match="labels has 2 dimensions"):
        ClusterDisplay.from_labels(X, np.eye(60))
