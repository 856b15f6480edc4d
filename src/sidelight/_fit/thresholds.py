"""Thresholds above which the values of a column count as ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from sidelight._typing import FloatArray

Rule = Literal["above", "within"]


def share_of_maximum(rows: Any, share: float, rule: Rule = "above") -> FloatArray:
    """Threshold of every column from its largest value.

    ``"above"`` is ``share`` times the maximum, ``"within"`` the maximum less ``share`` of it.
    """
    largest = rows.max(axis=0)
    largest = largest.toarray() if sparse.issparse(largest) else np.asarray(largest)
    part = share if rule == "above" else 1.0 - share
    return part * largest.astype(np.float64).ravel()
