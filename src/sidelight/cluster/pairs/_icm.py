"""Iterated conditional modes to the end: sweeps in random order until no node wants to move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sidelight._kernels.cluster.icm import restless_nodes
from sidelight._typing import Array


def conditional_modes(
    sweep: Callable[..., int],
    cost: Array,
    nearest: Array,
    graph: tuple[Array, Array, Array],
    labels: Array,
    nodes: Array,
    random_state: np.random.RandomState,
) -> None:
    """Move single nodes, in place, until the energy cannot fall by moving one.

    ``sweep`` is a kernel such as :func:`sidelight._kernels.cluster.icm.icm_sweep`, ``nodes`` are
    those that
    may want to move. After a sweep only nodes that moved and their neighbours can want to.
    """
    while len(nodes):
        before = labels.copy()
        if sweep(cost, nearest, *graph, labels, random_state.permutation(nodes)) == 0:
            break
        nodes = restless_nodes(*graph[:2], before, labels, len(cost))
