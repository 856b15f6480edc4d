"""Zeros and ones from numbers, by a share of the largest value."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array

from sidelight._fit.parameters import Parameter, Share
from sidelight._fit.thresholds import Rule, share_of_maximum
from sidelight._in_memory import check_in_memory
from sidelight._typing import Array


def discretize(
    X: Any,
    share: float = 0.25,
    *,
    rule: Rule = "above",
    by: Literal["columns", "rows"] = "columns",
) -> Array:
    """Zeros and ones from numbers, by a share of the largest value of each column or row.

    Two rules are in use for measurements such as the expression of genes, and they are not the
    same. (Constrained Clustering, 2009, section 6.4.)

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_columns)
        Measurements.
    share : float in [0, 1], default=0.25
        Share of the largest value.
    rule : {"above", "within"}, default="above"
        Values that are ones: above ``share`` times the maximum, or within ``share`` of it, above
        ``1 - share`` times the maximum.
    by : {"columns", "rows"}, default="columns"
        Side of the table whose maxima count.

    Returns
    -------
    table : ndarray of uint8, shape (n_rows, n_columns)
        Zeros and ones.

    Examples
    --------
    >>> from sidelight.preparation import discretize
    >>> discretize([[1.0], [3.0], [8.0], [7.0]]).ravel()
    array([0, 1, 1, 1], dtype=uint8)
    >>> discretize([[1.0], [3.0], [8.0], [7.0]], rule="within").ravel()
    array([0, 0, 1, 1], dtype=uint8)
    """
    for name, value, kind in (
        ("share", share, Share),
        ("rule", rule, Rule),
        ("by", by, Literal["columns", "rows"]),
    ):
        Parameter(name, kind, kind, "").check(value)
    check_in_memory(X)
    values = check_array(X)
    if by == "rows":
        return np.ascontiguousarray(discretize(values.T, share, rule=rule).T)
    return (values > share_of_maximum(values, share, rule)).astype(np.uint8)
