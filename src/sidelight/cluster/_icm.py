"""Iterated conditional modes to the end: sweeps in random order until no node wants to move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def conditional_modes(
    sweep: Callable[..., int],
    cost: Array,
    nearest: Array,
    graph: tuple[Array, Array, Array],
    labels: Array,
    random_state: np.random.RandomState,
) -> None:
    """Move single nodes, in place, until the energy cannot fall by moving one.

    ``sweep`` is a kernel such as :func:`sidelight._kernels.icm.icm_sweep`. After the first sweep
    only neighbours of nodes that moved can want to move.
    """
    starts, neighbours, _ = graph
    node_of_entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = random_state.permutation(len(cost))
    while len(order):
        before = labels.copy()
        if sweep(cost, nearest, *graph, labels, order) == 0:
            break
        touched = np.unique(node_of_entry[(labels != before)[neighbours]])
        order = random_state.permutation(touched[touched < len(cost)])
