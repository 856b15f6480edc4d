"""Expectation maximization on blocks of rows: the loop under the mixtures (Verbeek 2004, 3.1.2).

For any responsibilities ``q`` the bound

    F(θ, q) = Σ_n w_n [ H(q_n) + Σ_s q_ns (log π_s + log p(x_n | θ_s)) ]  ≤  L(θ)

is raised by turns: over ``q`` (then ``F = L``), and over the parameters ``θ``, ``π``. One pass over
the rows does the e-step and sums up the statistics for the m-step; responsibilities are not kept.

Most components are exponential families: with sufficient statistics ``T(x)``

    log p(x | s) = T(x)·η_s + a_s

is linear in ``T``, and the m-step needs the sums ``Σ_n q_ns T(x_n)`` only. So a block of rows costs
one matrix product in each step, and a row may also be the average of the statistics of many rows
(a cell of a tree): the average log-density is the log-density of the average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import logsumexp

from sidelight._fit.alternation import alternate
from sidelight._fit.buffers import Buffers, buffers
from sidelight._fit.em.components import (
    Components,
    Statistics,
    feature_tiles,
    in_buffers,
    prepared,
)
from sidelight._fit.tiles import EqualWeights, OnesExcept
from sidelight._kernels.mixture.responsibilities import posterior_rows
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows

#: A mixing weight never falls below this, so that its logarithm is a number.
MIN_WEIGHT = 1e-300

#: Noisy EM has converged when this many iterations gain nothing on as many before.
WINDOW = 5


class Posterior(NamedTuple):
    """E-step of constrained rows.

    Attributes
    ----------
    resp : ndarray of shape (m, k)
        Responsibilities of the rows, times their weights.
    log_likelihood : float
        Log-likelihood of the rows, or a bound.
    counts : ndarray of shape (k,)
        Expected number of draws of every component, for the m-step of the mixing weights.
    """

    resp: Array
    log_likelihood: float
    counts: Array


class ConstrainedPosterior(Protocol):
    """Rows that are not independent of each other, or whose component is known."""

    @property
    def rows(self) -> Array:
        """Positions of the rows, ascending."""

    def restarted(self, rng: np.random.RandomState) -> Self:
        """The same rows with inference state of their own, for another run of EM."""

    def e_step(self, log_density: Array, log_weights: Array) -> Posterior:
        """Posterior of these rows, given their log-densities of shape (m, k)."""

    def m_step(self, free: Array, counts: Array, log_weights: Array) -> Array:
        """New logarithms of the mixing weights.

        ``free`` of shape (k,) are the sums of responsibilities of all other rows, ``counts`` those
        of the e-step of these rows.
        """

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Component of each of these rows, as the constraints allow."""


class LabelledRows:
    """Rows of known component: partial labels in EM (Book 2009, section 5.3.1).

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Component of every row, -1 where unknown.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows, 1 by default.
    """

    def __init__(self, labels: Array, sample_weight: Array | None = None) -> None:
        self.rows = np.flatnonzero(labels >= 0)
        self._labels = labels[self.rows]
        if sample_weight is None:
            self._weights = np.ones(len(self.rows))
        else:
            self._weights = np.asarray(sample_weight[self.rows], dtype=np.float64)

    def restarted(self, rng: np.random.RandomState) -> Self:
        """No state is kept between calls."""
        return self

    def e_step(self, log_density: Array, log_weights: Array) -> Posterior:
        """All responsibility to the known component."""
        order = np.arange(len(self._labels))
        resp = np.zeros_like(log_density)
        resp[order, self._labels] = self._weights
        joint = log_density[order, self._labels] + log_weights[self._labels]
        return Posterior(resp, float(self._weights @ joint), resp.sum(axis=0))

    def m_step(self, free: Array, counts: Array, log_weights: Array) -> Array:
        """Shares of the components: labelled rows are drawn like all others."""
        return normalized_log(free + counts)

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """The known components."""
        return self._labels


class Parameters(NamedTuple):
    """Components and logarithms of their mixing weights."""

    components: Any
    log_weights: Array


@dataclass(frozen=True)
class Expectation:
    """Result of the e-step.

    Attributes
    ----------
    parameters : Parameters
        Parameters that were evaluated.
    objective : float
        Negative log-likelihood (or bound) per unit of weight.
    statistics : tuple of ndarray
        Sums for the m-step of the components.
    free : ndarray of shape (k,)
        Sums of responsibilities of the rows that are independent.
    counts : ndarray of shape (k,) or None
        Expected draws of the constrained rows.
    """

    parameters: Parameters
    objective: float
    statistics: Statistics
    free: Array
    counts: Array | None


