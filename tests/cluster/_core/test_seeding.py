"""Seeding in bins: the same draws as along the whole order, and sums as by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sidelight.cluster._core import _seeding
from sidelight.cluster._core._seeding import ContentOrder, _Seeding
from sidelight.engine import as_rows

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(500, 3)).astype(float)  # many equal rows; all sums are exact
WEIGHTS = RNG.integers(0, 3, size=500).astype(float)


@pytest.fixture(autouse=True)
def small_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_seeding, "BIN_ROWS", 16)


@pytest.mark.parametrize("values", [X[:, 0], RNG.normal(size=500), np.zeros(500), np.ones(1)])
def test_the_order_is_a_stable_sort_in_bins(values: np.ndarray) -> None:
    content = ContentOrder.from_values(values)
    np.testing.assert_array_equal(content.order, np.argsort(values, kind="stable"))
    for number, (start, stop) in enumerate(
        zip(content.starts[:-1], content.starts[1:], strict=True)
    ):
        assert start < stop
        members = np.flatnonzero(content.bins == number)
        np.testing.assert_array_equal(members, np.sort(content.order[start:stop]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_draws_are_those_along_the_whole_order(form: Any, weights: np.ndarray | None) -> None:
    state = _Seeding(as_rows(form(X)), weights)
    masses = np.ones(500) if weights is None else weights
    closest = np.full(500, np.inf)
    for center in (None, X[3], X[77]):
        if center is not None:
            state.add(center)
            closest = np.minimum(closest, ((X - center) ** 2).sum(axis=1))
            np.testing.assert_array_equal(state.closest, closest)
            masses = closest * (1.0 if weights is None else weights)
        order = state.content.order
        cumulative = np.cumsum(masses[order])
        goals = np.random.RandomState(5).uniform(size=200) * cumulative[-1]
        expected = order[np.searchsorted(cumulative, goals, side="right")]
        drawn = state.draw(200, np.random.RandomState(5))
        np.testing.assert_array_equal(drawn, expected)
        assert masses[drawn].min() > 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_potentials_are_sums_of_minima(form: Any) -> None:
    state = _Seeding(as_rows(form(X)), WEIGHTS)
    state.add(X[0])
    for row, found in zip(X[5:9], state.potentials(X[5:9]), strict=True):
        squared = np.minimum(((X - X[0]) ** 2).sum(axis=1), ((X - row) ** 2).sum(axis=1))
        assert found == WEIGHTS @ squared


def test_where_all_is_covered_every_row_may_be_drawn() -> None:
    state = _Seeding(as_rows(np.ones((40, 2))), None)
    state.add(np.ones(2))
    assert len(np.unique(state.draw(1000, np.random.RandomState(0)))) == 40


def test_rounding_at_the_end_draws_no_row_without_mass() -> None:
    cumulative = np.array([0.0, 1.0, 3.0, 3.0])
    np.testing.assert_array_equal(
        _seeding._first_above(cumulative, np.array([0.0, 0.5, 1.0, 2.9, 3.0, 3.1])),
        [1, 1, 2, 2, 2, 2],
    )
