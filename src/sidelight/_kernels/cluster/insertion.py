"""Gains of a further center, and Lloyd's algorithm from it."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.lloyd import squared_distance
from sidelight._typing import Array

#: Squared distances are rounded, in float32 at 1e-7: no row may be left out for that.
SLACK = 1 + 1e-5


@kernel
def nearest_and_closest(rows: Array, centers: Array, labels: Array, closest: Array) -> None:
    """Write the nearest center of every row, the first of equals, and its squared distance."""
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
def insertion_gains(
    offsets: Array,
    lengths: Array,
    weights: Array,
    starts: Array,
    centers: Array,
    sizes: Array,
    candidates: Array,
    settled: bool,
    gains: Array,
) -> None:
    """Write what every candidate alone, as a further center, gains into ``gains``.

    A row ``x = μ + u`` of the cluster of center ``μ`` gains by a candidate ``p = μ + v``::

        max(‖u‖² - ‖u - v‖², 0)  =  2 max(u·v - ‖v‖²/2, 0)

    Rows come as ``offsets`` ``u`` of ``lengths`` ``‖u‖`` by cluster (those of cluster ``h`` from
    ``starts[h]`` on), the longest first: only those with ``‖u‖ > ‖v‖/2`` can gain, so the first
    that is too short for all candidates ends the walk through its cluster. Products are made for
    all candidates at once, innermost, which the compiler turns into vectors.

    With ``settled``, the gain is that after all centers, means of clusters of weight ``sizes``,
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
    # Candidates relative to the center of the cluster: ``v``, ``‖v‖²/2``, the least ``‖v‖/2``.
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
        # Rows, longest first, until one is too short to gain by any candidate.
        for i in range(starts[h], starts[h + 1]):
            if lengths[i] * SLACK <= shortest:
                break
            for c in range(m):
                inner[c] = -half[c]
            for j in range(d):
                offset = offsets[i, j]
                for c in range(m):
                    inner[c] += offset * aways[j, c]
            w = 2 * weights[i]
            for c in range(m):
                gains[c] += w * max(inner[c], 0)
            if settled:
                for c in range(m):
                    if inner[c] > 0:
                        n_leaving[c] += weights[i]
                        for j in range(d):
                            leaving[c, j] += weights[i] * offsets[i, j]
        # Gain by the move of the old center, from which rows have left.
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
    # Gain by the move of the new center to the mean of its rows.
    if settled:
        for c in range(m):
            if n_coming[c] > 0:
                gains[c] += np.sum(coming[c] ** 2) / n_coming[c]


