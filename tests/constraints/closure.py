"""Closure of statements by brute force, and statements that a clustering satisfies."""

from __future__ import annotations

import itertools

import numpy as np
from tests.strategies import Stated

from sidelight import Constraints


def linked(s: Stated) -> np.ndarray:
    """Which rows one statement says are together."""
    together = np.zeros((s.n, s.n), bool)
    for i, j in s.must_link:
        together[i, j] = together[j, i] = True
    for codes in (s.labels, s.groups):
        if codes is not None:
            code = np.array(codes)
            together |= (code[:, None] == code[None, :]) & (code >= 0)
    return together


def separated(s: Stated) -> np.ndarray:
    """Which rows one statement says are apart."""
    apart = np.zeros((s.n, s.n), bool)
    for i, j in s.cannot_link:
        apart[i, j] = apart[j, i] = True
    if s.labels is not None:
        code = np.array(s.labels)
        known = code >= 0
        apart |= (code[:, None] != code[None, :]) & known & known[:, None]
    return apart


def together_by_powers(s: Stated) -> np.ndarray:
    """Transitive closure of the links by powers of the boolean matrix."""
    reach = linked(s) | np.eye(s.n, dtype=bool)
    for _ in range(s.n):
        reach = reach @ reach
    return reach


def apart_by_powers(s: Stated) -> np.ndarray:
    """Entailed cannot-links: apart, seen through everything that belongs to either row."""
    reach = together_by_powers(s)
    return reach @ separated(s) @ reach


def is_consistent(s: Stated) -> bool:
    return not (together_by_powers(s) & separated(s)).any()


def distances(s: Stated) -> np.ndarray:
    """Number of links of the shortest chain between every two rows (Floyd and Warshall)."""
    d = np.where(linked(s), 1.0, np.inf)
    np.fill_diagonal(d, 0)
    for k in range(s.n):
        d = np.minimum(d, d[:, [k]] + d[[k], :])
    return d


def pair_set(matrix: np.ndarray) -> set[tuple[int, int]]:
    rows, columns = np.nonzero(np.triu(matrix, k=1))
    return set(zip(rows.tolist(), columns.tolist(), strict=True))


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.tolist()))


def random_knowledge(rng: np.random.Generator, n: int, k: int, m: int) -> Constraints:
    """Pairs that some random clustering into k satisfies."""
    y = rng.integers(0, k, size=n)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    chosen = pairs[rng.permutation(len(pairs))[:m]]
    same = y[chosen[:, 0]] == y[chosen[:, 1]]
    return Constraints(chosen[same], chosen[~same], n_samples=n)
