"""Components of positive edges, which partitions need not join, one by one.

Scores between components are at most 0. What is best for one component is therefore part of what
is best for all: partitions are compared, solved exactly and bounded component by component.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidelight._kernels.relational.correlation.branching import branch_components
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.correlation._graph import SignedGraph

#: Steps of branch and bound after which a component is left to the linear program.
MAX_STEPS = 1_000_000
#: Nodes of the largest component that is branched.
MAX_BRANCHED = 14

#: Costs and bounds that differ by a smaller share are equal.
ROUNDING = 1e-9


def combine(graph: SignedGraph, partitions: Sequence[Array]) -> tuple[Array, FloatArray]:
    """For every component the best of several partitions, and its cost; ties go to the first.

    The label of a cluster is one of its nodes.
    """
    best = name_by_member(partitions[0])
    costs = graph.component_costs(best)
    for other in partitions[1:]:
        others = graph.component_costs(name_by_member(other))
        better = others < costs - ROUNDING * costs
        if better.any():
            best = np.where(better[graph.positive_components], name_by_member(other), best)
            costs = np.where(better, others, costs)
    return best, costs


def name_by_member(labels: Array) -> Array:
    """Name every cluster by its first node."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return first.astype(np.int32)[codes]


def are_open(costs: FloatArray, bounds: FloatArray) -> Array:
    """Components whose bound does not prove their cost to be the least."""
    return costs - bounds > ROUNDING * np.maximum(costs, 1e-300)


def branch(
    graph: SignedGraph, labels: Array, costs: FloatArray, bounds: FloatArray
) -> tuple[Array, FloatArray, FloatArray]:
    """Solve small components whose cost is above their bound by branch and bound.

    Returns labels, costs and bounds; where a component is solved, its bound is its cost.
    """
    component = graph.positive_components
    sizes = np.bincount(component, minlength=len(costs))
    chosen = np.flatnonzero(are_open(costs, bounds) & (sizes <= MAX_BRANCHED))
    if len(chosen) == 0:
        return labels, costs, bounds
    members, starts = nodes_of(component, chosen)
    labels = name_by_member(labels)
    solved = np.zeros(len(chosen), bool)
    branch_components(
        graph.scores.indptr,
        graph.scores.indices,
        graph.scores.data,
        graph.mass,
        graph.absent,
        graph.cliques,
        graph.conflicts.indptr,
        graph.conflicts.indices,
        graph.sources.indptr,
        graph.sources.indices,
        members,
        starts,
        labels,
        MAX_STEPS,
        solved,
    )
    costs = graph.component_costs(labels)
    bounds = bounds.copy()
    bounds[chosen[solved]] = costs[chosen[solved]]
    return labels, costs, bounds


def nodes_of(component: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Nodes of some components, one component after the other, and where each begins."""
    members = np.flatnonzero(np.isin(component, chosen))
    members = members[np.argsort(component[members], kind="stable")]
    return members, np.searchsorted(component[members], np.append(chosen, chosen[-1] + 1))
