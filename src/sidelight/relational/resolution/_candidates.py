"""Candidate pairs: references that may be the same, with the similarity of their attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.resolution._blocking import BlockingReport


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs of references that blocking keeps.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2), int64
        Positions ``i < j``, sorted, each once.
    similarity : ndarray of shape (m,), float64
        Similarity of the attributes in [0, 1]: the weighted mean of the parts that are there.
    parts : ndarray of shape (m, n_columns), float64
        Similarity by column, NaN where one of the two has no value.
    columns : tuple of str
        Names of the columns.
    blocking : BlockingReport
        How the pairs were found.
    """

    pairs: IntArray
    similarity: FloatArray
    parts: FloatArray
    columns: tuple[str, ...]
    blocking: BlockingReport

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, pairs: Array, n: int) -> IntArray:
        """Place of every pair ``i < j`` among the candidates, -1 for pairs that are none.

        Parameters
        ----------
        pairs : ndarray of shape (p, 2)
            Pairs to look up.
        n : int
            Number of references.
        """
        key = self.pairs[:, 0] * n + self.pairs[:, 1]
        wanted = pairs[:, 0] * n + pairs[:, 1]
        place = np.searchsorted(key, wanted)
        inside = place < len(key)
        inside[inside] = key[place[inside]] == wanted[inside]
        return np.where(inside, place, -1)
