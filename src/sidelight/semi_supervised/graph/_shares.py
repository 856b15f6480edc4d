"""Shares of the classes among the unlabeled rows of a graph, and probabilities that have them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight.semi_supervised._core._class_shares import differ_by_more_than_chance
from sidelight.semi_supervised._core._held_out import held_out_labels
from sidelight.semi_supervised.graph._harmonic_solve import (
    Dirichlet,
    solve_roughly,
)
from sidelight.semi_supervised.graph._parts import rows_without_label

#: Labels of every class that are added to those counted before the shares are estimated: a handful
#: of labels says little about shares, and classes that are about equal are the better guess.
PRIOR_LABELS = 10

#: Labels are no random sample where chance explains their shares with this probability at most.
SUSPICIOUS = 0.01

#: Powers that probabilities may be raised to, of which cross-validation chooses.
POWERS = np.array([0.7, 1.0, 1.5, 2.0, 3.0, 4.0])

#: The power without any evidence, and the weight of that: the loss in units of a row's for a power
#: that is ``e`` times another one.
USUAL_POWER, PRIOR_WEIGHT = 2.0, 4.0

#: Rows from which shares are matched while powers are compared.
FEW_ROWS = 2000

#: From so many rows on a single part of the labels is held out: each part costs a solution.
MANY_ROWS = 5_000

#: Values are at least this: no probability is exactly 0 before it is raised.
LEAST_VALUE = 1e-12


def estimate_shares(values: Array, labels: IntArray) -> Array:
    """Shares of the classes that unlabeled rows choose, with a row added to each.

    They choose after class mass normalization (Zhu, Ghahramani, Lafferty 2003): the mean of
    ``values`` is scaled to the shares of the labels, ten more of each class added. Where the
    labels cannot be a random sample of rows with these classes they choose by ``values`` alone.

    Parameters
    ----------
    values : ndarray of shape (n_unlabeled, n_classes)
        Distributions of the unlabeled rows.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    """
    n_classes = values.shape[1]
    stated = np.bincount(labels[labels >= 0], minlength=n_classes)
    wanted, mass = stated + PRIOR_LABELS, values.mean(axis=0)
    factors = np.divide(wanted / wanted.sum(), mass, out=np.ones(n_classes), where=mass > 0)
    chosen = np.bincount(np.argmax(values * factors, axis=1), minlength=n_classes)
    if differ_by_more_than_chance(np.stack([stated, chosen]), SUSPICIOUS):
        chosen = np.bincount(np.argmax(values, axis=1), minlength=n_classes)
    return np.asarray((chosen + 1) / (len(values) + n_classes))


def harmonic_shares(W: sparse.csr_array, labels: IntArray, n_classes: int) -> Array:
    """Shares of the classes by a harmonic function; those of the labels where all rows have one."""
    if np.all(labels >= 0):
        return np.bincount(labels, minlength=n_classes) / len(labels)
    return estimate_shares(solve_roughly(Dirichlet(W, labels, n_classes)), labels)


def match_shares(
    values: Array, shares: Array, power: float, *, tol: float = 1e-8
) -> tuple[Array, Array]:
    """Distributions ``∝ g_c f_ic^power`` with the mean ``shares``, and the factors ``g``.

    The factors are found by iterative scaling, which converges: it descends a convex function.
    """
    logs = power * np.log(np.maximum(values, LEAST_VALUE))
    logs -= logs.max(axis=1, keepdims=True)
    offsets = np.zeros(values.shape[1])
    for _ in range(500):
        p = np.exp(logs + offsets)
        p /= p.sum(axis=1, keepdims=True)
        mean = p.mean(axis=0)
        if np.abs(mean - shares).max() <= tol:
            break
        offsets += np.log(shares) - np.log(np.maximum(mean, LEAST_VALUE))
        offsets -= offsets.max()
    return p, np.exp(offsets)


def choose_power(
    W: sparse.csr_array,
    labels: IntArray,
    shares: Array,
    spread: Callable[[sparse.csr_array, IntArray], Array],
) -> float:
    """Power of the values of rows at which they predict held-out labels best.

    Harmonic functions are too flat far from labels: the walk that defines them forgets where it
    began. By how much depends on the graph, which the labels tell: parts of them are held out, and
    the power has the least log loss on these, near 2 where there are few. ``spread(W, labels)``
    returns the values of the unlabeled rows of a graph.
    """
    loss = PRIOR_WEIGHT * np.log(POWERS / USUAL_POWER) ** 2
    parts = held_out_labels(labels)
    for fewer, held_out in parts[:1] if len(labels) >= MANY_ROWS else parts:
        lost = rows_without_label(W, fewer)[0]
        held_out = held_out[~lost[held_out]]
        rows = np.flatnonzero(~lost)
        if not len(held_out):
            continue
        part = W if not lost.any() else sparse.csr_array(W[rows][:, rows])
        values, places = spread(part, fewer[rows]), rows[fewer[rows] < 0]
        at = np.searchsorted(places, held_out)
        some = np.union1d(np.linspace(0, len(places) - 1, FEW_ROWS).astype(np.int64), at)
        at = np.searchsorted(some, at)
        for i, power in enumerate(POWERS):
            p = match_shares(values[some], shares, power, tol=1e-3)[0]
            loss[i] -= np.log(np.maximum(p[at, labels[held_out]], 1e-6)).sum()
    return float(POWERS[np.argmin(loss)])
