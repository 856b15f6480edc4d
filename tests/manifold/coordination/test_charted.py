"""Locally linear coordination and charting as estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.frozen import FrozenEstimator
from tests.manifold.coordination.cases import explained, s_curve

from sidelight.cluster import KMeans
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import Charting, LocallyLinearCoordination
from sidelight.manifold._reconstruction import reconstruction_weights
from sidelight.mixture import GaussianMixture

BOTH = pytest.mark.parametrize(
    "model",
    [LocallyLinearCoordination(random_state=0), Charting(random_state=0)],
    ids=lambda model: type(model).__name__,
)


@BOTH
def test_unrolls_a_surface(model):
    X, truth = s_curve(600)
    places = model.fit(X).embedding_
    assert explained(places, truth).min() > 0.95
    np.testing.assert_allclose(places.mean(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(places.T @ places / 600, np.eye(2), atol=1e-8)


@BOTH
def test_the_map_is_the_formula(model):
    X, _ = s_curve(300)
    model.fit(X)
    new = X[:5] + 0.01
    charts = model._charts
    resp, local = charts.coordinates(new)
    own = model.offsets_ + np.einsum("kdh,nkh->nkd", model.maps_, local)
    expected = np.einsum("nk,nkd->nd", resp, own)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-10)
    np.testing.assert_allclose(resp.sum(axis=1), 1.0)
    assert model.n_charts_ == len(model.offsets_) == resp.shape[1]


@BOTH
def test_flat_rows_stay_flat(model):
    """The map of a plane in five dimensions is an affine image of it."""
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(300, 2))
    X = flat @ rng.normal(size=(2, 5))
    assert explained(model.fit(X).embedding_, flat).min() > 0.9999


@BOTH
def test_place_and_scale_do_not_count(model):
    X, _ = s_curve(200)
    one = model.fit(X).embedding_
    other = model.fit(1024.0 * X + 3.0).embedding_
    np.testing.assert_allclose(other, one, atol=1e-6)


@BOTH
def test_as_many_coordinates_as_features(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) @ [[2.0, 0.3], [0.0, 1.0]]
    places = model.fit(X).embedding_
    assert explained(places, X).min() > 0.9


@BOTH
@pytest.mark.parametrize("given", ["fitted", "frozen", "unfitted"])
def test_given_mixture_has_the_charts(model, given):
    X, truth = s_curve(400)
    mixture = GaussianMixture(15, covariance_type="ppca", n_factors=2, random_state=0)
    if given != "unfitted":
        mixture.fit(X)
    if given == "frozen":
        mixture = FrozenEstimator(mixture)
    try:
        model.set_params(mixture=mixture, n_charts="auto")
        if "n_mixtures" in model.get_params():
            model.set_params(n_mixtures=4 if given == "unfitted" else 1)
        model.fit(X)
    finally:
        model.set_params(mixture=None)
    assert model.n_charts_ == 15 * len(model.mixtures_)
    assert (model.mixtures_[0] is mixture) == (given != "unfitted")
    assert explained(model.embedding_, truth)[0] > 0.9


@BOTH
def test_wrong_mixture_is_told(model):
    X, _ = s_curve(100)
    mixture = GaussianMixture(3, covariance_type="ppca", random_state=0).fit(X[:, :2])
    try:
        with pytest.raises(SidelightError, match="2 features, but the rows have 3"):
            model.set_params(mixture=mixture).fit(X)
        with pytest.raises(SidelightError, match=r"must be a GaussianMixture.*KMeans"):
            model.set_params(mixture=KMeans(3)).fit(X)
    finally:
        model.set_params(mixture=None)


@BOTH
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((30, 3)), "All rows of X are equal"),
        (np.full((30, 3), 1e8 + 0.1), "All rows of X are equal"),
        (np.eye(3), "at least 4 rows"),
        (np.arange(30.0)[:, None], "more than n_features = 1"),
    ],
)
def test_bad_rows_are_told(model, X, message):
    with pytest.raises(SidelightError, match=message):
        model.fit(X)


@BOTH
def test_more_charts_than_rows_are_told(model):
    try:
        with pytest.raises(SidelightError, match="n_charts=31 is more than the 30 rows"):
            model.set_params(n_charts=31).fit(s_curve(30)[0])
    finally:
        model.set_params(n_charts="auto")


def test_charts_that_do_not_overlap_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + np.repeat(np.eye(3) * 1000, 40, axis=0)
    with pytest.warns(EmbeddingWarning, match=r"entropy .* is 0 bits.*n_mixtures"):
        model = Charting(n_charts=3, n_mixtures=1, random_state=0).fit(X)
    assert model.entropy_ < 0.05
    assert Charting(n_charts=3, random_state=0).fit(X).entropy_ > 2


def test_parts_of_the_graph_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + np.repeat(np.eye(3) * 1000, 40, axis=0)
    with pytest.warns(EmbeddingWarning, match="3 parts"):
        model = LocallyLinearCoordination(random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(SidelightError, match="3 parts"):
        LocallyLinearCoordination(disconnected="raise").fit(X)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_missing_values_do_not_fold_the_map(column):
    """Charts that lie apart along a lost column must not be glued by the rows that lack it."""
    X, truth = s_curve(600)
    holes = X.copy()
    holes[::20, column] = np.nan
    model = Charting(random_state=0).fit(holes)
    complete = ~np.isnan(holes).any(axis=1)
    assert explained(model.embedding_[complete], truth[complete]).min() > 0.95
    assert np.isfinite(model.embedding_).all()
    # A row is placed in the middle of the places that its values leave open.
    assert np.abs(model.embedding_).max() < 4


def test_too_few_complete_rows_are_told():
    X, _ = s_curve(200)
    X[np.arange(200), np.arange(200) % 3] = np.nan
    with pytest.warns(EmbeddingWarning, match="Only 0 of 200 rows are complete"):
        model = Charting(random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()


def test_factor_charts_are_others():
    X, truth = s_curve(400)
    ppca = LocallyLinearCoordination(random_state=0).fit(X)
    factor = LocallyLinearCoordination(random_state=0, chart="factor").fit(X)
    assert factor.mixtures_[0].covariance_type == "factor"
    assert not np.allclose(ppca.eigenvalues_, factor.eigenvalues_)
    assert explained(factor.embedding_, truth)[0] > 0.9


# --- what it is made of ---


def test_one_local_model_is_the_neighborhood_preserving_projection():
    """With one chart the coordinates are linear: X'MX v = λ X'X v on principal components."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [4.0, 3.0, 2.0, 0.5]
    model = LocallyLinearCoordination(2, n_charts=1, n_neighbors=8).fit(X)
    centered = X - X.mean(axis=0)
    # The plane of probabilistic principal components is the principal one.
    scores = centered @ np.linalg.svd(centered)[2][:2].T
    rest = scores - reconstruction_weights(X, 8) @ scores
    values, vectors = linalg.eigh(rest.T @ rest, scores.T @ scores)
    expected = scores @ vectors * np.sqrt(80)
    signs = np.sign(np.sum(expected * model.embedding_, axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, expected, atol=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6)


@pytest.mark.parametrize(("n", "charts"), [(40, 1), (160, 5), (600, 20), (5000, 50)])
def test_number_of_charts(n, charts):
    from sidelight.manifold.coordination._charts import number_of_charts

    assert number_of_charts("auto", n, 2) == charts
