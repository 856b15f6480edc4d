"""Loops that cut rows into cells of a tree and add up what the cells are described by."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array

#: Rows that are turned into columns at a time, so that sums run along vectors.
TILE = 256

#: A rough principal direction cuts as well as an exact one.
POWER_STEPS = 8

#: Components with a smaller share of a cell do not matter to how it is cut.
SMALL_SHARE = 1e-3


@sum_kernel
def cell_moments(
    rows: Array, weights: Array, start: int, stop: int, mean: Array, spread: Array
) -> float:
    """Fill in the mean of consecutive rows and their (co)variances; return their weight.

    ``spread`` takes the upper triangle of the covariance row by row, or the variances only when it
    is as long as ``mean``. Both are taken about rows of the cell itself, so that nothing cancels.
    """
    d = len(mean)
    offsets = np.empty((d, min(TILE, stop - start)))
    weighted = np.empty(offsets.shape[1])
    origin = np.empty(d)
    for i in range(d):
        origin[i] = rows[start, i]
    mean[:] = 0.0
    total = 0.0
    for tile in range(start, stop, TILE):
        size = min(TILE, stop - tile)
        for n in range(size):
            total += weights[tile + n]
            for i in range(d):
                offsets[i, n] = rows[tile + n, i] - origin[i]
        for i in range(d):
            part = 0.0
            for n in range(size):
                part += weights[tile + n] * offsets[i, n]
            mean[i] += part
    for i in range(d):
        mean[i] = origin[i] + mean[i] / total
    full = len(spread) > d
    spread[:] = 0.0
    for tile in range(start, stop, TILE):
        size = min(TILE, stop - tile)
        for n in range(size):
            for i in range(d):
                offsets[i, n] = rows[tile + n, i] - mean[i]
        column = 0
        for i in range(d):
            for n in range(size):
                weighted[n] = weights[tile + n] * offsets[i, n]
            for j in range(i, d if full else i + 1):
                part = 0.0
                for n in range(size):
                    part += weighted[n] * offsets[j, n]
                spread[column] += part
                column += 1
    for column in range(len(spread)):
        spread[column] /= total
    return total


@kernel
def unpack(spread: Array, matrix: Array) -> None:
    """Fill in the covariance of a cell from its upper triangle or its variances."""
    d = len(matrix)
    if len(spread) == d:
        matrix[:] = 0.0
        for i in range(d):
            matrix[i, i] = spread[i]
        return
    column = 0
    for i in range(d):
        for j in range(i, d):
            matrix[i, j] = spread[column + j - i]
            matrix[j, i] = matrix[i, j]
        column += d - i


@kernel
def power_steps(left: Array, right: Array, direction: Array, product: Array) -> None:
    """Turn the direction towards the first eigenvector of ``left @ right``."""
    d = len(direction)
    for _ in range(POWER_STEPS):
        largest = 0.0
        for i in range(d):
            largest = max(largest, abs(direction[i]))
        if largest == 0.0:
            return
        for i in range(d):
            product[i] = 0.0
            for j in range(d):
                product[i] += right[i, j] * (direction[j] / largest)
        for i in range(d):
            direction[i] = 0.0
            for j in range(d):
                direction[i] += left[i, j] * product[j]


@kernel
def widest_directions(spreads: Array, directions: Array) -> None:
    """Fill in a direction of large variance for every cell, roughly the first principal one."""
    d = directions.shape[1]
    matrix, product, unit = np.empty((d, d)), np.empty(d), np.eye(d)
    for cell in range(len(spreads)):
        unpack(spreads[cell], matrix)
        widest = 0
        for i in range(1, d):
            if matrix[i, i] > matrix[widest, widest]:
                widest = i
        for i in range(d):
            directions[cell, i] = matrix[widest, i]
        power_steps(unit, matrix, directions[cell], product)


@kernel
def dividing_directions(
    shares: Array,
    means: Array,
    spreads: Array,
    component_means: Array,
    precisions: Array,
    directions: Array,
) -> None:
    """Fill in, for every cell, the direction in which the posterior of its rows varies most.

    Around the mean of a cell ``log p(x | s)`` has the gradient ``g_s`` and the curvature ``-P_s``.
    With differences to their averages under ``shares`` and the cell's covariance ``V``,

        M = Σ_s share_s [ Δg_s Δg_sᵀ + ½ ΔP_s V ΔP_s ]

    measures how the log-odds vary, and the cut across the first eigenvector of ``M V`` takes most
    of it out of the halves. Where nothing varies the direction stays as it is.
    """
    n_cells, k = shares.shape
    d = means.shape[1]
    spread, odds, product = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    gradients, gradient, precision = np.empty((k, d)), np.empty(d), np.empty((d, d))
    gap, half, direction = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for cell in range(n_cells):
        unpack(spreads[cell], spread)
        # Gradients and curvatures of the log-densities at the mean of the cell, and their averages.
        gradient[:] = 0.0
        precision[:] = 0.0
        for s in range(k):
            if shares[cell, s] < SMALL_SHARE:
                continue
            for i in range(d):
                gradients[s, i] = 0.0
                for j in range(d):
                    gradients[s, i] -= precisions[s, i, j] * (
                        means[cell, j] - component_means[s, j]
                    )
                    precision[i, j] += shares[cell, s] * precisions[s, i, j]
                gradient[i] += shares[cell, s] * gradients[s, i]
        # ``M``, the variation of the log-odds.
        odds[:] = 0.0
        for s in range(k):
            share = shares[cell, s]
            if share < SMALL_SHARE:
                continue
            for i in range(d):
                for j in range(d):
                    gap[i, j] = precisions[s, i, j] - precision[i, j]
            for i in range(d):
                for j in range(d):
                    half[i, j] = 0.0
                    for c in range(d):
                        half[i, j] += gap[i, c] * spread[c, j]
            for i in range(d):
                for j in range(d):
                    curved = 0.0
                    for c in range(d):
                        curved += half[i, c] * gap[c, j]
                    odds[i, j] += share * (
                        (gradients[s, i] - gradient[i]) * (gradients[s, j] - gradient[j])
                        + 0.5 * curved
                    )
        # First eigenvector of ``M V`` by power steps from the direction so far.
        for i in range(d):
            direction[i] = directions[cell, i]
        power_steps(odds, spread, direction, product)
        size = 0.0
        for i in range(d):
            size += abs(direction[i])
        if size > 0.0 and size < np.inf:
            for i in range(d):
                directions[cell, i] = direction[i]


@kernel
def cut_cells(
    rows: Array,
    weights: Array,
    starts: Array,
    stops: Array,
    means: Array,
    directions: Array,
    heights: Array,
    middles: Array,
    part_weights: Array,
    part_means: Array,
    part_spreads: Array,
) -> None:
    """Cut cells across the given directions, at these heights above their means.

    Rows and weights are put in order; ``middles`` tells where the second parts begin. Where one
    part would be empty the cell is not cut: its middle is its stop.
    """
    d = means.shape[1]
    for cell in range(len(starts)):
        start, stop = starts[cell], stops[cell]
        first, last = start, stop - 1
        while first <= last:
            height = 0.0
            for i in range(d):
                height += (np.float64(rows[first, i]) - means[cell, i]) * directions[cell, i]
            if height <= heights[cell]:
                first += 1
            else:
                for i in range(d):
                    kept = rows[first, i]
                    rows[first, i] = rows[last, i]
                    rows[last, i] = kept
                weight = weights[first]
                weights[first] = weights[last]
                weights[last] = weight
                last -= 1
        if first in (start, stop):
            middles[cell] = stop
            continue
        middles[cell] = first
        part_weights[cell, 0] = cell_moments(
            rows, weights, start, first, part_means[cell, 0], part_spreads[cell, 0]
        )
        part_weights[cell, 1] = cell_moments(
            rows, weights, first, stop, part_means[cell, 1], part_spreads[cell, 1]
        )


@kernel
def cell_products(cells: Array, origin: Array, out: Array) -> None:
    """Fill ``out`` with averages over cells: of ``y = x - origin`` and of its products.

    A cell is its mean and the upper triangle of its covariance.
    """
    d = len(origin)
    for n in range(len(cells)):
        for i in range(d):
            out[n, i] = cells[n, i] - origin[i]
        column = d
        for i in range(d):
            for j in range(i, d):
                place = column + j - i
                out[n, place] = out[n, i] * out[n, j] + cells[n, place]
            column += d - i
