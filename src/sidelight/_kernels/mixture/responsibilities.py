"""Loops under the mixture models."""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: exp of less than this is nothing beside 1 in double precision.
NOTHING = -38.0


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


@kernel
def posterior_rows(log_joint: Array, weights: Array) -> float:
    """Turn log-joints into weighted posteriors in place; return the weighted log-likelihood.

    Rows of weight 0 become zero and count nothing.
    """
    total = 0.0
    n_rows, n_components = log_joint.shape
    for n in range(n_rows):
        if weights[n] == 0.0:
            for s in range(n_components):
                log_joint[n, s] = 0.0
            continue
        largest = log_joint[n, 0]
        for s in range(1, n_components):
            largest = max(largest, log_joint[n, s])
        if largest == -np.inf:
            return -np.inf
        mass = 0.0
        for s in range(n_components):
            gap = log_joint[n, s] - largest
            log_joint[n, s] = math.exp(gap) if gap > NOTHING else 0.0
            mass += log_joint[n, s]
        total += weights[n] * (largest + math.log(mass))
        scale = weights[n] / mass
        for s in range(n_components):
            log_joint[n, s] *= scale
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