class ExpectationMaximization:
    """The two steps of EM on a source of rows.

    Parameters
    ----------
    source : RowSource
        The rows.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows, 1 by default.
    constrained : ConstrainedPosterior, default=None
        Rows that are not independent, or whose component is known.
    """

    def __init__(
        self,
        source: RowSource,
        *,
        sample_weight: Array | None = None,
        constrained: ConstrainedPosterior | None = None,
    ) -> None:
        self._source = source
        self._constrained = constrained
        without = np.empty(0, dtype=np.int64) if constrained is None else constrained.rows
        if constrained is not None:
            self._constrained_rows = as_rows(source.take(constrained.rows))
        # The statistics of constrained rows are added by themselves.
        if sample_weight is None:
            self._total_weight = float(source.n_rows)
            self._weights: Any = OnesExcept(without)
        else:
            self._weights = np.array(sample_weight, float)
            self._total_weight = float(self._weights.sum())
            self._weights[without] = 0.0

    def e_step(self, parameters: Parameters, before: Expectation | None = None) -> Expectation:
        """Return the objective and the sums for the m-step."""
        components, log_weights = parameters
        (likelihood, *sums), _ = self._source.map_reduce(
            _MixtureEStep(components, log_weights), aligned=(self._weights,)
        )
        likelihood = float(likelihood) + components.log_prior
        if self._constrained is None:
            return Expectation(
                parameters, -likelihood / self._total_weight, tuple(sums), sums[0], None
            )
        rows = self._constrained_rows
        density = log_joint_blocks(rows, components, 0.0, lambda joint: joint)
        posterior = self._constrained.e_step(density, log_weights)
        more = rows.map_reduce(_BlockStatistics(components), aligned=(posterior.resp,))[0]
        return Expectation(
            parameters,
            -(likelihood + posterior.log_likelihood) / self._total_weight,
            tuple(a + b for a, b in zip(sums, more, strict=True)),
            sums[0],
            posterior.counts,
        )

    def m_step(self, expectation: Expectation) -> Parameters:
        """Return new components and mixing weights."""
        components, log_weights = expectation.parameters
        if self._constrained is None or expectation.counts is None:
            shares = expectation.free / expectation.free.sum()
            log_weights = np.log(np.maximum(shares, MIN_WEIGHT))
        else:
            log_weights = self._constrained.m_step(
                expectation.free, expectation.counts, log_weights
            )
        return Parameters(components.m_step(expectation.statistics), log_weights)


