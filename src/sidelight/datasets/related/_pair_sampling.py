"""Pairs of objects inside and across the blocks of a partition, drawn without listing them all.

Objects are in the order of their blocks. Object ``p`` then forms a pair inside its block with each
object from ``p + 1`` to the end of the block, and a pair across with each one from there on: pairs
of a kind are numbered by ``p``, and a number is turned into its pair by one binary search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidelight._typing import IntArray
from sidelight.exceptions import SidelightError

#: Largest number of pairs that a generator makes: 24 bytes each, and several times that while they
#: are sorted.
MAX_PAIRS = 200_000_000


class PairRange(NamedTuple):
    """Pairs ``(p, q)`` with ``q`` from ``first[p]``, numbered by ``p``; ``before`` counts them."""

    first: IntArray
    before: IntArray

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.before[-1])

    def pairs(self, numbers: IntArray) -> IntArray:
        """Pairs with these numbers, as an (m, 2) array."""
        p = np.searchsorted(self.before, numbers, side="right") - 1
        return np.column_stack([p, self.first[p] + numbers - self.before[p]])


def pairs_of_blocks(sizes: IntArray) -> tuple[PairRange, PairRange]:
    """Pairs inside and pairs across consecutive blocks of these sizes."""
    n = int(sizes.sum())
    end = np.repeat(np.cumsum(sizes), sizes)
    after = np.arange(1, n + 1)
    inside, across = end - after, n - end
    return (
        PairRange(after, np.concatenate([[0], np.cumsum(inside)])),
        PairRange(end, np.concatenate([[0], np.cumsum(across)])),
    )


def check_affordable(n_edges: float) -> None:
    """Raise before a graph is made that takes more memory than most machines have."""
    if n_edges > MAX_PAIRS:
        raise SidelightError(
            f"This graph has about {n_edges:,.0f} edges, more than the {MAX_PAIRS:,} that are "
            "made: ask for fewer objects, a smaller degree or smaller probabilities."
        )


def draw_numbers(n_all: int, n_drawn: int, rng: np.random.RandomState) -> IntArray:
    """Different whole numbers below ``n_all``, ascending; every set is as likely as any other."""
    if n_drawn == n_all:
        return np.arange(n_all)
    if 3 * n_drawn > n_all:
        kept = np.zeros(n_all, bool)
        kept[rng.permutation(n_all)[:n_drawn]] = True
        return np.flatnonzero(kept)
    # Drawn with repetitions, until there are enough different ones; then some are left out.
    numbers = np.empty(0, np.int64)
    while len(numbers) < n_drawn:
        n_more = int(1.02 * (n_drawn - len(numbers))) + 16
        numbers = np.concatenate([numbers, rng.randint(n_all, size=n_more)])
        numbers.sort()
        numbers = numbers[np.flatnonzero(np.diff(numbers, prepend=-1))]
    left_out = rng.permutation(len(numbers))[: len(numbers) - n_drawn]
    return np.delete(numbers, left_out)
