"""The growing map against batch Isomap of the same rows."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import dijkstra
from tests.graphs.indices import with_small_indices
from tests.manifold.incremental.maps import ROLL, distance_after_turning

from sidelight import Constraints, engine
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import IncrementalIsomap, Isomap
from sidelight.manifold.incremental import MapUpdate
from sidelight.manifold.spectral import _frame
from sidelight.manifold.spectral._frame import squared_distance_frame

VARIANTS: list[dict[str, Any]] = [
    {"n_neighbors": 7},
    {"n_neighbors": 7, "conformal": True},
    {"radius": 9.0},
    {"n_neighbors": 7, "n_components": 3},
]


def stream(model: IncrementalIsomap, rows: np.ndarray) -> IncrementalIsomap:
    for row in rows:
        assert model.partial_fit(row[None]) is model
    return model


def batch(rows: np.ndarray, **params: Any) -> Isomap:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        return Isomap(**params).fit(rows)


def assert_is_batch(model: IncrementalIsomap, rows: np.ndarray, **params: Any) -> None:
    """Geodesics at once, coordinates to 1e-7 after ``refine``: the stated tolerance."""
    wanted = batch(rows, **params)
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-10)
    model.refine()
    assert distance_after_turning(wanted.embedding_, model.embedding_) < 1e-7
    new = rows[:20] + 0.1
    both = np.vstack([wanted.embedding_, wanted.transform(new)])
    mine = np.vstack([model.embedding_, model.transform(new)])
    assert distance_after_turning(both, mine) < 1e-7


@pytest.mark.parametrize("params", VARIANTS, ids=str)
def test_rows_that_come_and_go_give_the_map_of_the_rest(params: dict[str, Any]) -> None:
    model = stream(IncrementalIsomap(**params).fit(ROLL[:120]), ROLL[120:160])
    model.remove([3, 80, 159])
    model.partial_fit(ROLL[160:175])
    gone = [3, 80, 159]
    assert model.row_ids_.tolist() == np.delete(np.arange(175), gone).tolist()
    assert_is_batch(model, np.delete(ROLL[:175], gone, axis=0), **params)


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.EmbeddingWarning")
def test_map_begins_with_a_single_row() -> None:
    model = stream(IncrementalIsomap(n_neighbors=5), ROLL[:40])
    assert model.embedding_.shape == (40, 2)
    assert len(model.updates_) == 40
    assert_is_batch(model, ROLL[:40], n_neighbors=5)


def test_window_equals_a_fresh_fit_on_the_window() -> None:
    model = IncrementalIsomap(n_neighbors=6, window=90).fit(ROLL[:60])
    stream(model, ROLL[60:160])
    assert model.row_ids_.tolist() == list(range(70, 160))
    assert_is_batch(model, ROLL[70:160], n_neighbors=6)
    fitted = IncrementalIsomap(n_neighbors=6, window=90).fit(ROLL[:160])
    assert fitted.row_ids_.tolist() == list(range(70, 160))
    assert_is_batch(fitted, ROLL[70:160], n_neighbors=6)


def test_map_turns_as_little_as_possible() -> None:
    """Two eigenvalues that are nearly the same: the axes of the map would turn anywhere."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(160, 2))
    model = IncrementalIsomap(n_neighbors=8).fit(X[:100])
    for row in X[100:]:
        before = model.embedding_
        model.partial_fit(row[None])
        moved = np.linalg.norm(model.embedding_[:-1] - before, axis=1)
        assert np.median(moved) < 0.1
    start = IncrementalIsomap(n_neighbors=8).fit(X)
    assert distance_after_turning(start.embedding_, model.embedding_) < 0.05


def test_fit_gives_the_batch_map_itself() -> None:
    model, wanted = IncrementalIsomap().fit(ROLL), Isomap().fit(ROLL)
    np.testing.assert_allclose(model.embedding_, wanted.embedding_, atol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_, wanted.eigenvalues_, rtol=1e-10)
    np.testing.assert_array_equal(model.last_embedding_, model.embedding_)


