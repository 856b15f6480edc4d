"""Formal concepts side by side with the package ``concepts``, and CDK-Means on many bi-sets.

- Same table, and the same concepts, compared one by one: at least 20x faster. ``concepts`` has no
  way to list the concepts alone; its lattice holds the neighbors of each as well, from which it
  finds them. Tables are random, with a share of ones from 0.1 to 0.5; one is that of purchases.
- Growth, without a peer, which would take hours: seconds of the search, and of a fit of CDKMeans
  with two restarts to the bi-sets that it finds.
"""

from __future__ import annotations

from typing import Any

import concepts
import numpy as np
from benchmarks.harness import Row, clock, compare

from sidelight.cluster import CDKMeans, mine_concepts
from sidelight.datasets import make_purchases

PEER = "concepts"
#: Rows, columns and share of ones; the last ones take the peer minutes.
SHAPES = (
    (50, 30, 0.3),
    (20, 20, 0.5),
    (200, 60, 0.1),
    (100, 50, 0.2),
    (200, 100, 0.1),
)
LARGE = ((300, 100, 0.2), (500, 100, 0.2), (500, 300, 0.1), (3000, 40, 0.2))


def run(quick: bool) -> list[Row]:
    rows = [beside_peer(*shape) for shape in SHAPES[: 3 if quick else None]]
    bought = make_purchases(60, 30, random_state=0)
    rows.append(compared("purchases, 60 x 30", np.asarray(bought.X)))
    return rows + [growth(*shape) for shape in LARGE[: 1 if quick else None]]


def random_table(n: int, d: int, share: float) -> np.ndarray:
    return (np.random.default_rng(0).random((n, d)) < share).astype(np.uint8)


def beside_peer(n: int, d: int, share: float) -> Row:
    return compared(f"{n} x {d}, {share:.0%} ones", random_table(n, d, share))


def compared(case: str, table: np.ndarray) -> Row:
    """Time both, and check that they find the same."""
    mine_concepts(table[:5])  # compile first
    found = mine_concepts(table, min_rows=0, min_columns=0)
    theirs: set[Any] = set()

    def peer() -> None:
        lattice = concepts.Context(
            [f"row {row}" for row in range(len(table))],
            [f"column {column}" for column in range(table.shape[1])],
            [tuple(bool(one) for one in row) for row in table],
        ).lattice
        theirs.clear()
        theirs.update((frozenset(one.extent), frozenset(one.intent)) for one in lattice)

    row = compare(
        case,
        lambda: mine_concepts(table, min_rows=0, min_columns=0),
        peer,
        peer=PEER,
        limit=0.05,
        repeats=1,
    )
    ours = {
        (frozenset(f"row {i}" for i in rows), frozenset(f"column {j}" for j in columns))
        for rows, columns in found
    }
    assert ours == theirs, "the concepts differ"
    return {**row, "concepts": len(found)}


def growth(n: int, d: int, share: float) -> Row:
    table = random_table(n, d, share)
    found = mine_concepts(table)
    model = CDKMeans(4, n_init=2, random_state=0)
    model.fit(table[:20])  # compile first
    return {
        "case": f"{n} x {d}, {share:.0%} ones",
        "bi-sets": len(found),
        "seconds of the search": clock(lambda: mine_concepts(table)),
        "seconds of the search, 3 x 3": clock(
            lambda: mine_concepts(table, min_rows=3, min_columns=3)
        ),
        "bi-sets of 3 x 3": len(mine_concepts(table, min_rows=3, min_columns=3)),
        "seconds of a fit": clock(lambda: model.fit(table)),
        "iterations kept": model.n_iter_,
    }
