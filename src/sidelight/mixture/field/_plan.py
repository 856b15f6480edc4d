"""Which parts of a field are summed over exactly, and how the others are approximated."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._coloring import check_coloring, infeasible
from sidelight.assignment._graph import connected_parts, make_graph
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.mixture.field._approximate import (
    GibbsChains,
    MeanField,
    SpanningForest,
    spanning_forest,
)
from sidelight.mixture.field._exact import (
    Cliques,
    Inference,
    Region,
    eliminate,
    fewer_sets,
    two_labelings,
)

# Tables of so few entries are cheap beside sweeps: such parts are one block of Gibbs sampling, and
# the prior sums over them whatever the posterior does.
SMALL_TABLE = 1e4


@dataclass(frozen=True)
class Links:
    """The edges of a field, each pair of nodes once, with couplings and lengths."""

    n_nodes: int
    edges: IntArray
    coupling: FloatArray
    length: FloatArray

    def region(self, nodes: IntArray, edges: IntArray) -> Region:
        """Some nodes (ascending) and some edges among them (ascending)."""
        position = np.full(self.n_nodes, -1, np.int64)
        position[nodes] = np.arange(len(nodes))
        graph = make_graph(len(nodes), position[self.edges[edges]])
        part = connected_parts(len(nodes), graph.edges)[1]
        return Region(graph, self.coupling[edges], part, nodes, edges)


def canonical_links(
    n_nodes: int, edges: IntArray, coupling: FloatArray, length: FloatArray | None
) -> tuple[Links, IntArray, float]:
    """Each pair of nodes once; where every edge went (-1: a node with itself); and a constant.

    Couplings of repeated pairs add up. A node always agrees with itself: such couplings are the
    constant.
    """
    if len(coupling) != len(edges):
        raise SidelightError(f"{len(edges)} edges need as many couplings, got {len(coupling)}.")
    if np.isnan(coupling).any() or np.isposinf(coupling).any():
        raise SidelightError(
            "Couplings must be numbers or -inf; contract the ends of a hard must-link instead."
        )
    low, high = np.minimum(edges[:, 0], edges[:, 1]), np.maximum(edges[:, 0], edges[:, 1])
    if len(edges) and (low.min() < 0 or high.max() >= n_nodes):
        raise SidelightError(f"Edges must name nodes 0 to {n_nodes - 1}.")
    loop = low == high
    if np.isneginf(coupling[loop]).any():
        raise SidelightError("A node cannot be apart from itself.")
    keys, number = np.unique(low[~loop] * n_nodes + high[~loop], return_inverse=True)
    total = np.zeros(len(keys))
    np.add.at(total, number, coupling[~loop])
    if length is None:
        lengths = -np.abs(total)
    else:
        lengths = np.full(len(keys), np.inf)
        np.minimum.at(lengths, number, length[~loop])
    pairs = np.column_stack(np.divmod(keys, max(n_nodes, 1))).astype(np.int64)
    where = np.full(len(edges), -1, np.int64)
    where[~loop] = number
    return Links(n_nodes, pairs, total, lengths), where, float(coupling[loop].sum())


@dataclass(frozen=True)
class Choice:
    """How the parts of a field are to be solved."""

    inference: str
    budget: float
    n_sweeps: int
    random_state: np.random.RandomState


def check_feasible(links: Links, k: int) -> None:
    """Raise where hard edges need more than ``k`` labels."""
    result = check_coloring(links.n_nodes, links.edges[np.isneginf(links.coupling)], k)
    if result.answer == "no":
        raise infeasible(result)


def make_plan(links: Links, k: int, choice: Choice) -> list[Inference]:
    """Choose a method for every connected part; together they answer for every node once."""
    n_parts, part = connected_parts(links.n_nodes, links.edges)
    part_of_edge = part[links.edges[:, 0]]
    size = np.bincount(part, minlength=n_parts)
    n_edges = np.bincount(part_of_edge, minlength=n_parts)
    all_hard = np.ones(n_parts, dtype=bool)
    all_hard[part_of_edge[np.isfinite(links.coupling)]] = False

    def take(some: npt.NDArray[np.bool_]) -> Region:
        return links.region(np.flatnonzero(some[part]), np.flatnonzero(some[part_of_edge]))

    none = np.zeros(n_parts, dtype=bool)
    two, clique, approximate = none, none, none
    budget = min(SMALL_TABLE, choice.budget) if choice.inference == "gibbs" else choice.budget
    if choice.inference == "forest":
        approximate = n_edges >= size
    elif choice.inference == "mean-field":
        approximate = n_edges > 0
    elif k == 2:
        two = all_hard & (n_edges >= size)
    else:
        is_clique = all_hard & (2 * n_edges == size * (size - 1))
        clique = is_clique & fewer_sets(size, k, budget)
    rest = take(~(two | clique | approximate))
    plan, wide = eliminate(rest, k, budget)
    if two.any():
        plan.append(two_labelings(take(two)))
    if clique.any():
        plan.append(Cliques(take(clique)))
    if approximate.any():
        plan.append(_approximate(take(approximate), links, k, choice.inference, choice))
    return plan + _approximate_wide_parts(links, rest, wide, k, choice)


def _approximate_wide_parts(
    links: Links, region: Region, wide: IntArray, k: int, choice: Choice
) -> list[Inference]:
    """Approximate the parts that exact inference cannot handle, or refuse to."""
    if len(wide) == 0:
        return []
    if choice.inference == "gibbs":
        is_wide = np.isin(region.part, wide)
        edges = region.edges[is_wide[region.graph.edges[:, 0]]]
        part = links.region(region.nodes[is_wide], edges)
        return [_approximate(part, links, k, "gibbs", choice)]
    sizes = np.bincount(region.part)[wide]
    trouble = (
        f"{len(wide)} connected part(s) of the constraints, the largest of {sizes.max():,} rows or "
        f"must-link components, cannot be summed over exactly with {k} components: a table would "
        f"have more than {choice.budget:,.0f} entries"
    )
    if choice.inference == "exact":
        raise SidelightError(
            f"{trouble}. Choose inference='mean-field', 'gibbs' or 'forest', or drop constraints."
        )
    of_edge = region.part[region.graph.edges[:, 0]]
    is_hard = np.zeros(int(region.part.max()) + 1, dtype=bool)
    is_hard[of_edge[np.isneginf(region.coupling)]] = True
    too_wide = np.zeros_like(is_hard)
    too_wide[wide] = True
    plan: list[Inference] = []
    for chosen, how in ((too_wide & is_hard, "forest"), (too_wide & ~is_hard, "mean-field")):
        if chosen.any():
            nodes, edges = region.nodes[chosen[region.part]], region.edges[chosen[of_edge]]
            plan.append(_approximate(links.region(nodes, edges), links, k, how, choice))
    used = " and ".join(repr(inference.name) for inference in plan)
    warnings.warn(
        f"{trouble}. They were approximated by {used}; choose inference='forest', 'gibbs' "
        "or 'mean-field' to say how, or drop constraints.",
        ConstraintWarning,
        stacklevel=4,
    )
    return plan


def _approximate(region: Region, links: Links, k: int, inference: str, choice: Choice) -> Inference:
    if inference == "forest":
        kept = spanning_forest(region.graph.n_nodes, region.graph.edges, links.length[region.edges])
        tree = links.region(region.nodes, region.edges[kept])
        (forest,), _ = eliminate(tree, k, choice.budget)
        return SpanningForest(region, forest, choice.n_sweeps, choice.random_state)
    kind = GibbsChains if inference == "gibbs" else MeanField
    return kind(region, choice.n_sweeps, choice.random_state)


def exact_edges(links: Links, plan: list[Inference]) -> npt.NDArray[np.bool_]:
    """Edges that inference sums over exactly."""
    exact = np.zeros(len(links.edges), dtype=bool)
    for inference in plan:
        if inference.exact:
            exact[inference.edges] = True
    return exact