def test_rows_of_the_map_keep_their_places() -> None:
    for n_landmarks in (20, None):
        model = IncrementalIsomap(n_neighbors=6, n_landmarks=n_landmarks, random_state=0)
        stream(model.fit(ROLL[:150]), ROLL[150:160])
        np.testing.assert_array_equal(model.transform(ROLL[:160]), model.embedding_)
        near = model.transform(ROLL[:160] + 1e-6)
        np.testing.assert_allclose(near, model.embedding_, atol=0.05 * np.ptp(model.embedding_))
    np.testing.assert_array_equal(model.last_embedding_, model.embedding_[-1:])
    state = pickle.dumps(vars(model))
    model.transform(ROLL[200:210])
    assert pickle.dumps(vars(model)) == state


def test_state_survives_a_pickle() -> None:
    for params in ({}, {"n_landmarks": 20}, {"max_points": 130}, {"window": 125}):
        model = IncrementalIsomap(n_neighbors=6, random_state=0, **params).fit(ROLL[:120])
        stream(model, ROLL[120:135])
        copy = pickle.loads(pickle.dumps(model))
        for one in (model, copy):
            stream(one, ROLL[135:140])
        np.testing.assert_array_equal(copy.embedding_, model.embedding_)


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_number_of_threads_does_not_matter(
    n_landmarks: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_dynamic_paths.ROWS_FOR_THREADS", "_dynamic_paths.ROWS_FOR_PRODUCTS"):
        monkeypatch.setattr(f"sidelight.graphs.{name}", 1)
    monkeypatch.setattr("sidelight.graphs._path_trees.SIZE_FOR_THREADS", 1)
    found = []
    for number in (1, 3):
        with engine.threads(number):
            model = IncrementalIsomap(n_neighbors=6, n_landmarks=n_landmarks, random_state=0)
            found.append(stream(model.fit(ROLL[:100]), ROLL[100:110]).embedding_)
    np.testing.assert_array_equal(*found)


# --- landmarks --------------------------------------------------------------------------------


def test_geodesics_of_landmarks_are_exact() -> None:
    model = IncrementalIsomap(n_neighbors=7, n_landmarks=30, random_state=0).fit(ROLL[:150])
    stream(model, ROLL[150:220]).remove(ids=[4, int(model.landmarks_[0])])
    wanted = batch(ROLL[model.row_ids_], n_neighbors=7)
    at = np.searchsorted(model.row_ids_, model.landmarks_)
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_[at], rtol=1e-10)
    assert len(np.unique(model.landmarks_)) == 30
    assert distance_after_turning(wanted.embedding_, model.refine().embedding_) < 0.2


def test_stream_draws_its_landmarks_when_there_are_enough_rows() -> None:
    model = IncrementalIsomap(n_neighbors=7, n_landmarks=30, random_state=0).fit(ROLL[:30])
    stream(model, ROLL[30:59])
    assert model.landmarks_ is None
    model.partial_fit(ROLL[59:61])
    assert len(model.landmarks_) == 30
    assert model.geodesics().shape == (30, 61)


def test_landmarks_that_leave_the_window_are_replaced() -> None:
    model = IncrementalIsomap(n_neighbors=6, n_landmarks=20, window=80, random_state=0)
    stream(model.fit(ROLL[:80]), ROLL[80:170])
    assert model.landmarks_.min() >= 90
    wanted = batch(ROLL[90:170], n_neighbors=6)
    at = model.landmarks_ - 90
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_[at], rtol=1e-10)


# --- contraction ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_landmarks", [None, 20])
@pytest.mark.parametrize("contraction", ["crowded", "new"])
def test_contraction_makes_no_geodesic_longer(n_landmarks: int | None, contraction: str) -> None:
    """Kept geodesics stay; rows that fill up the lists of neighbors may make them shorter."""
    model = IncrementalIsomap(
        n_neighbors=6,
        n_landmarks=n_landmarks,
        max_points=100,
        contraction=contraction,
        random_state=0,
    ).fit(ROLL[:100])
    stream(model, ROLL[100:130])
    graph = model._map.graph
    for slot in (99, 50, 3):
        if n_landmarks is not None and slot in graph.paths.sources:
            continue
        kept = np.arange(graph.n)
        kept[slot] = kept[-1]
        rows = slice(None) if n_landmarks is not None else kept[:-1]
        before = graph.paths.distances[rows][:, kept[:-1]]
        graph.contract(slot, MapUpdate())
        assert np.all(graph.paths.distances <= before * (1 + 1e-12))
        found, wanted = graph.paths.graph, graph.rules.graph(graph.near)
        np.testing.assert_array_equal(found.toarray(), wanted.toarray())
        sources = None if n_landmarks is None else graph.paths.sources
        fresh = dijkstra(with_small_indices(found), indices=sources)
        np.testing.assert_allclose(graph.paths.distances, fresh, rtol=1e-10)


