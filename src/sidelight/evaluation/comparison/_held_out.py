r"""Scores of partitions on held-out statements, their differences and standard errors.

Statements are scored as pairs of rows: a must-link, a cannot-link, the rows of a group, and for a
held-out label its row with every other labeled row. With the hits :math:`h_p \in \{0, 1\}` of the
pairs and their weights :math:`w_p`, the share that a partition keeps of the pairs of one kind, and
its score, are

.. math:: p_{kind} = \frac{\sum_{p \in kind} w_p h_p}{\sum_{p \in kind} w_p},
          \qquad s = \tfrac12 (p_{ML} + p_{CL})

(the other share alone where there are no pairs of one kind). Clusters that are drawn at random have
:math:`s = 1/2` whatever their number. The standard error counts pairs that share a row as dependent
(Aronow, Samii and Assenova, *Political Analysis* 23, 2015): with the contributions
:math:`r_p = \tfrac12 w_p (h_p - p_{kind}) / W_{kind}` to :math:`s`,

.. math:: \operatorname{SE}^2 = \max\Big(\sum_i \big(\sum_{p \ni i} r_p\big)^2 - \sum_p r_p^2,\;
          \sum_p r_p^2\Big) + \tfrac14 \sum_{kind} \frac{1}{2 n_{kind}^2}

where the last term, one pseudo-statement per kind that is half kept, keeps the error above zero
where every pair was kept. The same formula with :math:`h_p - h'_p` in place of :math:`h_p` is that
of the difference between two partitions on the same pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.evaluation._constraints import own_cluster_for_unknown
from sidelight.evaluation._contingency import encode_labels

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

BoolArray = npt.NDArray[np.bool_]
Split = tuple["Constraints", "Constraints"]

#: Most rows that one fold takes from the held-out labels, from the others, and from one group to
#: list their pairs; of more, a random sample.
MAX_LABELS = 300
MAX_MEMBERS = 30

#: Variance of the pseudo-statement per kind that keeps a standard error above zero.
PSEUDO_VARIANCE = 0.5


@dataclass(frozen=True)
class Estimate:
    """A figure with its standard error; NaN where nothing could be measured."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


@dataclass(frozen=True)
class HeldOut:
    """Pairs of rows that were held out, and the fold in which each is scored.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2)
        Positions of the rows.
    together : ndarray of shape (m,)
        Whether the rows belong together, or apart.
    weight : ndarray of shape (m,)
        Confidence in each.
    fold : ndarray of shape (m,)
        Number of the split that holds it out.
    n_statements : int
        Number of statements that the pairs stand for.
    """

    pairs: IntArray
    together: BoolArray
    weight: FloatArray
    fold: IntArray
    n_statements: int

    def __len__(self) -> int:
        return len(self.pairs)

    def hits(self, labels: Sequence[Any]) -> FloatArray:
        """Whether partitions satisfy each pair, 0 or 1: a partition for each fold, or for all."""
        kept = np.empty(len(self))
        for fold, found in enumerate(labels):
            clusters = own_cluster_for_unknown(encode_labels(found))
            scored = slice(None) if len(labels) == 1 else self.fold == fold
            first, second = self.pairs[scored].T
            kept[scored] = (clusters[first] == clusters[second]) == self.together[scored]
        return kept

    def share(self, hits: FloatArray, together: bool) -> float:
        """Share that is kept of the pairs of one kind; NaN if there are none."""
        chosen = self.together == together
        return (
            float(np.average(hits[chosen], weights=self.weight[chosen])) if chosen.any() else np.nan
        )

    def score(self, hits: FloatArray) -> Estimate:
        """Mean of the two shares, with its standard error."""
        return self._balanced_mean(hits)

    def difference(self, hits: FloatArray, others: FloatArray) -> Estimate:
        """Score of a partition minus that of another on the same pairs."""
        return self._balanced_mean(hits - others)

    def _balanced_mean(self, values: FloatArray) -> Estimate:
        kinds = [self.together == kind for kind in (True, False)]
        kinds = [chosen for chosen in kinds if chosen.any()]
        if not kinds:
            return Estimate(np.nan, np.nan)
        total, smoothing = 0.0, 0.0
        residual = np.empty(len(self))
        for chosen in kinds:
            weight = self.weight[chosen]
            mean = float((weight * values[chosen]).sum() / weight.sum())
            total += mean / len(kinds)
            residual[chosen] = weight * (values[chosen] - mean) / (weight.sum() * len(kinds))
            smoothing += PSEUDO_VARIANCE / (len(kinds) * self._n_apart(chosen)) ** 2
        return Estimate(total, float(np.sqrt(self._variance(residual) + smoothing)))

    def _n_apart(self, chosen: BoolArray) -> float:
        """Number of pairs, but no more than there are if each has rows of its own."""
        return max(min(chosen.sum(), len(np.unique(self.pairs[chosen])) / 2), 1.0)

    def _variance(self, residual: FloatArray) -> float:
        """Variance of a sum over pairs, of which those that share a row depend on each other."""
        rows, ends = np.unique(self.pairs, return_inverse=True)
        ends = ends.reshape(-1, 2)
        low, high = ends.min(axis=1), ends.max(axis=1)
        # A pair of labels is scored in the folds of both of its rows: it counts as one dyad.
        dyad = np.unique(low * len(rows) + high, return_inverse=True)[1]
        by_dyad = np.bincount(dyad, weights=residual)
        by_row = np.bincount(low, residual, len(rows)) + np.bincount(high, residual, len(rows))
        alone = float(by_dyad @ by_dyad)
        return max(float(by_row @ by_row) - alone, alone)


