"""Scores from information theory, in nats."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.special import gammaln

from sidelight._kernels.evaluation.chance import expected_information
from sidelight._typing import IntArray
from sidelight.constraints.inner import check_one_index
from sidelight.evaluation._contingency import (
    Contingency,
    contingency,
    encode_labels,
    partition_score,
)
from sidelight.exceptions import SidelightError

Normalization = Literal["arithmetic", "geometric", "min", "max", "joint", "reference"]
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)


def entropy(sizes: IntArray) -> float:
    """Entropy of a partition into groups of these sizes."""
    share = sizes / sizes.sum()
    return max(0.0, float(-np.sum(share * np.log(share))))


@partition_score
def mutual_information(table: Contingency) -> float:
    r"""Mutual information of two labelings, in nats.

    .. math:: I(U; V) = \sum_{ij} \frac{n_{ij}}{n} \log \frac{n\, n_{ij}}{n_{i\cdot}\, n_{\cdot j}}

    Examples
    --------
    >>> from sidelight.evaluation import mutual_information
    >>> round(mutual_information([0, 0, 1, 1], ["x", "x", "y", "y"]), 4)  # log 2
    0.6931
    """
    independent = (
        table.row_total[table.row].astype(np.float64) * table.column_total[table.column] / table.n
    )
    terms = table.count / table.n * np.log(table.count / independent)
    return max(0.0, float(np.sum(terms)))


def conditional_mutual_information(labels_true: Any, labels_pred: Any, known: Any) -> float:
    r"""Mutual information of two labelings within the classes of a third, in nats.

    .. math:: I(U; V \mid W) = \sum_{ijk} \frac{n_{ijk}}{n}
        \log \frac{n_{ijk}\, n_{\cdot\cdot k}}{n_{i \cdot k}\, n_{\cdot j k}}

    What clusters say about the classes beside a split that is known already. It equals
    :math:`I(U; V, W) - I(U; W)`, and can be larger or smaller than :math:`I(U; V)`. Constrained
    Clustering, section 11.2.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters, of any type.
    known : array-like of shape (n,)
        The known split. Rows where one of the three is unknown (-1, NaN, None, "") are left out.

    Examples
    --------
    >>> from sidelight.evaluation import conditional_mutual_information
    >>> conditional_mutual_information([0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1])  # known already
    0.0
    >>> round(conditional_mutual_information([0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]), 4)  # log 2
    0.6931
    """
    columns = []
    for name, labels in zip(
        ("labels_true", "labels_pred", "known"), (labels_true, labels_pred, known), strict=True
    ):
        check_one_index(labels, labels_true, name, "labels_true")
        columns.append(encode_labels(labels, name))
        if len(columns[-1]) != len(columns[0]):
            raise SidelightError(
                f"labels_true has {len(columns[0])} rows and {name} has {len(columns[-1])}; all "
                "must be about the same rows."
            )
    codes = np.column_stack(columns)
    codes = codes[np.all(codes >= 0, axis=1)]
    if len(codes) == 0:
        raise SidelightError(
            "No row has a known class, a known cluster and a class of the known split, so there is "
            "nothing to score."
        )
    cells, count = np.unique(codes, axis=0, return_counts=True)
    true_and_known, pred_and_known, of_known = (
        _totals_by(cells[:, names], count) for names in ([0, 2], [1, 2], [2])
    )
    ratio = count / true_and_known * (of_known / pred_and_known)
    return max(0.0, float(np.sum(count / len(codes) * np.log(ratio))))


def _totals_by(groups: IntArray, count: IntArray) -> IntArray:
    """Number of rows of the group of every cell."""
    group = np.unique(groups, axis=0, return_inverse=True)[1].reshape(-1)
    return np.bincount(group, count).astype(np.int64)[group]


def normalized_mutual_information(
    labels_true: Any, labels_pred: Any, normalization: Normalization = "arithmetic"
) -> float:
    r"""Mutual information on a scale from 0 (independent) to 1.

    =============== ============================ ==============================================
    normalization   :math:`I(U; V)` divided by   where
    =============== ============================ ==============================================
    ``arithmetic``  :math:`(H(U) + H(V)) / 2`    Law, equation 5.35; scikit-learn's default
    ``geometric``   :math:`\sqrt{H(U) H(V)}`     Strehl and Ghosh; Constrained Clustering, 8.2.2
    ``min``         :math:`\min(H(U), H(V))`     1 as soon as one refines the other
    ``max``         :math:`\max(H(U), H(V))`     :math:`1 - \mathrm{NMI}` is a metric
    ``joint``       :math:`H(U, V)`              1 minus it is a metric too
    ``reference``   :math:`H(U)`                 of the classes; Constrained Clustering, 11.2
    =============== ============================ ==============================================

    ``reference`` is not symmetric: the share of what there is to know about the classes that the
    clusters say, 1 also for clusters that refine the classes. It is the one to compare with figures
    of chapter 11.

    Two labelings that do not split the rows at all agree: 1. If only one of them splits the
    rows they share no information: 0.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters, of any type. Rows where either is unknown (-1, NaN, None, "") are
        left out.
    normalization : str, default="arithmetic"
        One of the table above.

    Examples
    --------
    >>> from sidelight.evaluation import normalized_mutual_information
    >>> classes, clusters = [0, 0, 1, 1], [0, 0, 1, 2]
    >>> round(normalized_mutual_information(classes, clusters), 3)
    0.8
    >>> round(normalized_mutual_information(classes, clusters, "reference"), 3)
    1.0
    """
    return normalized_information(contingency(labels_true, labels_pred), normalization)


def normalized_information(table: Contingency, normalization: Normalization) -> float:
    """Normalized mutual information of a contingency table."""
    if normalization not in NORMALIZATIONS:
        raise SidelightError(
            f"normalization must be one of {', '.join(NORMALIZATIONS)}, got {normalization!r}."
        )
    of_classes, of_clusters = entropy(table.row_total), entropy(table.column_total)
    shared = mutual_information.of_table(table)
    if of_classes == 0.0 and of_clusters == 0.0:
        return 1.0
    if of_classes == 0.0 or of_clusters == 0.0:
        return 0.0
    scale = {
        "arithmetic": (of_classes + of_clusters) / 2,
        "geometric": float(np.sqrt(of_classes * of_clusters)),
        "min": min(of_classes, of_clusters),
        "max": max(of_classes, of_clusters),
        "joint": of_classes + of_clusters - shared,
        "reference": of_classes,
    }[normalization]
    return min(1.0, shared / scale)


@partition_score
def adjusted_mutual_information(table: Contingency) -> float:
    r"""Mutual information beyond chance: 0 on average for random labelings, 1 for the same ones.

    .. math:: \mathrm{AMI}(U, V) = \frac{I(U; V) - E[I]}{(H(U) + H(V)) / 2 - E[I]}

    where :math:`E[I]` is the mean over all pairs of labelings with classes and clusters of these
    sizes (Vinh, Epps and Bailey 2010). The normalized mutual information of unrelated labelings
    grows with the number of clusters; this one does not, and can be negative. It takes time that
    grows with the sum of the smaller sizes over all pairs of a class and a cluster of different
    sizes. Where all rows are labeled it is scikit-learn's ``adjusted_mutual_info_score``.

    Examples
    --------
    >>> from sidelight.evaluation import adjusted_mutual_information
    >>> adjusted_mutual_information([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    >>> round(adjusted_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]), 2)  # less than by chance
    -0.5
    """
    sizes = table.row_total, table.column_total
    if len(table.count) == len(sizes[0]) == len(sizes[1]):
        return 1.0  # every class is a cluster
    if min(len(one) for one in sizes) == 1:
        return 0.0  # a labeling that does not split the rows tells nothing
    different, other = (np.unique(one, return_counts=True) for one in sizes)
    by_chance = expected_information(*different, *other, gammaln(np.arange(table.n + 1) + 1.0))
    scale = sum(entropy(one) for one in sizes) / 2 - by_chance
    beyond = mutual_information.of_table(table) - by_chance
    # All rows by themselves in one labeling: chance leaves nothing to tell.
    return beyond / scale if abs(scale) > 1e-12 else 0.0


@partition_score
def variation_of_information(table: Contingency) -> float:
    r"""Sum of the conditional entropies of two labelings given each other, in nats.

    .. math:: \mathrm{VI}(U, V) = H(U \mid V) + H(V \mid U) = H(U) + H(V) - 2 I(U; V)

    A metric on partitions: 0 exactly when they are the same, at most :math:`\log n`, largest
    (:math:`H(U) + H(V)`) when they are independent. Constrained Clustering, section 11.2.

    Examples
    --------
    >>> from sidelight.evaluation import variation_of_information
    >>> variation_of_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    0.0
    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)  # 2 log 2
    1.3863
    """
    # As a sum of conditional entropies every term is >= 0: no cancellation near equality.
    share_of_class = table.count / table.row_total[table.row]
    share_of_cluster = table.count / table.column_total[table.column]
    terms = table.count / table.n * (np.log(share_of_class) + np.log(share_of_cluster))
    return max(0.0, float(-np.sum(terms)))
