"""The closed-form step of non-parametric mixtures: one profile from its quadratic equations."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: The share of a profile off a row never falls below this.
MIN_ROOM = 1e-12
#: More than enough: the steps are Newton's, and halve the bracket where these leave it.
MAX_STEPS = 200


@kernel
def solve_profile(pull: Array, counts: Array, curvature: float, profile: Array) -> float:
    """Write the ``q`` with ``Σ q_i = 1`` and ``a q_i² - (pull_i + θ) q_i - counts_i = 0``.

    ``Σ q_i`` rises with the multiplier ``θ`` and is near ``Σ counts / -θ`` where the curvature
    hardly matters, so Newton's steps are taken on its reciprocal, which is nearly straight.

    Parameters
    ----------
    pull, counts : ndarray of shape (n,)
        Not negative.
    curvature : float
        ``a > 0``.
    profile : ndarray of shape (n,)
        Where ``q`` is written.

    Returns
    -------
    float
        ``θ``.
    """
    n = len(pull)
    total_counts = 0.0
    low, high = np.inf, -np.inf
    for i in range(n):
        # At this θ row i has q_i = 1 / n exactly.
        even = curvature / n - n * counts[i] - pull[i]
        low = min(low, even)
        high = max(high, even)
        total_counts += counts[i]
    theta = min(max(-total_counts, low), high)
    total = 0.0
    for _ in range(MAX_STEPS):
        total, slope = 0.0, 0.0
        for i in range(n):
            b = pull[i] + theta
            root = np.sqrt(b * b + 4.0 * curvature * counts[i])
            if b > 0.0:
                q = (b + root) / (2.0 * curvature)
            elif counts[i] > 0.0:  # the same without cancellation
                q = 2.0 * counts[i] / (root - b)
            else:
                q = 0.0
            profile[i] = q
            total += q
            if q > 0.0:
                slope += q / root
        if total > 1.0:
            high = theta
        else:
            low = theta
        if abs(total - 1.0) < 1e-14:
            break
        following = theta - (total - 1.0) * total / slope if slope > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == theta or not low < following < high:
            break
        theta = following
    for i in range(n):
        profile[i] /= total
    return theta


@kernel
def solve_profiles(profiles: Array, pulled: Array, labels: Array, curvature: float) -> Array:
    """Return the profiles that maximize the bound of the leave-one-out likelihood.

    Parameters
    ----------
    profiles, pulled : ndarray of shape (n, s, k)
        Present profiles of ``s`` starts, and ``Kᵀ`` times the weights of the rows.
    labels : ndarray of shape (n, s)
        Component of every row in every start.
    curvature : float
        ``2 λ``.
    """
    n, n_starts, k = profiles.shape
    out = np.empty_like(profiles)
    pull, counts, profile = np.empty(n), np.empty(n), np.empty(n)
    for start in range(n_starts):
        for component in range(k):
            for i in range(n):
                present = profiles[i, start, component]
                counts[i] = present * pulled[i, start, component]
                pull[i] = 0.0
                if labels[i, start] == component:
                    pull[i] = 1.0 / max(1.0 - present, MIN_ROOM)
            solve_profile(pull, counts, curvature, profile)
            out[:, start, component] = profile
    return out
