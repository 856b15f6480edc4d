"""What a further centre would gain, and where Lloyd's algorithm goes from it."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.lloyd import squared_distance

#: Squared distances are rounded, in float32 at 1e-7: no row may be left out for that.
SLACK = 1 + 1e-5


@kernel
def nearest_and_closest(rows, centers, labels, closest):  # type: ignore[no-untyped-def]
    """Write the nearest centre of every row, the first of equals, and its squared distance."""
    for i in range(rows.shape[0]):
        best = np.inf
        label = 0
        for h in range(centers.shape[0]):
            squared = squared_distance(rows[i], centers[h])
            if squared < best:
                best = squared
                label = h
        labels[i] = label
        closest[i] = best


@kernel
def insertion_gains(gaps, lengths, weights, starts, centers, sizes, candidates, settled, gains):  # type: ignore[no-untyped-def]
    """Write what every candidate alone, as a further centre, gains into ``gains``.

    A row ``x = μ + u`` of the cluster of centre ``μ`` gains by a candidate ``p = μ + v``::

        max(‖u‖² - ‖u - v‖², 0)  =  2 max(u·v - ‖v‖²/2, 0)

    Rows come as ``gaps`` ``u`` of ``lengths`` ``‖u‖`` by cluster (those of cluster ``h`` from
    ``starts[h]`` on), the longest first: only those with ``‖u‖ > ‖v‖/2`` can gain, so the first
    that is too short for all candidates ends the walk through its cluster. Products are made for
    all candidates at once, innermost, which the compiler turns into vectors.

    With ``settled``, the gain is that after all centres, means of clusters of weight ``sizes``,
    have moved once. With ``A_h`` the rows that leave cluster ``h``, this adds::

        ‖Σ_A w (x - p)‖² / Σ_A w  +  Σ_h ‖Σ_{A_h} w u‖² / (W_h - Σ_{A_h} w)
    """
    m, d = candidates.shape
    aways = np.empty((d, m), dtype=candidates.dtype)
    half = np.empty(m, dtype=candidates.dtype)
    inner = np.empty(m, dtype=candidates.dtype)
    leaving, n_leaving = np.zeros((m, d)), np.zeros(m)
    coming, n_coming = np.zeros((m, d)), np.zeros(m)
    gains[:] = 0.0
    for h in range(centers.shape[0]):
        shortest = np.inf
        for c in range(m):
            norm = candidates[c, 0] - candidates[c, 0]
            for j in range(d):
                away = candidates[c, j] - centers[h, j]
                aways[j, c] = away
                norm += away * away
            half[c] = norm / 2
            shortest = min(shortest, np.sqrt(norm) / 2)
        for i in range(starts[h], starts[h + 1]):
            if lengths[i] * SLACK <= shortest:
                break
            for c in range(m):
                inner[c] = -half[c]
            for j in range(d):
                gap = gaps[i, j]
                for c in range(m):
                    inner[c] += gap * aways[j, c]
            w = 2 * weights[i]
            for c in range(m):
                gains[c] += w * max(inner[c], 0)
            if settled:
                for c in range(m):
                    if inner[c] > 0:
                        n_leaving[c] += weights[i]
                        for j in range(d):
                            leaving[c, j] += weights[i] * gaps[i, j]
        if settled:
            for c in range(m):
                if n_leaving[c] > 0:
                    if sizes[h] > n_leaving[c] * SLACK:
                        gains[c] += np.sum(leaving[c] ** 2) / (sizes[h] - n_leaving[c])
                    for j in range(d):
                        coming[c, j] += leaving[c, j] - n_leaving[c] * aways[j, c]
                    n_coming[c] += n_leaving[c]
            leaving[:] = 0.0
            n_leaving[:] = 0.0
    if settled:
        for c in range(m):
            if n_coming[c] > 0:
                gains[c] += np.sum(coming[c] ** 2) / n_coming[c]


@kernel
def descend(rows, weights, centers, max_iter, largest_move, gaps, sizes, labels):  # type: ignore[no-untyped-def]
    """Run Lloyd's algorithm on ``centers``, in place; return the error and the iterations.

    It ends when no label changes, or when the squared move of the centres is at most
    ``largest_move``. An empty cluster keeps its centre. ``gaps``, ``sizes`` and ``labels`` are
    scratch space.
    """
    n, d = rows.shape
    k = centers.shape[0]
    labels[:] = -1
    moving = True
    n_iter = 0
    while True:
        error = 0.0
        n_changed = 0
        gaps[:] = 0.0
        sizes[:] = 0.0
        for i in range(n):
            best = np.inf
            label = 0
            for h in range(k):
                squared = squared_distance(rows[i], centers[h])
                if squared < best:
                    best = squared
                    label = h
            w = weights[i]
            error += w * best
            n_changed += label != labels[i]
            labels[i] = label
            sizes[label] += w
            for j in range(d):
                gaps[label, j] += w * (rows[i, j] - centers[label, j])
        if not moving:
            return error, n_iter
        n_iter += 1
        if n_changed == 0:
            return error, n_iter
        move = 0.0
        for h in range(k):
            if sizes[h] > 0:
                for j in range(d):
                    gap = gaps[h, j] / sizes[h]
                    centers[h, j] += gap
                    move += gap * gap
        moving = n_iter < max_iter and move > largest_move
