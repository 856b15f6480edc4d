"""Labels that are held out, by which probabilities are calibrated."""

from __future__ import annotations

import numpy as np

from sidelight._typing import IntArray

#: Parts of the labels, each of which is held out once.
FOLDS = 5


def held_out_labels(labels: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Labels without those of a part of the rows, and these rows; every class keeps a label.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    """
    labeled = np.flatnonzero(labels >= 0)
    labeled = labeled[np.argsort(labels[labeled], kind="stable")]
    counts = np.bincount(labels[labeled])
    n_folds = min(FOLDS, len(labeled))
    fold = np.where(counts[labels[labeled]] > 1, np.arange(len(labeled)) % n_folds, -1)
    found = []
    for number in range(n_folds):
        held_out = np.sort(labeled[fold == number])
        if len(held_out):
            fewer = labels.copy()
            fewer[held_out] = -1
            found.append((fewer, held_out))
    return found
