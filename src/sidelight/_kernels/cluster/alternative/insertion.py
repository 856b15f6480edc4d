"""Sequential information bottleneck: rows leave their cluster for the one that loses least.

A group of rows of mass ``M`` with sums ``S`` of the features is worth ``ψ = M φ(S / M)``. To put a
row ``t`` of mass ``p`` into the group loses ``p φ(t) + ψ(S, M) - ψ(S + p t, M + p)``: the
Jensen-Shannon divergence of the row and the group times their masses, where ``φ`` is the negative
entropy, and ``p M / (p + M) ‖t - S/M‖²`` where it is the square.
"""

from __future__ import annotations

import math

from sidelight._kernels import kernel
from sidelight._typing import Array

#: A smaller change of the objective is rounding, not progress.
ROUNDING = 1e-13


@kernel
def _xlogx(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def group_losses(
    values: Array,
    columns: Array,
    mass: float,
    counts: bool,
    sums: Array,
    totals: Array,
    masses: Array,
    sizes: Array,
    factor: float,
    losses: Array,
) -> None:
    """Add ``factor`` times the loss of a row in each of ``k`` groups; an empty one loses nothing.

    ``sums`` of shape (d, k) are those of the features, ``totals`` are their sums over the features,
    or of their squares where the features are no counts, ``sizes`` are numbers of rows.
    """
    k = len(masses)
    own, part = 0.0, 0.0
    for e in range(len(values)):
        value = mass * values[e]
        own += _xlogx(value) if counts else value * value
        part += value
    for c in range(k):
        if sizes[c] == 0:
            continue
        joint = masses[c] + mass
        if counts:
            change = own
            for e in range(len(values)):
                value, before = mass * values[e], sums[columns[e], c]
                change += _xlogx(before) - _xlogx(max(before, 0.0) + value)
            change -= part * math.log(mass) + totals[c] * math.log(masses[c])
            change += (totals[c] + part) * math.log(joint)
        else:
            product = 0.0
            for e in range(len(values)):
                product += mass * values[e] * sums[columns[e], c]
            change = own / mass + totals[c] / masses[c]
            change -= (totals[c] + 2.0 * product + own) / joint
        losses[c] += factor * max(change, 0.0)


@kernel
def add_row(
    values: Array,
    columns: Array,
    mass: float,
    counts: bool,
    sums: Array,
    totals: Array,
    masses: Array,
    sizes: Array,
    cluster: int,
) -> None:
    """Put a row into a group, or take it out where the mass is negative."""
    for e in range(len(values)):
        value, before = mass * values[e], sums[columns[e], cluster]
        sums[columns[e], cluster] = before + value
        totals[cluster] += value if counts else value * (2.0 * before + value)
    masses[cluster] += mass
    sizes[cluster] += 1 if mass > 0.0 else -1
    if sizes[cluster] == 0:  # nothing of what rounding left over
        sums[:, cluster] = 0.0
        totals[cluster] = 0.0
        masses[cluster] = 0.0


@kernel
def _add_expected(mean: Array, mass: float, expected: Array, sizes: Array, cluster: int) -> None:
    """Update the sums expected from the cells of a group, after a row was put in or taken out."""
    for f in range(len(mean)):
        expected[f, cluster] += mass * mean[f]
    if sizes[cluster] == 0:
        expected[:, cluster] = 0.0


@kernel
def _add_redundancy(cell: Array, whole: Array, mass: float, price: float, losses: Array) -> None:
    """Add the increase of the clusters' information about the cells, times its price."""
    for c in range(len(losses)):
        more = _xlogx(cell[c] + mass) - _xlogx(cell[c]) - _xlogx(whole[c] + mass) + _xlogx(whole[c])
        losses[c] += price * more


@kernel
def adjusted_losses(
    row: Array,
    mean: Array,
    mass: float,
    counts: bool,
    sums: Array,
    expected: Array,
    masses: Array,
    sizes: Array,
    factor: float,
    losses: Array,
) -> None:
    """Like :func:`group_losses` for groups that are compared with sums expected from cells.

    With ``E`` the means of the cells of the rows of a group, added up, a group is worth
    ``Σ S log(S / E)``, or ``‖S - E‖² / M`` where the features are no counts. ``row`` is dense,
    ``mean`` is that of its cell.
    """
    own = 0.0
    for f in range(len(row)):
        if not counts:
            own += mass * (row[f] - mean[f]) ** 2
        elif row[f] > 0.0:
            own += mass * row[f] * math.log(row[f] / mean[f])
    for c in range(len(masses)):
        if sizes[c] == 0:
            continue
        change = own
        if counts:
            for f in range(len(row)):
                value, more = mass * row[f], mass * mean[f]
                before, likely = max(sums[f, c], 0.0), max(expected[f, c], 0.0)
                if before > 0.0 and likely > 0.0:
                    change += before * math.log(before / likely)
                if before + value > 0.0 and likely + more > 0.0:
                    change -= (before + value) * math.log((before + value) / (likely + more))
        else:
            squares, joint = 0.0, 0.0
            for f in range(len(row)):
                offset = sums[f, c] - expected[f, c]
                squares += offset * offset
                joint += (offset + mass * (row[f] - mean[f])) ** 2
            change += squares / masses[c] - joint / (masses[c] + mass)
        losses[c] += factor * max(change, 0.0)


@kernel
def row_losses(
    values: Array,
    columns: Array,
    mass: float,
    counts: bool,
    weights: tuple[float, float],
    cell: tuple[Array, Array, Array, Array],
    whole: tuple[Array, Array, Array, Array],
    adjustment: tuple[bool, Array, Array, Array],
    losses: Array,
) -> None:
    """``d(x, c)`` for every cluster: what the objective loses when the row joins it.

    ``weights`` are the coordination and the price of redundancy; ``cell`` and ``whole`` are sums,
    totals, masses and sizes of the clusters in the cell of the row and in all. ``adjustment`` says
    whether the coordination is adjusted for the cells, and has the mean of the cell, the sums
    expected from the cells, and zeros for a row.
    """
    losses[:] = 0.0
    group_losses(values, columns, mass, counts, cell[0], cell[1], cell[2], cell[3], 1.0, losses)
    if weights[0] > 0.0 and adjustment[0]:
        _, mean, expected, row = adjustment
        for e in range(len(values)):
            row[columns[e]] = values[e]
        adjusted_losses(
            row, mean, mass, counts, whole[0], expected, whole[2], whole[3], weights[0], losses
        )
        for e in range(len(values)):
            row[columns[e]] = 0.0
    elif weights[0] > 0.0:
        group_losses(
            values,
            columns,
            mass,
            counts,
            whole[0],
            whole[1],
            whole[2],
            whole[3],
            weights[0],
            losses,
        )
    if weights[1] > 0.0:
        _add_redundancy(cell[2], whole[2], mass, weights[1], losses)


@kernel
def reinsert_rows(
    rows: tuple[Array, Array, Array],
    order: Array,
    cells: Array,
    row_masses: Array,
    counts: bool,
    weights: tuple[float, float],
    in_cells: tuple[Array, Array, Array, Array],
    whole: tuple[Array, Array, Array, Array],
    adjustment: tuple[bool, Array, Array, Array],
    labels: Array,
) -> int:
    """Take every row out in turn and put it where the objective loses least; count moves.

    ``in_cells`` and ``whole`` are the sums, totals, masses and sizes of the clusters in every cell
    and in all; ``adjustment`` says whether the coordination is adjusted, and has the means of all
    cells, the sums expected from them, and zeros for a row. All and ``labels`` are kept up to
    date.
    """
    data, indices, indptr = rows
    adjusted, means, expected, zeros = adjustment
    losses = whole[2] * 0.0
    moved = 0
    for i in order:
        values = data[indptr[i] : indptr[i + 1]]
        columns = indices[indptr[i] : indptr[i + 1]]
        mass, z, here = row_masses[i], cells[i], labels[i]
        cell = (in_cells[0][z], in_cells[1][z], in_cells[2][z], in_cells[3][z])
        add_row(values, columns, -mass, counts, cell[0], cell[1], cell[2], cell[3], here)
        add_row(values, columns, -mass, counts, whole[0], whole[1], whole[2], whole[3], here)
        mean = means[z] if adjusted else means[0]
        if adjusted:
            _add_expected(mean, -mass, expected, whole[3], here)
        around = (adjusted, mean, expected, zeros)
        row_losses(values, columns, mass, counts, weights, cell, whole, around, losses)
        best = here
        for c in range(len(losses)):
            if losses[c] < losses[best]:
                best = c
        if losses[best] >= losses[here] - ROUNDING * (abs(losses[here]) + abs(losses[best])):
            best = here
        add_row(values, columns, mass, counts, cell[0], cell[1], cell[2], cell[3], best)
        add_row(values, columns, mass, counts, whole[0], whole[1], whole[2], whole[3], best)
        if adjusted:
            _add_expected(mean, mass, expected, whole[3], best)
        if best != here:
            labels[i] = best
            moved += 1
    return moved
