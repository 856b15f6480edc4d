"""How near a clustering is to splits that were known before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import KnownSplits
from sidelight.evaluation._contingency import contingency
from sidelight.evaluation._information import (
    adjusted_mutual_information,
    entropy,
    normalized_information,
    variation_of_information,
)
from sidelight.exceptions import SidelightError


class SplitSimilarity(NamedTuple):
    """How near a clustering is to one known split.

    Attributes
    ----------
    name : str
        Name of the known split.
    variation_of_information : float
        What the two leave unsaid about each other, in nats: 0 where they are the same, ``largest``
        where they are independent. NaN for a column of numbers.
    largest : float
        The sum of both entropies, ``H(C) + H(Z)``. NaN for a column of numbers.
    nmi : float
        Mutual information over the mean of both entropies, from 0 to 1. NaN for numbers.
    nmi_reference : float
        Mutual information over the entropy of the known split: the share of the known split that
        the clusters tell. For a column of numbers, the share of its variance that the clusters
        explain.
    ami : float
        Mutual information beyond chance, from 0 on average for unrelated clusterings to 1. NaN for
        numbers.
    """

    name: str
    variation_of_information: float
    largest: float
    nmi: float
    nmi_reference: float
    ami: float


def similarity_to_splits(labels: Any, known: KnownSplits) -> list[SplitSimilarity]:
    """Compare a clustering with every known split.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of every row; -1 is a cluster like the others.
    known : KnownSplits
        Splits of the same rows, in the same order.

    Returns
    -------
    list of SplitSimilarity
        In the order of the known splits.

    Examples
    --------
    >>> from sidelight import KnownSplits
    >>> from sidelight.evaluation import similarity_to_splits
    >>> known = KnownSplits({"country": ["it", "it", "no", "no"], "size": [1, 2, 1, 2]})
    >>> for one in similarity_to_splits([0, 0, 1, 1], known):
    ...     print(one.name, round(one.variation_of_information, 3), one.nmi)
    country 0.0 1.0
    size 1.386 0.0
    """
    clusters = np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1)
    if len(clusters) != known.n_samples:
        raise SidelightError(
            f"The labels are about {len(clusters)} rows and the known splits about "
            f"{known.n_samples}."
        )
    found = []
    for column in known.columns():
        if column.classes is None:
            share = _explained(column.values, clusters)
            found.append(SplitSimilarity(column.name, np.nan, np.nan, np.nan, share, np.nan))
            continue
        table = contingency(column.values, clusters)
        found.append(
            SplitSimilarity(
                column.name,
                variation_of_information.of_table(table),
                entropy(table.row_total) + entropy(table.column_total),
                normalized_information(table, "arithmetic"),
                normalized_information(table, "reference"),
                adjusted_mutual_information.of_table(table),
            )
        )
    return found


def _explained(values: FloatArray, clusters: IntArray) -> float:
    """Share of the variance of numbers that the means of the clusters explain."""
    sizes = np.bincount(clusters)
    offsets = values - values.mean()
    total = float(offsets @ offsets)
    means = np.bincount(clusters, offsets) / sizes
    return float(sizes @ means**2) / total if total > 0 else 0.0
