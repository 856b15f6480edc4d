"""Worker processes: they end when time is up, whatever they do, and change no result."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from sidelight.evaluation.comparison import _workers
from sidelight.evaluation.comparison._workers import run_tasks
from sidelight.exceptions import SidelightError


class Work:
    """Squares numbers; some tasks misbehave."""

    def __call__(self, task):
        if task == "block":
            time.sleep(600)
        if task == "die":
            os._exit(3)
        if task == "refuse":
            raise SidelightError("not this one")
        if task == "break":
            raise KeyError("gone")
        return os.getpid(), np.arange(3) * task


def run(tasks, n_workers, seconds=None, work=None):
    waiting, done = list(tasks), {}
    until = None if seconds is None else time.monotonic() + seconds
    in_processes = run_tasks(
        work or Work(),
        lambda: waiting.pop(0) if waiting else None,
        lambda task, outcome: done.__setitem__(task, outcome),
        n_workers=n_workers,
        deadline=lambda: until,
    )
    return done, in_processes


@pytest.mark.parametrize("n_workers", [0, 1, 3])
def test_results_are_the_same_wherever_tasks_run(n_workers):
    done, in_processes = run(range(20), n_workers)
    assert in_processes == (n_workers > 0)
    assert sorted(done) == list(range(20))
    for task, ((where, value), trouble) in done.items():
        assert value.tolist() == [0, task, 2 * task]
        assert trouble is None
        assert (where == os.getpid()) == (n_workers == 0)


def test_a_task_that_would_never_end_is_ended():
    started = time.monotonic()
    done, _ = run(["block", 1, 2, 3, "block"], 2, seconds=0.4)
    assert time.monotonic() - started < 30  # not ten minutes
    assert sorted(done) == [1, 2, 3]


@pytest.mark.parametrize("n_workers", [0, 2])
def test_errors_become_sentences(n_workers):
    done, _ = run(["refuse", "break", 1], n_workers)
    assert done["refuse"] == (None, "not this one")
    assert done["break"] == (None, "KeyError: 'gone'")
    assert done[1][1] is None


def test_a_process_that_dies_is_replaced():
    done, _ = run(["die", *range(6)], 1)
    assert "its process ended" in done["die"][1]
    assert all(done[number][1] is None for number in range(6))


def test_nothing_begins_after_the_deadline():
    assert run(range(5), 0, seconds=-1.0) == ({}, False)
    assert run(range(5), 2, seconds=-1.0)[0] == {}


def test_where_no_process_can_start_tasks_run_here(monkeypatch):
    def refuse(*args):
        raise OSError("no more processes")

    monkeypatch.setattr(_workers, "_start", refuse)
    done, in_processes = run(range(3), 2)
    assert not in_processes
    assert {where for (where, _), _ in done.values()} == {os.getpid()}


def test_new_interpreters_get_what_a_notebook_defines(monkeypatch):
    """As on macOS and Windows: the script is not imported, its classes travel by value."""
    monkeypatch.setattr(_workers, "start_method", lambda: "spawn")

    class Local:
        def __call__(self, task):
            import sys

            return task + 1, getattr(sys.modules["__main__"], "__file__", None)

    done, in_processes = run([1], 1, work=Local())
    assert in_processes
    assert done[1] == ((2, None), None)
