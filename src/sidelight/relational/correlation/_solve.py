"""From a signed graph to a partition with a bound: what every method of the room runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.restarts import run_restarts
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._warn import warn
from sidelight.relational.correlation._components import (
    ROUNDING,
    are_open,
    branch,
    combine,
    nodes_of,
    packing_bounds,
)
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._local_search import (
    Level,
    LocalOptimum,
    local_search,
    pivot_clusters,
)

Method = Literal["auto", "local", "pivot", "lp", "lp-pivot", "four-approximation", "balls", "exact"]

#: Restarts by default, and those on graphs of more than a million edges.
N_INIT, N_INIT_LARGE = 10, 2
LARGE = 10**6
#: The automatic choice hands components of up to this many nodes to the linear program, smallest
#: first, until they have this many pairs in all: a few seconds.
LP_NODES, LP_PAIRS = 120, 60_000


@dataclass(frozen=True)
class CorrelationSettings:
    """Parameters of a fit that its solver reads."""

    method: str
    n_init: int | str
    c: float
    max_iter: int
    random_state: Any
    verbose: int
    description: str


@dataclass(frozen=True)
class Solution:
    """A partition of the nodes with a proven bound."""

    labels: Array
    cost: float
    bound: float
    bound_method: str
    method: str
    history: FloatArray
    n_iter: int
    converged: bool


class CandidatePartitions(NamedTuple):
    """Partitions, and the path of the search that led to the best of them."""

    partitions: list[Array]
    history: FloatArray
    n_iter: int
    converged: bool


def solve(graph: SignedGraph, settings: CorrelationSettings) -> Solution:
    """Partition the nodes by the chosen method."""
    if settings.method == "exact":
        return _exact(graph, settings)
    if settings.method in ("lp", "lp-pivot", "four-approximation"):
        return _rounded(graph, settings)
    if settings.method == "auto":
        return _automatic(graph, settings)
    if settings.method == "balls":
        from sidelight.relational.correlation import _rounding

        start = _rounding.balls(graph, _rounding.plain_distances(graph))
        found = _searches(graph, settings, lambda number, rng: start, n_init=1)
    elif settings.method == "pivot":
        found = _pivots(graph, settings)
    else:
        found = _searches(graph, settings, _pivots_or_singletons(graph))
    labels, _ = combine(graph, found.partitions)
    bounds = packing_bounds(graph)
    return _solution(graph, settings.method, labels, float(bounds.sum()), "packing", found)


def _solution(
    graph: SignedGraph,
    method: str,
    labels: Array,
    bound: float,
    bound_method: str,
    found: CandidatePartitions,
) -> Solution:
    """Result of the search; what the best path did not see is its last step."""
    cost = graph.cost(labels)
    history = found.history
    if cost < history[-1]:
        history = np.append(history, cost)
    return Solution(
        labels=labels,
        cost=cost,
        bound=_below(bound + graph.constant, cost),
        bound_method=bound_method,
        method=method,
        history=history,
        n_iter=found.n_iter,
        converged=found.converged,
    )


def _below(bound: float, cost: float) -> float:
    """Bound that is the cost where only rounding separates the two."""
    return bound if cost - bound > ROUNDING * cost else cost


def number_of_restarts(graph: SignedGraph, n_init: int | str) -> int:
    """Number of restarts, as requested or by default."""
    if n_init != "auto":
        return int(n_init)
    return N_INIT if graph.scores.nnz <= 2 * LARGE else N_INIT_LARGE


def _searches(
    graph: SignedGraph,
    settings: CorrelationSettings,
    start: Callable[[int, np.random.RandomState], Array],
    *,
    n_init: int | None = None,
) -> CandidatePartitions:
    """Local search from several partitions, each with its own seed."""
    level = Level.of(graph)

    def run(number: int, rng: np.random.RandomState) -> LocalOptimum:
        return local_search(
            graph,
            start(number, rng),
            rng,
            max_iter=settings.max_iter,
            level=level,
            description=settings.description,
            verbose=settings.verbose,
        )

    n = number_of_restarts(graph, settings.n_init) if n_init is None else n_init
    ended = run_restarts(
        run,
        _seeds(settings, n),
        graph.scores.nnz,
        description=settings.description,
        verbose=settings.verbose,
    )
    best = min(ended, key=lambda search: search.objective)
    partitions = [best.labels, *(search.labels for search in ended if search is not best)]
    return CandidatePartitions(partitions, best.history, best.n_iter, best.converged)


def _pivots(graph: SignedGraph, settings: CorrelationSettings) -> CandidatePartitions:
    """Pivot clusterings of several random orders."""

    def run(number: int, rng: np.random.RandomState) -> LocalOptimum:
        labels = pivot_clusters(graph, rng.permutation(graph.n))
        cost = graph.cost(labels)
        return LocalOptimum(labels, cost, np.array([cost]), 1, True, False)

    seeds = _seeds(settings, number_of_restarts(graph, settings.n_init))
    ended = run_restarts(
        run,
        seeds,
        graph.scores.nnz,
        description=settings.description,
        verbose=settings.verbose,
    )
    costs = np.minimum.accumulate([search.objective for search in ended])
    return CandidatePartitions([search.labels for search in ended], costs, len(ended), True)


def _seeds(settings: CorrelationSettings, n: int) -> list[int]:
    rng = check_random_state(settings.random_state)
    return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=n)]


def _pivots_or_singletons(
    graph: SignedGraph,
) -> Callable[[int, np.random.RandomState], Array]:
    """Starts of the local search: single nodes and pivot clusterings by turns."""

    def start(number: int, rng: np.random.RandomState) -> Array:
        if number % 2 == 0:
            return np.arange(graph.n, dtype=np.int32)
        return pivot_clusters(graph, rng.permutation(graph.n))

    return start


def _automatic(graph: SignedGraph, settings: CorrelationSettings) -> Solution:
    """Local search; then branch and bound, and the linear program, where no bound proves it."""
    found = _searches(graph, settings, _pivots_or_singletons(graph))
    labels, costs = combine(graph, found.partitions)
    method, bound_method = "local", "packing"
    bounds = packing_bounds(graph)
    if are_open(costs, bounds).any():
        labels, costs, bounds = branch(graph, labels, costs, bounds)
        if not are_open(costs, bounds).any():
            method = bound_method = "exact"
    bound = float(bounds.sum())
    nodes = _nodes_for_lp(graph, are_open(costs, bounds))
    if len(nodes):
        part = graph.subgraph(nodes)
        inner, lower = _rounded_part(part, settings, labels[nodes])
        labels = labels.copy()
        labels[nodes] = nodes[inner]
        open_before = np.unique(graph.positive_components[nodes])
        packed = float(bounds[open_before].sum())
        bound += max(lower - packed, 0.0)
        method = bound_method = "lp"
    return _solution(graph, method, labels, bound, bound_method, found)


def _nodes_for_lp(graph: SignedGraph, is_open: Array) -> IntArray:
    """Nodes, sorted, of the components that the linear program takes."""
    sizes = np.bincount(graph.positive_components, minlength=len(is_open))
    chosen = np.flatnonzero(is_open & (sizes <= LP_NODES))
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    chosen = np.sort(chosen[np.cumsum(sizes[chosen] ** 2) <= 2 * LP_PAIRS])
    if len(chosen) == 0:
        return np.empty(0, np.int64)
    return np.sort(nodes_of(graph.positive_components, chosen)[0])


def _rounded_part(
    part: SignedGraph, settings: CorrelationSettings, labels: Array
) -> tuple[Array, float]:
    """Best of the given and the rounded partitions of some components, and their bound."""
    from sidelight.relational.correlation._lp import solve_lp

    solved = solve_lp(part)
    if solved.integral:
        partitions = [labels, solved.distances.clusters()]
    else:
        found = _roundings(part, replace(settings, method="lp"), solved.distances)
        partitions = [labels, *found.partitions]
    best, _ = combine(part, partitions)
    return best, solved.bound


def _rounded(graph: SignedGraph, settings: CorrelationSettings) -> Solution:
    """Round the linear program, then search from there."""
    from sidelight.relational.correlation._lp import solve_lp

    solved = solve_lp(graph)
    if solved.integral:
        labels = solved.distances.clusters()
        found = CandidatePartitions([labels], np.array([graph.cost(labels)]), 1, True)
    else:
        found = _roundings(graph, settings, solved.distances)
    labels, _ = combine(graph, found.partitions)
    bound = solved.bound - graph.constant
    return _solution(graph, settings.method, labels, bound, "lp", found)


def _roundings(graph: SignedGraph, settings: CorrelationSettings, x: Any) -> CandidatePartitions:
    from sidelight.relational.correlation import _rounding

    def start(number: int, rng: np.random.RandomState) -> Array:
        if settings.method == "lp-pivot":
            return _rounding.lp_pivot(graph, x, rng)
        if settings.method == "four-approximation":
            return _rounding.four_approximation(graph, x, rng)
        order = rng.permutation(graph.n)
        return _rounding.grow_regions(graph, x, c=settings.c, order=order).labels

    return _searches(graph, settings, start)


def _exact(graph: SignedGraph, settings: CorrelationSettings) -> Solution:
    """Solve the integer program, from the end of a local search."""
    from sidelight.relational.correlation._exact import solve_exact

    found = _searches(graph, settings, _pivots_or_singletons(graph))
    start, _ = combine(graph, found.partitions)
    solved = solve_exact(graph, labels=start)
    found = found._replace(converged=solved.optimal)
    if not solved.optimal:
        warn(
            f"{settings.description}: the integer program was not solved within a minute; the best "
            "partition so far is kept, and gap_ says how far from optimal it can be.",
            ConvergenceWarning,
        )
    bound, by = solved.bound - graph.constant, "exact" if solved.optimal else "lp"
    return _solution(graph, "exact", solved.labels, bound, by, found)
