"""Components that hold no rows, or the same rows as another: find them and use them elsewhere.

With must-links alone, a mixture whose components all coincide violates nothing: a strong local
optimum. The source replaces a nearly empty component by splitting another one (Law 2006, 5.7.4);
here a component that coincides with another counts as lost, too.
"""

from __future__ import annotations

import numpy as np

from sidelight._fit.lowest import is_lower
from sidelight._typing import Array
from sidelight.mixture.discriminative._objective import Objective

#: A component with less than this share of an average one is nearly empty (5.7.4).
EMPTY = 4e-3

#: Components closer than this, in standard deviations, coincide.
COINCIDENT = 1e-2


def recover_lost(objective: Objective, theta: Array) -> Array | None:
    """Return parameters in which a lost component halves another; None when none is lost.

    The largest component is split first; the first split that raises the objective is taken, else
    the one that lowers it least.
    """
    lost = find_lost(objective, theta)
    if lost is None:
        return None
    component, theta = lost
    before = objective.value_and_gradient(theta)[0]
    shares = objective.shares(theta)
    best: tuple[float, Array] | None = None
    for parent in np.argsort(-shares, kind="stable"):
        if parent == component:
            continue
        halved = split_component(objective, theta, component, int(parent))
        value = objective.value_and_gradient(halved)[0]
        if best is None or is_lower(value, best[0]):
            best = value, halved
        if is_lower(value, before):
            break
    return None if best is None else best[1]


def find_lost(objective: Objective, theta: Array) -> tuple[int, Array] | None:
    """A component that is empty or coincides with another, and parameters without its weight."""
    model = objective.model
    k = model.n_components
    if k == 1:
        return None
    shares = objective.shares(theta)
    smallest = int(np.argmin(shares))
    if shares[smallest] < EMPTY / k:
        return smallest, theta
    own = model.own(theta)
    for first in range(k):
        distances = np.max(np.abs(own[first + 1 :] - own[first]), axis=1, initial=0.0)
        twins = np.flatnonzero(distances < COINCIDENT)
        if len(twins):
            beta, m, factor = model.split(theta.copy())
            beta[first] = np.logaddexp(beta[first], beta[first + 1 + twins[0]])
            return int(first + 1 + twins[0]), model.join(beta, m, factor)
    return None


def split_component(objective: Objective, theta: Array, component: int, parent: int) -> Array:
    """Split ``parent`` along its widest direction; ``component`` becomes one half."""
    model = objective.model
    lengths, axes = np.linalg.eigh(objective.component_scatter(theta, parent))
    shift = 0.5 * np.sqrt(max(float(lengths[-1]), 0.0)) * axes[:, -1]
    beta, m, factor = model.split(theta.copy())
    beta[parent] -= np.log(2.0)
    center = m[parent].copy()
    m[parent] = center - shift
    return model.replace(model.join(beta, m, factor), component, parent, center + shift)
