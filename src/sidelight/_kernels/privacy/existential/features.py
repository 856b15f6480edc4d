"""Cluster features that absorb each other as long as their radius is bounded."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def squared_offset(x: Array, y: Array) -> float:
    """Return ``‖x - y‖²``."""
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total


@kernel
def merge_or_append(
    new_sizes: Array,
    new_means: Array,
    new_scatters: Array,
    start: int,
    squared_radius: float,
    squared_reach: float,
    n_found: Array,
    sizes: Array,
    means: Array,
    scatters: Array,
    next_of: Array,
    anchors: Array,
    head_of: Array,
    number: Array,
) -> int:
    """Merge each new feature into the nearest one within the radius, or append it.

    A feature is a number of rows, their mean, and their sum of squared offsets from it. The search
    has two levels: the nearest anchor (a mean that was farther than ``squared_reach`` from all
    anchors when it came), and the nearest of the features that this anchor lists. That one absorbs
    the new feature if the mean squared offset of both together is at most ``squared_radius``.
    ``n_found`` counts features and anchors; ``number`` gets the feature that each went to. Returns
    the first that found no room in the arrays, or the number of new features.
    """
    for i in range(start, len(new_sizes)):
        if n_found[0] == len(sizes) or n_found[1] == len(anchors):
            return i
        x = new_means[i]
        # The nearest anchor, or a new one.
        anchor, nearest = -1, np.inf
        for a in range(n_found[1]):
            distance = squared_offset(x, anchors[a])
            if distance < nearest:
                anchor, nearest = a, distance
        if anchor < 0 or nearest > squared_reach:
            anchor = n_found[1]
            n_found[1] += 1
            anchors[anchor] = x
            head_of[anchor] = -1
        # The nearest feature of this anchor; join it if both together are within the radius.
        best, nearest = -1, np.inf
        m = head_of[anchor]
        while m >= 0:
            distance = squared_offset(x, means[m])
            if distance < nearest:
                best, nearest = m, distance
            m = next_of[m]
        if best >= 0:
            size = sizes[best] + new_sizes[i]
            between = nearest * sizes[best] * new_sizes[i] / size
            scatter = scatters[best] + new_scatters[i] + between
            if scatter <= squared_radius * size:
                share = new_sizes[i] / size
                for j in range(len(x)):
                    means[best, j] += share * (x[j] - means[best, j])
                sizes[best], scatters[best] = size, scatter
                number[i] = best
                continue
        # A feature of its own, at the front of the list of the anchor.
        m = n_found[0]
        n_found[0] += 1
        sizes[m], scatters[m] = new_sizes[i], new_scatters[i]
        means[m] = x
        next_of[m], head_of[anchor] = head_of[anchor], m
        number[i] = m
    return len(new_sizes)
