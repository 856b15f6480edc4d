"""Expectation maximisation on blocks of rows: the loop under the mixtures (Verbeek 2004, 3.1.2).

For any responsibilities ``q`` the bound

    F(θ, q) = Σ_n w_n [ H(q_n) + Σ_s q_ns (log π_s + log p(x_n | θ_s)) ]  ≤  L(θ)

is raised by turns: over ``q`` (then ``F = L``), and over the parameters ``θ``, ``π``. One pass over
the rows does the E-step and adds up what the M-step needs; responsibilities are never kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from sidelight._kernels.mixture.responsibilities import posterior_rows
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core._components import Components, Statistics

#: Statistics of a tile of rows should stay in the cache between the two products.
TILE_BYTES = 2**19

#: A mixing weight never falls below this, so that its logarithm is a number.
LEAST_WEIGHT = 1e-300


class HeldPosterior(Protocol):
    """Rows that are not independent of each other, or whose component is known."""

    @property
    def rows(self) -> Array:
        """Their positions, ascending."""

    def posterior(self, log_density: Array, log_weights: Array) -> tuple[Array, float]:
        """Responsibilities of these rows, times their weights, and their log-likelihood."""

    def weights(self, free: Array, held: Array, log_weights: Array) -> Array:
        """New logarithms of the mixing weights.

        ``free`` of shape (k,) are the sums of responsibilities of all other rows, ``held`` those
        of these rows.
        """

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Component of each of these rows, as the knowledge about them allows."""


@dataclass(frozen=True)
class EMResult:
    """Where EM ended.

    Attributes
    ----------
    components : Components
        Parameters.
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights.
    history : ndarray of float64
        Log-likelihood (or bound) per unit of weight at every visit; the last belongs to the result.
    n_iter : int
        Number of M-steps.
    converged : bool
        Whether the gain fell to ``tol``.
    interrupted : bool
        Whether Ctrl-C ended it (inside ``sidelight.progress(keep_best=True)``).
    """

    components: Any
    log_weights: Array
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """The negative of the bound: the value that is minimized."""
        return -self.lower_bound

    @property
    def lower_bound(self) -> float:
        """Log-likelihood (or bound) per unit of weight at the end."""
        return float(self.history[-1])


class Expectation:
    """The E-step on a source of rows: sums for the M-step, and the log-likelihood."""

    def __init__(
        self,
        source: RowSource,
        *,
        sample_weight: Array | None = None,
        held: HeldPosterior | None = None,
    ) -> None:
        self.source = source
        self.held = held
        weights = (
            np.ones(source.n_rows) if sample_weight is None else np.array(sample_weight, float)
        )
        self.total_weight = float(weights.sum())
        if held is not None:
            self._held_rows = as_rows(source.take(held.rows))
            weights[held.rows] = 0.0  # they are added by themselves
        self.weights = weights

    def visit(
        self, components: Components, log_weights: Array
    ) -> tuple[float, Statistics, Array | None]:
        """Return the log-likelihood, the statistics and the held rows' share of the totals."""
        block_pass = _Pass(components, log_weights)
        (of_free, *sums), _ = self.source.map_reduce(block_pass, aligned=(self.weights,))
        likelihood = float(of_free) + components.log_prior
        if self.held is None:
            return likelihood, tuple(sums), None
        density = log_joint_blocks(self._held_rows, components, 0.0, lambda joint: joint)
        resp, of_held = self.held.posterior(density, log_weights)
        of_rows = self._held_rows.map_reduce(_Statistics(components), aligned=(resp,))[0]
        return (
            likelihood + of_held,
            tuple(a + b for a, b in zip(sums, of_rows, strict=True)),
            of_rows[0],
        )

    def new_weights(self, totals: Array, of_held: Array | None, log_weights: Array) -> Array:
        """Mixing weights after the E-step, as logarithms."""
        if self.held is None or of_held is None:
            return np.log(np.maximum(totals / totals.sum(), LEAST_WEIGHT))
        return self.held.weights(totals - of_held, of_held, log_weights)