@pytest.mark.parametrize("contraction", ["crowded", "new"])
def test_map_keeps_no_more_rows_than_asked_for(contraction: str) -> None:
    model = IncrementalIsomap(
        n_neighbors=6, max_points=100, contraction=contraction, random_state=0
    ).fit(ROLL[:130])
    assert model.embedding_.shape == (100, 2)
    assert model.last_embedding_.shape == (130, 2)
    assert np.isfinite(model.last_embedding_).all()
    np.testing.assert_array_equal(model.last_embedding_[model.row_ids_], model.embedding_)
    model.partial_fit(ROLL[130:133])
    assert model.updates_[-1].n_contracted == 3
    assert model.last_embedding_.shape == (3, 2)
    assert np.isfinite(model.last_embedding_).all()
    if contraction == "new":
        assert model.row_ids_.tolist() == list(range(100))
    else:
        here = np.isin(np.arange(130, 133), model.row_ids_)
        assert here.any()
        places = model.embedding_[model.row_ids_ >= 130]
        np.testing.assert_array_equal(model.last_embedding_[here], places)


def test_short_cuts_of_contracted_rows_stay_when_neighbors_change() -> None:
    model = IncrementalIsomap(n_neighbors=6, max_points=120, n_landmarks=20, random_state=0)
    stream(model.fit(ROLL[:120]), ROLL[120:150])
    rules = model._map.graph.rules
    assert rules.shortcuts
    here = set(model.row_ids_.tolist())
    graph = model.graph()
    place = {serial: at for at, serial in enumerate(model.row_ids_.tolist())}
    for a, others in rules.shortcuts.items():
        for b, length in others.items():
            assert {a, b} <= here
            assert graph[place[a], place[b]] <= np.ldexp(length, model._exponent) * (1 + 1e-12)


# --- what is known ----------------------------------------------------------------------------


def test_pairs_count_as_in_the_batch_map() -> None:
    y = (ROLL[:, 1] > 10).astype(int)
    known = Constraints.sample(y[:150], 30, random_state=0)
    wanted = Isomap(n_neighbors=7).fit(ROLL[:150], constraints=known)
    whole = IncrementalIsomap(n_neighbors=7).fit(ROLL[:150], constraints=known)
    later = IncrementalIsomap(n_neighbors=7).fit(ROLL[:100])
    later.partial_fit(ROLL[100:150], constraints=known)  # by positions in the stream
    for model in (whole, later):
        np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-10)
        assert distance_after_turning(wanted.embedding_, model.embedding_) < 1e-7
    some = known[np.arange(140)]
    first = IncrementalIsomap(n_neighbors=7).fit(ROLL[:140], constraints=some)
    stream(first, ROLL[140:150])
    still = Constraints(some.must_link, some.cannot_link, n_samples=150)
    shorter = Isomap(n_neighbors=7).fit(ROLL[:150], constraints=still)
    np.testing.assert_allclose(first.geodesics(), shorter.geodesics_, rtol=1e-10)


def test_pairs_of_a_block_are_about_its_rows() -> None:
    model = IncrementalIsomap(n_neighbors=7).fit(ROLL[:100])
    model.partial_fit(ROLL[100:110], constraints=Constraints([(0, 9)], n_samples=10))
    known = Constraints([(100, 109)], n_samples=110)
    wanted = Isomap(n_neighbors=7).fit(ROLL[:110], constraints=known)
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-10)
    model.remove(ids=109)  # and what was known about it
    plain = batch(np.delete(ROLL[:110], 109, axis=0), n_neighbors=7)
    np.testing.assert_allclose(model.geodesics(), plain.geodesics_, rtol=1e-10)


