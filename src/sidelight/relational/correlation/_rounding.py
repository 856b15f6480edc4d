"""Clusters from the fractional distances of the linear program, or from the plain scores.

The four of them are those of Immorlica and Wirth (region growing, with its third step repaired),
Ailon, Charikar and Newman (LP-pivot), Charikar, Guruswami and Wirth (the 4-approximation), and
Gionis, Mannila and Tsaparas (BALLS).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sidelight._kernels.relational.correlation import rounding
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._lp import NodeDistances
from sidelight.relational.correlation._lp_parts import (
    ComponentScores,
    check_nodes,
    components_of,
)

Random = np.random.RandomState | np.random.Generator

#: Balls at a mean distance of exactly one quarter are given up by the 4-approximation.
BELOW_QUARTER = 0.25 - 1e-9


@dataclass(frozen=True, eq=False)
class Regions:
    """Balls of region growing.

    Attributes
    ----------
    labels : ndarray of shape (n,), int64
        Center of every node.
    centers : ndarray of shape (n_balls,), int64
        Centers in the order in which balls were cut out; nodes without positive edges are no balls.
    radii, cuts, volumes : ndarray of shape (n_balls,), float64
        Radius of every ball, positive scores that it cuts among the nodes that remained, and its
        volume.
    """

    labels: IntArray
    centers: IntArray
    radii: FloatArray
    cuts: FloatArray
    volumes: FloatArray


def grow_regions(
    graph: SignedGraph,
    x: NodeDistances | FloatArray,
    *,
    c: float = 3.0,
    order: Array | None = None,
) -> Regions:
    r"""Cut balls out of the graph whose cut is small compared to their volume.

    With :math:`F = \sum S^+_{uv} x_{uv}` over the ``n`` nodes of a component, a ball of radius
    ``r`` around ``u`` has the volume

    .. math::
        \frac{F}{n} + \sum_{v<w \in B} S^+_{vw} x_{vw} + \sum_{v \in B, w \notin B}
        S^+_{vw} (r - x_{uv}),

    and is cut out as soon as its cut is at most ``c ln(n + 1)`` times its volume. The radius grows
    continuously: between two distances the cut is constant and the volume grows, so that a ball is
    judged by its volume at the *end* of its interval of radii, or at ``1/c`` if that comes first.
    Judged at the beginning, as printed, balls grow beyond ``1/c`` and nothing is guaranteed.

    Then all radii are at most ``1/c``, nodes of a cluster at most ``2/c`` apart, and the costs

    .. math::
        \sum_{same} S^- \le \frac{c}{c-2} \sum S^- (1 - x), \qquad
        \sum_{apart} S^+ \le 2 c \ln(n + 1)\, F.

    Time O(n² log n + balls * edges) at most, memory O(n) beside the distances.

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    x : NodeDistances or ndarray of shape (n, n)
        A solution of the linear program.
    c : float, default=3.0
        More than 2; larger values make smaller balls.
    order : ndarray of shape (n,), optional
        Nodes in the order in which they become centers; as numbered by default.
    """
    labels = np.arange(graph.n)
    rank = _ranks(graph.n, order)
    place = np.full(graph.n, -1, np.int64)
    found = []
    for nodes, block, forbidden in _blocks(graph, x):
        place[nodes] = np.arange(len(nodes))
        inner = np.empty(len(nodes), np.int64)
        balls = np.empty((len(nodes), 4))
        n_balls = rounding.grow_regions(
            graph.scores.indptr,
            graph.scores.indices,
            graph.scores.data,
            nodes,
            place,
            block,
            forbidden,
            np.argsort(rank[nodes]),
            float(c),
            inner,
            balls,
        )
        place[nodes] = -1
        labels[nodes] = nodes[inner]
        centers = nodes[balls[:n_balls, 0].astype(np.int64)]
        found.append(np.column_stack([centers, balls[:n_balls, 1:]]))
    table = np.concatenate([np.empty((0, 4)), *found])
    centers = table[:, 0].astype(np.int64)
    return Regions(labels, centers, table[:, 1], table[:, 2], table[:, 3])


def lp_pivot(graph: SignedGraph, x: NodeDistances | FloatArray, rng: Random) -> IntArray:
    """Join every node to a random pivot with the probability ``1 - x``.

    On complete scores of +-1 the expected cost is at most 2.5 times the optimum of the linear
    program. Time O(n²), memory O(n) beside the distances.
    """
    labels = np.arange(graph.n)
    rank = rng.permutation(graph.n)
    for nodes, block, forbidden in _blocks(graph, x):
        inner = np.empty(len(nodes), np.int64)
        seed = int(rng.random() * 2**53)
        rounding.random_pivots(block, forbidden, np.argsort(rank[nodes]), seed, inner)
        labels[nodes] = nodes[inner]
    return labels


def four_approximation(graph: SignedGraph, x: NodeDistances | FloatArray, rng: Random) -> IntArray:
    """Make a cluster of the nodes within one half of a random center, unless they are far from it.

    A center whose nodes have a mean distance of one quarter or more stays alone. On complete scores
    of +-1 the cost is at most 4 times the optimum of the linear program, in any order. Time O(n²),
    memory O(n) beside the distances.
    """
    rank = rng.permutation(graph.n)
    return _half_balls(graph, x, BELOW_QUARTER, lambda nodes, _: np.argsort(rank[nodes]))


def balls(graph: SignedGraph, x: NodeDistances | FloatArray, alpha: float = 0.4) -> IntArray:
    """Make a cluster of the nodes within one half of a center, if their mean distance allows it.

    Centers come by their rising sum of distances; a center whose nodes have a mean distance above
    ``alpha`` stays alone. ``alpha=0.25`` makes it a 3-approximation of consensus clustering, where
    distances obey the triangle inequality; 0.4 is better in practice. Time O(n²), memory O(n)
    beside the distances.

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    x : NodeDistances or ndarray of shape (n, n)
        A solution of the linear program, or :func:`plain_distances`.
    alpha : float, default=0.4
        Largest mean distance of the nodes of a ball from its center.
    """
    return _half_balls(graph, x, alpha + 1e-9, _by_sum)


def plain_distances(graph: SignedGraph) -> NodeDistances:
    """Distances ``(1 - S/max|S|) / 2`` of the scores themselves, 1 for pairs that must not join.

    They need no linear program, but do not in general obey the triangle inequality. Memory is
    ``8 k²`` bytes for a component of ``k`` nodes.
    """
    groups = components_of(graph)
    check_nodes(groups, "Balls of plain distances")
    scores_of = ComponentScores(graph)
    largest = float(np.abs(graph.scores.data).max(initial=0.0))
    blocks = []
    for nodes in groups:
        scores, _ = scores_of(nodes)
        # Unlisted pairs may cost more than any listed one.
        block = np.clip(0.5 - 0.5 * scores / largest, 0.0, 1.0)
        np.fill_diagonal(block, 0.0)
        blocks.append((nodes, block))
    return NodeDistances(graph.n, tuple(blocks))


def _half_balls(
    graph: SignedGraph,
    x: NodeDistances | FloatArray,
    limit: float,
    order_of: Callable[[IntArray, FloatArray], Array],
) -> IntArray:
    """Centers of the balls around nodes that come in the order of a function of their block."""
    labels = np.arange(graph.n)
    for nodes, block, forbidden in _blocks(graph, x):
        inner = np.empty(len(nodes), np.int64)
        rounding.half_balls(block, forbidden, order_of(nodes, block), limit, inner)
        labels[nodes] = nodes[inner]
    return labels


def _by_sum(nodes: IntArray, block: FloatArray) -> Array:
    """Rows of a block by their rising sum of distances."""
    return np.argsort(block.sum(axis=1), kind="stable")


def _blocks(
    graph: SignedGraph, x: NodeDistances | FloatArray
) -> Iterator[tuple[IntArray, FloatArray, Array]]:
    """Nodes, distances, and pairs that must not join, of one component after the other."""
    distances = x if isinstance(x, NodeDistances) else _as_distances(graph, x)
    scores_of = ComponentScores(graph)
    none = np.empty((0, 0), np.bool_)
    for nodes, block in distances.blocks:
        yield nodes, block, np.isneginf(scores_of(nodes)[0]) if graph.is_constrained else none


def _as_distances(graph: SignedGraph, x: FloatArray) -> NodeDistances:
    """Distances that are given as one matrix."""
    everything = np.arange(graph.n)
    return NodeDistances(graph.n, ((everything, np.ascontiguousarray(x, dtype=np.float64)),))


def _ranks(n: int, order: Array | None) -> IntArray:
    """Place of every node in an order."""
    ranks = np.arange(n)
    if order is not None:
        ranks[order] = np.arange(n)
    return ranks
