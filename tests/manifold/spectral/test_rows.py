"""Columns to ignore, anchors, and input that no map can be made of."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.manifold.spectral.sheets import explained, roll

from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import (
    Isomap,
    LandmarkIsomap,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
)
from sidelight.manifold._rows import check_anchors, keep_columns, move_onto

METHODS = [
    Isomap(),
    LandmarkIsomap(random_state=0),
    LocallyLinearEmbedding(),
    LaplacianEigenmap(),
]


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("method", METHODS)
def test_an_ignored_column_and_its_linear_effect_are_gone(method: Isomap) -> None:
    """A lamp that brightens all columns, beside the roll: the map is that of the roll."""
    X, _ = roll(300)
    lamp = RNG.normal(size=300)
    lit = np.column_stack([X + 20 * np.outer(lamp, [1.0, -2.0, 0.5]), 50 * lamp])
    model = type(method)(**{**method.get_params(), "ignore": [3]})
    found = model.fit(lit)
    beside = lamp - lamp.mean()
    cleared = X - np.outer(beside, (beside @ X) / (beside @ beside))  # what chance left of it
    wanted = method.fit(cleared)
    np.testing.assert_allclose(
        np.abs(found.embedding_), np.abs(wanted.embedding_), atol=1e-6 * np.ptp(wanted.embedding_)
    )
    np.testing.assert_allclose(found.transform(lit), found.embedding_, atol=1e-8)
    assert found.n_features_in_ == 4


def test_columns_by_name_and_by_position_from_the_end() -> None:
    X, _ = roll(200)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = Isomap(ignore=["b"]).fit(table).embedding_
    np.testing.assert_array_equal(by_name, Isomap(ignore=[1]).fit(X).embedding_)
    np.testing.assert_array_equal(by_name, Isomap(ignore=[-2]).fit(X).embedding_)
    for ignore, words in (
        (["d"], "'d', which the table does not have"),
        ([7], "column 7, but there are 3 columns"),
        (["a", "b", "c"], "all 3 columns"),
    ):
        with pytest.raises(SidelightError, match=words):
            Isomap(ignore=ignore).fit(table)
    with pytest.raises(SidelightError, match="without names"):
        Isomap(ignore=["a"]).fit(X)
    with pytest.raises(SidelightError, match="dense array"):
        Isomap(ignore=[0]).fit(sparse.csr_array(X))
    with pytest.raises(SidelightError, match="distances were given"):
        Isomap(ignore=[0], metric="precomputed").fit(np.zeros((3, 3)))


@pytest.mark.parametrize("method", METHODS)
def test_input_that_no_map_can_be_made_of(method: Isomap) -> None:
    with pytest.raises(SidelightError, match="All rows are the same"):
        method.fit(np.ones((20, 3)))
    if hasattr(method, "metric"):
        same = type(method)(**{**method.get_params(), "metric": "precomputed"})
        for distances in (np.zeros((20, 20)), sparse.csr_array((20, 20))):
            with pytest.raises(SidelightError, match="All rows are the same"):
                same.fit(distances)
        with pytest.raises(SidelightError, match="square matrix"):
            same.fit(np.ones((20, 3)))
    with pytest.raises(SidelightError, match="at least 2 rows"):
        method.fit(np.ones((1, 3)))
    with pytest.warns(EmbeddingWarning, match="are more than the other 5 rows"):
        few = type(method)(**{**method.get_params(), "n_neighbors": 6}).fit(roll(6)[0])
    assert np.isfinite(few.embedding_).all()


@pytest.mark.parametrize("method", METHODS)
def test_two_rows_and_many_copies(method: Isomap) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        two = method.fit([[0.0, 1.0], [2.0, 3.0]]).embedding_
        assert np.isfinite(two).all()
        copies = np.repeat(roll(12)[0], 30, axis=0)  # more copies than neighbors
        many = method.fit(copies)
        largest = type(method)(**{**method.get_params(), "disconnected": "largest"}).fit(copies)
    assert np.isfinite(many.embedding_).all()
    assert np.isfinite(many.transform(copies + 0.1)).all()
    assert np.isfinite(largest.embedding_[:30]).all()  # one row and its copies
    assert np.isnan(largest.embedding_[30:]).all()


@pytest.mark.parametrize("method", [LocallyLinearEmbedding, LaplacianEigenmap])
def test_few_rows_have_few_coordinates(method: type) -> None:
    with pytest.warns(EmbeddingWarning, match="A map of 4 rows has 3 coordinates.*last 2 are 0"):
        places = method(5, n_neighbors=3).fit(roll(4)[0]).embedding_
    assert np.all(places[:, 3:] == 0)
    assert np.linalg.matrix_rank(places) == 3


def test_maps_of_the_roll_show_the_sheet() -> None:
    X, flat = roll(600)
    for method, least in ((Isomap(), 0.98), (LocallyLinearEmbedding(), 0.8)):
        assert explained(flat, method.fit_transform(X)) > least


# --- what it is made of ---


def test_removed_effects_are_those_of_least_squares() -> None:
    rows = RNG.normal(size=(50, 6)) * 10.0 ** np.arange(-3, 3)
    rows[:, 5] = 4.0  # constant: no effect
    columns = keep_columns(rows, [1, 3, 5], None)
    left = columns.of(rows)
    for column in (1, 3):
        beside = rows[:, column] - rows[:, column].mean()
        scale = np.linalg.norm(beside) * np.linalg.norm(left, axis=0)
        assert np.abs(beside @ (left - left.mean(axis=0)) / scale).max() < 1e-12
    np.testing.assert_allclose(left.mean(axis=0), rows[:, [0, 2, 4]].mean(axis=0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a[:10], r"shape \(60, 2\), got \(10, 2\)"),
        (lambda a: np.where(np.arange(60)[:, None] == 7, [1.0, np.nan], a), "Anchor 7 knows some"),
        (lambda a: np.where(np.arange(60)[:, None] == 7, [1.0, np.inf], a), "Anchor 7 has a"),
        (lambda a: np.where(np.arange(60)[:, None] < 2, a, np.nan), "2 anchors cannot hold"),
    ],
)
def test_anchors_that_say_nothing_are_refused(change: object, words: str) -> None:
    anchors = np.where(np.arange(60)[:, None] < 5, 1.0, np.full((60, 2), np.nan))
    with pytest.raises(SidelightError, match=words):
        check_anchors(change(anchors), 60, 2)  # type: ignore[operator]


def test_similarity_is_found_exactly() -> None:
    places = RNG.normal(size=(12, 3))
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    known = 2.5 * places @ turn + [1.0, 2.0, 3.0]
    move = move_onto(places, known)
    np.testing.assert_allclose(move.of(places), known)
    new = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(move.of(new), 2.5 * new @ turn + [1.0, 2.0, 3.0])
