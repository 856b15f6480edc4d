"""Conditions as the loops see them: signatures of rows, and what clusters need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.constraints import Conditions


@dataclass(frozen=True, eq=False)
class Requirements:
    """Requirements on clusters, by condition.

    Attributes
    ----------
    signature : ndarray of int32, shape (n,)
        Number of the set of conditions that a row counts for; 0 for none. The others are pivots.
    has : ndarray of bool, shape (n_signatures, n_conditions)
        Conditions of every signature.
    need : ndarray of int64, shape (n_conditions, k)
        Least number of pivots of every condition in every cluster.
    """

    signature: Array
    has: Array
    need: IntArray

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.need.shape[1]

    def members(self, rows: Array) -> Array:
        """Return for which conditions rows count."""
        return self.has[self.signature[rows]]

    def counts(self, labels: Array) -> IntArray:
        """Count the rows of every condition in every cluster."""
        k, n_signatures = self.n_clusters, len(self.has)
        codes = self.signature.astype(np.int64) * k + labels
        by_signature = np.bincount(codes, minlength=n_signatures * k).reshape(n_signatures, k)
        return self.has.T.astype(np.int64) @ by_signature

    def are_met(self, labels: Array) -> bool:
        """Whether every cluster has what it needs."""
        return bool(np.all(self.counts(labels) >= self.need))


def requirements_of(conditions: Conditions, n_clusters: int) -> Requirements:
    """Number the combinations of conditions that need any rows at all."""
    least = conditions.least_in(n_clusters)
    needed = np.flatnonzero(least.any(axis=1))
    members = conditions.members[:, needed]
    none = np.zeros((1, len(needed)), dtype=bool)
    packed = np.packbits(np.vstack([none, members]), axis=1)
    codes, signature = np.unique(packed, axis=0, return_inverse=True)
    has = np.unpackbits(codes, axis=1, count=len(needed)).astype(bool)
    # The empty set sorts first.
    return Requirements(signature.ravel()[1:].astype(np.int32), has, least[needed])
