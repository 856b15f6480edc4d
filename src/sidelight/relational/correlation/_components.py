r"""Components of positive edges, which partitions need not join, one by one, and their bounds.

Scores between components are at most 0. What is best for one component is therefore part of what
is best for all: partitions are compared, solved exactly and bounded component by component.

Lower bound on the disagreements from cycles with exactly one negative edge.

.. math:: \sum_{C} \alpha_C \le \mathrm{cost}(Y), \qquad \sum_{C \ni e} \alpha_C \le |S_e|

Cycles are packed greedily by their length, each with all that is left of its edges, as in Lange,
Karrenbauer and Andres, *Partial optimality and fast lower bounds for weighted correlation
clustering* (2018). Pairs that are not listed are negative edges of weight ``absent m_u m_v``, pairs
that must not join negative edges without limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidelight._kernels.relational.correlation import packing
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


#: Edges of a path between the ends of a negative edge.
MAX_PATH_EDGES = 6
#: Nodes that the search for one path may see: fewer in large graphs, by the work for all paths.
MIN_NODES, MAX_NODES = 20, 1000
#: Entries of the graph that triangles and wedges may look at, and those that paths may, which are
#: farther apart in memory: some seconds each.
BUDGET, PATH_BUDGET = 10**9, 2 * 10**8


def packing_bounds(graph: SignedGraph) -> FloatArray:
    """Lower bound on the cost of every component of positive edges; without ``graph.constant``.

    Time O(sum of the squared degrees) at most and cut off at :data:`BUDGET`; memory O(edges).
    """
    scores, conflicts, sources = graph.scores, graph.conflicts, graph.sources
    component = graph.positive_components.astype(np.int32)
    bound = np.zeros(int(component.max(initial=-1)) + 1)
    numbers, n_edges = packing.edge_numbers(scores.indptr, scores.indices)
    rest = np.zeros(n_edges)
    kinds = np.zeros(scores.nnz, np.int8)
    limits = (conflicts.indptr, conflicts.indices, sources.indptr, sources.indices)
    packing.residuals(
        scores.indptr,
        scores.indices,
        scores.data,
        numbers,
        *limits,
        component,
        rest,
        kinds,
        bound,
    )
    edges = (scores.indptr, scores.indices, numbers, kinds)
    packing.pack_triangles(*edges, component, rest, bound, BUDGET)
    absent = np.inf if graph.cliques else graph.absent
    if absent or graph.is_constrained:
        packing.pack_open_wedges(
            *edges, graph.mass, absent, *limits, component, rest, bound, BUDGET
        )
    max_nodes = int(np.clip(PATH_BUDGET // 5 // max(scores.nnz, 1), MIN_NODES, MAX_NODES))
    packing.pack_cycles(*edges, component, rest, bound, MAX_PATH_EDGES, max_nodes, PATH_BUDGET)
    # Sums of whole numbers are exact; others may be above the true bound by their rounding.
    is_whole = float(graph.absent).is_integer() and np.all(scores.data == np.rint(scores.data))
    return bound if is_whole else bound * (1 - 1e-12)
