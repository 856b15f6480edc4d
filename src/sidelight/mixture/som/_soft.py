"""Soft topographic vector quantization (Graepel, Burger, Obermayer; Verbeek 2004, section 4.3)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from sidelight._fit.moments import moments
from sidelight._fit.parameters import (
    Auto,
    Count,
    FinitePositive,
    NonNegative,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import (
    ExpectationMaximization,
    Parameters,
    Statistics,
    log_joint_blocks,
    most_probable,
)
from sidelight.mixture.som._base import Growth, MapBase, Mass, PlacesUnder, anneal
from sidelight.mixture.som._families import spherical
from sidelight.mixture.som._grid import StartName, principal_plane, start_means
from sidelight.mixture.som._nearest import two_nearest
from sidelight.tags import own_tags

#: The first temperature: ``β`` times the largest variance along any direction. At 1 the nodes
#: begin to part from each other.
FIRST_BETA = 0.5


@dataclass(frozen=True)
class ImpliedMixture:
    """The mixture that a map implies, ``p(x) = Σ_s π_s N(x; m_s, I/β)``.

    Attributes
    ----------
    means : ndarray of shape (k, d)
        ``m_s = Σ_r h_sr μ_r``.
    spreads : ndarray of shape (k,)
        ``v_s = ½ Σ_r h_sr |μ_r - m_s|²``.
    beta : float
        Inverse variance.
    """

    means: Array
    spreads: Array
    beta: float

    @property
    def log_weights(self) -> Array:
        """``log π_s``, with ``π_s ∝ exp(-β v_s)``."""
        return np.asarray(-self.beta * self.spreads - logsumexp(-self.beta * self.spreads))

    @property
    def offset(self) -> float:
        """Difference per row between the objective and the log-likelihood of the mixture."""
        d = self.means.shape[1]
        return float(logsumexp(-self.beta * self.spreads)) - 0.5 * d * math.log(
            self.beta / (2 * math.pi)
        )


def implied_mixture(centers: Array, shares: Array, beta: float) -> ImpliedMixture:
    """The mixture of given centers ``μ``: ``Σ_r h_sr ½|x - μ_r|² = ½|x - m_s|² + v_s``."""
    means = shares @ centers
    squares = np.einsum("kd,kd->k", centers, centers)
    spreads = 0.5 * (shares @ squares - np.einsum("kd,kd->k", means, means))
    return ImpliedMixture(means, np.maximum(spreads, 0.0), beta)


@dataclass(frozen=True)
class SoftAssignment:
    """Centers, about the origin, with the sums of the e-step."""

    parameters: Array
    objective: float
    statistics: Statistics


class SoftQuantization:
    """The two steps at a temperature; centers are about the origin."""

    def __init__(self, source: RowSource, origin: Array, shares: Array) -> None:
        self._em = ExpectationMaximization(source)
        self._origin = origin
        self._shares = shares

    def evaluate(
        self, beta: float, centers: Array, before: SoftAssignment | None
    ) -> SoftAssignment:
        """``q_ns ∝ exp(-β Σ_r h_sr ½|x_n - μ_r|²)``, and ``-F / n``."""
        mixture = implied_mixture(centers, self._shares, beta)
        components = spherical(mixture.means + self._origin, 1.0 / beta, self._origin)
        found = self._em.e_step(Parameters(components, mixture.log_weights))
        return SoftAssignment(centers, found.objective - mixture.offset, found.statistics)

    def update(self, now: SoftAssignment) -> Array:
        """``μ_r = Σ_ns q_ns h_sr x_n / Σ_ns q_ns h_sr``."""
        totals, sums = now.statistics
        mass = self._shares.T @ totals
        moved = self._shares.T @ sums[:, : now.parameters.shape[1]]
        fed = (mass > 1e-12)[:, None]
        return np.where(fed, moved / np.maximum(mass, 1e-12)[:, None], now.parameters)


@estimator
class SoftTopographicMap(MapBase):
    """Soft topographic vector quantization with deterministic annealing.

    Maximizes ``F = -Σ_ns q_ns log q_ns - β Σ_ns q_ns Σ_r h_sr ½|x_n - μ_r|²`` over assignments
    ``q`` and centers ``μ`` while ``β`` grows; the neighborhoods ``h`` stay the same (Verbeek 2004,
    equation 4.24). It is the maximum likelihood of a mixture of Gaussians with means
    ``m_s = Σ_r h_sr μ_r``, variance ``1/β`` and weights ``π_s ∝ exp(-β v_s)``,
    ``v_s = ½ Σ_r h_sr |μ_r - m_s|²`` (equations 4.25 and 4.26). The variance is set here, where
    :class:`SelfOrganizingMixture` learns it. Read more in the :doc:`user guide </mixture/som>`.

    Parameters
    ----------
    beta : float > 0, finite or "auto", default="auto"
        Last inverse variance; ``"auto"`` is ``k^(2/a)`` for ``k`` nodes on ``a`` axes, divided by
        the mean variance of the columns: about that of the rows of one node.
    cooling : float > 1, finite, default=1.2
        Factor by which ``β`` grows from stage to stage.

    Attributes
    ----------
    beta_ : float
        ``β`` at the end.
    neighborhood_ : ndarray of shape (n_nodes, n_nodes)
        Neighborhoods ``h``, a row for every node.
    objective_ : float
        ``-F`` per row at the end.
    history_ : ndarray
        ``-F`` per row at every iteration; it does not rise while ``β`` stays the same.
    search_ : dict of str to ndarray
        By stage: ``beta``, ``objective`` and ``n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import SoftTopographicMap
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> SoftTopographicMap((4, 4), random_state=0).fit(X).topographic_error_ < 0.1
    True
    """

    _: KW_ONLY
    beta: FinitePositive | Auto = "auto"
    winner_mass: Mass = 0.5
    cooling: Growth = 1.2
    init: StartName = "pca"
    tol: NonNegative = 1e-4
    max_iter: Count = 200
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="soft topographic vector quantization with deterministic annealing",
        source="Graepel, Burger, Obermayer 1998; Verbeek 2004, section 4.3",
        complexity="O(n k d) per iteration, O(n d + k²) memory",
        out_of_core=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        nodes = self._make_grid()
        source = as_rows(rows)
        origin, _, variances = principal_plane(source, None, 1)
        spread = moments(source).mean_variance or 1.0
        last = nodes.n_nodes ** (2 / len(nodes.shape)) / spread
        last = last if self.beta == "auto" else float(self.beta)
        first = FIRST_BETA / (float(variances[0]) or 1.0)
        stages = [last]
        while stages[0] / self.cooling > first:
            stages.insert(0, stages[0] / self.cooling)
        rng = check_random_state(self.random_state)
        start = start_means(source, nodes, self.init, rng) - origin
        shares = nodes.neighborhood(nodes.rate_of_mass(self.winner_mass)).shares
        steps = SoftQuantization(source, origin, shares)
        found = anneal(
            stages,
            start,
            steps.evaluate,
            steps.update,
            settled=lambda before, now: False,
            tol=self.tol,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        self._set_map(nodes, rows.dtype)
        self.neighborhood_, self.beta_ = shares, last
        self._origin = origin
        self.means_ = (found.last.parameters + origin).astype(rows.dtype)
        mixture = implied_mixture(found.last.parameters, shares, last)
        self._means, self._log_weights = mixture.means + origin, mixture.log_weights
        self.objective_, self.history_ = found.objective, found.history
        self.n_iter_, self.converged_ = int(found.n_iters.sum()), found.converged
        self.search_ = {
            "beta": np.array(stages[: len(found.ends)]),
            "objective": np.array([end.objective for end in found.ends]),
            "n_iter": found.n_iters,
        }
        self._warn_unless_converged(found)
        self.winners_ = self._map_joint(source, most_probable)
        best, second, distances = two_nearest(source, self.means_, origin)
        self._set_errors(source, best, second, distances)
        self.embedding_ = self._transform(source)

    def _map_joint(self, rows: Any, finish: Any) -> Array:
        components = spherical(self._means, 1.0 / self.beta_, self._origin)
        joint: Array = log_joint_blocks(as_rows(rows), components, self._log_weights, finish)
        return joint

    def _transform(self, rows: Any) -> Array:
        return self._map_joint(rows, PlacesUnder(self._nodes, rows.dtype))

    def _nodes_of(self, rows: Any) -> Array:
        """Nodes of the largest assignment ``q``."""
        return self._map_joint(rows, most_probable)
