"""Views joined by correspondences: limits, prediction, guards, messages."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from sidelight.constraints import Correspondences
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import CoordinatedFactorAnalysis, CoordinatedViews
from sidelight.manifold.atlas import _cfa


def curves(n: int, seed: int = 0, noise: float = 0.02) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two noisy curves and their common position."""
    rng = np.random.default_rng(seed)
    t = rng.permutation((np.arange(n) + rng.uniform(size=n)) / n)  # without large gaps
    one = np.column_stack([np.cos(4 * t), np.sin(4 * t)])
    two = np.column_stack([4 * t - 2, np.sin(3 * np.pi * t), 3 * t**2])
    return one + noise * rng.normal(size=one.shape), two + noise * rng.normal(size=two.shape), t


def every(n: int, step: int) -> Correspondences:
    """Links of every so many rows."""
    return Correspondences([(i, i) for i in range(0, n, step)], [n, n])


@pytest.fixture(scope="module")
def fitted() -> CoordinatedViews:
    one, two, _ = curves(300)
    model = CoordinatedViews(1, n_charts=8, random_state=0)
    return model.fit([one, two], correspondences=every(300, 10))


def test_one_view_is_coordinated_factor_analysis() -> None:
    X = curves(150)[1]
    params: dict[str, Any] = {"n_components": 1, "n_charts": 5, "random_state": 0}
    one, views = CoordinatedFactorAnalysis(**params).fit(X), CoordinatedViews(**params).fit(X)
    np.testing.assert_array_equal(views.embedding_, one.embedding_)
    np.testing.assert_array_equal(views.score_samples(X), one.score_samples(X))
    alone = CoordinatedViews(**params).fit([X])
    np.testing.assert_array_equal(alone.embedding_, one.embedding_)
    smooth = views.predict(X)  # of one view: the rows themselves, without their noise
    assert np.mean((smooth - X) ** 2) < 0.02


def test_all_rows_linked_is_one_view_of_all_columns() -> None:
    one, two, t = curves(150)
    one, two = (view / np.sqrt(view.var(axis=0).mean()) for view in (one, two))  # same units
    both = np.hstack([one, two])
    params: dict[str, Any] = {"n_charts": 5, "init": t[:, None], "random_state": 0, "alpha": 0.0}
    whole = CoordinatedFactorAnalysis(1, **params).fit(both)
    views = CoordinatedViews(1, **params).fit([one, two], correspondences=every(150, 1))
    np.testing.assert_allclose(views.objective_, whole.objective_, rtol=1e-7)
    np.testing.assert_allclose(views.transform(both), whole.transform(both), rtol=1e-6)


def test_list_of_views_and_table_with_missing_blocks_are_the_same() -> None:
    one, two, _ = curves(120)
    known = every(120, 6)
    table, columns = known.stack([one, two])
    params: dict[str, Any] = {"n_components": 1, "n_charts": 4, "random_state": 0}
    by_list = CoordinatedViews(**params).fit([one, two], correspondences=known)
    by_table = CoordinatedViews(**params, views=[[0, 1], [2, 3, 4]]).fit(table)
    np.testing.assert_array_equal(by_list.embedding_, by_table.embedding_)
    for v in range(2):
        np.testing.assert_array_equal(by_table.objects_[v], np.sort(known.objects[v]))
        places = by_list.embedding_[known.objects[v]]  # in the order of the rows of the view
        np.testing.assert_array_equal(by_list.embeddings_[v], places)
        np.testing.assert_array_equal(by_list.view_columns_[v], columns[v])
    names = [f"c{j}" for j in range(5)]
    named = CoordinatedViews(**params, views=[["c0", "c1"], ["c2", "c3", "c4"]])
    named.fit(pd.DataFrame(table, columns=names))
    np.testing.assert_array_equal(named.embedding_, by_list.embedding_)
    np.testing.assert_array_equal(by_list.transform(table), by_list.embedding_)


