"""Distances that a map keeps: residual variance and Sammon's stress."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._warn import warn
from sidelight._words import counted
from sidelight.evaluation.maps._pair import MapPair, Metric, map_pair
from sidelight.exceptions import EmbeddingWarning, SidelightError


def residual_variance(D: Any, Z: Any) -> float:
    r"""Variance of the distances that those on the map do not explain.

    .. math:: 1 - \mathrm{corr}(D_{ij}, \lVert z_i - z_j \rVert)^2

    over all pairs of rows: the measure of the paper on ISOMAP, with geodesics for ``D`` (Law 2006,
    section 2.6). Falling with the number of coordinates, it levels off at the dimension of the
    data. Memory beside ``D`` is linear in the number of rows. Read more in the
    :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    D : array of shape (n, n)
        Distances between the rows, such as geodesics.
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.

    Returns
    -------
    float
        Between 0, where the distances are proportional up to a constant, and 1.

    Examples
    --------
    >>> from sidelight.datasets import make_swiss_roll
    >>> from sidelight.evaluation import residual_variance
    >>> roll = make_swiss_roll(200, random_state=0)
    >>> round(residual_variance(roll.geodesics(), roll.coordinates), 6)
    0.0
    >>> residual_variance(roll.geodesics(), roll.data[:, [0, 2]]) > 0.5
    True
    """
    pair = map_pair(D, Z, "precomputed", name="D")
    if len(pair.rows) < 3:
        raise SidelightError(
            f"A correlation needs at least 3 rows on the map; there are {len(pair.rows)}."
        )
    residual = residual_of(pair)
    if np.isnan(residual):
        raise SidelightError("All distances are equal: there is no variance to explain.")
    return residual


def residual_of(pair: MapPair) -> float:
    """Residual variance of a checked pair; NaN where all distances are equal."""
    n = len(pair.rows)
    # One pass with shifts near the means, in which the sums of squares lose no digits.
    shift, mapped_shift = _mean_of_first(pair)
    shifts = np.array([shift, mapped_shift])
    total = np.zeros(2)
    squares = np.zeros((2, 2))
    for (rows, given), (_, mapped) in zip(pair.data.blocks(), pair.embedding.blocks(), strict=True):
        both = np.stack([given, mapped])
        both -= shifts[:, None, None]
        # Distances from rows to themselves are no pairs.
        both[:, np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = 0.0
        both = both.reshape(2, -1)
        total += both.sum(axis=1)
        squares += both @ both.T
    spread = squares - np.outer(total, total) / (n * (n - 1.0))
    scale = shifts**2 * n * (n - 1.0)
    if spread[0, 0] <= 1e-20 * scale[0]:
        return float("nan")
    if spread[1, 1] <= 1e-20 * scale[1]:
        return 1.0
    return max(0.0, 1.0 - float(spread[0, 1] ** 2 / (spread[0, 0] * spread[1, 1])))


def sammon_stress(X: Any, Z: Any, *, metric: Metric = "euclidean") -> float:
    r"""Sammon's stress of a map (Law 2006, section 2.3).

    .. math:: S = \frac{1}{\sum_{i<j} \delta_{ij}}
              \sum_{i<j} \frac{(\lVert z_i - z_j \rVert - \delta_{ij})^2}{\delta_{ij}}

    with the distances ``δ`` between the rows. Small distances count more than in plain stress; 0 is
    best. Pairs of equal rows, for which it is not defined, are left out with a warning. Memory is
    linear in the number of rows. Read more in the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances.

    Returns
    -------
    float
        Not negative.

    Examples
    --------
    >>> from sidelight.evaluation import sammon_stress
    >>> sammon_stress([[0.0, 0.0], [3.0, 4.0]], [0.0, 4.0])
    0.04
    """
    stress, n_equal = stress_of(map_pair(X, Z, metric))
    if np.isnan(stress):
        raise SidelightError("All rows are equal: there is no distance that a map could keep.")
    if n_equal:
        warn(
            f"{counted(n_equal, 'pair')} of equal rows left out: Sammon's stress divides by their "
            "distance.",
            EmbeddingWarning,
        )
    return stress


def stress_of(pair: MapPair) -> tuple[float, int]:
    """Sammon's stress of a checked pair, and the number of pairs of equal rows left out.

    The stress of rows that are all equal is NaN.
    """
    n = len(pair.rows)
    total = error = 0.0
    n_equal = -n  # every row is at distance 0 from itself
    for (_, wanted), (_, placed) in zip(pair.data.blocks(), pair.embedding.blocks(), strict=True):
        apart = wanted > 0
        n_equal += int(wanted.size - np.count_nonzero(apart))
        total += float(wanted.sum())
        share = np.divide((placed - wanted) ** 2, wanted, out=np.zeros_like(wanted), where=apart)
        error += float(share.sum())
    return (error / total if total > 0 else float("nan")), n_equal // 2


def _mean_of_first(pair: MapPair) -> tuple[float, float]:
    """Mean distance from the first row to the others, in the data and on the map."""
    first = pair.data.values[0]
    if not pair.data.precomputed:
        first = np.linalg.norm(pair.data.values - pair.data.values[0], axis=1)
    mapped = np.linalg.norm(pair.embedding.values - pair.embedding.values[0], axis=1)
    return float(first.sum() / (len(first) - 1)), float(mapped.sum() / (len(mapped) - 1))
