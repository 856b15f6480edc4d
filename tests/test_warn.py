"""Warnings point at the user's line, whatever stands between it and the function that warns."""

from __future__ import annotations

import contextlib
import doctest
import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sidelight
from sidelight._fit import restarts
from sidelight._warn import warn
from sidelight.cluster import KMeans
from sidelight.engine import threads

PACKAGE = Path(sidelight.__file__).parent
X = np.random.default_rng(0).normal(size=(60, 2))

#: A module that warns in all the ways that modules of the package do.
INSIDE = """
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sidelight._warn import keep_line, warn

def call(function):
    return function()

def complain(*args, **settings):
    warn("complaint")

def complaining(function):
    def both(*args, **settings):
        complain()
        return function(*args, **settings)
    return both

@dataclass
class Made:
    number: int = 0

    def __post_init__(self):
        complain()

class Lazy:
    @cached_property
    def value(self):
        complain()

@contextmanager
def block():
    yield
    complain()
"""


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, as if it were one of the package."""
    module = ModuleType("sidelight.inside")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(INSIDE, str(PACKAGE / "inside.py"), "exec"), vars(module))
    return module


@contextlib.contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def next_line() -> int:
    """Number of the line below the one that calls this."""
    return sys._getframe(1).f_lineno + 1


def assert_points_at(caught: list[warnings.WarningMessage], line: int) -> None:
    places = {(one.filename, one.lineno) for one in caught if "complaint" in str(one.message)}
    assert places == {(__file__, line)}


def test_no_level_of_the_stack_is_counted_by_hand() -> None:
    by_hand = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if any(
            word in path.read_text(encoding="utf-8") for word in ("stacklevel", "warnings.warn(")
        )
    ]
    assert not by_hand


def test_the_call_of_a_function(inside: Any) -> None:
    with recorded() as caught:
        line = next_line()
        inside.complain()
    assert_points_at(caught, line)
    assert caught[0].category is UserWarning


def test_a_function_of_the_user_that_the_package_calls(inside: Any) -> None:
    lines = []

    def mine() -> None:
        lines.append(next_line())
        inside.complain()

    with recorded() as caught:
        inside.call(mine)
    assert_points_at(caught, lines[0])


def test_a_generated_init(inside: Any) -> None:
    with recorded() as caught:
        line = next_line()
        inside.Made(1)
    assert_points_at(caught, line)


def test_a_property(inside: Any) -> None:
    with recorded() as caught:
        line = next_line()
        _ = inside.Lazy().value
    assert_points_at(caught, line)


def test_the_end_of_a_block(inside: Any) -> None:
    with recorded() as caught:
        line = next_line()
        with inside.block():
            pass
    assert_points_at(caught, line)


def test_callbacks_of_numpy(inside: Any) -> None:
    with recorded() as caught:
        line = next_line()
        np.apply_along_axis(inside.complain, 0, X)
    assert_points_at(caught, line)


def test_pipelines_and_validation_of_scikit_learn(inside: Any) -> None:
    steps = make_pipeline(FunctionTransformer(inside.complaining(np.asarray)), KMeans(2))
    with recorded() as caught:
        line = next_line()
        steps.fit(X)
    assert_points_at(caught, line)
    with recorded() as caught:
        line = next_line()
        cross_val_score(steps, X, cv=2)
    assert_points_at(caught, line)


def test_a_recorded_warning_keeps_its_class() -> None:
    with recorded() as caught:
        line = next_line()
        warn(ConvergenceWarning("complaint"))
    assert_points_at(caught, line)
    assert caught[0].category is ConvergenceWarning


def test_a_line_is_told_once_by_default(inside: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            inside.complain()
        inside.complain()
    assert len(caught) == 2


def test_examples_of_docstrings_are_the_users(inside: Any) -> None:
    example = doctest.DocTestParser().get_doctest(
        ">>> complain()\n", vars(inside), "sidelight.inside", None, 0
    )
    with recorded() as caught:
        doctest.DocTestRunner(verbose=False).run(example)
    assert [one.filename for one in caught] == ["<doctest sidelight.inside[0]>"]


def in_a_pool(function: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function).result()


def in_a_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.parametrize("run", [in_a_pool, in_a_thread])
def test_where_no_line_is_the_users_it_is_what_the_thread_runs(inside: Any, run: Any) -> None:
    with recorded() as caught:
        run(functools.partial(inside.call, inside.complain))
    called = INSIDE.split("\n").index("    return function()") + 1
    assert [(one.filename, one.lineno) for one in caught] == [(str(PACKAGE / "inside.py"), called)]


def test_a_thread_keeps_the_line_for_one_piece_of_work(inside: Any) -> None:
    with recorded() as caught, ThreadPoolExecutor(1) as pool:
        line = next_line()
        work = inside.keep_line(inside.complain)
        pool.submit(copy_context().run, work).result()
        pool.submit(copy_context().run, inside.complain).result()
    assert_points_at(caught[:1], line)
    assert caught[1].filename == str(PACKAGE / "inside.py")


def test_restarts_in_threads(inside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "FEW_NUMBERS", 0)
    step = inside.complaining(restarts._OneStart.step)
    monkeypatch.setattr(restarts._OneStart, "step", step)
    with recorded() as caught, threads(2):
        line = next_line()
        KMeans(3, n_init=4, random_state=0).fit(X)
    assert_points_at(caught, line)
