"""Criteria for the number of components: likelihood with a price for the size of a model.

Pure functions of the log-likelihood ``L``, the number of free parameters and the number of rows;
the lower the better. ``bic`` and ``aic`` are on the scale of ``-2 L``, description lengths on that
of ``-L``.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._typing import Array

#: Logarithm of the 12 that comes from quantizing a parameter in the best one-dimensional lattice.
LOG_12 = math.log(12)


def bic(log_likelihood: float, n_parameters: int, n: float) -> float:
    """Bayesian information criterion ``-2 L + p log n``."""
    return -2 * log_likelihood + n_parameters * math.log(n)


def aic(log_likelihood: float, n_parameters: int) -> float:
    """Akaike's information criterion ``-2 L + 2 p``."""
    return -2 * log_likelihood + 2 * n_parameters


def mdl(log_likelihood: float, n_parameters: int, n: float) -> float:
    """Description length in two parts, ``-L + p/2 log n``: half of :func:`bic`."""
    return -log_likelihood + 0.5 * n_parameters * math.log(n)


def mml(
    log_likelihood: float,
    weights: Array,
    per_component: int,
    n: float,
    *,
    shared: int = 0,
    constants: bool = True,
) -> float:
    """Message length of a mixture (Figueiredo and Jain 2002).

    ``N/2 Σ_s log(n π_s / 12) + k/2 log(n / 12) + k (N + 1)/2 - L`` over the components of positive
    weight, where ``N = per_component`` parameters describe one of them: a component is paid for by
    its own rows. Parameters that all components share (a tied covariance) are estimated from all
    rows and add ``shared/2 (log(n / 12) + 1)``. Without ``constants`` there are no 12 and no 1, as
    in the message length of Law (2006, 4.3.3): terms that do not grow with ``n`` are left out.

    Parameters
    ----------
    log_likelihood : float
        ``L``, summed over the rows.
    weights : ndarray of shape (k,)
        Mixing weights; components of weight 0 cost nothing.
    per_component : int
        Number of free parameters of each component.
    n : float
        Number of rows, or the sum of their weights.
    shared : int, default=0
        Number of parameters that all components share.
    constants : bool, default=True
        Whether to count the terms that do not grow with ``n``.

    Returns
    -------
    length : float
        Length of the message in nats, up to a constant of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture._core._criteria import mml
    >>> round(mml(-100.0, np.array([0.5, 0.5, 0.0]), per_component=2, n=24.0), 3)
    103.693
    """
    alive = weights[weights > 0]
    k = len(alive)
    n_parameters = k * (per_component + 1) + shared
    length = -log_likelihood + 0.5 * n_parameters * math.log(n)
    length += 0.5 * per_component * float(np.log(alive).sum())
    return length + 0.5 * n_parameters * (1 - LOG_12) if constants else length
