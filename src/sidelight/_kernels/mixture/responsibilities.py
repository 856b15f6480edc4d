"""Loops under the mixture models."""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import fused_kernel, kernel
from sidelight._typing import Array

#: exp of less than this is nothing beside 1 in double precision.
NOTHING = -38.0

#: The logarithm of 2 as a number with few digits, whose small multiples are exact, and the rest.
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG2_E = 1 / math.log(2)

#: Responsibilities of this many rows and components stay in the fastest cache.
NUMBERS_AT_ONCE = 4096


@kernel
def centred_products(rows: Array, origin: Array, out: Array) -> None:
    """Fill ``out`` with ``y`` and all products ``y_i y_j``, ``i <= j``, for ``y = x - origin``."""
    n_rows, n_features = rows.shape
    for n in range(n_rows):
        column = n_features
        for i in range(n_features):
            out[n, i] = np.float64(rows[n, i]) - origin[i]
        for i in range(n_features):
            left = out[n, i]
            for j in range(i, n_features):
                out[n, column + j - i] = left * out[n, j]
            column += n_features - i


@kernel
def product_columns(rows: Array, origin: Array, out: Array) -> None:
    """Fill the rows of ``out`` with what :func:`centred_products` puts in its columns.

    Loops over many rows at once are what processors do best: four times as fast.
    """
    n_rows, n_features = rows.shape
    for i in range(n_features):
        for n in range(n_rows):
            out[i, n] = np.float64(rows[n, i]) - origin[i]
    column = n_features
    for i in range(n_features):
        for j in range(i, n_features):
            left, right, product = out[i], out[j], out[column]
            for n in range(n_rows):
                product[n] = left[n] * right[n]
            column += 1


@kernel
def square_columns(rows: Array, origin: Array, out: Array) -> None:
    """Fill the rows of ``out`` with ``y = x - origin`` and with ``y_i²``, or with ``Σ_i y_i²``.

    The sum where ``out`` has one row more than there are features.
    """
    n_rows, n_features = rows.shape
    summed = len(out) == n_features + 1
    for i in range(n_features):
        values = out[i]
        squares = out[n_features] if summed else out[n_features + i]
        for n in range(n_rows):
            values[n] = np.float64(rows[n, i]) - origin[i]
        if summed and i > 0:
            for n in range(n_rows):
                squares[n] += values[n] * values[n]
        else:
            for n in range(n_rows):
                squares[n] = values[n] * values[n]


@fused_kernel
def exponentials(values: Array, powers: Array) -> None:
    """Replace numbers up to 0 by their exponentials, or by 0 below :data:`NOTHING`.

    ``exp(x) = 2^n e^r`` for the whole number ``n`` nearest to ``x / log 2``, and the power series
    of ``e^r``, ``|r| < 0.35``: exact to the last bit or the one before, and a loop that processors
    run on several numbers at a time, unlike calls of ``exp``. ``powers`` (int64) is scratch space:
    the bits of ``2^n``.
    """
    for i in range(len(values)):
        x = max(values[i], NOTHING)
        n = np.floor(x * LOG2_E + 0.5)
        r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
        series = 1 / 6227020800
        series = series * r + 1 / 479001600
        series = series * r + 1 / 39916800
        series = series * r + 1 / 3628800
        series = series * r + 1 / 362880
        series = series * r + 1 / 40320
        series = series * r + 1 / 5040
        series = series * r + 1 / 720
        series = series * r + 1 / 120
        series = series * r + 1 / 24
        series = series * r + 1 / 6
        series = series * r + 0.5
        series = series * r + 1.0
        series = series * r + 1.0
        values[i] = series if values[i] > NOTHING else 0.0
        powers[i] = (np.int64(n) + 1023) << 52
    factors = powers.view(np.float64)
    for i in range(len(values)):
        values[i] *= factors[i]


