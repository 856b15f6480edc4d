"""Tables that the tests share, and their concepts by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Table 6.1 of the book: rows t1 to t7, columns g1 to g5.
TOY = np.array(
    [
        [1, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
        [1, 0, 1, 1, 0],
        [0, 0, 1, 1, 0],
        [1, 1, 0, 0, 1],
        [0, 1, 0, 0, 1],
        [0, 0, 0, 0, 1],
    ]
)

TOY.setflags(write=False)

BiSet = tuple[tuple[int, ...], tuple[int, ...]]


def by_brute_force(table: np.ndarray) -> set[BiSet]:
    """All concepts: the closure of every set of columns."""
    ones = np.asarray(table, dtype=bool)
    found = set()
    for code in range(2 ** ones.shape[1]):
        asked = [column for column in range(ones.shape[1]) if code >> column & 1]
        rows = ones[:, asked].all(axis=1)
        columns = ones[rows].all(axis=0)
        found.add((tuple(np.flatnonzero(rows).tolist()), tuple(np.flatnonzero(columns).tolist())))
    return found


def d_miner(table: np.ndarray) -> set[BiSet]:
    """All concepts by the recipe of D-Miner: a row is given up, or the columns that it lacks."""
    ones = np.asarray(table, dtype=bool)
    cutters = [(row, frozenset(np.flatnonzero(~ones[row]))) for row in range(len(ones))]
    cutters = [(row, lacks) for row, lacks in cutters if lacks]
    found: set[BiSet] = set()

    def cut(rows: frozenset, columns: frozenset, place: int, given_up: list) -> None:
        while place < len(cutters):
            row, lacks = cutters[place]
            if row in rows and lacks & columns:
                break
            place += 1
        else:
            found.add((tuple(sorted(rows)), tuple(sorted(columns))))
            return
        cut(rows - {row}, columns, place + 1, [*given_up, lacks])
        if all(other & (columns - lacks) for other in given_up):
            cut(rows, columns - lacks, place + 1, given_up)

    cut(frozenset(range(len(ones))), frozenset(range(ones.shape[1])), 0, [])
    return found


def as_set(concepts: Any) -> set[BiSet]:
    listed = [(tuple(rows.tolist()), tuple(columns.tolist())) for rows, columns in concepts]
    assert len(set(listed)) == len(listed)
    return set(listed)


def non_trivial(concepts: set[BiSet], min_rows: int = 1, min_columns: int = 1) -> set[BiSet]:
    return {one for one in concepts if len(one[0]) >= min_rows and len(one[1]) >= min_columns}


def blocks(sizes: tuple[int, ...] = (5, 7, 4), widths: tuple[int, ...] = (4, 3, 6)) -> Any:
    """A block-diagonal table with the clusters of its rows and columns."""
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.repeat(np.arange(len(widths)), widths)
    return (rows[:, None] == columns).astype(int), rows, columns
