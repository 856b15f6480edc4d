"""Spread of missing values given the others, by the law of total variance.

For a component with mean ``μ_s`` and precision ``P_s`` the features ``h`` that a row lacks have the
covariance ``C_s = (P_s)_hh⁻¹`` and the mean ``m_s = μ_h - C_s (P_s)_ho (x_o - μ_o)`` given the
others ``o``. Over components with ``p(s | x_o)`` that is

    Cov(x_h | x_o) = Σ_s p(s | x_o) [ C_s + (m_s - m)(m_s - m)' ],   m = Σ_s p(s | x_o) m_s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.mixture.gaussian._low_rank import LowRankComponents

#: Numbers of conditional covariances that are held at a time.
BLOCK_NUMBERS = 2**22


def conditional_covariances(components: Any, rows: Array, resp: Array) -> Array:
    """Covariances of the missing values of every row given the others, 0 where nothing is missing.

    Parameters
    ----------
    components : LowRankComponents or GaussianComponents
        The components.
    rows : ndarray of shape (n, D)
        Rows, NaN where a value is missing.
    resp : ndarray of shape (n, k)
        ``p(s | x_o)``.

    Returns
    -------
    covariances : ndarray of shape (n, D, D)
        Zero in the rows and columns of values that are known.
    """
    means, precisions = components.means, _precision_matrices(components)
    k, d = means.shape
    covariances = np.zeros((len(rows), d, d))
    lacking = np.flatnonzero(np.isnan(rows).any(axis=1))
    step = max(BLOCK_NUMBERS // (k * d * d), 1)
    for first in range(0, len(lacking), step):
        block = lacking[first : first + step]
        covariances[block] = _total_variance(rows[block], resp[block], means, precisions)
    return covariances


def _total_variance(rows: Array, resp: Array, means: Array, precisions: Array) -> Array:
    missing = np.isnan(rows)
    both = missing[:, None, :, None] & missing[:, None, None, :]
    # Known features become independent of all others, which leaves the inverse of the rest.
    separate = np.where(both, precisions, 0.0)
    diagonal = np.arange(rows.shape[1])
    separate[:, :, diagonal, diagonal] += ~missing[:, None, :]
    given = np.where(both, np.linalg.inv(separate), 0.0)
    offsets = np.where(missing[:, None, :], 0.0, rows[:, None, :] - means)
    pull = np.einsum("kij,nkj->nki", precisions, offsets)
    shifts = means - np.einsum("nkij,nkj->nki", given, pull)
    expected = np.where(missing[:, None, :], shifts, 0.0)
    spread = expected - np.einsum("nk,nki->ni", resp, expected)[:, None, :]
    within = np.einsum("nk,nkij->nij", resp, given)
    return np.asarray(within + np.einsum("nk,nki,nkj->nij", resp, spread, spread))


def _precision_matrices(components: Any) -> Array:
    """Precisions of all kinds of components as matrices, of shape (k, D, D)."""
    if isinstance(components, LowRankComponents):
        components = components.as_full
    k, d = components.means.shape
    precisions = np.asarray(components.precisions)
    if components.kind == "tied":
        return np.broadcast_to(precisions, (k, d, d))
    if components.kind == "full":
        return precisions
    variances = precisions if components.kind == "diag" else precisions[:, None]
    return np.asarray(np.broadcast_to(variances, (k, d))[:, :, None] * np.eye(d))
