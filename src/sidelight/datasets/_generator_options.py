"""Checks of the options of generators."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError


def check_counts(least: int, **given: Any) -> None:
    """Raise unless all are whole numbers of at least ``least``."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise SidelightError(
                f"{name} must be a whole number of at least {least}, got {value!r}."
            )


def check_shares(**given: Any) -> None:
    """Raise unless all are numbers between 0 and 1."""
    for name, value in given.items():
        if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
            raise SidelightError(f"{name} must be a number between 0 and 1, got {value!r}.")


def check_sizes(**given: Any) -> None:
    """Raise unless all are finite numbers of at least 0."""
    for name, value in given.items():
        if not isinstance(value, int | float | np.number) or not math.isfinite(value) or value < 0:
            raise SidelightError(f"{name} must be a finite number of at least 0, got {value!r}.")