def held_out_pairs(
    known: Constraints, splits: Sequence[Split], rng: np.random.RandomState
) -> HeldOut:
    """List the pairs that every split holds out."""
    parts = [
        _pairs_of_fold(known, train, held, fold, rng) for fold, (train, held) in enumerate(splits)
    ]
    pairs, together, weight, fold = (
        [np.concatenate(column) for column in zip(*parts, strict=True)]
        if parts
        else [np.empty((0, 2), np.int64), np.empty(0, bool), np.empty(0), np.empty(0, np.int64)]
    )
    return HeldOut(pairs, together, weight, fold, n_statements(known))


def n_statements(known: Constraints) -> int:
    """Number of pairs, labels and groups."""
    groups = 0 if known.groups is None else len(np.unique(known.groups[known.groups >= 0]))
    return known.n_pairs + known.counts["labels"] + groups


def _pairs_of_fold(
    known: Constraints,
    train: Constraints,
    held: Constraints,
    fold: int,
    rng: np.random.RandomState,
) -> tuple[IntArray, BoolArray, FloatArray, IntArray]:
    listed = [
        (held.must_link, True, held.must_link_weight),
        (held.cannot_link, False, held.cannot_link_weight),
    ]
    for pairs, together in (*_in_groups(held, rng), *_by_labels(known, train, held, rng)):
        listed.append((pairs, together, np.ones(len(pairs))))
    return (
        np.concatenate([pairs.reshape(-1, 2) for pairs, _, _ in listed]),
        np.concatenate([np.full(len(pairs), together) for pairs, together, _ in listed]),
        np.concatenate([weight for _, _, weight in listed]),
        np.concatenate([np.full(len(pairs), fold) for pairs, _, _ in listed]),
    )


def _in_groups(held: Constraints, rng: np.random.RandomState) -> list[tuple[IntArray, bool]]:
    """Pairs inside the groups that are held out."""
    if held.groups is None:
        return []
    members = np.argsort(held.groups, kind="stable")
    sizes = np.bincount(held.groups + 1)  # -1, for no group, comes first
    parts = np.split(members, np.cumsum(sizes)[:-1])[1:]
    pairs = [_all_pairs(_some(rows, MAX_MEMBERS, rng)) for rows in parts if len(rows) > 1]
    return [(np.concatenate(pairs), True)] if pairs else []


def _by_labels(
    known: Constraints, train: Constraints, held: Constraints, rng: np.random.RandomState
) -> list[tuple[IntArray, bool]]:
    """Pairs of the labels that are held out, with each other and with those that were used."""
    if known.labels is None or held.labels is None:
        return []
    rows = _some(np.flatnonzero(held.labels >= 0), MAX_LABELS, rng)
    used = rows[:0] if train.labels is None else np.flatnonzero(train.labels >= 0)
    used = _some(used, MAX_LABELS, rng)
    across = np.column_stack([np.repeat(rows, len(used)), np.tile(used, len(rows))])
    pairs = np.concatenate([_all_pairs(rows), across])
    same = known.labels[pairs[:, 0]] == known.labels[pairs[:, 1]]
    return [(pairs[same], True), (pairs[~same], False)]


def _all_pairs(rows: IntArray) -> IntArray:
    first, second = np.triu_indices(len(rows), 1)
    return np.column_stack([rows[first], rows[second]])


def _some(rows: IntArray, most: int, rng: np.random.RandomState) -> IntArray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
