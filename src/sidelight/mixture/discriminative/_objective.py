"""Likelihood of a mixture minus its violations, with exact derivatives (Law 2006, 5.3, appendix B).

    J(θ) = 1/γ Σ_i log Σ_j exp(γ log q_ij)  -  λ · violation(τ log q)

The derivative by ``log q_ij`` is ``c_ij = r̃_ij - λ ∂violation``, with the annealed posterior ``r̃``
in the place where EM has responsibilities. One pass over the blocks of rows adds up the part of
``r̃``; the rows that something is known about are kept in memory and add the other part.

How much the labels of a mixture violate what is known, as a smooth count (Law 2006, 5.3, B.1).

Sharpened posteriors ``s_i = softmax(τ log q_i)`` stand for the labels of the rows. A statement
``h`` about some rows is measured by the Jensen-Shannon divergence of their posteriors,

    D(h) = Σ_i a_hi Σ_l s_il log s_il  -  Σ_l t_hl log t_hl ,     t_h = Σ_i a_hi s_i ,

which is 0 when all agree and ``log min(e, k)`` when ``e`` rows (or ``k`` labels) are all different.
Divided by that largest value it is the count of a violated must-link; one minus it that of a
violated cannot-link. All derivatives are taken with respect to ``log q``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight._fit.buffers import Buffers, buffers
from sidelight._fit.tiles import OnesExcept
from sidelight._kernels.mixture.responsibilities import posterior_rows
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import column_sums, feature_tiles
from sidelight.mixture.discriminative._factor_models import FactorModel, FactorSums

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


#: Numbers that a pass over a tile of rows may hold per direction of a Hessian product, times
#: the directions taken at once.
DIRECTION_NUMBERS = 2_000_000


class Whitening(NamedTuple):
    """``y = (x - mean) W``: what is sent to the rows of it.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Mean of the rows.
    whitener : ndarray of shape (d, d)
        ``W``, symmetric.
    """

    mean: Array
    whitener: Array

    def white(self, rows: Any) -> Array:
        """``(x - mean) W``."""
        return np.asarray((rows - self.mean) @ self.whitener)


@dataclass(frozen=True, eq=False)
class WhiteRows:
    """Rows of a source seen as ``y = (x - mean) W``.

    Attributes
    ----------
    source : RowSource
        The rows.
    mean : ndarray of shape (d,)
        Mean of the rows.
    whitener : ndarray of shape (d, d)
        ``W``, symmetric.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows; 1 for None.
    known : RowStatements
        What is known about some of them.
    """

    source: RowSource
    mean: Array
    whitener: Array
    sample_weight: Array | None
    known: RowStatements

    @property
    def weights(self) -> Any:
        """Weights of the rows, as passes over them are aligned with."""
        return OnesExcept() if self.sample_weight is None else self.sample_weight

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        if self.sample_weight is None:
            return float(self.source.n_rows)
        return float(self.sample_weight.sum())

    @property
    def whitening(self) -> Whitening:
        """What makes rows white, without the rows."""
        return Whitening(self.mean, self.whitener)

    @cached_property
    def log_volume(self) -> float:
        """``log |det W|``, by which log-densities of ``x`` exceed those of ``y``."""
        return float(np.linalg.slogdet(self.whitener)[1])

    @cached_property
    def known_rows(self) -> Array:
        """White rows that something is known about."""
        return self.white(self.source.take(self.known.rows))

    def white(self, rows: Any) -> Array:
        """``(x - mean) W``."""
        return self.whitening.white(rows)


@dataclass(frozen=True, eq=False)
class Objective:
    """``-J/n`` as a function of the parameters of a model, to be minimized.

    Attributes
    ----------
    rows : WhiteRows
        The rows.
    model : FactorModel
        What the parameters mean.
    penalty : float
        ``λ``, log-likelihood paid for a violated statement of weight 1.
    sharpness : float
        ``τ``.
    inverse_temperature : float
        ``γ``.
    """

    rows: WhiteRows
    model: FactorModel
    penalty: float
    sharpness: float = 4.0
    inverse_temperature: float = 1.0

    @cached_property
    def known_features(self) -> Array:
        """Features of the rows that something is known about."""
        return self.model.features(self.rows.known_rows)

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """``-J/n`` and its gradient."""
        constant = self.model.constant(theta)
        eta, offset = self.model.scores(theta)
        if not (np.isfinite(constant) and np.isfinite(eta).all() and np.isfinite(offset).all()):
            return np.inf, np.zeros_like(theta)
        likelihood, sums = self._likelihood(eta, offset)
        value = likelihood + constant
        loss = self._violation(eta, offset)
        if loss is not None:
            value -= self.penalty * loss.value
            sums = self._without(loss, sums)
        return -value / self.rows.total, -self.model.gradient(theta, sums) / self.rows.total

    def shares(self, theta: Array) -> Array:
        """Share of every component in the rows, by annealed posteriors."""
        return self._likelihood(*self.model.scores(theta))[1].totals / self.rows.total

    def component_scatter(self, theta: Array, component: int) -> Array:
        """Scatter about ``m`` of the rows of a component, by posteriors, in units of its factor."""
        eta, offset = self.model.scores(theta)
        inward = self.rows.whitener @ self.model.factor_of(theta, component)
        m = self.model.split(theta)[1][component]
        model, whitening, gamma = self.model, self.rows.whitening, self.inverse_temperature

        def work(block: Any, weights: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            joint = model.features(whitening.white(block)) @ eta + offset
            joint *= gamma
            posterior_rows(joint, weights)
            offsets = (block - whitening.mean) @ inward - m
            share = joint[:, component]
            return (share.sum(), (offsets * share[:, None]).T @ offsets), ()

        (mass, scatter), _ = self.rows.source.map_reduce(work, aligned=(self.rows.weights,))
        return np.asarray(scatter / max(float(mass), np.finfo(float).tiny))

    def hessian_products(self, theta: Array, directions: Array) -> Array:
        """Products of the Hessian of ``-J/n`` with directions of shape (p, n_parameters)."""
        eta, offset = self.model.scores(theta)
        _, sums = self._likelihood(eta, offset)
        loss = self._violation(eta, offset)
        if loss is not None:
            sums = self._without(loss, sums)
        at_once = max(1, DIRECTION_NUMBERS // (4000 * self.model.n_components))
        products = []
        for start in range(0, len(directions), at_once):
            some = directions[start : start + at_once]
            eta_change, offset_change = self.model.scores_change(theta, some)
            change = self._likelihood_change(eta, offset, eta_change, offset_change)
            if loss is not None:
                of_scores = _product(self.known_features, eta_change) + offset_change
                slope = self.penalty * loss.slope_change(of_scores)
                change = FactorSums(
                    change.totals - slope.sum(axis=0),
                    change.features - _sums(slope, self.known_features),
                )
            products.append(self.model.gradient_change(theta, some, sums, change))
        return -np.concatenate(products) / self.rows.total

    def hessian(self, theta: Array) -> Array:
        """Return the whole Hessian of ``-J/n``."""
        return self.hessian_products(theta, np.eye(self.model.n_parameters))

    def _violation(self, eta: Array, offset: Array) -> Violation | None:
        """Loss at these scores, or None when nothing is known or nothing is paid."""
        if self.penalty == 0 or len(self.rows.known) == 0:
            return None
        scores = self.known_features @ eta
        scores += offset
        return violation(scores, self.rows.known, self.sharpness)

    def _without(self, loss: Violation, sums: FactorSums) -> FactorSums:
        """Subtract the part of the loss."""
        slope = self.penalty * loss.slope
        features = sums.features - slope.T @ self.known_features
        return FactorSums(sums.totals - slope.sum(axis=0), features)

    def _likelihood(self, eta: Array, offset: Array) -> tuple[float, FactorSums]:
        """Annealed log-likelihood, and sums of posteriors and of the features by them."""
        gamma = self.inverse_temperature

        def of_tile(
            features: Array, weights: Array, eta: Array, memory: Buffers
        ) -> tuple[Any, ...]:
            joint = memory.array("joint", (len(features), eta.shape[1]))
            np.matmul(features, eta, out=joint)
            joint += offset
            if gamma != 1:
                joint *= gamma
            likelihood = posterior_rows(joint, weights)
            return likelihood, column_sums(joint), joint.T @ features

        likelihood, *sums = self._add_up(of_tile, eta)
        return float(likelihood) / gamma, FactorSums(*sums)

    def _likelihood_change(
        self, eta: Array, offset: Array, eta_change: Array, offset_change: Array
    ) -> FactorSums:
        """Directional derivatives of the sums of posteriors."""
        gamma = self.inverse_temperature
        shape = eta_change.shape

        def of_tile(
            features: Array, weights: Array, both: Array, memory: Buffers
        ) -> tuple[Any, ...]:
            flat = both.reshape(len(both), -1)
            joint = gamma * (features @ flat[:, : shape[2]] + offset)
            posterior_rows(joint, np.ones(len(joint)))
            resp = joint[:, None, :]
            change = _product(features, flat[:, shape[2] :].reshape(shape)) + offset_change
            change -= np.sum(resp * change, axis=2, keepdims=True)
            change *= gamma * resp * weights[:, None, None]
            return change.sum(axis=0), _sums(change, features)

        together = np.hstack((eta, eta_change.reshape(len(eta), -1)))
        return FactorSums(*self._add_up(of_tile, together))

    def _add_up(self, of_tile: Callable[..., tuple[Any, ...]], eta: Array) -> tuple[Any, ...]:
        """Add what a function of features, weights and ``η`` gives for all tiles of rows.

        Its last result is linear in the features. White rows are never made for a linear model:
        the parameters go to the rows.
        """
        model, rows = self.model, self.rows
        inner = rows.whitener @ eta if model.is_linear else eta
        work = _TileSums(of_tile, model, rows.whitening, inner)
        *totals, sums = rows.source.map_reduce(work, aligned=(rows.weights,))[0]
        return (*totals, sums @ rows.whitener if model.is_linear else sums)


class _TileSums:
    """Sums of what a function of features, weights and ``η`` gives for the tiles of a block."""

    def __init__(
        self, of_tile: Callable[..., tuple[Any, ...]], model: Any, whitening: Whitening, eta: Array
    ) -> None:
        self._of_tile = of_tile
        self._model = model
        self._whitening = whitening
        self._eta = eta

    def __call__(self, block: Any, weights: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        sums: list[Any] | None = None
        with buffers() as memory:
            for start, stop in feature_tiles(self._model, block):
                features = self._features(block[start:stop], memory)
                parts = self._of_tile(features, weights[start:stop], self._eta, memory)
                if sums is None:
                    sums = list(parts)
                else:
                    sums = [a + b for a, b in zip(sums, parts, strict=True)]
        return tuple(sums or ()), ()

    def _features(self, rows: Array, memory: Buffers) -> Array:
        centered = memory.array("centered", rows.shape)
        np.subtract(rows, self._whitening.mean, out=centered)
        if self._model.is_linear:
            return centered
        white = memory.array("white", rows.shape)
        np.matmul(centered, self._whitening.whitener, out=white)
        features: Array = self._model.features(white, memory)
        return features


def _product(features: Array, change: Array) -> Array:
    """``T @ change`` for changes of shape (F, p, k): of shape (n, p, k)."""
    flat = features @ change.reshape(len(change), -1)
    return np.asarray(flat.reshape(len(features), *change.shape[1:]))


def _sums(change: Array, features: Array) -> Array:
    """``Σ_i change_i T_i`` of shape (p, k, F)."""
    flat = change.reshape(len(change), -1).T @ features
    return np.asarray(flat.reshape(*change.shape[1:], -1))