@kernel
def descend(
    rows: Array,
    weights: Array,
    centers: Array,
    max_iter: int,
    largest_move: float,
    offsets: Array,
    sizes: Array,
    labels: Array,
) -> tuple[float, int]:
    """Run Lloyd's algorithm on ``centers``, in place; return the error and the iterations.

    It ends when no label changes, or when the squared move of the centers is at most
    ``largest_move``. An empty cluster keeps its center. ``offsets``, ``sizes`` and ``labels`` are
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
        offsets[:] = 0.0
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
                offsets[label, j] += w * (rows[i, j] - centers[label, j])
        if not moving:
            return error, n_iter
        n_iter += 1
        if n_changed == 0:
            return error, n_iter
        move = 0.0
        for h in range(k):
            if sizes[h] > 0:
                for j in range(d):
                    offset = offsets[h, j] / sizes[h]
                    centers[h, j] += offset
                    move += offset * offset
        moving = n_iter < max_iter and move > largest_move


@kernel
def to_means(rows: Array, weights: Array, labels: Array, centers: Array, sizes: Array) -> None:
    """Put every center (float64) at the mean of its rows and add up ``sizes``; empty ones stay."""
    n, d = rows.shape
    offsets = np.zeros(centers.shape)
    sizes[:] = 0.0
    for i in range(n):
        h, w = labels[i], np.float64(weights[i])
        sizes[h] += w
        for j in range(d):
            offsets[h, j] += w * (rows[i, j] - centers[h, j])
    for h in range(centers.shape[0]):
        if sizes[h] > 0:
            for j in range(d):
                centers[h, j] += offsets[h, j] / sizes[h]


@kernel
def _leave(row: Array, w: float, center: Array, size: float) -> float:
    """Take a row out of the mean of its cluster; return the weight that is left."""
    left = size - w
    if left <= w * (SLACK - 1):
        return 0.0  # what seems to be left is rounding
    for j in range(row.shape[0]):
        center[j] -= w / left * (row[j] - center[j])
    return left


@kernel
def _join(row: Array, w: float, center: Array, size: float) -> float:
    """Add a row to the mean of a cluster; return the new weight."""
    if w > 0:
        for j in range(row.shape[0]):
            center[j] += w / (size + w) * (row[j] - center[j])
    return size + w


@kernel
def exchange(
    rows: Array,
    weights: Array,
    centers: Array,
    sizes: Array,
    labels: Array,
    changed: Array,
    max_passes: int,
) -> None:
    """Move single rows to other clusters as long as that lowers the error (Hartigan 1975).

    A row of weight ``w`` that leaves a cluster of weight ``A`` for one of weight ``B`` changes the
    error, means moved along, by::

        B/(B + w) ‖x - μ_b‖²  -  A/(A - w) ‖x - μ_a‖²

    When no such move helps, every row is at its nearest center as well: an end of Lloyd's
    algorithm, of which many are no end here. ``changed`` marks clusters that are not as they were
    when no move between them helped: between two that have not changed since a row was looked at
    nothing is new to it (as of Hartigan and Wong 1979). Centers are the means, and everything is
    changed in place. At most ``max_passes`` times through the rows.
    """
    n = rows.shape[0]
    k = centers.shape[0]
    last = np.full(k, -n - 1)  # the step at which a cluster changed
    for h in range(k):
        if changed[h]:
            last[h] = -1
    latest = -1
    for step in range(max_passes * n):
        since = step - n
        if latest < since:
            break
        i = step % n
        a, w = labels[i], np.float64(weights[i])
        if w == 0 or sizes[a] <= w * SLACK:
            continue
        own_new = last[a] >= since
        best = -1.0
        b = a
        for h in range(k):
            if h != a and (own_new or last[h] >= since):
                if best < 0:  # less than a billionth less is rounding
                    best = squared_distance(rows[i], centers[a]) * sizes[a] / (sizes[a] - w)
                    best *= 1 - 1e-9
                there = squared_distance(rows[i], centers[h]) * sizes[h] / (sizes[h] + w)
                if there < best:
                    best = there
                    b = h
        if b != a:
            labels[i] = b
            sizes[a] = _leave(rows[i], w, centers[a], sizes[a])
            sizes[b] = _join(rows[i], w, centers[b], sizes[b])
            last[a] = last[b] = latest = step


@kernel
def run_trials(
    rows: Array,
    weights: Array,
    labels: Array,
    closest: Array,
    means: Array,
    sizes: Array,
    leaving: Array,
    places: Array,
    max_passes: int,
    ends: Array,
    errors: Array,
) -> None:
    """Write where ends, and with which error, what starts with a new center at each of ``places``.

    The present clusters have ``labels``, ``means`` and ``sizes``, and squared distances ``closest``
    of the rows to their centers. A trial begins with the rows that are closer to the new center; if
    ``leaving`` names a cluster (it is -1 if not), that one's rows look for others, and its number
    is the new one's. The rest is :func:`exchange`.
    """
    n, d = rows.shape
    k = ends.shape[1]
    for t in range(places.shape[0]):
        # Start: the present means and the new center, in place of the one that leaves, if any.
        centers, mass, own = ends[t], np.zeros(k), labels.copy()
        out = leaving[t]
        new = k - 1 if out < 0 else out
        for h in range(sizes.shape[0]):
            mass[h] = sizes[h]
            for j in range(d):
                centers[h, j] = means[h, j]
        changed = np.zeros(k, dtype=np.bool_)
        changed[new] = True
        if out >= 0:
            mass[new] = 0.0
        for j in range(d):
            centers[new, j] = places[t, j]
        place = centers[new].copy()
        # Rows of the cluster that leaves go to the nearest center, others if the new one is nearer.
        for i in range(n):
            a, b, w = labels[i], new, np.float64(weights[i])
            best = squared_distance(rows[i], place)
            if a == out:
                for h in range(k):
                    if h != out:
                        there = squared_distance(rows[i], centers[h])
                        if there < best:
                            best = there
                            b = h
            elif best < closest[i]:
                mass[a] = _leave(rows[i], w, centers[a], mass[a])
                changed[a] = True
            else:
                continue
            own[i] = b
            mass[b] = _join(rows[i], w, centers[b], mass[b])
            changed[b] = True
        # Single moves until none helps, then the error about the exact means.
        exchange(rows, weights, centers, mass, own, changed, max_passes)
        to_means(rows, weights, own, centers, mass)
        errors[t] = 0.0
        for i in range(n):
            errors[t] += weights[i] * squared_distance(rows[i], centers[own[i]])


@kernel
def removal_losses(rows: Array, weights: Array, centers: Array, losses: Array) -> None:
    """Write how much the error would rise without each center, its rows at their next nearest."""
    losses[:] = 0.0
    for i in range(rows.shape[0]):
        best = second = np.inf
        label = 0
        for h in range(centers.shape[0]):
            squared = squared_distance(rows[i], centers[h])
            if squared < best:
                second = best
                best = squared
                label = h
            elif squared < second:
                second = squared
        losses[label] += weights[i] * (second - best)
