"""Exchange refinement of a cut: single vertices change their part while that lowers the cost.

The cost of a partition of a graph is ``Σ_g (V_g - A_g) / M_g`` with the volume ``V_g`` of a part
(the sum of its degrees), the weight ``A_g`` inside it, and its mass ``M_g``: the volume (normalized
cut), the number of vertices (ratio cut) or the weight inside (min-max cut).
"""

from __future__ import annotations

import math

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Mass of a part.
BY_VOLUME, BY_SIZE, BY_INSIDE = 0, 1, 2

#: A fall of the cost of two parts below this is rounding, not progress.
ROUNDING = 1e-12


@kernel
def part_cost(criterion: int, volume: float, inside: float, size: float) -> float:
    """``(V - A) / M`` of one part; a part that nothing leaves costs nothing."""
    leaving = volume - inside
    if leaving <= ROUNDING * volume:
        return 0.0
    mass = volume
    if criterion == BY_SIZE:
        mass = size
    elif criterion == BY_INSIDE:
        mass = inside
    return leaving / mass if mass > 0.0 else math.inf


@kernel
def exchange_sweep(
    data: Array,
    indices: Array,
    indptr: Array,
    degree: Array,
    criterion: int,
    labels: Array,
    sums: tuple[Array, Array, Array],
    links: Array,
) -> int:
    """Offer every vertex in turn the part of a neighbor in which the cost is least; count moves.

    ``labels`` and ``sums``, the volume, the weight inside and the number of vertices of every part,
    are kept up to date. The last vertex of a part, and the last that has an edge, stays. ``links``
    is memory for the weights of one vertex to every part, and holds zeros.
    """
    volume, inside, size = sums
    k = len(volume)
    moved = 0
    for vertex in range(len(labels)):
        here, d = labels[vertex], degree[vertex]
        if size[here] < 2 or d <= 0.0 or d >= volume[here] * (1.0 - ROUNDING):
            continue
        # Weights from the vertex to every part.
        loop, outside = 0.0, False
        for entry in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[entry]
            if other == vertex:
                loop += data[entry]
            else:
                links[labels[other]] += data[entry]
                outside |= labels[other] != here
        if outside:
            # Change of the cost by leaving the part, and by joining each other one.
            without = part_cost(
                criterion, volume[here] - d, inside[here] - 2.0 * links[here] - loop, size[here] - 1
            )
            leaving = part_cost(criterion, volume[here], inside[here], size[here]) - without
            best, lowest = here, -ROUNDING
            for part in range(k):
                if part == here or links[part] <= 0.0:
                    continue
                change = (
                    part_cost(
                        criterion,
                        volume[part] + d,
                        inside[part] + 2.0 * links[part] + loop,
                        size[part] + 1,
                    )
                    - part_cost(criterion, volume[part], inside[part], size[part])
                    - leaving
                )
                if change < lowest:
                    best, lowest = part, change
            # Move, and update the sums of both parts.
            if best != here:
                volume[here] -= d
                inside[here] -= 2.0 * links[here] + loop
                size[here] -= 1
                volume[best] += d
                inside[best] += 2.0 * links[best] + loop
                size[best] += 1
                labels[vertex] = best
                moved += 1
        for entry in range(indptr[vertex], indptr[vertex + 1]):
            links[labels[indices[entry]]] = 0.0
        links[here] = 0.0
    return moved
