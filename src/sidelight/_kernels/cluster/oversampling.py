"""Rounds of k-means||: random numbers by position, closest candidates, and races between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.lloyd import squared_distance
from sidelight._typing import Array

#: Constants of splitmix64 (Steele, Lea, Flood 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@kernel
def scramble(number: Any) -> Any:
    """Mix the bits of a 64-bit number: what comes out for 0, 1, 2, ... looks random."""
    mixed = np.uint64(number)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def uniforms(start: int, key: Any, out: Array) -> None:
    """Write numbers between 0 and 1, both excluded, that depend on a key and the position alone.

    The position of ``out[i]`` is ``start + i``.
    """
    for i in range(out.shape[0]):
        mixed = scramble(scramble(np.uint64(start + i) * STEP + key) + key)
        out[i] = (np.float64(mixed >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def join_labeled(
    rows: Array, centers: Array, labels: Array, first: int, closest: Array, nearest: Array
) -> None:
    """Lower the squared distances ``closest`` to those to one new center for each row.

    Where that is closer, ``nearest`` becomes the number of the center, counted from ``first``.
    """
    for i in range(rows.shape[0]):
        squared = squared_distance(rows[i], centers[labels[i]])
        if squared < closest[i]:
            closest[i] = squared
            nearest[i] = first + labels[i]


@kernel
def race(
    weights: Array, closest: Array, nearest: Array, drawn: Array, masses: Array, out: Array
) -> float:
    """Write ``w_i closest_i / u_i``; return the sum of ``w_i closest_i``.

    Of rows with random numbers ``u_i``, those above ``t`` are a sample with the probabilities
    ``min(1, w_i closest_i / t)``. Weights are added to the ``masses`` of the nearest centers.
    """
    total = 0.0
    for i in range(weights.shape[0]):
        mass = np.float64(weights[i]) * closest[i]
        total += mass
        masses[nearest[i]] += weights[i]
        out[i] = mass / drawn[i]
    return total
