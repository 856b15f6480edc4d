"""A reader who follows the data through a fit passes few files of the family."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from sklearn.datasets import load_iris

from sidelight import Constraints
from sidelight.cluster import MPCKMeans, PCKMeans, SizeConstrainedKMeans
from sidelight.mixture import PenalizedMixture

MOST_FILES = 7


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (PCKMeans(3, random_state=0), "cluster"),
        (MPCKMeans(3, random_state=0), "cluster"),
        (SizeConstrainedKMeans(3, min_size=40, random_state=0), "cluster"),
        (PenalizedMixture(3, random_state=0), "mixture"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_a_fit_passes_few_files_of_its_family(model: Any, family: str) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 40, random_state=1)
    model.fit(X, constraints=known)  # compiles and imports
    passed: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        passed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        model.fit(X, constraints=known)
    finally:
        sys.setprofile(None)
    folder = f"/sidelight/{family}/"
    files = {path.replace("\\", "/") for path in passed if not path.endswith("__init__.py")}
    own = sorted(path.partition(folder)[2] for path in files if folder in path)
    assert 1 <= len(own) <= MOST_FILES, own
