"""How good every cut of a dendrogram is, over pairs of rows."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array


class DendrogramScores(NamedTuple):
    """Precision, recall and F1 over pairs for each number of clusters."""

    n_clusters: Array
    precision: Array
    recall: Array
    f1: Array


def dendrogram_scores(labels_true: Any, merges: Any) -> DendrogramScores:
    """Precision and recall over pairs at every cut of a dendrogram: the curve of both.

    With ``S`` the pairs of rows in one cluster and ``T`` those of one class, the precision is
    ``|S ∩ T| / |S|`` (1 where ``S`` is empty) and the recall ``|S ∩ T| / |T|`` (Book 2009, section
    15.9). A merge of clusters of ``a`` and ``b`` rows, ``a_c`` and ``b_c`` of class ``c``, adds
    ``ab`` pairs to ``S``, and ``Σ a_c b_c`` of them are right.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        The class of every row.
    merges : array of shape (n_samples - 1, 4)
        Merges as :func:`scipy.cluster.hierarchy.linkage` gives them; the first two columns count.

    Returns
    -------
    scores : DendrogramScores
        Named tuple ``(n_clusters, precision, recall, f1)`` of arrays of length ``n_samples``, from
        ``n_samples`` clusters down to one.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sidelight.evaluation import dendrogram_scores
    >>> scores = dendrogram_scores([0, 0, 1, 1], linkage([[0.0], [1.0], [3.0], [5.0]], "single"))
    >>> scores.recall.tolist()
    [0.0, 0.5, 0.5, 1.0]
    >>> scores.n_clusters[scores.f1.argmax()].item()
    3
    """
    codes = np.unique(np.asarray(labels_true), return_inverse=True)[1]
    n = len(codes)
    steps = np.asarray(merges)
    if n < 1 or steps.ndim != 2 or len(steps) != n - 1 or (n > 1 and steps.shape[1] < 2):
        raise ValueError(
            f"merges must have one row less than there are labels, {n}, and the two clusters of "
            f"each merge in front, got shape {steps.shape}."
        )
    together, right = np.zeros(n), np.zeros(n)
    counts = {row: Counter([code]) for row, code in enumerate(codes.tolist())}
    for step, (a, b) in enumerate(steps[:, :2].astype(np.int64).tolist()):
        if a == b or a not in counts or b not in counts:
            raise ValueError(
                f"merge {step} joins clusters {a} and {b}, which are not two clusters there are."
            )
        small, large = sorted((counts.pop(a), counts.pop(b)), key=len)
        together[step + 1] = small.total() * large.total()
        right[step + 1] = sum(count * large[code] for code, count in small.items())
        large.update(small)
        counts[n + step] = large
    together, right = np.cumsum(together), np.cumsum(right)
    sizes = np.bincount(codes).astype(np.float64)
    truly = float(np.sum(sizes * (sizes - 1) / 2))
    precision = np.divide(right, together, out=np.ones(n), where=together > 0)
    recall = np.divide(right, truly, out=np.ones(n), where=np.full(n, truly > 0))
    f1 = np.divide(2 * right, together + truly, out=np.ones(n), where=together + truly > 0)
    return DendrogramScores(np.arange(n, 0, -1), precision, recall, f1)
