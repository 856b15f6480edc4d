"""Balls of a pseudometric around nodes, one after the other: clusters from fractional distances."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def grow_regions(
    indptr: Array,
    indices: Array,
    scores: Array,
    nodes: Array,
    place: Array,
    x: Array,
    forbidden: Array,
    order: Array,
    c: float,
    labels: Array,
    balls: Array,
) -> int:
    """Cut balls of small cut and large volume out of the graph of positive scores.

    Parameters
    ----------
    indptr, indices, scores : ndarray
        Symmetric scores of the whole graph in CSR form.
    nodes : ndarray of shape (k,)
        Nodes that are clustered.
    place : ndarray of shape (n,)
        Row of every node in ``x``, -1 for nodes that are not clustered.
    x : ndarray of shape (k, k)
        Distances.
    forbidden : ndarray of shape (k, k), bool
        Pairs that must not join; of shape (0, 0) if there are none.
    order : ndarray of shape (k,)
        Rows of ``x``: centers are the first of those that remain.
    c : float
        Radii are at most ``1/c``.
    labels : ndarray of shape (k,)
        Written: row of the center of every node.
    balls : ndarray of shape (k, 4)
        Written for every ball: row of its center, radius, cut, and volume at the end of the
        interval of radii that have this ball.

    Returns
    -------
    n_balls : int
        Number of balls.
    """
    k = len(nodes)
    # ``F = Σ_{u<v} Wp_uv x_uv``; every ball starts with the volume ``F / n`` (Book 2009, 13.3.1).
    total = 0.0  # F
    weight = 0.0
    for i in range(k):
        for entry in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            j = place[indices[entry]]
            if j > i and scores[entry] > 0:
                total += scores[entry] * x[i, j]
                weight += scores[entry]
    factor = c * np.log(k + 1.0)
    slack = 1e-9 * weight
    labels[:] = -1
    inside = np.zeros(k, np.bool_)
    n_balls = 0
    # Steps 1 and 2: the next center among the nodes that remain, with radius 0.
    for u in order:
        if labels[u] >= 0:
            continue
        rest = np.flatnonzero(labels < 0)
        rest = rest[np.argsort(x[u, rest], kind="mergesort")]
        # The center comes first, also where other nodes are at distance 0.
        for t in range(len(rest)):
            if rest[t] == u:
                rest[1 : t + 1] = rest[:t].copy()
                rest[0] = u
                break
        # ``vol(r) = volume + r cut - moment``; these are constant between two distances.
        cut, volume, moment = 0.0, total / k, 0.0
        radius, t = 0.0, 0
        while True:
            radius = x[u, rest[t]]
            while t < len(rest) and x[u, rest[t]] <= radius + 1e-12:
                v = rest[t]
                t += 1
                if _clashes(forbidden, inside, rest[: t - 1], v):
                    continue
                inside[v] = True
                # Edges of v into the ball now are inside of it, its other edges cross.
                for entry in range(indptr[nodes[v]], indptr[nodes[v] + 1]):
                    w = place[indices[entry]]
                    if w < 0 or labels[w] >= 0 or scores[entry] <= 0:
                        continue
                    if inside[w]:
                        cut -= scores[entry]
                        moment -= scores[entry] * x[u, w]
                        volume += scores[entry] * x[v, w]
                    else:
                        cut += scores[entry]
                        moment += scores[entry] * x[u, v]
            # Step 3, corrected: the volume is that just before the next distance, or at 1/c. Tested
            # at the distances alone, as printed, the radius could pass 1/c.
            following = x[u, rest[t]] if t < len(rest) else np.inf
            reach = max(radius, min(following, 1.0 / c))
            reached = volume + reach * cut - moment
            if cut <= factor * reached + slack or following > 1.0 / c:
                break
        # Steps 4 to 6: the ball is a cluster, and its nodes leave the graph.
        balls[n_balls, 0] = u
        balls[n_balls, 1] = radius
        balls[n_balls, 2] = cut
        balls[n_balls, 3] = reached
        n_balls += 1
        for v in rest[:t]:
            if inside[v]:
                labels[v] = u
                inside[v] = False
    return n_balls


@kernel
def _clashes(forbidden: Array, inside: Array, candidates: Array, v: int) -> bool:
    """Whether ``v`` must not join one of the candidates that are inside."""
    clash = False
    if len(forbidden) > 0:
        for w in candidates:
            clash |= inside[w] and forbidden[v, w]
    return clash


@kernel
def random_pivots(x: Array, forbidden: Array, order: Array, seed: int, labels: Array) -> None:
    """Join every remaining node to the pivot with the probability ``1 - x``.

    Nodes are asked by rising distance where some of them must not join.

    Parameters
    ----------
    x : ndarray of shape (k, k)
        Distances.
    forbidden : ndarray of shape (k, k), bool
        Pairs that must not join; of shape (0, 0) if there are none.
    order : ndarray of shape (k,)
        Pivots are the first of those that remain.
    seed : int
        Of the draws.
    labels : ndarray of shape (k,)
        Written: pivot of every node.
    """
    labels[:] = -1
    inside = np.zeros(len(x), np.bool_)
    state = np.uint64(seed)
    for u in order:
        if labels[u] >= 0:
            continue
        labels[u] = u
        inside[u] = True
        rest = np.flatnonzero(labels < 0)
        if len(forbidden) > 0:
            rest = rest[np.argsort(x[u, rest], kind="mergesort")]
        for t in range(len(rest)):
            v = rest[t]
            # SplitMix64: one number for every question, whatever was answered before.
            state += np.uint64(0x9E3779B97F4A7C15)
            mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
            draw = np.float64(mixed >> np.uint64(11)) * 2.0**-53
            if draw >= 1.0 - x[u, v]:
                continue
            if len(forbidden) > 0 and (forbidden[u, v] or _clashes(forbidden, inside, rest[:t], v)):
                continue
            labels[v] = u
            inside[v] = True
        inside[u] = False
        inside[rest] = False


@kernel
def half_balls(x: Array, forbidden: Array, order: Array, limit: float, labels: Array) -> None:
    """Clusters of the nodes within one half of a center, if they are near to it in the mean.

    Parameters
    ----------
    x : ndarray of shape (k, k)
        Distances.
    forbidden : ndarray of shape (k, k), bool
        Pairs that must not join; of shape (0, 0) if there are none.
    order : ndarray of shape (k,)
        Centers are the first of those that remain.
    limit : float
        A ball whose mean distance from its center is larger is given up: the center is alone.
    labels : ndarray of shape (k,)
        Written: center of every node.
    """
    labels[:] = -1
    inside = np.zeros(len(x), np.bool_)
    for u in order:
        if labels[u] >= 0:
            continue
        labels[u] = u
        inside[u] = True
        rest = np.flatnonzero((labels < 0) & (x[u] <= 0.5))
        if len(forbidden) > 0:
            rest = rest[np.argsort(x[u, rest], kind="mergesort")]
        total, size = 0.0, 0
        for t in range(len(rest)):
            v = rest[t]
            if len(forbidden) > 0 and (forbidden[u, v] or _clashes(forbidden, inside, rest[:t], v)):
                continue
            inside[v] = True
            total += x[u, v]
            size += 1
        joins = size > 0 and total <= limit * size
        for v in rest:
            if inside[v] and joins:
                labels[v] = u
            inside[v] = False
        inside[u] = False
