"""Classes in color: points are where the rows are, regions are what the classifier predicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.display import DecisionDisplay, StagesDisplay
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures.kinds._palette import palette
from sidelight.semi_supervised import (
    TSVM,
    HarmonicClassifier,
    PairwiseLogisticRegression,
    SemiBoostClassifier,
)

NAMES = np.array(["ash", "birch", "cedar"])


@pytest.fixture(scope="module")
def half(blobs):
    """Every fourth row is labeled, in words."""
    return np.where(np.arange(60) % 4 == 0, NAMES[blobs[1]], "")


def offsets(collection):
    return np.asarray(collection.get_offsets())


def test_given_and_predicted_rows_are_where_they_are(blobs, half, ax):
    X = blobs[0][:, :2]
    model = HarmonicClassifier(5).fit(X, half)
    display = DecisionDisplay.from_estimator(model, X, half, ax=ax)
    given = half != ""
    np.testing.assert_array_equal(offsets(display.drawn_.marks["given"]), X[given])
    np.testing.assert_array_equal(offsets(display.drawn_.points), X[~given])
    codes = np.searchsorted(NAMES, model.transduction_)
    colors = np.array(palette(3, "light"))[codes]
    assert [to_hex(c) for c in display.drawn_.marks["given"].get_facecolors()] == colors[
        given
    ].tolist()
    assert [to_hex(c) for c in display.drawn_.points.get_edgecolors()] == colors[~given].tolist()
    best = np.sort(model.label_distributions_, axis=1)
    doubt = ~given & (best[:, -1] - best[:, -2] < 0.2)
    np.testing.assert_array_equal(display.picture.marks["doubtful"], doubt)
    hollow = [to_hex(c) == "#ffffff" for c in display.drawn_.points.get_facecolors()]
    np.testing.assert_array_equal(hollow, doubt[~given])
    assert [text.get_text() for text in display.drawn_.names] == NAMES.tolist()
    assert ax.get_title() == "HarmonicClassifier: 15 of 60 rows labeled"


def test_regions_are_predictions_on_a_grid(blobs, half, ax):
    X = blobs[0][:, :2]
    model = HarmonicClassifier(5).fit(X, half)
    regions = DecisionDisplay.from_estimator(model, X, half, ax=ax).picture.regions
    x, y, codes = regions.x, regions.y, regions.codes
    rng = np.random.default_rng(0)
    for i, j in rng.integers(200, size=(30, 2)):
        assert NAMES[codes[i, j]] == model.predict([[x[j], y[i]]])[0]
    assert x[0] < X[:, 0].min() < X[:, 0].max() < x[-1]


def test_regions_of_a_projection_are_those_of_the_plane_through_the_mean(blobs, half, ax):
    X = pd.DataFrame(blobs[0], columns=list("abcd"))
    model = TSVM().fit(X, half)
    display = DecisionDisplay.from_estimator(model, X, half, ax=ax)
    regions = display.picture.regions
    x, y, codes = regions.x, regions.y, regions.codes
    centered = X.to_numpy() - X.to_numpy().mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    axes *= np.sign((display.picture.xy * (centered @ axes.T)).sum(axis=0))[:, None]
    rng = np.random.default_rng(0)
    for i, j in rng.integers(200, size=(30, 2)):
        point = X.to_numpy().mean(axis=0) + x[j] * axes[0] + y[i] * axes[1]
        found = model.predict(pd.DataFrame([point], columns=list("abcd")))[0]
        assert NAMES[codes[i, j]] == found
    assert "plane through the mean" in ax.get_title()
    chosen = DecisionDisplay.from_estimator(model, X, half, features=["c", "a"], ax=ax)
    np.testing.assert_array_equal(chosen.picture.xy, X[["c", "a"]])
    assert DecisionDisplay.from_estimator(model, X, regions=False, ax=ax).picture.regions is None


def test_a_strip_has_upright_regions(blobs, half, ax):
    X = blobs[0][:, :1]
    display = DecisionDisplay.from_estimator(HarmonicClassifier(5).fit(X, half), X, half, ax=ax)
    codes = display.picture.regions.codes
    assert (codes == codes[0]).all()
    assert len(set(codes[0])) > 1


def test_pairs_are_lines_and_red_where_violated(blobs, half, ax):
    X = blobs[0][:, :2]
    known = Constraints([(0, 1), (2, 25)], [(3, 30)], n_samples=60)
    model = PairwiseLogisticRegression().fit(X, half)
    display = DecisionDisplay.from_estimator(model, X, half, constraints=known, ax=ax)
    found = {kind: np.array(one.get_segments()) for kind, one in display.drawn_.lines.items()}
    np.testing.assert_array_equal(found["must-link"], [X[[0, 1]]])
    np.testing.assert_array_equal(found["violated must-link"], [X[[2, 25]]])
    np.testing.assert_array_equal(found["cannot-link"], [X[[3, 30]]])
    labels = Constraints(labels=half) | known
    again = DecisionDisplay.from_estimator(model, X, constraints=labels, ax=ax)
    np.testing.assert_array_equal(again.picture.marks["given"], display.picture.marks["given"])


def test_classifiers_of_scikit_learn_pipelines_and_new_rows(blobs, half, ax):
    X, given = blobs[0], half != ""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[given], half[given])
    display = DecisionDisplay.from_estimator(model, X, half, ax=ax)
    expected = np.where(given, half, model.predict(X))
    np.testing.assert_array_equal(NAMES[display.picture.codes], expected)
    assert display.picture.heading.startswith("LogisticRegression: 15 of 60")
    ours = TSVM().fit(sparse.csr_matrix(X), half)
    display = DecisionDisplay.from_estimator(ours, sparse.csr_matrix(X[:20]), ax=ax)
    np.testing.assert_array_equal(NAMES[display.picture.codes], ours.predict(X[:20]))
    assert (
        display.picture.marks["doubtful"].sum() == 1
    )  # a twentieth, where there are no probabilities
    similar = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    graph = HarmonicClassifier(graph="precomputed").fit(similar, half)
    assert DecisionDisplay.from_estimator(graph, similar, half, ax=ax).picture.regions is None


def test_rows_that_got_no_class_are_grey(blobs, half, ax):
    model = PairwiseLogisticRegression(reject=1e9).fit(blobs[0], half)
    display = DecisionDisplay.from_estimator(model, blobs[0], half, ax=ax)
    given_rows = display.picture.marks["given"]
    assert (display.picture.codes[given_rows] >= 0).all()
    assert (display.picture.codes[~given_rows] == -1).all()


def test_what_gives_no_classes_is_refused(blobs, half):
    with pytest.raises(InvalidRequest, match=r"KMeans gives no classes.*ClusterDisplay"):
        DecisionDisplay.from_estimator(KMeans(2, random_state=0).fit(blobs[0]), blobs[0])
    model = HarmonicClassifier(5).fit(blobs[0], half)
    with pytest.raises(SidelightError, match="60 rows but the constraints are about 3"):
        DecisionDisplay.from_estimator(model, blobs[0], ["ash", "birch", ""])


class TestStages:
    def test_curves_are_those_of_the_machines(self, blobs, half, ax):
        model = SemiBoostClassifier(n_estimators=4, random_state=0).fit(blobs[0], half)
        display = StagesDisplay.from_estimator(model, ax=ax)
        pairs = ["ash or birch", "ash or cedar", "birch or cedar"]
        kept = {n: m for n, m in zip(pairs, model.mean_margins_, strict=True) if len(m)}
        assert list(display.drawn_.lines) == list(kept)
        for name, margins in kept.items():
            x, y = display.drawn_.lines[name].get_data()
            np.testing.assert_array_equal(y, margins)
            np.testing.assert_array_equal(x, np.arange(1, len(margins) + 1))
        assert ax.get_ylabel() == "mean margin"

    def test_several_models_have_a_mean_each(self, blobs, half, ax):
        models = {
            f"seed {seed}": SemiBoostClassifier(n_estimators=3, random_state=seed).fit(
                blobs[0], half
            )
            for seed in (0, 1)
        }
        display = StagesDisplay.from_estimator(models, "steps", ax=ax)
        for name, model in models.items():
            first = [alphas[0] for alphas in model.estimator_weights_ if len(alphas)]
            assert display.drawn_.lines[name].get_ydata()[0] == pytest.approx(np.mean(first))

    def test_the_objective_begins_before_the_first_round(self, blobs, ax):
        X, y = blobs[0][:40], blobs[1][:40]
        known = np.where(np.arange(40) % 4 == 0, y, -1)
        model = SemiBoostClassifier(n_estimators=3, random_state=0).fit(X, known)
        x, heights = next(
            iter(StagesDisplay.from_estimator(model, "objective", ax=ax).drawn_.lines.values())
        ).get_data()
        np.testing.assert_array_equal(heights, model.history_)
        assert x[0] == 0

    def test_others_are_refused(self, blobs, half):
        model = TSVM().fit(blobs[0], half)
        with pytest.raises(InvalidRequest, match="TSVM keeps no mean_margins_"):
            StagesDisplay.from_estimator(model)
        with pytest.raises(InvalidRequest, match="'margins', 'steps'"):
            StagesDisplay.from_estimator(model, "magic")
