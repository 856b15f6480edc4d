"""Joint densities, best nodes, distances and tempered posteriors of rows on a fitted map.

Posteriors of a given entropy are for pictures only (Verbeek 2004, section 4.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax, xlogy

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.mixture.som._parts import FamilyColumns
from sidelight.mixture.som._steps import cache_tiles

#: Halvings of the range of the exponents.
HALVINGS = 50


def map_joint(parts: Sequence[Any], log_weights: Array, readers: Sequence[Any], finish: Any) -> Any:
    """Map ``finish(tile, log_joint)`` over rows; ``readers`` are pairs of a part and its table.

    Components are those that measure the rows of the tile, which may miss values.
    """
    tables = [table for _, table in readers]
    width = sum(part.n_statistics for part in parts) + len(log_weights)

    def work(block: Any, *others: Any) -> tuple[tuple[()], tuple[Array, ...]]:
        own = (block, *others)
        pieces = []
        for tile in cache_tiles(width, block, range(block.shape[0])):
            joint = log_weights
            for part, (reader, _), table in zip(parts, readers, own, strict=True):
                aware = reader.for_rows(part, table[tile])
                joint = joint + aware.log_density(aware.features(table[tile]))
            pieces.append(finish([table[tile] for table in own], joint))
        return (), (np.concatenate(pieces),)

    return as_rows(tables[0]).map_reduce(work, aligned=tables[1:])[1][0]


def two_best(
    readers: list[tuple[FamilyColumns, Any]], components: list[Any], log_weights: Array
) -> tuple[Array, Array]:
    """The two nodes of largest joint density of every row."""
    if len(log_weights) == 1:
        zeros = np.zeros(readers[0][1].shape[0], dtype=np.int64)
        return zeros, zeros

    def finish(tables: list[Any], joint: Array) -> Array:
        two = np.argpartition(joint, -2, axis=1)[:, -2:]
        swap = np.take_along_axis(joint, two, axis=1)
        return np.where((swap[:, :1] > swap[:, 1:]), two, two[:, ::-1])

    two = map_joint(components, log_weights, readers, finish)
    return two[:, 0], two[:, 1]


def distances_to_nodes(
    readers: list[tuple[FamilyColumns, Any]], components: list[Any], nodes: Array
) -> Array:
    """Distance of every row to a node of its own, over the values that it has."""
    squares = np.zeros(len(nodes))
    for (part, table), own in zip(readers, components, strict=True):
        points = part.points(own)
        for rows in tiles(len(nodes)):
            offsets = part.coordinates(table[rows]) - points[nodes[rows]]
            squares[rows] += np.nansum(offsets**2, axis=1)
    return np.sqrt(squares)


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
