"""Bounds on the sizes of clusters: checked before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight.exceptions import SidelightError

#: Sums of weights that differ by less than this share of the total are equal.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SizeBounds:
    r"""How small and how large clusters may be.

    .. math::
        \ell_h \le \sum_{i : l_i = h} s_i \le u_h , \qquad h = 1, \dots, k

    where :math:`s_i` is what row :math:`i` counts: 1, or its weight. (Constrained Clustering,
    section 9.2, with upper bounds.)

    Parameters
    ----------
    lower, upper : int, float or array-like of shape (n_clusters,), default=None
        One bound for all clusters or one for each; None for no bound. A fraction between 0 and 1
        is a share of the total; it is rounded to the side that leaves room, so that ``1 / k`` as
        both bounds asks for clusters that differ by one row at most.

    Examples
    --------
    >>> from sidelight.constraints import SizeBounds
    >>> lower, upper = SizeBounds(lower=10, upper=0.5).resolve(3, 100)
    >>> lower, upper
    (array([10., 10., 10.]), array([50., 50., 50.]))
    >>> SizeBounds(lower=40).resolve(3, 100)
    Traceback (most recent call last):
    sidelight.exceptions.SidelightError: The minimum sizes add up to 120, more than ...
    """

    lower: Any = None
    upper: Any = None

    def resolve(
        self, n_clusters: int, total: float, *, weighted: bool = False, others_take: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return one lower and one upper bound per cluster; raise if they cannot be met.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.
        total : float
            Number of rows, or the sum of their weights.
        weighted : bool, default=False
            Whether sizes are sums of weights, which need not be whole numbers.
        others_take : bool, default=False
            Whether rows may stay outside of all clusters, so that the upper bounds need not add up
            to the total.

        Raises
        ------
        SidelightError
            Naming what is impossible and the nearest setting that is possible.
        """
        unit = "total weight" if weighted else "rows"
        lower = _read(self.lower, "minimum", 0.0, n_clusters, total, weighted)
        upper = _read(self.upper, "maximum", float(total), n_clusters, total, weighted)
        slack = ROUNDING * total if weighted else 0.0
        crossed = np.flatnonzero(lower > upper + slack)
        if len(crossed) and self.upper is not None:
            h = int(crossed[0])
            raise SidelightError(
                f"Cluster {h} is to have at least {lower[h]:g} and at most {upper[h]:g}; the "
                "minimum size must not be above the maximum."
            )
        if lower.sum() > total + slack:
            raise SidelightError(_too_much(lower, total, unit, np.ndim(self.lower) > 0))
        if upper.sum() < total - slack and not others_take:
            raise SidelightError(_too_little(upper, total, unit, np.ndim(self.upper) > 0))
        upper = np.minimum(upper, total)
        return np.minimum(lower, upper), upper


def _read(
    bound: Any, name: str, default: float, n_clusters: int, total: float, weighted: bool
) -> FloatArray:
    """Read one bound or one per cluster."""
    if bound is None:
        return np.full(n_clusters, default)
    try:
        values = np.array(bound, dtype=np.float64)
    except (TypeError, ValueError):
        raise SidelightError(
            f"The {name} size must be a number or one number per cluster, got {bound!r}."
        ) from None
    if values.ndim == 0:
        values = np.full(n_clusters, values)
    if values.shape != (n_clusters,):
        raise SidelightError(
            f"The {name} sizes must be one number or one for each of the {n_clusters} clusters, "
            f"got an array of shape {values.shape}."
        )
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        h = int(np.flatnonzero(~np.isfinite(values) | (values < 0))[0])
        raise SidelightError(
            f"The {name} size must be finite and not negative; cluster {h} has {values[h]:g}."
        )
    share = (values > 0) & (values < 1)
    if weighted:
        return np.where(share, values * total, values)
    # 0.1 * 30 is a little more than 3: rounding that must not become a row.
    exact = np.where(share, np.round(values * total, 9), values)
    values = np.where(share, np.floor(exact) if name == "minimum" else np.ceil(exact), values)
    if np.any(values != np.round(values)):
        h = int(np.flatnonzero(values != np.round(values))[0])
        raise SidelightError(
            f"The {name} size must be a whole number of rows, or a fraction below 1 of all rows; "
            f"cluster {h} has {values[h]:g}."
        )
    return values


def _too_much(lower: FloatArray, total: float, unit: str, per_cluster: bool) -> str:
    k, asked = len(lower), lower.sum()
    problem = f"The minimum sizes add up to {asked:g}, more than the {total:g} {unit}: "
    if per_cluster:
        return problem + f"lower them by {asked - total:g} in all."
    most = f"{total / k:g}" if unit != "rows" else f"{int(total // k)}"
    fewer = int(total // lower[0])
    enough = f", or for at most {fewer} clusters" if fewer else ""
    return problem + f"ask for at most {most} per cluster with {k} clusters{enough}."


def _too_little(upper: FloatArray, total: float, unit: str, per_cluster: bool) -> str:
    k, offered = len(upper), upper.sum()
    problem = f"The maximum sizes add up to {offered:g}, less than the {total:g} {unit}: "
    if per_cluster:
        return problem + f"raise them by {total - offered:g} in all."
    least = f"{total / k:g}" if unit != "rows" else f"{-int(-total // k)}"
    more = f", or at least {-int(-total // upper[0])} clusters" if upper[0] > 0 else ""
    return problem + f"allow at least {least} per cluster with {k} clusters{more}."
