"""The linear program of correlation clustering with lazy rows beside the full model, and roundings.

- Speed: complete signs of five planted clusters, 12 % flipped. The full model has three rows for
  every triple and goes to the same solver (HiGHS by ``scipy.optimize.linprog``) in a process of its
  own, with a limit of time. Where it reaches the limit (``finished`` is False), ``theirs`` is what
  it had used up, and the true ratio is smaller still. Both optima are shown.
- Other graphs: seconds, rows and gap of the linear program alone, with the best rounding; those
  with many flipped signs, with Gaussian scores, and sparse ones, which are harder or larger.
- Roundings: cost of every rounding as a multiple of the linear program, mean of ten graphs.
- Star: the loop of region growing as it is printed beside the repaired one.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from benchmarks.harness import Row, clock, most_memory
from scipy import sparse
from scipy.optimize import linprog

from sidelight import Constraints, Relations
from sidelight.datasets import make_signed_graph
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._lp import LPSolution, solve_lp
from sidelight.relational.correlation._rounding import (
    balls,
    four_approximation,
    grow_regions,
    lp_pivot,
    plain_distances,
)

PEER = "full model, same solver"
#: Seconds of the full model.
LIMIT = 240.0


def run(quick: bool) -> list[Row]:
    solve_lp(planted(20))  # compiles
    rows = [_beside_full_model(n, 60.0 if quick else LIMIT) for n in _sizes(quick)]
    cases: list[tuple[str, SignedGraph]] = [
        ("complete, 12 % flipped", planted(100)),
        ("complete, 30 % flipped", planted(100, flip=0.3)),
        ("complete, random signs", planted(60, flip=0.5)),
        ("complete, Gaussian scores", planted(100, strength=1.5)),
        ("10 edges per node", planted(300, degree=10.0)),
    ]
    if not quick:
        cases += [
            ("complete, 12 % flipped", planted(300)),
            ("10 edges per node", planted(500, degree=10.0)),
        ]
    rows += [_alone(name, graph) for name, graph in cases]
    rows += [_roundings(flip, 3 if quick else 10) for flip in (0.1, 0.2, 0.3, 0.4)]
    return [*rows, *(_star(m) for m in (12, 25))]


def _sizes(quick: bool) -> tuple[int, ...]:
    return (40, 60) if quick else (40, 60, 80, 100, 150, 200)


def planted(
    n: int,
    flip: float = 0.12,
    *,
    seed: int = 0,
    strength: float | None = None,
    degree: float | None = None,
) -> SignedGraph:
    """Graph of five planted clusters."""
    sample = make_signed_graph(n, 5, flip=flip, strength=strength, degree=degree, random_state=seed)
    return signed_graph(sample.relations, Constraints(n_samples=n))


def _beside_full_model(n: int, limit: float) -> Row:
    graph = planted(n)
    found: list[LPSolution] = []
    ours = min(clock(lambda: found.append(solve_lp(graph))) for _ in range(2))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        theirs, value, finished, memory = process.submit(_full_model, n, limit).result()
    return {
        "case": f"linear program, n={n}",
        "peer": PEER,
        "ours": ours,
        "theirs": theirs,
        "ratio": ours / theirs,
        "limit": 1 / 20 if n >= 200 else 1.0,
        "finished": finished,
        "value": found[0].value,
        "their value": value if finished else "",
        "integral": found[0].integral,
        "rows": found[0].n_rows,
        "their rows": n * (n - 1) * (n - 2) // 2,
        "their MB": memory,
    }


def _full_model(n: int, limit: float) -> tuple[float, float, bool, float]:
    """Seconds of the solver, its optimum, whether it finished, and megabytes of this process."""
    scores = planted(n).scores.toarray()
    first, second = np.triu_indices(n, 1)
    costs = scores[first, second]
    rows = triangle_rows(n)
    right = np.zeros(rows.shape[0])
    results = []
    seconds = clock(
        lambda: results.append(
            linprog(
                costs,
                A_ub=rows,
                b_ub=right,
                bounds=(0, 1),
                method="highs",
                options={"time_limit": limit},
            )
        )
    )
    finished = results[0].status == 0
    value = float(results[0].fun + np.maximum(-costs, 0).sum()) if finished else np.nan
    return seconds, value, finished, most_memory()


def triangle_rows(n: int) -> sparse.csr_array:
    """``x_uv - x_uw - x_wv`` for every triple and each of its sides."""
    number = np.zeros((n, n), np.int32)
    first, second = np.triu_indices(n, 1)
    number[first, second] = number[second, first] = np.arange(len(first))
    triples = np.fromiter(
        itertools.chain.from_iterable(itertools.combinations(range(n), 3)), np.int32
    )
    a, b, c = triples.reshape(-1, 3).T
    sides = np.stack([number[a, b], number[a, c], number[b, c]])
    turns = np.concatenate([np.roll(sides, turn, axis=0) for turn in range(3)], axis=1)
    n_rows = turns.shape[1]
    signs = np.tile([1.0, -1.0, -1.0], n_rows)
    indptr = np.arange(0, 3 * n_rows + 1, 3, dtype=np.int32)
    return sparse.csr_array((signs, turns.T.ravel(), indptr), (n_rows, len(first)))


def _alone(name: str, graph: SignedGraph) -> Row:
    found: list[LPSolution] = []
    seconds = clock(lambda: found.append(solve_lp(graph, time_limit=600.0)))
    solved = found[0]
    cost = min(graph.cost(labels) for labels in rounded(graph, solved).values())
    return {
        "case": f"{name}, n={graph.n}",
        "seconds": seconds,
        "rounds": solved.n_rounds,
        "rows": solved.n_rows,
        "converged": solved.converged,
        "integral": solved.integral,
        "bound": solved.bound,
        "best rounding": cost,
        "gap": max(cost - solved.bound, 0.0) / cost if cost else 0.0,
    }


def rounded(graph: SignedGraph, solved: LPSolution) -> dict[str, np.ndarray]:
    """Best of ten of every rounding that has a random order."""
    rng = np.random.default_rng(0)
    x = solved.distances
    orders = [rng.permutation(graph.n) for _ in range(10)]
    draws = {
        "region growing": [grow_regions(graph, x, order=order).labels for order in orders],
        "LP-pivot": [lp_pivot(graph, x, rng) for _ in orders],
        "4-approximation": [four_approximation(graph, x, rng) for _ in orders],
        "balls of the LP": [balls(graph, x)],
        "balls of the scores": [balls(graph, plain_distances(graph))],
    }
    return {name: min(labels, key=graph.cost) for name, labels in draws.items()}


def _roundings(flip: float, n_graphs: int) -> Row:
    ratios: dict[str, list[float]] = {}
    for seed in range(n_graphs):
        graph = planted(50, flip=flip, seed=seed)
        solved = solve_lp(graph)
        for name, labels in rounded(graph, solved).items():
            ratios.setdefault(name, []).append(graph.cost(labels) / solved.value)
    row: Row = {"case": f"cost / linear program, n=50, {flip:.0%} flipped"}
    return row | {name: float(np.mean(values)) for name, values in ratios.items()}


def _star(m: int) -> Row:
    """A hub with ``m`` positive edges to leaves that are negative to each other."""
    first, second = np.triu_indices(m + 1, 1)
    relations = Relations(
        np.column_stack([first, second]), np.where(first == 0, 1.0, -1.0), n_samples=m + 1
    )
    graph = signed_graph(relations, Constraints(n_samples=m + 1))
    solved = solve_lp(graph)
    return {
        "case": f"star of {m} leaves",
        "linear program": solved.value,
        "repaired": graph.cost(grow_regions(graph, solved.distances).labels),
        "printed": graph.cost(_printed(graph, solved.x, 3.0)),
    }


def _printed(graph: SignedGraph, x: np.ndarray, c: float) -> np.ndarray:
    """Region growing whose volume is taken at the distance of the last node, as printed."""
    weights = np.maximum(graph.scores.toarray(), 0.0)
    total = np.triu(weights * x, 1).sum()
    remaining, labels = np.ones(graph.n, bool), np.arange(graph.n)
    while remaining.any():
        u = int(np.flatnonzero(remaining)[0])
        for r in np.unique(x[u, remaining]):
            ball = remaining & (x[u] <= r)
            crossing = weights[np.ix_(ball, remaining & ~ball)]
            volume = total / graph.n + np.triu((weights * x)[np.ix_(ball, ball)], 1).sum()
            volume += (crossing * (r - x[u, ball])[:, None]).sum()
            if crossing.sum() <= c * np.log(graph.n + 1) * volume:
                break
        labels[ball] = u
        remaining &= ~ball
    return labels
