"""Numbers of clusters that follow the rows."""

from __future__ import annotations

import numpy as np

from sidelight._typing import IntArray


def clusters_along(labels: IntArray, place: IntArray, n_clusters: int) -> IntArray:
    """Clusters by the mean place of their rows, those without rows last."""
    members = labels >= 0
    size = np.bincount(labels[members], minlength=n_clusters)
    total = np.bincount(labels[members], place[members], minlength=n_clusters)
    mean = np.where(size > 0, total / np.maximum(size, 1), np.inf)
    return np.argsort(mean, kind="stable")


def renumbered(labels: IntArray, order: IntArray) -> IntArray:
    """Labels with the clusters numbered in this order; -1 stays."""
    return np.append(np.argsort(order), -1)[labels].astype(np.int32)
