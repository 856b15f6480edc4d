"""Loops over rows with missing values, one pattern of missing features after the other.

For a Gaussian with precision ``P`` the features ``h`` that a row lacks have, given the others
``o``, the covariance ``P_hh⁻¹`` and the mean ``μ_h - P_hh⁻¹ P_ho (x_o - μ_o)``. So only a small
matrix per pattern is factored, of the size of what is missing.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def _factor_missing(precision: Array, missing: Array, n: int, root: Array) -> float:
    """Put the Cholesky factor of ``P_hh`` into ``root`` and return its log-determinant."""
    log_determinant = 0.0
    for i in range(n):
        for j in range(i + 1):
            value = precision[missing[i], missing[j]]
            for m in range(j):
                value -= root[i, m] * root[j, m]
            if i == j:
                least = 1e-15 * precision[missing[i], missing[i]]  # lost in rounding
                root[i, i] = math.sqrt(max(value, least))
                log_determinant += 2 * math.log(root[i, i])
            else:
                root[i, j] = value / root[j, j]
    return log_determinant


@kernel
def _solve_missing(root: Array, n: int, values: Array) -> None:
    """Solve ``root rootᵀ x = values`` in the place of the values."""
    for i in range(n):
        for m in range(i):
            values[i] -= root[i, m] * values[m]
        values[i] /= root[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            values[i] -= root[m, i] * values[m]
        values[i] /= root[i, i]


@kernel
def complete_rows(
    rows: Array,
    order: Array,
    starts: Array,
    means: Array,
    precisions: Array,
    gaps: Array,
    log_determinants: Array,
) -> None:
    """Fill ``gaps[s, n]`` with row ``n`` less the mean, what is missing by its conditional mean.

    ``rows`` hold NaN for what is missing; those of one pattern are neighbors in ``order``, from
    ``starts[p]`` on. ``precisions`` are one matrix per component, or one for all.
    ``log_determinants[p, s]`` becomes ``log|P_hh|``.
    """
    n_components, n_features = means.shape
    missing = np.empty(n_features, dtype=np.int64)
    observed = np.empty(n_features, dtype=np.int64)
    root = np.empty((n_features, n_features))
    values = np.empty(n_features)
    for pattern in range(len(starts) - 1):
        n_missing = 0
        n_observed = 0
        for j in range(n_features):
            if np.isnan(rows[order[starts[pattern]], j]):
                missing[n_missing] = j
                n_missing += 1
            else:
                observed[n_observed] = j
                n_observed += 1
        log_determinant = 0.0
        for s in range(n_components):
            precision = precisions[s if len(precisions) > 1 else 0]
            if s == 0 or len(precisions) > 1:
                log_determinant = _factor_missing(precision, missing, n_missing, root)
            log_determinants[pattern, s] = log_determinant
            for position in range(starts[pattern], starts[pattern + 1]):
                n = order[position]
                gap = gaps[s, n]
                for j in observed[:n_observed]:
                    gap[j] = rows[n, j] - means[s, j]
                for i in range(n_missing):
                    value = 0.0
                    for j in observed[:n_observed]:
                        value -= precision[missing[i], j] * gap[j]
                    values[i] = value
                _solve_missing(root, n_missing, values)
                for i in range(n_missing):
                    gap[missing[i]] = values[i]


@kernel
def add_conditional_covariances(
    patterns: Array, masses: Array, precisions: Array, scatters: Array
) -> None:
    """Add ``masses[p, s] P_hh⁻¹`` to the missing features of ``scatters[s]``, for all patterns.

    ``patterns[p, j]`` tells whether pattern ``p`` lacks feature ``j``.
    """
    n_patterns, n_features = patterns.shape
    n_components = masses.shape[1]
    missing = np.empty(n_features, dtype=np.int64)
    root = np.empty((n_features, n_features))
    column = np.empty(n_features)
    for pattern in range(n_patterns):
        n_missing = 0
        for j in range(n_features):
            if patterns[pattern, j]:
                missing[n_missing] = j
                n_missing += 1
        factored = False
        for s in range(n_components):
            mass = masses[pattern, s]
            if mass == 0.0:
                continue
            if len(precisions) > 1 or not factored:
                precision = precisions[s if len(precisions) > 1 else 0]
                _factor_missing(precision, missing, n_missing, root)
                factored = True
            for i in range(n_missing):
                column[:n_missing] = 0.0
                column[i] = mass
                _solve_missing(root, n_missing, column)
                for m in range(n_missing):
                    scatters[s, missing[m], missing[i]] += column[m]
