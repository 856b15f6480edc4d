"""Shares of the classes among all rows, as few labels let guess them."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array, IntArray

#: Labels of every class that are added to those counted: a handful of labels says little about
#: shares, and classes that are about equal are the better guess.
PRIOR_LABELS = 10


def guess_shares(labels: IntArray, n_classes: int) -> Array:
    """Shares of the classes: those of the labels, ten more of each class added.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    n_classes : int
        Number of classes.
    """
    counts = np.bincount(labels[labels >= 0], minlength=n_classes) + PRIOR_LABELS
    return np.asarray(counts / counts.sum())
