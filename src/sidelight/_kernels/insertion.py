"""What a further centre would gain, and where Lloyd's algorithm goes from it."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.lloyd import squared_distance

#: Squared distances are rounded, in float32 at 1e-7: no row may be left out for that.
SLACK = 1 + 1e-5


@kernel
def insertion_gains(rows, weights, closest, starts, centers, candidates, gains):  # type: ignore[no-untyped-def]
    """Write ``b_c = Σ_i w_i max(closest_i - ‖p_c - x_i‖², 0)`` of every candidate into ``gains``.

    ``closest`` are the squared distances of the rows to the nearest of the ``centers``. Rows come
    by cluster (those of cluster ``h`` from ``starts[h]`` on), the farthest from its centre first:
    a row at distance ``r`` from its centre ``μ`` can only gain where ``‖p - μ‖ < 2 r``, so the
    first that cannot ends the walk through its cluster.
    """
    for c in range(candidates.shape[0]):
        gain = 0.0
        for h in range(centers.shape[0]):
            away = squared_distance(candidates[c], centers[h]) / 4
            for i in range(starts[h], starts[h + 1]):
                if closest[i] * SLACK <= away:
                    break
                left = closest[i] - squared_distance(candidates[c], rows[i])
                if left > 0:
                    gain += weights[i] * left
        gains[c] = gain


@kernel
def settled_gains(  # type: ignore[no-untyped-def]
    rows, weights, closest, starts, centers, sizes, candidates, coming, leaving, gains
):
    """Write the drop of the error after insertion *and* one move of all centres into ``gains``.

    With ``A`` the rows that are closer to the candidate ``p``, and ``A_h`` those of them that
    leave cluster ``h`` of weight ``W_h`` and mean ``μ_h``, the move adds to ``b_c``::

        ‖Σ_A w (x - p)‖² / Σ_A w  +  Σ_h ‖Σ_{A_h} w (x - μ_h)‖² / (W_h - Σ_{A_h} w)

    ``coming`` and ``leaving`` are scratch space of one row each.
    """
    d = rows.shape[1]
    for c in range(candidates.shape[0]):
        gain = 0.0
        n_coming = 0.0
        coming[:] = 0.0
        for h in range(centers.shape[0]):
            n_leaving = 0.0
            leaving[:] = 0.0
            away = squared_distance(candidates[c], centers[h]) / 4
            for i in range(starts[h], starts[h + 1]):
                if closest[i] * SLACK <= away:
                    break
                left = closest[i] - squared_distance(candidates[c], rows[i])
                if left > 0:
                    gain += weights[i] * left
                    n_leaving += weights[i]
                    for j in range(d):
                        coming[j] += weights[i] * (rows[i, j] - candidates[c, j])
                        leaving[j] += weights[i] * (rows[i, j] - centers[h, j])
            n_coming += n_leaving
            if sizes[h] > n_leaving * SLACK:
                gain += np.sum(leaving * leaving) / (sizes[h] - n_leaving)
        if n_coming > 0:
            gain += np.sum(coming * coming) / n_coming
        gains[c] = gain


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