class _MixtureEStep:
    """E-step of a block: likelihood and statistics."""

    def __init__(self, components: Components, log_weights: Array) -> None:
        self.components = prepared(components)
        self.log_weights = log_weights

    def __call__(self, block: Any, weights: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        likelihood = 0.0
        sums: list[Array] | None = None
        with buffers() as memory:
            components = in_buffers(self.components, memory)
            for start, stop in feature_tiles(components, block):
                rows, of_rows = _counted(block[start:stop], weights[start:stop])
                features = components.features(rows)
                joint = components.log_density(features)
                joint += self.log_weights
                likelihood += posterior_rows(joint, of_rows)
                sums = _add(sums, components.statistics(features, joint))
        assert sums is not None
        return (likelihood, *sums), ()


class _BlockStatistics:
    """Statistics of a block whose responsibilities are known."""

    def __init__(self, components: Components) -> None:
        self.components = components

    def __call__(self, block: Any, resp: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        return _known_sums(self.components, block, lambda rows, _: resp[rows]), ()


class _ClusterStatistics:
    """Statistics of a block whose rows belong to clusters."""

    def __init__(self, components: Components) -> None:
        self.components = components

    def __call__(
        self, block: Any, labels: Array, weights: Array
    ) -> tuple[tuple[Any, ...], tuple[()]]:
        k = self.components.n_components

        def one_hot(rows: slice, memory: Buffers) -> Array:
            resp = memory.array("responsibilities", (rows.stop - rows.start, k))
            resp.fill(0.0)
            resp[np.arange(len(resp)), labels[rows]] = weights[rows]
            return resp

        return _known_sums(self.components, block, one_hot), ()


def _known_sums(
    components: Components, block: Any, resp_of: Callable[[slice, Buffers], Array]
) -> tuple[Array, ...]:
    """Statistics of a block, tile by tile, with the responsibilities of some of its rows."""
    sums: list[Array] | None = None
    with buffers() as memory:
        own = in_buffers(components, memory)
        for start, stop in feature_tiles(components, block):
            features = own.features(block[start:stop])
            resp = resp_of(slice(start, stop), memory)
            sums = _add(sums, own.statistics(features, resp))
    return tuple(sums or ())


def _add(sums: list[Array] | None, more: Statistics) -> list[Array]:
    """Add statistics to those before, in place."""
    if sums is None:  # copies: the statistics may be in buffers
        return [np.array(total, dtype=np.float64) for total in more]
    for total, one in zip(sums, more, strict=True):
        total += one
    return sums


def _counted(rows: Any, weights: Array) -> tuple[Any, Array]:
    """Leave out rows of weight 0, such as constrained ones, unless no row has weight."""
    counts = weights > 0
    if counts.all() or not counts.any():
        return rows, weights
    return rows[counts], weights[counts]


@dataclass(frozen=True)
class EMResult:
    """Final state of EM.

    Attributes
    ----------
    components : Components
        Parameters.
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights.
    history : ndarray of float64
        Objective at every evaluation that was kept: the negative log-likelihood (or bound) per unit
        of weight. The last belongs to the result.
    n_iter : int
        Number of m-steps.
    converged : bool
        Whether the gain fell to ``tol``.
    interrupted : bool
        Whether Ctrl-C ended the loop (inside ``sidelight.progress(keep_best=True)``).
    constrained : ConstrainedPosterior or None
        Rows that are not independent, with the state of their inference at the end.
    """

    components: Any
    log_weights: Array
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool
    constrained: ConstrainedPosterior | None = field(default=None, kw_only=True)

    @property
    def objective(self) -> float:
        """Objective at the end."""
        return float(self.history[-1])


def em(
    source: RowSource,
    components: Any,
    log_weights: Array,
    *,
    sample_weight: Array | None = None,
    constrained: ConstrainedPosterior | None = None,
    noisy: bool = False,
    max_iter: int = 200,
    tol: float = 1e-5,
    description: str = "EM",
    verbose: int = 0,
) -> EMResult:
    """Run EM from the given parameters.

    Parameters
    ----------
    source : RowSource
        The rows.
    components : Components
        Initial components.
    log_weights : ndarray of shape (k,)
        Logarithms of the initial mixing weights.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows, 1 by default.
    constrained : ConstrainedPosterior, default=None
        Rows that are not independent, or whose component is known; all others are independent.
    noisy : bool, default=False
        Whether the e-step is stochastic. Every m-step is then accepted, and the loop stops when the
        mean objective of five iterations is not lower by more than ``tol`` than that of the five
        before.
    max_iter : int, default=200
        Largest number of m-steps.
    tol : float, default=1e-5
        Stop when an iteration gains no more than this per unit of weight. A step that loses, as
        regularized covariances can, is not taken.
    description : str, default="EM"
        Name of the fit in the progress bar.
    verbose : int, default=0
        Whether to show a progress bar.
    """

    def has_converged(before: Expectation, now: Expectation, history: list[float]) -> bool:
        if not noisy:
            return not before.objective - now.objective > tol
        earlier, later = history[-2 * WINDOW : -WINDOW], history[-WINDOW:]
        return len(earlier) == WINDOW and bool(np.mean(earlier) - np.mean(later) <= tol)

    if constrained is not None and len(constrained.rows) == 0:
        constrained = None
    steps = ExpectationMaximization(source, sample_weight=sample_weight, constrained=constrained)
    end = alternate(
        Parameters(components, log_weights),
        steps.e_step,
        steps.m_step,
        stop=has_converged,
        reject_rises=not noisy,
        max_iter=max_iter,
        description=description,
        verbose=verbose,
    )
    return EMResult(
        *end.last.parameters,
        history=end.history,
        n_iter=end.n_updates,
        converged=end.converged,
        interrupted=end.interrupted,
        constrained=constrained,
    )


class _OfJoint:
    """A function of the log-joints of a block, tile by tile."""

    def __init__(self, components: Components, log_weights: Array | float, finish: Any) -> None:
        self.components = prepared(components)
        self.log_weights = log_weights
        self.finish = finish

    def __call__(self, block: Any) -> tuple[tuple[()], tuple[Array]]:
        found: Array | None = None
        with buffers() as memory:
            components = in_buffers(self.components, memory)
            for start, stop in feature_tiles(components, block):
                joint = components.log_density(components.features(block[start:stop]))
                joint += self.log_weights
                piece = self.finish(joint)
                if found is None:
                    found = np.empty((block.shape[0], *piece.shape[1:]), dtype=piece.dtype)
                found[start:stop] = piece
        assert found is not None
        return (), (found,)


def log_joint_blocks(
    source: RowSource, components: Components, log_weights: Array | float, finish: Any
) -> Any:
    """Map ``finish(log_joint)`` over the rows, ``log_joint`` of shape (b, k); it gives rows.

    ``finish`` may change the log-joints in place.
    """
    return source.map_reduce(_OfJoint(components, log_weights, finish))[1][0]


def components_of_clusters(
    source: RowSource,
    components: Components,
    clusters: Array,
    sample_weight: Array | None = None,
) -> Parameters:
    """One m-step: components and mixing weights of given clusters of the rows."""
    weights: Any = EqualWeights(source) if sample_weight is None else sample_weight
    work = _ClusterStatistics(prepared(components))
    sums = source.map_reduce(work, aligned=(clusters, weights))[0]
    return Parameters(components.m_step(sums), normalized_log(sums[0]))


def normalized_log(values: Array) -> Array:
    """Logarithms of the values divided by their sum."""
    logs = np.log(np.maximum(values, MIN_WEIGHT))
    return np.asarray(logs - logsumexp(logs))