def test_labels_count_from_the_first_call_on() -> None:
    y = (ROLL[:60, 1] > 10).astype(int)
    alike = np.flatnonzero(y == y[0])
    known = Constraints([(alike[0], alike[1])], n_samples=60)
    wanted = Isomap(n_neighbors=7).fit(ROLL[:60], y, constraints=known)
    model = IncrementalIsomap(n_neighbors=7).partial_fit(ROLL[:60], y, constraints=known)
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-10)
    with pytest.raises(SidelightError, match="put the labels into the constraints"):
        model.partial_fit(ROLL[60:70], y[:10], constraints=Constraints([(0, 1)], n_samples=70))


def test_ignored_columns_are_taken_out() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=200)
    table = pd.DataFrame(ROLL[:200] + 3 * noise[:, None], columns=["a", "b", "c"])
    table["batch"] = noise
    model = IncrementalIsomap(n_neighbors=7, ignore=["batch"]).fit(table[:150])
    model.partial_fit(table[150:])
    assert model.embedding_.shape == (200, 2)
    wanted = Isomap(n_neighbors=7, ignore=["batch"]).fit(table[:150])
    fitted = IncrementalIsomap(n_neighbors=7, ignore=["batch"]).fit(table[:150])
    np.testing.assert_allclose(fitted.embedding_, wanted.embedding_, atol=1e-7)
    with pytest.raises(SidelightError, match="begin the map with more"):
        IncrementalIsomap(ignore=["batch"]).partial_fit(table[:2])


# --- graphs in parts --------------------------------------------------------------------------


def test_bridges_come_and_go() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(30, 2)), rng.normal(size=(30, 2), loc=(40.0, 0.0))
    between = np.column_stack([np.linspace(2, 38, 40), rng.normal(size=40) * 0.1])
    model = IncrementalIsomap(n_neighbors=4)
    with pytest.warns(EmbeddingWarning, match="2 parts of 30 and 30 rows"):
        model.fit(np.vstack([one, other]))
    assert model.updates_[-1].n_parts == 2
    assert np.isfinite(model.embedding_).all()
    rows = [one, other]
    for row in between:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            model.partial_fit(row[None])
        rows.append(row[None])
        wanted = batch(np.vstack(rows), n_neighbors=4)
        np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-10)
    assert model.updates_[-1].n_parts == 1


def test_largest_part_or_none() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(12, 2)) + 40.0])
    with pytest.warns(EmbeddingWarning, match="no coordinates"):
        model = IncrementalIsomap(n_neighbors=4, disconnected="largest").fit(X)
    assert np.isnan(model.embedding_[30:]).all()
    assert np.isfinite(model.embedding_[:30]).all()
    assert np.isfinite(model.transform(X[25:])).all()
    strict = IncrementalIsomap(n_neighbors=4, disconnected="raise")
    with pytest.raises(SidelightError, match="2 parts of 30, 12 rows"):
        strict.fit(X)
    strict.fit(X[:30])
    before = strict.geodesics()
    with pytest.raises(SidelightError, match="new rows were not taken"):
        strict.partial_fit(X[30:])
    np.testing.assert_allclose(strict.geodesics(), before, rtol=1e-12)
    assert strict.partial_fit(X[:1] + 0.1).n_samples_seen_ == 31


def test_largest_part_with_landmarks() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(12, 2)) + 40.0])
    with pytest.warns(EmbeddingWarning, match="no coordinates"):
        model = IncrementalIsomap(
            n_neighbors=4, disconnected="largest", n_landmarks=15, random_state=0
        ).fit(X)
    assert np.isnan(model.embedding_[60:]).all()
    assert np.isfinite(model.embedding_[:60]).all()
    assert model.landmarks_.max() < 60


# --- messages and bad input -------------------------------------------------------------------


