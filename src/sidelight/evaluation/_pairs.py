"""Scores that count pairs of rows: together or apart in the classes and in the clusters.

All counts come from the contingency table and are exact whole numbers, so that ten million rows
(5 * 10**13 pairs) are scored without rounding and without ever listing a pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sidelight._typing import IntArray
from sidelight.evaluation._contingency import Contingency, partition_score


class PairwiseScores(NamedTuple):
    """Precision, recall and F1 over pairs of rows."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class PairCounts:
    """The four kinds of pairs of rows.

    Attributes
    ----------
    together, split, joined, apart : int
        Pairs of one class in one cluster; of one class in two clusters; of two classes in one
        cluster; of two classes in two clusters.
    """

    together: int
    split: int
    joined: int
    apart: int

    @property
    def total(self) -> int:
        """All pairs of rows."""
        return self.together + self.split + self.joined + self.apart


def pairs_within(sizes: IntArray) -> int:
    """Number of pairs inside groups of these sizes, as an exact whole number."""
    # 64 bits hold n * (n - 1) for n up to 3 * 10**9 rows, more than labels fit in memory.
    return int(np.sum(sizes * (sizes - 1) // 2))


def count_pairs(table: Contingency) -> PairCounts:
    """Count the pairs of each kind."""
    together = pairs_within(table.count)
    same_class = pairs_within(table.row_total)
    same_cluster = pairs_within(table.column_total)
    total = table.n * (table.n - 1) // 2
    return PairCounts(
        together=together,
        split=same_class - together,
        joined=same_cluster - together,
        apart=total - same_class - same_cluster + together,
    )


@partition_score
def pairwise_precision_recall_f1(table: Contingency) -> PairwiseScores:
    r"""Precision, recall and F1 of the statement "these two rows belong together".

    .. math:: P = \frac{|\text{same class and same cluster}|}{|\text{same cluster}|},\quad
              R = \frac{|\text{same class and same cluster}|}{|\text{same class}|},\quad
              F_1 = \frac{2 P R}{P + R}

    over all pairs of rows (Constrained Clustering, chapter 3, :math:`f_{1/2}`). A ratio over no
    pair at all is 1: nothing that was claimed is wrong. The result is a named tuple.

    Examples
    --------
    >>> from sidelight.evaluation import pairwise_precision_recall_f1
    >>> scores = pairwise_precision_recall_f1([0, 0, 0, 1, 1], ["a", "a", "b", "b", "b"])
    >>> scores.precision, scores.recall, scores.f1
    (0.5, 0.5, 0.5)
    """
    pairs = count_pairs(table)
    return PairwiseScores(
        precision=_ratio(pairs.together, pairs.together + pairs.joined),
        recall=_ratio(pairs.together, pairs.together + pairs.split),
        f1=_ratio(2 * pairs.together, 2 * pairs.together + pairs.split + pairs.joined),
    )


@partition_score
def pairwise_f1(table: Contingency) -> float:
    """F1 over pairs of rows; see :func:`pairwise_precision_recall_f1`.

    Examples
    --------
    >>> from sidelight.evaluation import pairwise_f1
    >>> pairwise_f1([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return pairwise_precision_recall_f1.of_table(table).f1


@partition_score
def rand_index(table: Contingency) -> float:
    r"""Share of the pairs of rows on which classes and clusters agree.

    .. math:: \mathrm{Rand} = \frac{|\text{together in both}| + |\text{apart in both}|}
              {n (n - 1) / 2}

    Constrained Clustering, section 6.4.1. With fewer than two rows there is nothing to disagree
    about and the value is 1.

    Examples
    --------
    >>> from sidelight.evaluation import rand_index
    >>> rand_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.8333333333333334
    """
    pairs = count_pairs(table)
    return _ratio(pairs.together + pairs.apart, pairs.total)


@partition_score
def adjusted_rand_index(table: Contingency) -> float:
    r"""Rand index corrected for chance (Hubert and Arabie): 0 on average for random labels.

    .. math:: \mathrm{ARI} = \frac{2 (ad - bc)}{(a + b)(b + d) + (a + c)(c + d)}

    with ``a`` pairs together in both, ``b`` and ``c`` together in one, ``d`` apart in both.

    Examples
    --------
    >>> from sidelight.evaluation import adjusted_rand_index
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    pairs = count_pairs(table)
    a, b, c, d = pairs.together, pairs.split, pairs.joined, pairs.apart
    if b == 0 and c == 0:
        return 1.0
    return _ratio(2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d))


def _ratio(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else 1.0
