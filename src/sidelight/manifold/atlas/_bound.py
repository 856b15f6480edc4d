"""The bound of coordinated factor analysis and its ascent (Verbeek 2004, 5.2.2, 5.2.3, 5.3.1).

Every row has an estimate ``q_n(g) = N(g_n, Σ_n)`` of its coordinates and responsibilities ``q_ns``:

    Φ = Σ_n w_n [ H(q_n(s)) + H(q_n(g)) + Σ_s q_ns E log p(x_n, g, s) ]  ≤  Σ_n w_n log p(x_n)

where only the views count that a row has. Each step maximizes ``Φ`` over one block:
responsibilities, estimates, charts. A ridge ``ρ`` on the loadings subtracts
``ρ/2 Σ_s tr B_sᵀ Ψ_s⁻¹ B_s``, as a prior would.

The ascent has two phases. First the estimates stand still: a constrained mixture of Gaussians is
fitted to rows and coordinates together. Then all is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidelight._fit.alternation import Alternation, alternate
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.manifold.atlas._charts import Charts
from sidelight.manifold.atlas._steps import (
    ChartRules,
    Tile,
    ViewSums,
    blank_charts,
    m_step,
    penalty,
    tiles,
)

#: Share of a row in the chart of its rough cluster; near-uniform responsibilities are a saddle.
OWN_SHARE = 0.95


class Estimates(NamedTuple):
    """Means (n, d) and covariances (n, d, d) of the coordinates of the rows."""

    means: Array
    covariances: Array


class ChartState(NamedTuple):
    """Charts and estimates of coordinates."""

    charts: Charts
    estimates: Estimates


@dataclass(frozen=True)
class BoundEvaluation:
    """Result of the e-step.

    Attributes
    ----------
    parameters : ChartState
        Charts and estimates that were evaluated.
    objective : float
        ``-Φ``, with the ridge, per unit of weight, at the best responsibilities for them.
    estimates : Estimates
        Best estimates for these responsibilities, where they are free.
    latent : ndarray of shape (k, 1 + d + d²)
        Sums of the coordinates over all rows, as in :class:`ViewSums`.
    views : tuple of ViewSums
        Sums over the rows that have each view.
    """

    parameters: ChartState
    objective: float
    estimates: Estimates
    latent: Array
    views: tuple[ViewSums, ...]

    @property
    def counts(self) -> Array:
        """Effective number of rows of every chart."""
        return self.latent[:, 0]

    @property
    def view_counts(self) -> Array:
        """Effective number of rows of every chart and view, of shape (k, V)."""
        return np.column_stack([sums.latent[:, 0] for sums in self.views])


@dataclass(frozen=True)
class Coordination:
    """The steps on a table of rows.

    Attributes
    ----------
    source : RowSource
        Rows, centered; any number stands where a view is not seen.
    seen : ndarray of bool, shape (n, V)
        Views that every row has.
    weights : ndarray of shape (n,)
        Weights of the rows.
    clamped : ndarray of bool, shape (n,)
        Rows whose coordinates are known: their estimates are never free.
    rules : ChartRules
        Restrictions of the charts.
    """

    source: RowSource
    seen: Array
    weights: Array
    clamped: Array
    rules: ChartRules

    def e_step(self, state: ChartState, *, free: bool) -> BoundEvaluation:
        """Responsibilities, then estimates where they are ``free``, and the sums of both."""
        charts = state.charts

        def work(
            rows: Array, seen: Array, weights: Array, clamped: Array, g: Array, cov: Array
        ) -> tuple[tuple[Any, ...], tuple[Array, Array]]:
            bound = 0.0
            sums: list[Array] | None = None
            means, covariances = np.empty_like(g), np.empty_like(cov)
            for part in tiles(charts, len(rows)):
                tile = Tile(charts, rows[part], seen[part])
                resp, values = tile.responsibilities(g[part], cov[part])
                bound += float(weights[part] @ values)
                new = g[part], cov[part]
                if free:
                    new = tile.estimates(resp, *new, clamped[part])
                means[part], covariances[part] = new
                sums = _added(sums, tile.sums(resp * weights[part, None], *new))
            return (bound, *(sums or ())), (means, covariances)

        totals, new = self.source.map_reduce(
            work, aligned=(self.seen, self.weights, self.clamped, *state.estimates)
        )
        value = float(totals[0]) - penalty(charts, self.rules.ridge)
        latent, views = _unpacked(totals[1:])
        return BoundEvaluation(state, -value / self.weights.sum(), Estimates(*new), latent, views)

    def m_step(self, now: BoundEvaluation) -> ChartState:
        """Best charts for the responsibilities and estimates of an e-step."""
        charts = m_step(now.parameters.charts, now.latent, now.views, self.rules)
        return ChartState(charts, now.estimates)

    def of_clusters(self, labels: Array, k: int, estimates: Estimates) -> ChartState:
        """Charts of rough clusters of the rows."""
        charts = blank_charts(k, estimates.means.shape[1], self.rules)

        def work(
            rows: Array, seen: Array, weights: Array, own: Array, g: Array, cov: Array
        ) -> tuple[tuple[Any, ...], tuple[()]]:
            sums: list[Array] | None = None
            for part in tiles(charts, len(rows)):
                resp = np.full((len(rows[part]), k), (1 - OWN_SHARE) / k)
                resp[np.arange(len(resp)), own[part]] += OWN_SHARE
                tile = Tile(charts, rows[part], seen[part])
                sums = _added(sums, tile.sums(resp * weights[part, None], g[part], cov[part]))
            return tuple(sums or ()), ()

        totals, _ = self.source.map_reduce(
            work, aligned=(self.seen, self.weights, labels, *estimates)
        )
        return ChartState(m_step(charts, *_unpacked(totals), self.rules), estimates)

    def ascend(
        self,
        state: ChartState,
        *,
        free: bool,
        max_iter: int,
        tol: float,
        description: str,
        verbose: int,
    ) -> Alternation[BoundEvaluation]:
        """Alternate between the steps until the relative gain falls to ``tol``."""

        def has_converged(
            before: BoundEvaluation, now: BoundEvaluation, history: list[float]
        ) -> bool:
            return before.objective - now.objective <= tol * max(abs(now.objective), 1.0)

        return alternate(
            state,
            lambda parameters, before: self.e_step(parameters, free=free),
            self.m_step,
            stop=has_converged,
            reject_rises=True,
            max_iter=max_iter,
            description=description,
            verbose=verbose,
        )


def _added(sums: list[Array] | None, more: tuple[Array, ...]) -> list[Array]:
    """Add sums to those before, in place."""
    if sums is None:
        return list(more)
    for total, one in zip(sums, more, strict=True):
        total += one
    return sums


def _unpacked(totals: tuple[Array, ...]) -> tuple[Array, tuple[ViewSums, ...]]:
    """Sums over all rows, and those of every view."""
    views = tuple(ViewSums(*totals[start : start + 4]) for start in range(1, len(totals), 4))
    return totals[0], views
