"""Whatever comes and goes in whatever order: the map is that of the rows that are left."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sidelight import Constraints
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import IncrementalIsomap, Isomap

#: Far-apart corners of a grid: within each, and between them, many distances are the same.
CORNERS = np.array([[0, 0], [0, 9], [9, 0], [9, 9]])

GROWING = "sidelight.manifold.incremental._growing_map.GrowingMap"


@pytest.fixture(autouse=True)
def _parts_are_expected() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        yield


def centered_squares(lengths: np.ndarray) -> np.ndarray:
    squares = -0.5 * lengths**2
    return squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()


def assert_same_map(model: IncrementalIsomap, fresh: IncrementalIsomap) -> None:
    """Same geodesics and eigenvalues; coordinates that are leading eigenvectors."""
    np.testing.assert_allclose(model.geodesics(), fresh.geodesics(), rtol=1e-10, atol=1e-12)
    there = np.isfinite(fresh.embedding_).all(axis=1)
    np.testing.assert_array_equal(np.isfinite(model.embedding_).all(axis=1), there)
    size = max(fresh.eigenvalues_[0], 1e-9)
    np.testing.assert_allclose(model.eigenvalues_ / size, fresh.eigenvalues_ / size, atol=1e-7)
    Z = model.embedding_[there]
    inner = centered_squares(model.geodesics()[there][:, there])
    np.testing.assert_allclose(
        np.sum(Z * (inner @ Z)) / size**2, np.sum((fresh.eigenvalues_ / size) ** 2), atol=1e-6
    )


class Stream(RuleBasedStateMachine):
    """Rows of a grid of whole numbers come and go, with and without pairs that are known."""

    @initialize(
        near=st.sampled_from([{"n_neighbors": 1}, {"n_neighbors": 2}, {"radius": 1.5}]),
        conformal=st.booleans(),
        disconnected=st.sampled_from(["bridge", "largest", "raise"]),
        rows=st.integers(1, 12),
        seed=st.integers(0, 10_000),
    )
    def begin(
        self, near: dict[str, Any], conformal: bool, disconnected: str, rows: int, seed: int
    ) -> None:
        self.params = {**near, "conformal": conformal, "disconnected": disconnected}
        self.model = IncrementalIsomap(**self.params)
        self.rows = np.empty((0, 2))  # all that ever came
        self.here = np.empty(0, int)
        self.known = np.empty((0, 3), int)  # both rows and 1 for a must-link
        self.come(rows, False, seed)

    @rule(number=st.integers(1, 4), pair=st.booleans(), seed=st.integers(0, 10_000))
    def come(self, number: int, pair: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        new = (rng.integers(0, 3, (number, 2)) + CORNERS[rng.integers(0, 4, number)]).astype(float)
        seen = len(self.rows)
        known = self.known
        constraints = None
        if pair and seen and len(self.here):
            ends = int(rng.choice(self.here)), seen + int(rng.integers(number))
            kind = "must_link" if rng.uniform() < 0.5 else "cannot_link"
            constraints = Constraints(**{kind: [ends]}, n_samples=seen + number)
            known = np.vstack([known, [[*ends, kind == "must_link"]]])
        if self._done(lambda: self.model.partial_fit(new, constraints=constraints)):
            self.rows = np.vstack([self.rows, new])
            self.here = np.append(self.here, np.arange(seen, seen + number))
            self.known = known

    @rule(seed=st.integers(0, 10_000))
    def go(self, seed: int) -> None:
        assume(len(self.here) > 1)
        rng = np.random.default_rng(seed)
        gone = rng.choice(self.here, int(rng.integers(1, min(len(self.here), 4))), replace=False)
        if self._done(lambda: self.model.remove(ids=gone)):
            self.here = np.setdiff1d(self.here, gone)

    def _done(self, act: Any) -> bool:
        """Whether a call went through; one that did not leaves the model as it was."""
        before = {name: pickle.dumps(value) for name, value in self._public().items()}
        try:
            act()
        except SidelightError:
            assert self.params["disconnected"] == "raise"
            assert {name: pickle.dumps(value) for name, value in self._public().items()} == before
            return False
        return True

    def _public(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self.model).items() if not name.startswith("_")}

    @invariant()
    def is_the_map_of_the_rows_that_are_left(self) -> None:
        if not hasattr(self.model, "embedding_"):
            return
        assert self.model.n_samples_seen_ == len(self.rows)
        assert self.model.row_ids_.tolist() == self.here.tolist()
        assert self.model.embedding_.shape == (len(self.here), 2)
        position = {row: at for at, row in enumerate(self.here.tolist())}
        pairs = [pair for pair in self.known.tolist() if {*pair[:2]} <= position.keys()]
        left = [(position[a], position[b], kind) for a, b, kind in pairs]
        known = Constraints(
            [(a, b) for a, b, kind in left if kind],
            [(a, b) for a, b, kind in left if not kind],
            n_samples=len(self.here),
        )
        fresh = IncrementalIsomap(**self.params)
        fresh.partial_fit(self.rows[self.here], constraints=known)
        assert_same_map(self.model, fresh)


TestStream = Stream.TestCase
TestStream.settings = settings(max_examples=40, stateful_step_count=10, deadline=None)


def test_first_row_of_a_call_lies_apart_and_the_second_joins_it() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(size=(200, 2)), [[1.6, 0.5], [1.3, 0.5]]])
    wanted = Isomap(radius=0.4).fit(X)
    for n_landmarks in (None, 30):
        model = IncrementalIsomap(
            radius=0.4, disconnected="largest", n_landmarks=n_landmarks, random_state=0
        ).fit(X[:200])
        model.partial_fit(X[200:])
        assert model.n_samples_seen_ == len(model.embedding_) == len(X)
        assert model.updates_[-1].n_parts == 1
        rows = slice(None) if n_landmarks is None else model.landmarks_
        np.testing.assert_allclose(model.geodesics(), wanted.geodesics_[rows], rtol=1e-10)
        assert np.isfinite(model.embedding_).all()
        if n_landmarks is None:
            places = model.embedding_
            apart = np.linalg.norm(places - places[200], axis=1)
            assert np.corrcoef(apart, wanted.geodesics_[200])[0, 1] > 0.99
        assert np.isfinite(model.partial_fit(X[:3] + 0.01).embedding_).all()


def test_pair_of_a_row_that_left_has_no_effect_any_more() -> None:
    """The edges that it changed are those of other rows, too."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    far = int(np.argsort(np.linalg.norm(X - X[3], axis=1))[6])
    known = Constraints(None, [(3, far)], n_samples=40)
    model = IncrementalIsomap(n_neighbors=4).fit(X, constraints=known)
    plain = IncrementalIsomap(n_neighbors=4).fit(X)
    others = np.delete(np.arange(40), far)
    apart = model.geodesics() - plain.geodesics()
    assert np.abs(apart[np.ix_(others, others)]).max() > 0.1
    np.testing.assert_allclose(model.remove(far).geodesics(), plain.remove(far).geodesics())


