"""Rows and measures that the tests of growing maps share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_swiss_roll

ROLL = make_swiss_roll(400, random_state=0)[0]


def distance_after_turning(one: Any, other: Any) -> float:
    """``E_n``: root mean square distance of two maps over that from the center, best turned."""
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    left, _, right = np.linalg.svd(other.T @ one)
    return float(np.sqrt(np.sum((one - other @ left @ right) ** 2) / np.sum(one**2)))
