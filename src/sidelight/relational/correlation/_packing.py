r"""Lower bound on the disagreements from cycles with exactly one negative edge.

.. math:: \sum_{C} \alpha_C \le \mathrm{cost}(Y), \qquad \sum_{C \ni e} \alpha_C \le |S_e|

Cycles are packed greedily by their length, each with all that is left of its edges, as in Lange,
Karrenbauer and Andres, *Partial optimality and fast lower bounds for weighted correlation
clustering* (2018). Pairs that are not listed are negative edges of weight ``absent m_u m_v``, pairs
that must not join negative edges without limit.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels.relational.correlation import packing
from sidelight._typing import FloatArray
from sidelight.relational.correlation._graph import SignedGraph

#: Edges of a path between the ends of a negative edge.
MAX_STEPS = 6
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
    packing.pack_cycles(*edges, component, rest, bound, MAX_STEPS, max_nodes, PATH_BUDGET)
    # Sums of whole numbers are exact; others may be above the true bound by their rounding.
    is_whole = float(graph.absent).is_integer() and np.all(scores.data == np.rint(scores.data))
    return bound if is_whole else bound * (1 - 1e-12)
