"""Settings shared by all tests."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# One thread of BLAS and OpenMP per worker: the suite itself runs on several processes, and threads
# that wait for each other keep the processors busy. Tests of threads ask for theirs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Properties are checked on the same examples everywhere, and a slow machine is not a failure.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# A shell that starts the suite in the background lets it ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def docs_module() -> Callable[[str], ModuleType]:
    """Import a module that the docs are built with."""

    def load(name: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(ROOT / "docs")
            return importlib.import_module(name)

    return load
