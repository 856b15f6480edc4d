"""Settings of all tests of Gaussian mixtures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from sklearn.exceptions import ConvergenceWarning


@pytest.fixture(autouse=True)
def few_iterations_are_enough() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
