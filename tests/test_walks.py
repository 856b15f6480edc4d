"""A reader who follows a fit, or what is known, passes few files.

A walk stops at the door of another public estimator: who reads a spectral clustering need not read
the k-means that it calls, whether that is of the same family or of another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.common import models

import sidelight
from sidelight import Constraints, catalog
from sidelight.catalog import Method
from sidelight.engine import threads

MAX_FILES = 8
MAX_CONSTRAINTS_FILES = 5
#: Of what is known, a fit passes the value object, its alignment with the rows, its closure, plain
#: arrays and violations; and one more where it contracts must-links, weighs pairs, resolves bounds
#: on sizes, or makes statements of its own. These stay apart, since no two of them are read
#: together; another kind of knowledge has a room of its own.
MAX_CONSTRAINTS_FILES_OF_A_FIT = 6
#: A method that chooses by what it holds out passes this as well.
HOLDING_OUT = "constraints/_splitting.py"
OTHER_KNOWLEDGE = ("constraints/conditions/", "constraints/relations/", "constraints/splits/")
MAX_FILES_OF_OTHER_KNOWLEDGE = 6

#: What some fits pass beside their algorithm: the count of a published table that shares no code
#: with the search, and its losses; how a call that fails is undone.
BESIDE = {
    "anonymizer": ("privacy/anonymizer/_recount.py", "privacy/anonymizer/_published_loss.py"),
    "incremental-isomap": ("manifold/incremental/_undo.py",),
}

#: What all of the k-means family pass, and who knows k-means need not read: its passes over the
#: rows, and its seeding.
OF_KMEANS = ("cluster/_core/_passes.py", "cluster/_core/_seeding.py")

#: Where the code is, as code objects name it.
PACKAGE = f"{Path(sidelight.__file__).parent.as_posix()}/"
METHODS = catalog.methods()
PUBLIC = tuple(method.cls for method in METHODS)


def walk(task: Callable[[], Any], package: str, model: type = object) -> list[str]:
    """Files of a package that a task passes, but for those behind doors of other estimators.

    The package ``.`` is all of Sidelight.
    """
    passed: set[str] = set()
    behind: list[FrameType] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if behind:
            if event == "return" and frame is behind[-1]:
                behind.pop()
            return
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        caller = frame.f_locals.get("self")
        if isinstance(caller, PUBLIC) and type(caller) is not model:
            behind.append(frame)
        else:
            passed.add(frame.f_code.co_filename.replace("\\", "/"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(before)
    folder = PACKAGE if package == "." else f"{PACKAGE}{package}/"
    own = {path.removeprefix(folder) for path in passed if path.startswith(folder)}
    return sorted(path for path in own if not path.endswith("__init__.py"))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_fit_passes_few_files_of_its_family(method: Method) -> None:
    data, model = models.data_for(method), models.make(method, n_init=1)
    with threads(1):  # the walk is noted in this thread
        passed = walk(lambda: model.fit(data.X, constraints=data.known), ".", method.cls)
    beside = BESIDE.get(method.name, ())
    assert set(beside) <= set(passed)
    left_out = {*beside, *OF_KMEANS}
    own = [path for path in passed if path.startswith(f"{method.family}/") and path not in left_out]
    assert 1 <= len(own) <= MAX_FILES, own
    known = [path for path in passed if path.startswith("constraints/")]
    others = [path for path in known if path.startswith(OTHER_KNOWLEDGE)]
    assert len(others) <= MAX_FILES_OF_OTHER_KNOWLEDGE, others
    statements = [path for path in known if path not in (*others, HOLDING_OUT)]
    assert 1 <= len(statements) <= MAX_CONSTRAINTS_FILES_OF_A_FIT, statements


OPERATIONS: dict[str, Callable[[Constraints, Any, Any], Any]] = {
    "pairs": lambda known, X, y: Constraints([(0, 1)], [(1, 60)], n_samples=len(y)),
    "labels": lambda known, X, y: Constraints.from_labels(np.where(y > 0, y, -1)),
    "groups": lambda known, X, y: Constraints.from_groups(np.where(y > 0, y, -1)),
    "sample": lambda known, X, y: Constraints.sample(y, 60, random_state=1),
    "closure": lambda known, X, y: known.closure(),
    "components": lambda known, X, y: known.components(),
    "reduce": lambda known, X, y: known.reduce(X),
    "feasibility": lambda known, X, y: known.feasibility(3),
    "violations": lambda known, X, y: known.violations(y),
    "align": lambda known, X, y: known.align(X),
    "restrict": lambda known, X, y: known[:100],
    "union": lambda known, X, y: known | known,
    "difference": lambda known, X, y: known - known,
    "flip": lambda known, X, y: known.flip(0.1, random_state=0),
    "split": lambda known, X, y: known.split(0.5, random_state=0),
    "quality": lambda known, X, y: known.quality(X),
    "table": lambda known, X, y: known.to_table(),
    "summary": lambda known, X, y: known.summary(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_known_is_read_in_few_files(operation: str) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 40, random_state=1)
    known |= Constraints.from_labels(np.where(np.arange(len(y)) % 10 == 0, y, -1))
    own = walk(lambda: OPERATIONS[operation](known, X, y), "constraints")
    assert 1 <= len(own) <= MAX_CONSTRAINTS_FILES, own