def test_stream_in_parts_draws_its_landmarks_from_the_largest() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(size=(20, 2)) + np.array([9.0, 0.0]), rng.uniform(size=(60, 2))])
    model = IncrementalIsomap(n_neighbors=4, disconnected="largest", n_landmarks=15, random_state=0)
    for row in X:
        model.partial_fit(row[None])
    assert model.landmarks_.min() >= 20
    assert np.isnan(model.embedding_[:20]).all()
    assert np.isfinite(model.embedding_[20:]).all()


def test_order_of_bridges_with_tied_lengths_is_that_of_the_rows() -> None:
    """Nine pairs of rows on a grid, all as far from each other: eight bridges, whoever left."""
    corners = 4.0 * np.array([[i, j] for i in range(3) for j in range(3)])
    X = np.repeat(corners, 2, axis=0) + np.tile([[0.0, 0.0], [1.0, 0.0]], (9, 1))
    order = np.random.default_rng(0).permutation(len(X))
    gone = np.random.default_rng(1).integers(0, 9, (12, 2)).astype(float)
    model = IncrementalIsomap(n_neighbors=1).fit(np.vstack([gone, X[order]]))
    model.remove(np.arange(12))
    assert model.updates_[-1].n_parts == 9
    assert model.graph().nnz // 2 == 9 + 8
    fresh = IncrementalIsomap(n_neighbors=1).fit(X[order])
    np.testing.assert_array_equal(model.geodesics(), fresh.geodesics())
    np.testing.assert_array_equal(fresh.geodesics(), Isomap(n_neighbors=1).fit(X[order]).geodesics_)


@pytest.mark.parametrize(
    "params",
    [{}, {"window": 55}, {"max_points": 55}, {"n_landmarks": 12}, {"n_landmarks": 30}],
    ids=str,
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SidelightError])
def test_call_that_fails_in_the_middle_leaves_the_map_as_it_was(
    params: dict[str, Any], error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    model, twin = (
        IncrementalIsomap(n_neighbors=4, random_state=0, **params).fit(X[:50]) for _ in range(2)
    )
    state = pickle.dumps([model.embedding_, model.row_ids_, model.updates_, model.landmarks_])
    lengths = model.geodesics()

    def fail(*_: Any) -> None:
        raise error("in the middle")

    calls = lambda: model.partial_fit(X[50:65]), lambda: model.remove([3, 20])
    for call in calls:
        with monkeypatch.context() as patched:
            for name in ("improve", "solve"):
                patched.setattr(f"{GROWING}.{name}", fail)
            with pytest.raises(error):
                call()
    assert model.n_samples_seen_ == 50
    now = [model.embedding_, model.row_ids_, model.updates_, model.landmarks_]
    assert pickle.dumps(now) == state
    np.testing.assert_allclose(model.geodesics(), lengths, rtol=1e-12)
    for one in (model, twin):
        one.remove(7).partial_fit(X[65:])
    assert model.row_ids_.tolist() == twin.row_ids_.tolist()
    np.testing.assert_allclose(model.geodesics(), twin.geodesics(), rtol=1e-12)
    np.testing.assert_allclose(model.embedding_, twin.embedding_, atol=1e-9)


def test_window_that_would_fall_apart_keeps_its_rows() -> None:
    line = np.column_stack([np.arange(30.0), np.zeros(30)])
    model = IncrementalIsomap(radius=1.5, window=20, disconnected="raise").fit(line[:20])
    with pytest.raises(SidelightError, match="new rows were not taken"):
        model.partial_fit([[40.0, 0.0]])
    assert model.row_ids_.tolist() == list(range(20))
    with pytest.raises(SidelightError, match="rows were not removed"):
        model.remove(10)
    model.partial_fit(line[20:25])
    wanted = Isomap(radius=1.5).fit(line[5:25])
    np.testing.assert_allclose(model.geodesics(), wanted.geodesics_, rtol=1e-12)


def test_fit_that_fails_leaves_the_map_of_before() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = IncrementalIsomap(n_neighbors=4).fit(X)
    before = model.embedding_
    with pytest.raises(SidelightError, match="All rows are the same"):
        model.fit(np.ones((10, 3)))
    assert model.embedding_ is before
    assert model.partial_fit(X[:2] + 0.1).n_samples_seen_ == 42
