"""Rotations that bring rows to the axes, as products of rotations of two axes each."""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Entries below this are none: a row without a larger one is as far from an axis as can be.
NOWHERE = 1e-12


@kernel
def alignment_sums(rows: Array, rotation: Array, slope: Array, places: Array) -> float:
    """``J = Σ_i Σ_j Z_ij² / max_j Z_ij²`` of ``Z = XR``; its gradient by ``R`` goes to ``slope``.

    ``places`` is memory for one row of ``Z``.
    """
    k = rows.shape[1]
    total = 0.0
    slope[:] = 0.0
    for i in range(len(rows)):
        peak, largest = 0.0, 0
        for j in range(k):
            place = 0.0
            for p in range(k):
                place += rows[i, p] * rotation[p, j]
            places[j] = place
            if abs(place) > abs(peak):
                peak, largest = place, j
        if abs(peak) <= NOWHERE:
            total += k
            continue
        cost = 0.0
        for j in range(k):
            cost += (places[j] / peak) ** 2
        total += cost
        for j in range(k):
            change = 2.0 * places[j] / peak**2
            if j == largest:
                change -= 2.0 * cost / peak
            for p in range(k):
                slope[p, j] += rows[i, p] * change
    return total


@kernel
def rotation_of(angles: Array, rotation: Array) -> None:
    """The product ``G_12 G_13 ... G_{k-1,k}`` of rotations of two axes, in place."""
    k = len(rotation)
    rotation[:] = 0.0
    for p in range(k):
        rotation[p, p] = 1.0
    number = 0
    for p in range(k):
        for q in range(p + 1, k):
            c, s = math.cos(angles[number]), math.sin(angles[number])
            for row in range(k):
                left, right = rotation[row, p], rotation[row, q]
                rotation[row, p] = c * left + s * right
                rotation[row, q] = c * right - s * left
            number += 1


@kernel
def slopes_of_angles(angles: Array, slope: Array, rotation: Array, gradient: Array) -> None:
    """Gradient by the angles from that by the rotation; a step of two rows and columns for each.

    With ``R = B_i G_i A_i`` it is ``⟨dG_i, B_i' S A_i'⟩``, and that matrix follows from the one
    before.
    """
    k = len(rotation)
    inner = slope @ rotation.T
    number = 0
    for p in range(k):
        for q in range(p + 1, k):
            c, s = math.cos(angles[number]), math.sin(angles[number])
            for row in range(k):
                left, right = inner[row, p], inner[row, q]
                inner[row, p] = c * left + s * right
                inner[row, q] = c * right - s * left
            gradient[number] = c * (inner[q, p] - inner[p, q]) - s * (inner[p, p] + inner[q, q])
            for column in range(k):
                upper, lower = inner[p, column], inner[q, column]
                inner[p, column] = c * upper + s * lower
                inner[q, column] = c * lower - s * upper
            number += 1


def alignment_cost(rows: Array, rotation: Array) -> tuple[float, Array]:
    """``J = Σ_i Σ_j Z_ij² / max_j Z_ij²`` of ``Z = XR``, and its gradient by ``R``.

    ``n ≤ J ≤ nk``; ``J = n`` where every row has one entry that is not zero.
    """
    k = rows.shape[1]
    slope = np.empty((k, k))
    return alignment_sums(rows, np.ascontiguousarray(rotation), slope, np.empty(k)), slope
