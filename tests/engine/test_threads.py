"""How many threads work, and that BLAS keeps to one inside and gets its threads back."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sidelight.engine import as_rows, get_threads, threads
from sidelight.exceptions import SidelightError


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_threads_from_the_block_the_environment_and_the_machine(monkeypatch):
    monkeypatch.delenv("SIDELIGHT_NUM_THREADS", raising=False)
    assert get_threads() >= 1
    monkeypatch.setenv("SIDELIGHT_NUM_THREADS", "5")
    assert get_threads() == 5
    with threads(2):
        assert get_threads() == 2
        with threads(3):
            assert get_threads() == 3
        assert get_threads() == 2
    assert get_threads() == 5


@pytest.mark.parametrize("bad", ["0", "many", "-1", "1.5"])
def test_bad_settings(monkeypatch, bad):
    monkeypatch.setenv("SIDELIGHT_NUM_THREADS", bad)
    with pytest.raises(SidelightError, match="whole number"):
        get_threads()


def test_no_threads_is_an_error():
    with pytest.raises(SidelightError, match="at least 1"), threads(0):
        pass


def test_blas_has_one_thread_inside_a_pass_and_all_again_after():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        _, (inside,) = as_rows(np.zeros((4, 1))).map_reduce(
            lambda block: ((), (np.full(len(block), max(blas_threads())),))
        )
        assert set(inside) == {1}
        assert blas_threads() == before


def test_overlapping_passes_leave_blas_as_it_was():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        overlapping = [threading.Thread(target=pass_in_pass) for _ in range(4)]
        for thread in overlapping:
            thread.start()
        for thread in overlapping:
            thread.join(30)
        assert not any(thread.is_alive() for thread in overlapping)
        assert blas_threads() == before


def pass_in_pass():
    """A pass whose function starts another: it must not wait for itself."""
    inner, outer = as_rows(np.ones((4, 1))), as_rows(np.ones((70_000, 2)))
    assert len(outer.blocks) > 1

    def add(block):
        (total,), _ = inner.map_reduce(lambda rows: ((rows.sum(),), ()))
        return (total * len(block),), ()

    (total,), _ = outer.map_reduce(add)
    assert total == 4 * 70_000


def test_an_error_inside_gives_the_limit_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError):
            as_rows(np.ones((4, 1))).map_reduce(lambda block: 1 / 0)
        assert blas_threads() == before
        pass_in_pass()
