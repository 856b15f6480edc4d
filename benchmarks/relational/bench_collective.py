"""Collective resolution: growth of time and memory with the references, and what it finds.

- Growth: references of the generator, about ten for each entity, in hyper-edges of 2.6; seconds of
  a whole fit, comparison of pairs included, and of AttributeResolution on the same pairs.
- F1: best pairwise F1 over thresholds of A (decisions about single pairs), A* (its closure, two
  references of one hyper-edge kept apart) and CR, by the mean number of neighbors of an entity and
  the probability with which hyper-edges go on. No package on PyPI resolves collectively.
- Authors: names of authors on made-up papers, half of them with initials only, some mistyped; best
  F1 over thresholds, and that of the default settings.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, most_memory
from experiments.relational.collective import best_closed, best_of_all, draw

from sidelight.datasets import make_papers, make_references
from sidelight.evaluation import pairwise_f1
from sidelight.relational import (
    AttributeResolution,
    CollectiveResolution,
    ColumnComparison,
    RelationalResolution,
)

COMPARE = {"x0": ColumnComparison("number", scale=2.0)}

#: Seeds that played no part in the choice of the default settings, for which 0 to 4 were looked at.
AUTHOR_DRAWS = range(10, 20)


def run(quick: bool) -> list[Row]:
    cases = [(1000, 0.5), (10_000, 0.5), (10_000, 0.2)]
    if not quick:
        cases += [(100_000, 0.5), (100_000, 0.2), (1_000_000, 0.2)]
    rows = [_growth(*case) for case in cases]
    for p_continue in (0.5, 0.9):
        rows += [_found(k, p_continue, 2 if quick else 10) for k in (1, 2, 4, 8)]
    return [*rows, *(_authors(seed) for seed in AUTHOR_DRAWS[: 2 if quick else None])]


def make_case(n: int, p_ambiguous: float) -> Any:
    """About ``n`` references to a tenth as many entities, some of which share their attribute."""
    return make_references(
        n // 10, n // 10, int(n / 2.6), p_ambiguous=p_ambiguous, p_continue=0.9, random_state=0
    )


def _growth(n: int, p_ambiguous: float) -> Row:
    """Measure in a new process, whose peak memory is that of this fit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured, n, p_ambiguous).result()


def _measured(n: int, p_ambiguous: float) -> Row:
    small = make_case(500, p_ambiguous)
    for cls in (AttributeResolution, CollectiveResolution):
        cls(compare=COMPARE, blocking=("x0:within5",)).fit(small.X, relations=small.relations)
    X, relations, y = make_case(n, p_ambiguous)
    plain = AttributeResolution(0.8, compare=COMPARE, blocking=("x0:within5",))
    model = CollectiveResolution(compare=COMPARE, blocking=("x0:within5",))
    their_seconds = clock(lambda: plain.fit(X, relations=relations))
    before = most_memory()
    seconds = clock(lambda: model.fit(X, relations=relations))
    return {
        "case": f"growth, {len(X):,} references, {p_ambiguous:.0%} of values shared",
        "candidate pairs": len(model.pairs_["i"]),
        "merges": len(model.merges_["i"]),
        "CR seconds": seconds,
        "µs per candidate pair": 1e6 * seconds / max(len(model.pairs_["i"]), 1),
        "MB more than for A*": most_memory() - before,
        "CR F1": pairwise_f1(y, model.labels_),
        "A* seconds": their_seconds,
        "A* F1": pairwise_f1(y, plain.labels_),
    }


def _found(n_neighbors: int, p_continue: float, runs: int) -> Row:
    found = np.mean([best_of_all(draw(n_neighbors, p_continue, seed)) for seed in range(runs)], 0)
    names = ("A", "A*", "NR", "NR*", "CR")
    return {
        "case": f"best F1, {n_neighbors} neighbors, p = {p_continue:g}, {runs} draws",
        **{name: float(value) for name, value in zip(names, found, strict=True)},
    }


def _authors(seed: int) -> Row:
    columns, _, y = make_papers(random_state=seed)
    X, papers = {"name": columns["name"]}, columns["paper"]
    default = CollectiveResolution().fit(X, relations=papers)
    return {
        "case": f"authors of {len(set(papers))} papers, {len(y)} references, draw {seed}",
        "A* best F1": best_closed(AttributeResolution(0.02), X, papers, y),
        "NR* best F1": best_closed(RelationalResolution(0.02), X, papers, y),
        "CR best F1": best_closed(CollectiveResolution(0.02), X, papers, y),
        "CR default F1": pairwise_f1(y, default.labels_),
        "A* default F1": pairwise_f1(y, AttributeResolution().fit(X, relations=papers).labels_),
        "NR* default F1": pairwise_f1(y, RelationalResolution().fit(X, relations=papers).labels_),
        "CR bootstrap alone": pairwise_f1(y, default.labels_at(2.0)),
    }
