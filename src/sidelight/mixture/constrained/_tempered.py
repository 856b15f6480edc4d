"""Deterministic annealing of EM: from a mixture without structure to the one wanted (5.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core import ConstrainedPosterior, Parameters, Statistics, em

#: Inverse temperatures rise from here by this factor up to 1.
COLDEST, FACTOR = 0.1, 1.2

#: At most so many steps of EM at each temperature, fewer when a step gains less than this per row.
ROUNDS, TOL = 10, 1e-5

#: Noise on the means before each, in standard deviations of the data.
NOISE = 0.03


@dataclass(frozen=True)
class Tempered:
    """Components whose log-densities count ``beta`` times: responsibilities ``∝ π p(x | s)^beta``.

    The M-step is that of the components: ``beta`` multiplies all that depends on them.
    """

    components: Any
    beta: float

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.components.n_components)

    @property
    def n_parameters(self) -> int:
        """Free parameters of the components."""
        return int(self.components.n_parameters)

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`."""
        return int(self.components.n_statistics)

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior density of the parameters."""
        return float(self.components.log_prior)

    def features(self, block: Any) -> Any:
        """Sufficient statistics of every row."""
        return self.components.features(block)

    def log_density(self, features: Any) -> Array:
        """``beta log p(x_n | s)``."""
        density: Array = self.components.log_density(features)
        density *= self.beta
        return density

    def statistics(self, features: Any, resp: Array) -> Statistics:
        """Sums over the rows."""
        statistics: Statistics = self.components.statistics(features, resp)
        return statistics

    def m_step(self, statistics: Statistics) -> Self:
        """M-step."""
        return replace(self, components=self.components.m_step(statistics))

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component."""
        rows: Array = self.components.sample(component, n, rng)
        return rows


def anneal(
    source: RowSource,
    whole: Any,
    rng: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
    held: ConstrainedPosterior | None = None,
) -> Parameters:
    """Components and mixing weights (as logarithms) at the end of annealing, to start EM from.

    All components begin as the whole data; the temperature falls step by step, and noise on the
    means lets components part as soon as the data or what is known about the held rows asks for it.
    Only the data term is tempered: at first, what is known leads alone.
    """
    k = whole.n_components
    components, log_weights = whole, np.full(k, -np.log(k))
    spread = np.sqrt(np.diagonal(whole.full_covariances()[0]))
    n_levels = int(np.ceil(np.log(1 / COLDEST) / np.log(FACTOR)))
    for beta in COLDEST * FACTOR ** np.arange(n_levels):
        noise = NOISE * spread * rng.standard_normal(components.means.shape)
        result = em(
            source,
            Tempered(replace(components, means=components.means + noise), float(beta)),
            log_weights,
            sample_weight=sample_weight,
            constrained=held,
            max_iter=ROUNDS,
            tol=TOL,
        )
        components, log_weights = result.components.components, result.log_weights
    return Parameters(components, log_weights)
