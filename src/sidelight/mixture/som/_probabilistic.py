"""Probabilistic self-organizing map (Anouar, Badran, Thiria; Verbeek 2004, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    NonNegative,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import Statistics, feature_tiles
from sidelight.mixture.som._base import Growth, MapBase, Mass, anneal, map_joint
from sidelight.mixture.som._families import complete_nodes
from sidelight.mixture.som._grid import GridNeighborhood, StartName, start_winners
from sidelight.mixture.som._nearest import two_nearest
from sidelight.mixture.som._parts import FamilySettings, NumericPart
from sidelight.tags import own_tags


@dataclass(frozen=True)
class OwnWeights:
    """Components with the winners, whose neighborhoods are the mixing weights of the rows."""

    parameters: Any
    objective: float
    winners: Array
    statistics: Statistics
    neighborhood: GridNeighborhood


class ProbabilisticSteps:
    """The two steps at given neighborhoods."""

    def __init__(self, source: RowSource) -> None:
        self._source = source

    def evaluate(
        self, stage: GridNeighborhood, components: Any, before: OwnWeights | None
    ) -> OwnWeights:
        """``r_n = argmax_r Σ_s h_r(s) p(x_n | s)``, ``q_ns ∝ h_{r_n}(s) p(x_n | s)``."""

        def work(block: Any) -> tuple[tuple[Any, ...], tuple[Array]]:
            likelihood, winners = 0.0, np.empty(block.shape[0], dtype=np.int32)
            sums: list[Array] | None = None
            for start, stop in feature_tiles(components, block):
                features = components.features(block[start:stop])
                own, log_density, resp = posterior(components.log_density(features), stage)
                winners[start:stop] = own
                likelihood += float(log_density.sum())
                more = components.statistics(features, resp)
                sums = (
                    [np.array(one, dtype=np.float64) for one in more]
                    if sums is None
                    else [a + b for a, b in zip(sums, more, strict=True)]
                )
            return (likelihood, *(sums or ())), (winners,)

        (likelihood, *statistics), (winners,) = self._source.map_reduce(work)
        objective = -float(likelihood) / self._source.n_rows
        return OwnWeights(components, objective, winners, tuple(statistics), stage)

    def update(self, now: OwnWeights) -> Any:
        """The m-step of the components."""
        return now.parameters.m_step(now.statistics)


def posterior(log_density: Array, stage: GridNeighborhood) -> tuple[Array, Array, Array]:
    """Winner, log-density and responsibilities of every row."""
    peak = log_density.max(axis=1, keepdims=True)
    scaled = np.exp(log_density - peak)
    of_nodes = scaled @ stage.shares.T
    winners = np.argmax(of_nodes, axis=1).astype(np.int32)
    best = of_nodes[np.arange(len(winners)), winners]
    resp = stage.shares[winners] * scaled
    resp /= best[:, None]
    return winners, np.log(best) + peak[:, 0], resp


@estimator
class ProbabilisticMap(MapBase):
    """Probabilistic self-organizing map: every row is a mixture of the neighborhood of its winner.

    Maximizes ``L' = Σ_n log Σ_s h_{r_n}(s) p(x_n | s)`` over the winners
    ``r_n = argmax_r Σ_s h_r(s) p(x_n | s)`` and the parameters of the nodes (Verbeek 2004,
    equations 4.28 and 4.29). The published update of the parameters may lower ``L'``; here they are
    updated by EM for the mixing weights ``h_{r_n}(s)``, which never does. Every row has mixing
    weights of its own, so that ``L'`` is not the likelihood of one mixture. NaN stands for a
    missing value. Read more in the :doc:`user guide </mixture/som>`.

    Parameters
    ----------
    covariance_type : {"spherical", "diag", "full"}, default="spherical"
        Gaussians with one variance, with a variance per column, or with a covariance matrix.
    shared_variance : bool, default=True
        Whether ``"spherical"`` components of all nodes have the same variance.
    reg_covar : float >= 0, finite, default=1e-06
        Added to variances, as a multiple of the mean variance of the columns.

    Attributes
    ----------
    neighborhood_ : ndarray of shape (n_nodes, n_nodes)
        Neighborhoods ``h_r(s)`` at the end, a row for every node ``r``.
    objective_ : float
        ``-L'`` per row at the end.
    history_ : ndarray
        ``-L'`` per row at every iteration of all stages; it does not rise within a stage.
    search_ : dict of str to ndarray
        By stage: ``rate`` (``λ``), ``objective`` and ``n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import ProbabilisticMap
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> ProbabilisticMap((4, 4), random_state=0).fit(X).embedding_.shape
    (300, 2)
    """

    _: KW_ONLY
    covariance_type: Literal["spherical", "diag", "full"] = "spherical"
    shared_variance: bool = True
    reg_covar: FiniteNonNegative = 1e-6
    winner_mass: Mass = 0.8
    cooling: Growth = 1.2
    init: StartName = "pca"
    tol: NonNegative = 1e-4
    max_iter: Count = 200
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="probabilistic self-organizing map with mixing weights by neighborhood",
        source="Anouar, Badran, Thiria 1997; Verbeek 2004, section 4.3",
        complexity="O(n k (d + k)) per iteration, O(n d + k²) memory",
        missing=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        nodes = self._make_grid()
        settings = FamilySettings(
            shared_variance=self.shared_variance, reg_covar=float(self.reg_covar)
        )
        names: Sequence[str] | None = getattr(self, "feature_names_in_", None)
        part = NumericPart(np.arange(rows.shape[1]), self.covariance_type, settings, names)
        weights = np.ones(len(rows))
        rng = check_random_state(self.random_state)
        winners = start_winners(part.numbers(rows), weights, nodes, self.init, rng)
        source = as_rows(rows)
        stages = [nodes.neighborhood(rate) for rate in nodes.rates(self.winner_mass, self.cooling)]
        whole = part.whole(rows, weights, nodes.n_nodes)
        steps = ProbabilisticSteps(source)
        found = anneal(
            stages,
            _first_components(source, whole, stages[0].shares, winners),
            steps.evaluate,
            steps.update,
            settled=lambda before, now: False,
            tol=self.tol,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        self._set_map(nodes, rows.dtype)
        self._part, self._components = part, complete_nodes(found.last.parameters)
        self._neighborhood = found.last.neighborhood
        self.neighborhood_ = self._neighborhood.shares
        self.means_ = self._components.means.astype(rows.dtype)
        self.winners_ = found.last.winners
        self.objective_, self.history_ = found.objective, found.history
        self.n_iter_, self.converged_ = int(found.n_iters.sum()), found.converged
        self.search_ = {
            "rate": np.array([end.neighborhood.rate for end in found.ends]),
            "objective": np.array([end.objective for end in found.ends]),
            "n_iter": found.n_iters,
        }
        self._warn_unless_converged(found)
        best, second, distances = two_nearest(source, self.means_, self._components.origin)
        self._set_errors(source, best, second, distances)
        self.embedding_ = self._transform(rows)

    def _map_density(self, rows: Any, finish: Any) -> Array:
        """Map ``finish`` of winners and responsibilities over the rows."""
        neighborhood = self._neighborhood
        found: Array = map_joint(
            [self._components],
            np.zeros(self._nodes.n_nodes),
            [(self._part, rows)],
            lambda tables, joint: finish(*posterior(joint, neighborhood)),
        )
        return found

    def _transform(self, rows: Any) -> Array:
        nodes, dtype = self._nodes, rows.dtype
        return self._map_density(
            rows, lambda winners, density, resp: nodes.place(resp).astype(dtype)
        )

    def _nodes_of(self, rows: Any) -> Array:
        """Winning nodes."""
        return self._map_density(rows, lambda winners, density, resp: winners)


def _first_components(source: RowSource, whole: Any, shares: Array, winners: Array) -> Any:
    """One m-step with the neighborhoods of given winners as responsibilities."""

    def work(block: Any, own: Array) -> tuple[tuple[Any, ...], tuple[()]]:
        sums: list[Array] | None = None
        for start, stop in feature_tiles(whole, block):
            more = whole.statistics(whole.features(block[start:stop]), shares[own[start:stop]])
            sums = (
                [np.array(one, dtype=np.float64) for one in more]
                if sums is None
                else [a + b for a, b in zip(sums, more, strict=True)]
            )
        return tuple(sums or ()), ()

    return whole.m_step(source.map_reduce(work, aligned=(winners,))[0])
