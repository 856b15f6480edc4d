"""Posteriors of a given entropy, for pictures only (Verbeek 2004, section 4.4)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax, xlogy

from sidelight._typing import Array

#: Halvings of the range of the exponents.
HALVINGS = 50


def temper(log_joint: Array, bits: float) -> Array:
    """Return ``p^a / Σ p^a`` of every row, with an exponent ``a`` at which the entropy is ``bits``.

    The exponent is in [0, 1]: 1 where the entropy is larger already. Of all distributions of this
    entropy it is the one closest to the posterior by Kullback-Leibler divergence.
    """
    target = min(bits * math.log(2.0), math.log(log_joint.shape[1]))
    low = np.zeros(len(log_joint))
    high = np.ones(len(log_joint))
    centered = log_joint - log_joint.max(axis=1, keepdims=True)
    wide = _entropy(softmax(centered, axis=1)) >= target
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_wide = _entropy(softmax(centered * middle[:, None], axis=1)) >= target
        low = np.where(is_wide, middle, low)
        high = np.where(is_wide, high, middle)
    exponents = np.where(wide, 1.0, low)
    return np.asarray(softmax(centered * exponents[:, None], axis=1))


def _entropy(shares: Array) -> Array:
    return np.asarray(-xlogy(shares, shares).sum(axis=1))
