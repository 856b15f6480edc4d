"""How much the labels of a mixture violate what is known, as a smooth count (Law 2006, 5.3, B.1).

Sharpened posteriors ``s_i = softmax(τ log q_i)`` stand for the labels of the rows. A statement
``h`` about some rows is measured by the Jensen-Shannon divergence of their posteriors,

    D(h) = Σ_i a_hi Σ_l s_il log s_il  -  Σ_l t_hl log t_hl ,     t_h = Σ_i a_hi s_i ,

which is 0 when all agree and ``log min(e, k)`` when ``e`` rows (or ``k`` labels) are all different.
Divided by that largest value it is the count of a violated must-link; one minus it that of a
violated cannot-link. All derivatives are taken with respect to ``log q``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints

#: Logarithms are taken of this at least; what it is multiplied with is then zero.
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class RowStatements:
    """Constraints as statements about two or more rows each.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Positions of the rows that something is known about, ascending.
    incidence : csr_array of shape (m, r)
        ``a_hi``: equal shares of the rows of each statement; every line adds up to 1.
    price : ndarray of shape (m,)
        Factor of the divergence in the loss: positive for rows that belong together, negative for
        rows that are to be kept apart.
    offset : float
        Added to the loss, so that it is zero when everything is kept.
    weight : float
        Loss when everything is violated.
    """

    rows: Array
    incidence: sparse.csr_array
    price: Array
    offset: float
    weight: float

    @cached_property
    def transposed(self) -> sparse.csr_array:
        """``Aᵀ``, also kept by lines."""
        return self.incidence.T.tocsr()

    @cached_property
    def pull(self) -> Array:
        """``g_i = Σ_h price_h a_hi``."""
        return np.asarray(self.transposed @ self.price)

    def __len__(self) -> int:
        return len(self.price)


def statements(known: Constraints, n_labels: int) -> RowStatements:
    """Put pairs, groups and partial labels into one sparse matrix.

    A pair costs its weight when it is violated. A group of ``e`` rows counts like the ``e - 1``
    must-links that it takes to state it; a class is such a group, and the classes are kept apart
    by statements with one row of each class, as many as the largest class has rows. Nothing is
    written out pair by pair.
    """
    lists: list[Array] = []
    owners: list[Array] = []
    prices: list[Array] = []
    n = 0

    def add(members: Array, statement: Array, count: int, weight: Array) -> None:
        """Add ``count`` statements; ``weight`` is negative for rows to be kept apart."""
        nonlocal n
        lists.append(members)
        owners.append(statement + n)
        prices.append(weight)
        n += count

    for pairs, weight in (
        (known.must_link, known.must_link_weight),
        (known.cannot_link, -known.cannot_link_weight),
    ):
        add(pairs.ravel(), np.repeat(np.arange(len(pairs)), 2), len(pairs), np.asarray(weight))
    for codes in (known.groups, known.labels):
        if codes is not None:
            members = np.flatnonzero(codes >= 0)
            _, group = np.unique(codes[members], return_inverse=True)
            add(members, group, *_links_that_state(group, 1.0))
    if known.labels is not None:
        members, across = one_of_each_class(known.labels)
        add(members, across, *_links_that_state(across, -1.0))

    members = np.concatenate(lists)
    owner = np.concatenate(owners)
    rows, place = np.unique(members, return_inverse=True)
    sizes = np.bincount(owner, minlength=n)
    share = 1.0 / sizes[owner]
    incidence = sparse.csr_array(sparse.coo_array((share, (owner, place)), shape=(n, len(rows))))
    weights = np.concatenate(prices)
    largest = np.log(np.minimum(sizes, n_labels))
    # With one row or one label there is nothing to violate or to keep.
    price = np.where(largest > 0, weights / np.where(largest > 0, largest, 1.0), 0.0)
    return RowStatements(
        rows,
        incidence,
        price,
        offset=-float(np.sum((price * largest)[price < 0])),
        weight=float(np.abs(weights).sum()),
    )


def _links_that_state(group: Array, sign: float) -> tuple[int, Array]:
    """Number of groups, and their weights: the links of a chain through the rows of each."""
    sizes = np.bincount(group) if len(group) else np.zeros(0)
    return len(sizes), sign * (sizes - 1.0)


def one_of_each_class(codes: Array) -> tuple[Array, Array]:
    """Rows and numbers of statements that take one row of each class, smaller classes by turns."""
    members = np.flatnonzero(codes >= 0)
    classes, sizes = np.unique(codes[members], return_counts=True)
    if len(classes) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers = np.arange(sizes.max())
    rows = [
        members[codes[members] == c][numbers % size] for c, size in zip(classes, sizes, strict=True)
    ]
    return np.concatenate(rows), np.tile(numbers, len(classes))


@dataclass(frozen=True, eq=False)
class Violation:
    """The loss at some scores, and what its second derivative needs.

    Attributes
    ----------
    value : float
        Smooth count of the violated statements, by weight.
    slope : ndarray of shape (r, k)
        Derivative by ``log q`` of the rows; every line adds up to 0.
    """

    value: float
    slope: Array
    known: RowStatements
    sharpness: float
    sharp: Array
    mixed: Array
    terms: Array

    def slope_change(self, score_change: Array) -> Array:
        """Directional derivatives of the slope, for changes of the scores of shape (r, p, k)."""
        tau, s = self.sharpness, self.sharp[:, None, :]
        relative = tau * (score_change - np.sum(s * score_change, axis=2, keepdims=True))
        sharp_change = s * relative
        shape = score_change.shape
        flat = sharp_change.reshape(shape[0], -1)
        mixed_change = (self.known.incidence @ flat).reshape(-1, *shape[1:])
        weighted = self.known.price[:, None, None] * mixed_change / self.mixed[:, None, :]
        back = (self.known.transposed @ weighted.reshape(len(weighted), -1)).reshape(shape)
        pull = self.known.pull[:, None, None]
        terms = self.terms[:, None, :]
        change = (terms + pull * s) * relative - s * back
        of_row = np.sum(terms, axis=2, keepdims=True)
        return np.asarray(
            tau * (change - sharp_change * of_row - s * np.sum(change, axis=2, keepdims=True))
        )


def violation(scores: Array, known: RowStatements, sharpness: float) -> Violation:
    """Evaluate the loss at ``log q`` of the rows of the statements, up to a constant per row.

    With ``g = Aᵀ price`` (B.6 and B.8 of the source)::

        w_il = g_i s_il log s_il - s_il (Aᵀ diag(price) log t)_il ,   loss = Σ w + offset
        ∂loss/∂log q_il = τ (w_il - s_il Σ_j w_ij)
    """
    sharp, log_sharp = posteriors(scores, sharpness)
    mixed = np.maximum(known.incidence @ sharp, TINY)
    log_mixed = np.log(mixed)
    log_mixed *= known.price[:, None]
    terms = log_sharp
    terms *= known.pull[:, None]
    terms -= known.transposed @ log_mixed
    terms *= sharp
    of_row = terms.sum(axis=1, keepdims=True)
    value = float(of_row.sum()) + known.offset
    slope = terms - sharp * of_row
    slope *= sharpness
    return Violation(value, slope, known, sharpness, sharp, mixed, terms)


def posteriors(scores: Array, sharpness: float) -> tuple[Array, Array]:
    """``s = softmax(τ log q)`` of every row, and its logarithm."""
    logs = sharpness * scores
    logs -= logs.max(axis=1, keepdims=True)
    sharp = np.exp(logs)
    mass = sharp.sum(axis=1, keepdims=True)
    sharp /= mass
    logs -= np.log(mass)
    return sharp, logs
