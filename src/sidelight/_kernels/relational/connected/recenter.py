"""Center nodes of least radius."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.connected.growth import squared_distance
from sidelight._typing import Array

#: Steps towards the center of the smallest ball around a cluster.
BALL_STEPS = 60


@kernel
def recenter(rows: Array, members: Array, starts: Array, max_exact: int, nodes: Array) -> None:
    """Set the center node of every cluster to the member of least radius, of equals the first.

    Clusters of more than ``max_exact`` members would take too long: their new center is the member
    closest to the center of the smallest ball around them (steps of Badoiu and Clarkson towards the
    farthest member), if its radius is smaller than that of the center they have.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Attributes of the nodes.
    members, starts : ndarray
        Members of the clusters, in CSR arrays.
    max_exact : int
        Largest cluster for which all members are tried.
    nodes : ndarray of shape (k,)
        Center nodes, changed in place.
    """
    for j in range(starts.shape[0] - 1):
        inside = members[starts[j] : starts[j + 1]]
        least = _radius_of(rows, inside, nodes[j], np.inf)
        if inside.shape[0] > max_exact:
            candidate = _near_ball_center(rows, inside, nodes[j])
            if _radius_of(rows, inside, candidate, least) < least:
                nodes[j] = candidate
            continue
        for node in inside:
            radius = _radius_of(rows, inside, node, least)
            if radius < least or (radius == least and node < nodes[j]):
                least = radius
                nodes[j] = node


@kernel
def _radius_of(rows: Array, inside: Array, node: int, limit: float) -> float:
    """Largest squared distance of a member to a node; anything above the limit where it is."""
    largest = 0.0
    for member in inside:
        largest = max(largest, squared_distance(rows, member, rows, node))
        if largest > limit:
            break
    return largest


@kernel
def _near_ball_center(rows: Array, inside: Array, node: int) -> int:
    """Member closest to the center of the smallest ball around all."""
    center = np.empty((1, rows.shape[1]))
    for feature in range(rows.shape[1]):
        center[0, feature] = rows[node, feature]
    for step in range(BALL_STEPS):
        farthest, largest = inside[0], -1.0
        for member in inside:
            square = squared_distance(rows, member, center, 0)
            if square > largest:
                farthest, largest = member, square
        for feature in range(rows.shape[1]):
            center[0, feature] += (rows[farthest, feature] - center[0, feature]) / (step + 2)
    closest, least = node, np.inf
    for member in inside:
        square = squared_distance(rows, member, center, 0)
        if square < least:
            closest, least = member, square
    return closest