class _Pass:
    """E-step of a block: likelihood and statistics."""

    def __init__(self, components: Components, log_weights: Array) -> None:
        self.components = components
        self.log_weights = log_weights

    def __call__(self, block: Any, weights: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        likelihood = 0.0
        sums: list[Array] | None = None
        for start, stop in feature_tiles(self.components, block):
            rows, of_rows = _counted(block[start:stop], weights[start:stop])
            features = self.components.features(rows)
            joint = self.components.log_density(features)
            joint += self.log_weights
            likelihood += posterior_rows(joint, of_rows)
            sums = _add(sums, self.components.statistics(features, joint))
        assert sums is not None
        return (likelihood, *sums), ()


class _Statistics:
    """Statistics of a block whose responsibilities are known."""

    def __init__(self, components: Components) -> None:
        self.components = components

    def __call__(self, block: Any, resp: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        sums: list[Array] | None = None
        for start, stop in feature_tiles(self.components, block):
            features = self.components.features(block[start:stop])
            sums = _add(sums, self.components.statistics(features, resp[start:stop]))
        return tuple(sums or ()), ()


def _add(sums: list[Array] | None, more: Statistics) -> list[Array]:
    """Add statistics to those before, in place."""
    if sums is None:
        return [np.asarray(total, dtype=np.float64) for total in more]
    for total, one in zip(sums, more, strict=True):
        total += one
    return sums


def _counted(rows: Any, weights: Array) -> tuple[Any, Array]:
    """Leave out rows that do not count (held ones are added by themselves), unless none does."""
    counts = weights > 0
    if counts.all() or not counts.any():
        return rows, weights
    return rows[counts], weights[counts]


def feature_tiles(components: Components, block: Any) -> list[tuple[int, int]]:
    """Ranges of rows of a block whose statistics fit the cache together."""
    n = block.shape[0]
    rows = int(np.clip(TILE_BYTES // (8 * components.n_statistics), 128, 4000))
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]


def em(
    source: RowSource,
    components: Any,
    log_weights: Array,
    *,
    sample_weight: Array | None = None,
    held: HeldPosterior | None = None,
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
        Where to start.
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights to start from.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 unless told.
    held : HeldPosterior, default=None
        Rows whose responsibilities someone else finds; all others are independent.
    max_iter : int, default=200
        At most this many M-steps.
    tol : float, default=1e-5
        Stop when a step gains less than this per unit of weight. A step that loses (covariances
        that are kept from collapsing may) is not taken.
    description : str, default="EM"
        What the progress bar says.
    verbose : int, default=0
        Show the bar.
    """
    expectation = Expectation(source, sample_weight=sample_weight, held=held)
    likelihood, sums, of_held = expectation.visit(components, log_weights)
    history = [likelihood / expectation.total_weight]
    converged = False
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            new_weights = expectation.new_weights(sums[0], of_held, log_weights)
            new_components = components.maximize(sums)
            likelihood, new_sums, new_held = expectation.visit(new_components, new_weights)
            value = likelihood / expectation.total_weight
            gain = value - history[-1]
            if gain >= 0:
                components, log_weights = new_components, new_weights
                sums, of_held = new_sums, new_held
                history.append(value)
            progress.step(-history[-1])
            if not gain > tol:
                converged = True
                break
    return EMResult(
        components=components,
        log_weights=log_weights,
        history=np.array(history),
        n_iter=progress.n_steps,
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )


def log_joint_blocks(
    source: RowSource, components: Components, log_weights: Array | float, finish: Any
) -> Any:
    """Map ``finish(log_joint)`` over the rows, ``log_joint`` of shape (b, k); it gives rows."""

    def work(block: Any) -> tuple[tuple[()], tuple[Array, ...]]:
        pieces = []
        for start, stop in feature_tiles(components, block):
            joint = components.log_density(components.features(block[start:stop]))
            joint += log_weights
            pieces.append(finish(joint))
        return (), (np.concatenate(pieces),)

    return source.map_reduce(work)[1][0]


def normalized_log(values: Array) -> Array:
    """Logarithms of the values divided by their sum."""
    logs = np.log(np.maximum(values, LEAST_WEIGHT))
    return np.asarray(logs - logsumexp(logs))
