"""Distances of pairs of rows, before and after an estimator maps them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from sidelight._typing import Array
from sidelight.constraints import known_pairs
from sidelight.pictures._run import Given

#: Most pairs of each kind that are measured.
MAX_PAIRS = 4_000
_RANDOM_PAIRS = 2_000  # whose mean distance is a typical one


@dataclass(frozen=True)
class Distances:
    """How far apart pairs are, in typical distances between rows: before and after."""

    before: Array
    after: Array

    @property
    def medians(self) -> str:
        """Both medians, for a table."""
        return f"{np.median(self.before):.2f} → {np.median(self.after):.2f}"


@dataclass(frozen=True)
class PairDistances:
    """Pairs that belong together and pairs that do not."""

    together: Distances
    apart: Distances

    def order(self, when: str) -> float | None:
        """How often a pair that belongs together is closer than one that does not."""
        together, apart = getattr(self.together, when), getattr(self.apart, when)
        if not len(together) or not len(apart):
            return None
        is_apart = np.repeat([0, 1], [len(together), len(apart)])
        return float(roc_auc_score(is_apart, np.concatenate([together, apart])))


def order_in_words(known: PairDistances) -> str:
    """How often pairs are in the right order; empty where pairs of one kind are missing."""
    before, after = known.order("before"), known.order("after")
    if before is None or after is None:
        return ""
    return f"pairs in the right order {before:.0%} before, {after:.0%} after"


@dataclass(frozen=True)
class Mapped:
    """What the estimator was given, and what it makes of it."""

    given: Given

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        """Known pairs, together and apart, of very many some of each kind."""
        known = known_pairs(self.given.constraints)
        return some_of(known.together, MAX_PAIRS), some_of(known.apart, MAX_PAIRS)

    def image(self, rows: Array) -> Any:
        """Return the rows as the estimator maps them."""
        return self.given.estimator.transform(self.given.rows.take(rows))

    @cached_property
    def typical(self) -> tuple[float, float]:
        """Mean distance of random rows, before and after; 1 where all rows are the same."""
        rng = np.random.default_rng(0)
        pairs = rng.integers(self.given.n_rows, size=(_RANDOM_PAIRS, 2))
        before, after = self._measure(pairs[pairs[:, 0] != pairs[:, 1]])
        return _mean_or_one(before), _mean_or_one(after)

    def distances(self, pairs: Array) -> Distances:
        """Return the distances of pairs, before and after."""
        before, after = self._measure(pairs)
        return Distances(before / self.typical[0], after / self.typical[1])

    def _measure(self, pairs: Array) -> tuple[Array, Array]:
        if not len(pairs):
            return np.zeros(0), np.zeros(0)
        rows, places = np.unique(pairs, return_inverse=True)
        places = places.reshape(pairs.shape)
        return pair_lengths(self.given.rows.take(rows), places), self._after(rows, places)

    def _after(self, rows: Array, places: Array) -> Array:
        """Distances of pairs of rows, by their places among these, as the estimator maps them."""
        return pair_lengths(self.image(rows), places)


def known_distances(mapped: Mapped) -> PairDistances:
    """Distances of the known pairs of both kinds."""
    return PairDistances(*(mapped.distances(pairs) for pairs in mapped.pairs))


def some_of(pairs: Array, most: int) -> Array:
    """At most ``most`` of the pairs, evenly spread over them."""
    if len(pairs) <= most:
        return pairs
    return pairs[np.linspace(0, len(pairs) - 1, most).astype(np.int64)]


def pair_lengths(rows: Any, pairs: Array) -> Array:
    """Distances of pairs of rows, by their places among these."""
    offsets = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    if sparse.issparse(offsets):
        return np.sqrt(np.asarray(offsets.multiply(offsets).sum(axis=1), dtype=np.float64).ravel())
    return np.linalg.norm(np.asarray(offsets, dtype=np.float64), axis=1)


def _mean_or_one(values: Array) -> float:
    return (float(values.mean()) if len(values) else 0.0) or 1.0
