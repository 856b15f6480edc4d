"""Clusters that compete for rows, one row after the other (Constrained Clustering, 8.3.2).

All counts and sums fade by the same factor with every row. They are kept without it, as
``n_h = scale · mass_h`` and ``s_h = scale · sums[:, h]``: only the winner has to be touched.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Below this scale everything is multiplied out, long before it leaves the range of floats.
SMALLEST_SCALE = 1e-30


@kernel
def _winner(
    cosines: Array, n_active: int, power: Array, logs: Array, share: float, discount: float
) -> int:
    """Return the cluster of largest ``(1 + cos_h) n_h^-γ - γ log(n_h) / (L d)``.

    ``power`` is ``mass^-γ`` and ``logs`` is ``log(mass)``; multiplied by ``scale^γ`` and without
    what all clusters share, the score is what is compared here (``share = scale^γ``).
    """
    best, most = 0, -np.inf
    for h in range(n_active):
        score = (1 + cosines[h]) * power[h] - discount * share * logs[h]
        if score > most:
            best, most = h, score
    return best


@kernel
def _count(h: int, mass: Array, scale: float, gamma: float, power: Array, logs: Array) -> None:
    """Give cluster ``h`` one row more."""
    mass[h] += 1 / scale
    logs[h] = np.log(mass[h])
    power[h] = np.exp(-gamma * logs[h])


@kernel
def _prepare(mass: Array, n_active: int, gamma: float, power: Array, logs: Array) -> None:
    for h in range(n_active):
        logs[h] = np.log(mass[h])
        power[h] = np.exp(-gamma * logs[h])


@kernel
def _multiply_out(mass: Array, sums: Array, squares: Array, scale: Array) -> None:
    mass *= scale[0]
    sums *= scale[0]
    squares *= scale[0] ** 2
    scale[0] = 1.0


@kernel
def compete_by_counts(
    cosines: Array,
    order: Array,
    counts: Array,
    fade: float,
    gamma: float,
    discount: float,
    labels: Array,
) -> None:
    """Label the rows in the given order by fixed centers and counts that change with every row."""
    k = cosines.shape[1]
    scale = np.ones(1)
    power, logs = np.empty(k), np.empty(k)
    nothing, no_squares = np.empty((0, k)), np.empty(0)
    _prepare(counts, k, gamma, power, logs)
    for i in order:
        h = _winner(cosines[i], k, power, logs, scale[0] ** gamma, discount)
        labels[i] = h
        scale[0] *= fade
        _count(h, counts, scale[0], gamma, power, logs)
        if scale[0] < SMALLEST_SCALE:
            _multiply_out(counts, nothing, no_squares, scale)
            _prepare(counts, k, gamma, power, logs)
    _multiply_out(counts, nothing, no_squares, scale)


@kernel
def _decide_winner(
    products: Array,
    length: float,
    same: float,
    mass: Array,
    squares: Array,
    scale: Array,
    active: Array,
    fade: float,
    gamma: float,
    discount: float,
    power: Array,
    logs: Array,
) -> int:
    """Decide who wins a row with these ``products`` with the sums, and count it.

    While there are fewer centers than clusters, a row in a new direction opens the next one.
    """
    k = mass.shape[0]
    nearest = -1.0
    for h in range(active[0]):
        products[h] = products[h] / np.sqrt(squares[h]) if squares[h] > 0 else 0.0
        nearest = max(nearest, products[h])
    if active[0] < k and (active[0] == 0 or nearest < 1 - same):
        winner = active[0]
        products[winner] = 0.0
        active[0] += 1
    else:
        winner = _winner(products, active[0], power, logs, scale[0] ** gamma, discount)
    scale[0] *= fade
    step = 1 / scale[0]
    product = products[winner] * np.sqrt(squares[winner]) if squares[winner] > 0 else 0.0
    squares[winner] += 2 * step * product + step * step * length
    _count(winner, mass, scale[0], gamma, power, logs)
    return winner


@kernel
def compete(
    rows: Array,
    same: float,
    sums: Array,
    mass: Array,
    squares: Array,
    scale: Array,
    active: Array,
    fade: float,
    gamma: float,
    discount: float,
    labels: Array,
) -> None:
    """Label dense unit rows one by one; centers and counts change with every row.

    ``sums`` is ``(d, k)``; ``squares`` are the squared lengths of its columns.
    """
    m, d = rows.shape
    k = mass.shape[0]
    power, logs, products = np.empty(k), np.empty(k), np.empty(k)
    _prepare(mass, active[0], gamma, power, logs)
    for i in range(m):
        products[:] = 0.0
        length = 0.0
        for j in range(d):
            x = np.float64(rows[i, j])
            length += x * x
            for h in range(k):
                products[h] += x * sums[j, h]
        h = _decide_winner(
            products, length, same, mass, squares, scale, active, fade, gamma, discount, power, logs
        )
        labels[i] = h
        for j in range(d):
            sums[j, h] += rows[i, j] / scale[0]
        if scale[0] < SMALLEST_SCALE:
            _multiply_out(mass, sums, squares, scale)
            _prepare(mass, active[0], gamma, power, logs)


@kernel
def compete_sparse(
    data: Array,
    indices: Array,
    indptr: Array,
    same: float,
    sums: Array,
    mass: Array,
    squares: Array,
    scale: Array,
    active: Array,
    fade: float,
    gamma: float,
    discount: float,
    labels: Array,
) -> None:
    """Label CSR unit rows as :func:`compete` does, at the cost of the entries that are not zero."""
    k = mass.shape[0]
    power, logs, products = np.empty(k), np.empty(k), np.empty(k)
    _prepare(mass, active[0], gamma, power, logs)
    for i in range(indptr.shape[0] - 1):
        products[:] = 0.0
        length = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[e])
            length += x * x
            for h in range(k):
                products[h] += x * sums[indices[e], h]
        h = _decide_winner(
            products, length, same, mass, squares, scale, active, fade, gamma, discount, power, logs
        )
        labels[i] = h
        for e in range(indptr[i], indptr[i + 1]):
            sums[indices[e], h] += data[e] / scale[0]
        if scale[0] < SMALLEST_SCALE:
            _multiply_out(mass, sums, squares, scale)
            _prepare(mass, active[0], gamma, power, logs)