def test_short_cut_is_suspected() -> None:
    t = np.linspace(0.3, 2 * np.pi - 0.3, 260)
    ring = np.column_stack([np.cos(t), np.sin(t)])
    t = np.linspace(-0.28, 0.28, 24)
    gap = np.column_stack([np.cos(t), np.sin(t)])
    model = IncrementalIsomap(n_neighbors=3).fit(ring)
    with pytest.warns(EmbeddingWarning, match=r"short-cut is suspected: one row made \d+%"):
        stream(model, gap)
    assert max(update.share_shortened for update in model.updates_) > 0.15


def test_many_equal_rows() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(25, 2)), 4, axis=0)[rng.permutation(100)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        model = stream(IncrementalIsomap(n_neighbors=6).fit(X[:60]), X[60:])
        model.remove(np.arange(0, 60, 7))
    assert np.isfinite(model.embedding_).all()
    kept = X[model.row_ids_]
    np.testing.assert_allclose(
        model.geodesics(), batch(kept, n_neighbors=6).geodesics_, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda m: m.partial_fit(ROLL[:3, :2]), "2 features, but IncrementalIsomap is expecting 3"),
        (lambda m: m.partial_fit(np.array([[0.0, np.nan, 1.0]])), "row 0, column 1"),
        (lambda m: m.remove(100), "0 to 99, got 100"),
        (lambda m: m.remove(ids=[500]), "no row with the number 500"),
        (lambda m: m.remove(), "positions of the rows to remove, or their ids"),
        (lambda m: m.remove(np.arange(100)), "at least one row"),
        (
            lambda m: m.partial_fit(ROLL[:3], constraints=Constraints([(0, 1)], n_samples=7)),
            "about 7 rows but X has 3",
        ),
    ],
)
def test_bad_calls_change_nothing(act: Any, words: str) -> None:
    model = IncrementalIsomap(n_neighbors=6).fit(ROLL[:100])
    state = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=words):
        act(model)
    assert pickle.dumps(vars(model)) == state


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"window": 50, "max_points": 60}, "not both"),
        ({"window": 10}, "leaves no room"),
        ({"max_points": 30, "n_landmarks": 40}, "more than 40 rows"),
    ],
)
def test_limits_that_leave_no_room(params: dict[str, Any], words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        IncrementalIsomap(**params).fit(ROLL[:100])


def test_rows_that_are_all_the_same() -> None:
    with pytest.raises(SidelightError, match="All rows are the same"):
        IncrementalIsomap().fit(np.ones((20, 3)))
    model = IncrementalIsomap()
    for _ in range(15):
        model.partial_fit(np.ones((1, 3)))
    assert np.all(model.embedding_ == 0)


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.manifold.spectral._frame.MAX_ROWS", 110)
    model = IncrementalIsomap(n_neighbors=6).fit(ROLL[:110])
    with pytest.raises(SidelightError, match="n_landmarks"):
        model.partial_fit(ROLL[110:111])
    IncrementalIsomap(n_neighbors=6, n_landmarks=20, random_state=0).fit(ROLL[:200])


# --- what it is made of ---


def test_coordinates_follow_the_batch_map_closely() -> None:
    model = IncrementalIsomap(n_neighbors=6).fit(ROLL[:340])
    errors = []
    for row in ROLL[340:390]:
        model.partial_fit(row[None])
        wanted = squared_distance_frame(model.geodesics(), 2).coordinates
        errors.append(distance_after_turning(wanted, model.embedding_))
    assert np.median(errors) < 0.003  # mean of the source: 0.0005, up to 1,500 rows
    before = model.residual_
    model.set_params(n_ritz=20).partial_fit(ROLL[390:391])
    assert model.residual_ < before / 10


# --- messages and bad input -------------------------------------------------------------------


def test_more_rows_than_geodesics_have_room_for_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_frame, "MAX_ROWS", 60)
    X = np.random.default_rng(0).normal(size=(61, 3))
    model = IncrementalIsomap().fit(X[:60])
    before = model.embedding_.copy()
    with pytest.raises(SidelightError, match="n_landmarks keeps geodesics from some rows only"):
        model.partial_fit(X[60:])
    np.testing.assert_array_equal(model.embedding_, before)
    assert len(IncrementalIsomap(window=50).fit(X).embedding_) == 50
    assert len(IncrementalIsomap(n_landmarks=20, random_state=0).fit(X).embedding_) == 61
