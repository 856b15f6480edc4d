"""How many rows a sample needs so that no cluster is missed."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr


def sample_size(
    n_clusters: int,
    per_cluster: int,
    spread: float | None = None,
    *,
    confidence: float = 0.99,
    method: Literal["exact", "bound"] = "exact",
) -> int:
    r"""Return how many random rows hold enough rows of every cluster with high probability.

    Every cluster holds at least a share :math:`1/l` of the rows. The smallest ``n`` is sought for
    which at least ``s`` of the sampled rows come from each of the ``k`` clusters with probability
    :math:`1 - \delta`:

    .. math::
        k \, P(\mathrm{Binomial}(n, 1/l) < s) \le \delta

    or, with ``method="bound"``, the root :math:`n > s l` of

    .. math::
        n / l - s \ln \frac{4 n}{s l} = \ln k + \ln \frac{1}{\delta}

    rounded as in table 8.1 of Constrained Clustering (section 8.2.1), about 1.5 to 1.7 times as
    many.

    Parameters
    ----------
    n_clusters : int
        Number of clusters ``k``.
    per_cluster : int
        Number ``s`` of rows from every cluster.
    spread : float, default=None
        ``l``: the smallest cluster holds at least one row in ``l``. By default ``k``, for clusters
        of equal size.
    confidence : float, default=0.99
        ``1 - δ``.
    method : {"exact", "bound"}, default="exact"
        The union bound over binomial probabilities, or the chapter's.

    Returns
    -------
    n : int
        Number of rows.

    Examples
    --------
    >>> from sidelight.cluster.balanced._sample_size import sample_size
    >>> sample_size(10, 50, confidence=0.99)
    735
    >>> sample_size(10, 50, confidence=0.99, method="bound")
    1200
    """
    k, s = n_clusters, per_cluster
    if k < 1 or s < 1:
        raise ValueError(f"n_clusters and per_cluster must be at least 1, got {k} and {s}.")
    share = float(k if spread is None else spread)
    if not k <= share < np.inf:
        raise ValueError(
            f"spread must be at least n_clusters ({k}), since the smallest of {k} clusters holds "
            f"at most one row in {k}; got {spread}."
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")
    if method == "exact":
        return _smallest(k, s, share, 1 - confidence)
    if method != "bound":
        raise ValueError(f"method must be 'exact' or 'bound', got {method!r}.")
    goal = np.log(k) - np.log1p(-confidence)

    def excess(n: float) -> float:
        return float(n / share - s * np.log(4 * n / (s * share)) - goal)

    above = s * share
    while excess(above) <= 0:
        above *= 2
    return round(brentq(excess, s * share, above))


def _smallest(k: int, s: int, spread: float, miss: float) -> int:
    """Search by halves for the smallest sample whose probability to miss is small enough."""

    def misses(n: int) -> bool:
        return bool(k * bdtr(s - 1, n, 1 / spread) > miss)

    too_few, enough = s - 1, s
    while misses(enough):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if misses(middle) else (too_few, middle)
    return enough
