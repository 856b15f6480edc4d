"""Edges in canonical form: positions i < j, sorted, each once, with one finite score."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.exceptions import SidelightError

#: What becomes of a pair that is scored several times.
Duplicates = Literal["refuse", "mean", "sum", "max", "min"]

#: Scores of one pair that differ by less than this share of their size are equal.
ROUNDING = 1e-9


class Edges(NamedTuple):
    """Edges by position, their scores, and what was merged or dropped."""

    pairs: IntArray
    scores: FloatArray
    notes: tuple[str, ...] = ()


def canonical_edges(
    pairs: IntArray, scores: Any, n_samples: int, ids: Array | None, duplicates: str
) -> Edges:
    """Sort the edges, merge repeated ones and drop positive loops.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2)
        Positions in any order.
    scores : array-like of shape (m,), float or None
        Scores; 1 where there are none.
    n_samples : int
        Number of objects.
    ids : ndarray or None
        Names of the objects, for messages.
    duplicates : {"refuse", "mean", "sum", "max", "min"}
        What becomes of pairs with several different scores.
    """
    if duplicates not in get_args(Duplicates):
        raise SidelightError(
            f"duplicates must be one of {', '.join(get_args(Duplicates))}, got {duplicates!r}."
        )
    pairs = pairs.astype(np.int64, copy=False)
    values = as_scores(scores, pairs, ids)
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    notes = []
    loops = low == high
    if loops.any():
        _check_no_negative_loops(low[loops], values[loops], ids)
        notes.append(
            f"{counted(int(loops.sum()), 'edge')} of an object with itself dropped: it always "
            "agrees."
        )
        low, high, values = low[~loops], high[~loops], values[~loops]
    if _ascends(low, high):
        return Edges(np.column_stack([low, high]), values, tuple(notes))
    unique = _sorted_unique(low, high, values, n_samples)
    if unique is not None:
        return unique._replace(notes=tuple(notes))
    key = low * n_samples + high
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if len(first) < len(key):
        n_repeated = len(key) - len(first)
        values, how = _merged(key, values, first, n_samples, ids, duplicates)
        key = key[first]
        notes.append(f"{counted(n_repeated, 'repeated edge')} merged ({how}).")
    return Edges(np.column_stack(np.divmod(key, n_samples)), values, tuple(notes))


def _ascends(low: IntArray, high: IntArray) -> bool:
    """Whether the edges are in lexicographic order, each once."""
    ties = low[1:] == low[:-1]
    return bool(np.all((low[1:] > low[:-1]) | (ties & (high[1:] > high[:-1]))))


def _sorted_unique(
    low: IntArray, high: IntArray, values: FloatArray, n_samples: int
) -> Edges | None:
    """Edges in lexicographic order, or None where one is repeated.

    A sparse matrix sorts its entries by counting, several times as fast as comparing keys; with
    few edges among many objects the counts themselves would cost more.
    """
    if n_samples > 4 * len(low):
        return None
    kind = np.int32 if max(n_samples, len(low)) < 2**31 else np.int64
    matrix = sparse.csr_array(
        (values, (low.astype(kind), high.astype(kind))), shape=(n_samples, n_samples)
    )
    if matrix.nnz < len(low):
        return None
    pairs = np.empty((len(low), 2), np.int64)
    pairs[:, 0] = np.repeat(np.arange(n_samples), np.diff(matrix.indptr))
    pairs[:, 1] = matrix.indices
    return Edges(pairs, matrix.data)


def as_scores(scores: Any, pairs: IntArray, ids: Array | None) -> FloatArray:
    """One finite score per edge."""
    if scores is None:
        return np.ones(len(pairs))
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SidelightError(f"scores must be numbers, one per edge: {error}.") from error
    if values.ndim == 0:
        values = np.full(len(pairs), float(values))
    if values.shape != (len(pairs),):
        raise SidelightError(
            f"scores must hold one number per edge, shape ({len(pairs)},), got {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        named = " - ".join(canonical.name_rows(pairs[bad[0]], ids))
        raise SidelightError(
            f"The score of {named} is {values[bad[0]]}; {len(bad)} of {len(values)} scores are not "
            "finite. Leave such pairs out; what must or must not join is a must-link or "
            "cannot-link of the constraints."
        )
    return values


def _check_no_negative_loops(loops: IntArray, scores: FloatArray, ids: Array | None) -> None:
    negative = np.flatnonzero(scores < 0)
    if len(negative):
        (name,) = canonical.name_rows(loops[negative[:1]], ids)
        raise SidelightError(
            f"The edge {name} - {name} has the score {scores[negative[0]]:g}: an object cannot be "
            "apart from itself; remove it."
        )


def _merged(
    key: IntArray,
    values: FloatArray,
    first: IntArray,
    n_samples: int,
    ids: Array | None,
    duplicates: str,
) -> tuple[FloatArray, str]:
    """Scores of repeated edges, and how they were merged."""
    highest, lowest = np.maximum.reduceat(values, first), np.minimum.reduceat(values, first)
    if duplicates == "sum":
        return np.add.reduceat(values, first), "scores added"
    if duplicates == "max":
        return highest, "highest score kept"
    if duplicates == "min":
        return lowest, "lowest score kept"
    if duplicates == "mean":
        counts = np.diff(np.append(first, len(key)))
        return np.add.reduceat(values, first) / counts, "scores averaged"
    size = np.maximum(np.abs(highest), np.abs(lowest))
    differ = np.flatnonzero(highest - lowest > ROUNDING * size)
    if len(differ):
        pair = np.divmod(key[first[differ[0]]], n_samples)
        named = " - ".join(canonical.name_rows(np.array(pair), ids))
        raise SidelightError(
            f"The pair {named} has the scores {lowest[differ[0]]:g} and {highest[differ[0]]:g}, "
            f"and {counted(len(differ), 'pair')} in all {'has' if len(differ) == 1 else 'have'} "
            'several: make the scores symmetric, or say duplicates="mean", "sum", "max" or "min".'
        )
    return highest, "they had the same score"