@kernel
def relative_rows(log_joint: Array, largest: Array, columns: Array, powers: Array) -> None:
    """Fill ``columns`` with ``exp(log_joint_ns - largest_n)``, one component behind the other.

    The rows become columns: loops over many rows are what processors do best.
    """
    n_rows, n_components = log_joint.shape
    for s in range(n_components):
        column = columns[s * n_rows : (s + 1) * n_rows]
        for n in range(n_rows):
            column[n] = log_joint[n, s]
    largest[:] = columns[:n_rows]
    for s in range(1, n_components):
        column = columns[s * n_rows : (s + 1) * n_rows]
        for n in range(n_rows):
            largest[n] = max(largest[n], column[n])
    for s in range(n_components):
        column = columns[s * n_rows : (s + 1) * n_rows]
        for n in range(n_rows):
            column[n] -= largest[n]
        exponentials(column, powers)


@kernel
def posterior_rows(log_joint: Array, weights: Array) -> float:
    """Turn log-joints into weighted posteriors in place; return the weighted log-likelihood.

    Rows of weight 0 become zero and count nothing.
    """
    total = 0.0
    n_rows, n_components = log_joint.shape
    at_once = min(max(NUMBERS_AT_ONCE // n_components, 64), n_rows)
    columns = np.empty(n_components * at_once)
    powers = np.empty(at_once, dtype=np.int64)
    largest, mass = np.empty(at_once), np.empty(at_once)
    for start in range(0, n_rows, at_once):
        m = min(at_once, n_rows - start)
        rows = log_joint[start : start + m]
        relative_rows(rows, largest[:m], columns, powers[:m])
        mass[:m] = 0.0
        for s in range(n_components):
            column = columns[s * m : (s + 1) * m]
            for n in range(m):
                mass[n] += column[n]
        for n in range(m):
            weight = weights[start + n]
            if weight == 0.0:
                mass[n] = 0.0
                continue
            if largest[n] == -np.inf:
                return -np.inf
            total += weight * (largest[n] + math.log(mass[n]))
            mass[n] = weight / mass[n]
        for s in range(n_components):
            column = columns[s * m : (s + 1) * m]
            for n in range(m):
                rows[n, s] = column[n] * mass[n]
    return total


@kernel
def sparse_products(data: Array, indices: Array, indptr: Array, columns: Array, out: Array) -> None:
    """Write the products of CSR rows with a matrix into ``out``."""
    n_rows, k = out.shape
    for n in range(n_rows):
        for s in range(k):
            out[n, s] = 0.0
        for entry in range(indptr[n], indptr[n + 1]):
            value = np.float64(data[entry])
            column = columns[indices[entry]]
            for s in range(k):
                out[n, s] += value * column[s]


@kernel
def add_sparse_sums(data: Array, indices: Array, indptr: Array, resp: Array, sums: Array) -> None:
    """Add CSR rows, weighted for each component, to ``sums`` of shape (F, k)."""
    n_rows, k = resp.shape
    for n in range(n_rows):
        for entry in range(indptr[n], indptr[n + 1]):
            value = np.float64(data[entry])
            column = sums[indices[entry]]
            for s in range(k):
                column[s] += value * resp[n, s]


@kernel
def log_sums(log_joint: Array, out: Array) -> None:
    """Write ``log Σ_s exp(log_joint_ns)`` of every row into ``out``."""
    n_rows, n_components = log_joint.shape
    for n in range(n_rows):
        largest = log_joint[n, 0]
        for s in range(1, n_components):
            largest = max(largest, log_joint[n, s])
        if not np.isfinite(largest):
            out[n] = largest
            continue
        mass = 0.0
        for s in range(n_components):
            mass += math.exp(log_joint[n, s] - largest)
        out[n] = largest + math.log(mass)


@kernel
def posteriors(log_joint: Array, out: Array) -> None:
    """Write ``exp(log_joint_ns) / Σ_t exp(log_joint_nt)`` into ``out``."""
    n_rows, n_components = log_joint.shape
    for n in range(n_rows):
        largest = log_joint[n, 0]
        for s in range(1, n_components):
            largest = max(largest, log_joint[n, s])
        mass = 0.0
        for s in range(n_components):
            log_joint[n, s] = math.exp(log_joint[n, s] - largest)
            mass += log_joint[n, s]
        for s in range(n_components):
            out[n, s] = log_joint[n, s] / mass
