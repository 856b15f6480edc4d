"""Places for rows that have none: components as rings, kept apart, linked ones side by side."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from sidelight._typing import Array, IntArray

_STEPS = 120
_GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


def place_components(component: IntArray, edges: IntArray) -> Array:
    """Lay out rows by their components and the links between these.

    Components are discs that attract each other along links and repel each other otherwise
    (Fruchterman and Reingold 1991), from a spiral as the start, so that nothing is left to chance.

    Parameters
    ----------
    component : ndarray of int, shape (n,)
        Component of every row, numbered from 0.
    edges : ndarray of int, shape (m, 2)
        Linked components; links inside a component do not matter.

    Returns
    -------
    ndarray of shape (n, 2)
        Places of the rows: those of a component on a ring around its middle.
    """
    if not len(component):
        return np.zeros((0, 2))
    sizes = np.bincount(component)
    radius = np.where(sizes > 1, 0.35 * np.sqrt(sizes), 0.0)
    middles = _middles(radius, np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0))
    order = np.argsort(component, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    number = np.empty(len(component), np.int64)
    number[order] = np.arange(len(component)) - np.repeat(start, sizes)
    angle = 2.0 * np.pi * number / sizes[component] + component
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    places: Array = middles[component] + radius[component, None] * ring
    return places


def _middles(radius: Array, edges: IntArray) -> Array:
    """Middles of discs of these radii."""
    m = len(radius)
    number = np.arange(m)
    spiral = (1.0 + 0.9 * np.sqrt(number))[:, None]
    places = spiral * np.column_stack([np.cos(_GOLDEN * number), np.sin(_GOLDEN * number)])
    room = 1.0 + radius[:, None] + radius[None, :]
    for step in range(_STEPS):
        distance = np.maximum(cdist(places, places), 1e-3)
        push = room**2 / distance**3
        np.fill_diagonal(push, 0.0)
        force = push.sum(axis=1)[:, None] * places - push @ places
        along = places[edges[:, 1]] - places[edges[:, 0]]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        pull = along * length / room[edges[:, 0], edges[:, 1]][:, None] / 3.0
        np.add.at(force, edges[:, 0], pull)
        np.add.at(force, edges[:, 1], -pull)
        force -= 0.15 * places  # towards the middle, or parts without links would drift away
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / size * np.minimum(size, 1.0 * (1.0 - step / _STEPS))
    return np.asarray(places)
