"""Settings shared by all tests."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# Nothing is garbage while tests are imported and collected; see pytest_collection_finish.
gc.disable()

# One thread of BLAS and OpenMP per worker: the suite itself runs on several processes, and threads
# that wait for each other keep the processors busy. Tests of threads ask for theirs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Properties are checked on the same examples everywhere, 50 unless a test asks for another number,
# and a slow machine is not a failure.
settings.register_profile(
    "suite",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# A shell that starts the suite in the background lets it ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Tests of signals, pipes, devices and permissions, which Windows does not have: file, and how the
#: names of its tests begin.
POSIX_ONLY = (
    "tests/_fit/test_restarts.py::test_ctrl_c",
    "tests/assignment/test_interruption.py::",
    "tests/cli/test_fuzz.py::",
    "tests/cli/test_outputs.py::test_a_pipe_is_an_output",
    "tests/cli/test_outputs.py::test_places_where_nothing_can_be_written",
    "tests/cli/test_outputs.py::test_the_longest_names_can_be_written",
    "tests/cli/test_process.py::test_ctrl_c",
    "tests/test_io.py::test_a_good_write_replaces_and_keeps_permissions_and_links",
    "tests/test_io.py::test_new_files_have_the_usual_permissions",
)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in docstrings of the package, not in those of the tests."""
    found = yield
    return [file for file in found if type(file).__name__ != "DoctestModule"]


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the reach of the garbage collector.

    It stays until the end, and is millions of objects to look through again and again.
    """
    gc.freeze()
    gc.enable()


#: Packages whose methods have compiled loops of their own, in two halves that take equally long.
HALVES = (("cluster", "mixture"), ("manifold", "metric", "privacy", "relational"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each of several workers begin with loops of its own; leave out what Windows has not.

    A worker begins with the first half of the tests and another one with the second half. Loops
    are compiled where a test first needs them, and then kept for both: of tests in the order of
    their names the same loops would be compiled twice at a time.
    """
    if hasattr(config, "workerinput"):
        first, second = ([item for item in items if _is_in(item, half)] for half in HALVES)
        others = [item for item in items if not any(_is_in(item, half) for half in HALVES)]
        room = max(len(items) // 2 - len(first), 0)
        items[:] = [*first, *others[:room], *second, *others[room:]]
    if sys.platform == "win32":
        for item in items:
            if item.nodeid.startswith(POSIX_ONLY):
                item.add_marker(pytest.mark.skip(reason="needs signals and files of POSIX"))


def _is_in(item: pytest.Item, packages: tuple[str, ...]) -> bool:
    return item.nodeid.startswith(tuple(f"tests/{name}/" for name in packages))


@pytest.fixture(scope="session")
def docs_module() -> Callable[[str], ModuleType]:
    """Import a module that the docs are built with."""

    def load(name: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(ROOT / "docs")
            return importlib.import_module(name)

    return load
