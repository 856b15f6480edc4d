"""Buffers of threads: the same memory again, one owner at a time, nothing large kept."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import cloudpickle
import numpy as np
import pytest

from sidelight._fit import buffers as module
from sidelight._fit.buffers import MAX_KEPT_BYTES, Buffers, NewArrays, buffers, thread_buffers
from sidelight._fit.em.loop import _MixtureEStep, _OfJoint
from sidelight._fit.tiles import OnesExcept
from sidelight.mixture import GaussianMixture
from sidelight.mixture._core import most_probable


def test_an_array_of_the_same_name_has_the_same_memory() -> None:
    mine = Buffers()
    first = mine.array("a", (4, 3))
    assert np.shares_memory(first, mine.array("a", (2, 3)))
    assert not np.shares_memory(first, mine.array("b", (4, 3)))
    assert not np.shares_memory(first, mine.array("a", (4, 3), np.float32))
    larger = mine.array("a", (5, 3))
    assert larger.shape == (5, 3)
    assert larger.flags.c_contiguous
    assert larger.ctypes.data % 64 == 0
    assert np.shares_memory(larger, mine.array("a", 15))


def test_new_arrays_are_new() -> None:
    new = NewArrays()
    assert not np.shares_memory(new.array("a", 3), new.array("a", 3))


def test_a_pass_inside_of_a_pass_has_buffers_of_its_own() -> None:
    with buffers() as outer:
        held = outer.array("a", 8)
        with buffers() as inner:
            assert inner is not outer
            assert not np.shares_memory(held, inner.array("a", 8))
    with buffers() as again:
        assert again in (outer, inner)


def test_large_buffers_are_given_back() -> None:
    with buffers() as mine:
        mine.array("large", MAX_KEPT_BYTES // 8 + 1)
    assert mine not in module._free


def test_a_thread_keeps_its_buffers_and_leaves_them_to_the_next() -> None:
    def look(found: list[Any]) -> None:
        found.append(thread_buffers())
        found.append(thread_buffers())

    own = thread_buffers()
    found: list[Any] = []
    for _ in range(2):
        thread = threading.Thread(target=look, args=(found,))
        thread.start()
        thread.join()
    assert found[0] is found[1]
    assert found[2] is found[0]
    assert thread_buffers() is own is not found[0]


def mixture(kind: str) -> Any:
    rng = np.random.RandomState(0)
    X = rng.normal(size=(6000, 8)) + 4 * rng.randint(3, size=(6000, 1))
    factors = {"n_factors": 2} if kind == "factor" else {}
    model = GaussianMixture(3, covariance_type=kind, max_iter=2, random_state=0, **factors)
    return model.fit(X), X


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "factor"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_block_allocates_nothing_large(kind: str) -> None:
    model, X = mixture(kind)
    X = X.astype(np.float32)
    weights = np.ones(len(X))
    tile_bytes = 2**20
    for work, given, result in (
        (_MixtureEStep(model._components, model._log_weights), (X, weights), 0),
        (_OfJoint(model._components, model._log_weights, most_probable), (X,), 4 * len(X)),
    ):
        work(*given)  # fills the buffers
        tracemalloc.start()
        work(*given)
        peak = tracemalloc.get_traced_memory()[1] - result
        tracemalloc.stop()
        assert peak < tile_bytes / 8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_components_are_sent_without_buffers_and_with_their_factors() -> None:
    model, X = mixture("full")
    work = _MixtureEStep(model._components, model._log_weights)
    before = len(cloudpickle.dumps(work))
    work(X, np.ones(len(X)))
    assert len(cloudpickle.dumps(work)) == before
    sent = cloudpickle.loads(cloudpickle.dumps(work))
    assert "natural" in vars(sent.components)


def test_rows_without_weight_are_the_same_in_any_part() -> None:
    rows = [2, 3, 9]
    weights = np.ones(12)
    weights[rows] = 0
    for start, stop in ((0, 12), (2, 5), (3, 10), (4, 9), (10, 12)):
        part = OnesExcept(rows).part(start, stop)
        here = cloudpickle.loads(cloudpickle.dumps(part))[0 : stop - start]
        np.testing.assert_array_equal(here, weights[start:stop])
        np.testing.assert_array_equal(OnesExcept(rows)[start:stop], weights[start:stop])
    np.testing.assert_array_equal(OnesExcept()[3:7], np.ones(4))