def linear_views(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    latent = rng.normal(size=(n, 2))
    rows = latent @ rng.normal(size=(2, 7)) + 0.3 * rng.normal(size=(n, 7))
    rows[100:125, :4] = np.nan
    rows[125:, 4:] = np.nan
    return rows, rng.normal(size=(5, 4))


def test_rows_of_data_frames_are_found_by_their_index() -> None:
    one, two, _ = curves(150)
    names = [f"object {i}" for i in range(150)]
    known = Correspondences([(name, name) for name in names[::5]], ids=[names, names])
    model = CoordinatedViews(1, n_charts=5, random_state=0)
    plain = model.fit([one, two], correspondences=known).predict(one)
    order = np.random.default_rng(1).permutation(150)
    left = pd.DataFrame(one[order], index=[names[i] for i in order])
    model.fit([left, pd.DataFrame(two, index=names)], correspondences=known)
    assert np.mean((model.predict(one) - plain) ** 2) < 0.01


def test_prediction_with_one_chart_is_the_conditional_gaussian() -> None:
    rows, new = linear_views()
    model = CoordinatedViews(
        2, n_charts=1, views=[[0, 1, 2, 3], [4, 5, 6]], init="pca", n_init=1, tol=1e-7
    ).fit(rows)
    B = model.loadings_[0]
    cov = B @ model.spreads_[0] @ B.T + np.diag(model.noise_variances_[0])
    gain = cov[4:, :4] @ np.linalg.inv(cov[:4, :4])
    wanted = model.means_[0, 4:] + (new - model.means_[0, :4]) @ gain.T
    within = cov[4:, 4:] - gain @ cov[:4, 4:]
    found, spread = model.predict(new, source=0, target=1, return_cov=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(spread, np.repeat(within[None], 5, axis=0), rtol=1e-7, atol=1e-10)
    back = model.predict(found, source=1)
    gain = cov[:4, 4:] @ np.linalg.inv(cov[4:, 4:])
    np.testing.assert_allclose(back, model.means_[0, :4] + (found - model.means_[0, 4:]) @ gain.T)


def test_a_view_without_rows_of_its_own_leaves_the_other_alone() -> None:
    """Of a view with the fewest possible rows the density of the other is hardly touched."""
    rows, _ = linear_views()
    first = rows[:100, :4]
    table = np.hstack([first, np.full((100, 3), np.nan)])
    table[:3, 4:] = rows[:3, 4:]
    params: dict[str, Any] = {"n_charts": 1, "init": "pca", "n_init": 1, "tol": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        views = CoordinatedViews(2, views=[[0, 1, 2, 3], [4, 5, 6]], **params).fit(table)
    alone = CoordinatedFactorAnalysis(2, **params).fit(first)
    table[:, 4:] = np.nan
    np.testing.assert_allclose(views.score(table), alone.score(first), atol=0.1)


def test_identical_views_reproduce_the_input() -> None:
    one, _, _ = curves(200, noise=0.01)
    model = CoordinatedViews(1, n_charts=12, random_state=0)
    model.fit([one, one], correspondences=every(200, 5))
    for source in (0, 1):
        again = model.predict(one, source=source, target=1 - source)
        assert np.mean((again - one) ** 2) < 0.02


def test_exchange_of_the_views_gives_the_same_model() -> None:
    one, two, t = curves(150)
    known = every(150, 5)
    table, _ = known.stack([one, two])
    places = np.empty((len(table), 1))
    for rows in known.objects:
        places[rows] = t[:, None]
    params: dict[str, Any] = {"n_components": 1, "n_charts": 5, "init": places, "random_state": 0}
    model = CoordinatedViews(**params, views=[[0, 1], [2, 3, 4]]).fit(table)
    other = CoordinatedViews(**params, views=[[2, 3, 4], [0, 1]]).fit(table)
    np.testing.assert_allclose(other.objective_, model.objective_, rtol=1e-9)
    np.testing.assert_allclose(other.means_, model.means_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.view_counts_[:, ::-1], model.view_counts_, rtol=1e-6)
    found, wanted = other.predict(one, source=1, target=0), model.predict(one, source=0, target=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_new_rows_of_one_view_predict_the_other(fitted: CoordinatedViews) -> None:
    one, two, _ = curves(200, seed=7)
    errors = [
        np.mean((fitted.predict(one, source=0, target=1) - two) ** 2),
        np.mean((fitted.predict(two, source=1, target=0) - one) ** 2),
    ]
    assert max(errors) < 0.15  # of columns with variance 1
    inside = [
        np.abs(fitted.transform(one, view=0) - fitted.transform(two, view=1)).mean(),
        fitted.embedding_.std(),
    ]
    assert inside[0] < 0.2 * inside[1]


def test_spread_of_predictions_is_that_of_the_errors() -> None:
    """Where all rows are linked: the charts cannot know how far few links lead them astray."""
    one, two, _ = curves(300, noise=0.05)
    model = CoordinatedViews(1, n_charts=12, random_state=0)
    model.fit([one, two], correspondences=every(300, 1))
    one, two, _ = curves(200, seed=8, noise=0.05)
    mean, cov = model.predict(one, source=0, target=1, return_cov=True)
    offsets = two - mean
    squares = np.einsum("ni,nij,nj->n", offsets, np.linalg.inv(cov), offsets)
    assert 0.5 < np.median(squares) / chi2(3).median() < 2


def test_moments_of_the_predictive_mixture_are_the_prediction(fitted: CoordinatedViews) -> None:
    one = curves(20, seed=9)[0]
    mixture = fitted.predictive_mixture(one, source=0, target=1)
    mean, cov = fitted.predict(one, source=0, target=1, return_cov=True)
    np.testing.assert_allclose(mixture.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.einsum("nk,nkj->nj", mixture.weights, mixture.means), mean)
    offsets = mixture.means - mean[:, None]
    total = np.einsum("nk,kij->nij", mixture.weights, mixture.covariances)
    total += np.einsum("nk,nki,nkj->nij", mixture.weights, offsets, offsets)
    np.testing.assert_allclose(total, cov, rtol=1e-6, atol=1e-12)


def test_three_views_are_joined_by_a_chain_of_links() -> None:
    one, two, t = curves(200)
    three = np.column_stack([np.cos(2 * t), np.sin(5 * t)])
    three += 0.02 * np.random.default_rng(0).normal(size=three.shape)
    links = [(0, i, 1, i) for i in range(0, 200, 8)] + [(1, i, 2, i) for i in range(4, 200, 8)]
    model = CoordinatedViews(1, n_charts=8, random_state=0)
    model.fit([one, two, three], correspondences=Correspondences(links, [200] * 3))
    assert model.view_counts_.shape == (model.n_charts_, 3)
    found = model.predict(one, source=0, target=2)
    assert np.mean((found - three) ** 2) < 0.1 * three.var()


@pytest.mark.parametrize("init", ["lle", "charting", "pca"])
def test_every_start_of_views(init: Any) -> None:
    rng = np.random.default_rng(0)
    t = rng.uniform(size=160)
    one, two = np.column_stack([t, t**2]), np.column_stack([1 - t, 2 * t])
    one, two = (view + 0.02 * rng.normal(size=view.shape) for view in (one, two))
    model = CoordinatedViews(1, n_charts=4, init=init, random_state=0)
    model.fit([one, two], correspondences=every(160, 8))
    assert np.mean((model.predict(one) - two) ** 2) < 0.05 * two.var()


# ------------------------------------------------------------------ guards and messages


def told(model: CoordinatedViews, X: Any, **known: Any) -> str:
    """Fit, and return all warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", EmbeddingWarning)
        model.fit(X, **known)
    return " ".join(str(one.message) for one in said)


def test_charts_without_rows_of_a_view_are_told_and_not_used_for_it() -> None:
    one, two, t = curves(300)
    short = t < 0.6  # nobody has seen the second view beyond
    rows = np.flatnonzero(short)
    links = [(int(i), number) for number, i in enumerate(rows) if number % 4 == 0]
    known = Correspondences(links, [300, len(rows)])
    table, _ = known.stack([one, two[short]])
    places = np.empty((len(table), 1))
    places[known.objects[0]] = t[:, None]
    places[known.objects[1]] = t[short, None]
    model = CoordinatedViews(
        1, n_charts=8, views=[[0, 1], [2, 3, 4]], init=places, n_init=1, random_state=0
    )
    assert "has no support in view 1" in told(model, table)
    starved = ~model.supported_[:, 1]
    assert starved.any()
    assert model.supported_[:, 0].all()
    np.testing.assert_array_equal(starved, model.view_counts_[:, 1] < 3)
    assert model.predictive_mixture(one).weights.shape[1] == np.sum(~starved)
    assert np.isfinite(model.predict(one)).all()
    assert np.ptp(model.predict(one), axis=0).max() < 20  # no extrapolated map


def test_rows_far_beyond_the_links_are_told() -> None:
    one, two, t = curves(300)
    order = np.argsort(t)
    links = [(int(i), int(i)) for i in order[120:180:3]]
    model = CoordinatedViews(1, n_charts=6, n_init=1, random_state=0)
    known = Correspondences(links, [300, 300])
    words = told(model, [one, two], correspondences=known)
    assert re.search(r"unlinked rows extend \d+\.\d times as far", words)
    model = CoordinatedViews(1, n_charts=6, init="pca", n_init=1, random_state=0)
    words = told(model, [one, two], correspondences=known)
    assert re.search(r"unlinked rows extend \d+\.\d times as far", words)


def test_too_few_links_are_refused() -> None:
    one, two, _ = curves(60)
    known = Correspondences([(0, 0), (1, 1), (2, 2)], [60, 60])
    words = "3 links for a 3-dimensional latent space: at least 4 are needed"
    with pytest.raises(SidelightError, match=words):
        CoordinatedViews(3).fit([one, two], correspondences=known)


def test_bad_views_are_explained(fitted: CoordinatedViews) -> None:
    one, two, _ = curves(40)
    table = np.hstack([one, two])
    with pytest.raises(SidelightError, match="Views are joined by correspondences"):
        CoordinatedViews(1).fit([one, two])
    with pytest.raises(SidelightError, match="column 2 in no view"):
        CoordinatedViews(1, views=[[0, 1], [3, 4]]).fit(table)
    with pytest.raises(SidelightError, match="column 9, which"):
        CoordinatedViews(1, views=[[0, 1], [2, 3, 9]]).fit(table)
    table[3, 2] = np.nan
    with pytest.raises(SidelightError, match="Row 3 has view 1 without column 2"):
        CoordinatedViews(1, views=[[0, 1], [2, 3, 4]]).fit(table)
    table[3] = np.nan
    with pytest.raises(SidelightError, match="Row 3 has no view at all"):
        CoordinatedViews(1, views=[[0, 1], [2, 3, 4]]).fit(table)
    with pytest.raises(SidelightError, match="X has 3 features, but view 0 has 2"):
        fitted.predict(two, source=0)
    with pytest.raises(SidelightError, match="no view 5"):
        fitted.predict(one, source=0, target=5)
    one[7, 0] = np.inf
    with pytest.raises(SidelightError, match=r"(?s)View 0: .*row 7"):
        CoordinatedViews(1).fit([one, two], correspondences=every(40, 4))


# --- what it is made of ---


def test_large_tables_start_from_a_sample_with_the_links(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, _ = curves(300)
    monkeypatch.setattr(_cfa, "MAX_SPECTRAL_ROWS", 400)
    monkeypatch.setattr(_cfa, "SAMPLE_ROWS", 200)
    model = CoordinatedViews(1, n_charts=5, random_state=0)
    model.fit([one, two], correspondences=every(300, 10))
    assert model.n_start_rows_ == 200
    assert len(model.embedding_) == 570
    assert np.mean((model.predict(one) - two) ** 2) < 0.1 * two.var()
