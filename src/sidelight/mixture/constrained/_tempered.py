"""Deterministic annealing of EM: from a mixture without structure to the one wanted (5.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import Buffers
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core import (
    ConstrainedPosterior,
    InBuffers,
    Parameters,
    Statistics,
    em,
    in_buffers,
    prepared,
)

#: Inverse temperatures rise from the first by the factor up to 1.
FIRST_BETA, FACTOR = 0.1, 1.2

#: Largest number of EM steps at each temperature; fewer when a step gains less than this per row.
MAX_STEPS, TOL = 10, 1e-5

#: Noise on the means before each temperature, in standard deviations of the data.
NOISE = 0.03


@dataclass(frozen=True)
class Tempered(InBuffers):
    """Components whose log-densities count ``beta`` times: responsibilities ``∝ π p(x | s)^beta``.

    Everything else is that of the components: ``beta`` multiplies all that depends on them, so that
    it does not change the m-step.
    """

    components: Any
    beta: float

    def __getattr__(self, name: str) -> Any:
        if name == "components":  # a copy that is being unpickled does not have them yet
            raise AttributeError(name)
        return getattr(self.components, name)

    def in_buffers(self, memory: Buffers) -> Self:
        """Return components that work in buffers."""
        return replace(self, components=in_buffers(self.components, memory))

    def prepare(self) -> None:
        """Prepare the components."""
        prepared(self.components)

    def log_density(self, features: Any) -> Array:
        """``beta log p(x_n | s)``."""
        density: Array = self.components.log_density(features)
        density *= self.beta
        return density

    def m_step(self, statistics: Statistics) -> Self:
        """M-step of the components."""
        return replace(self, components=self.components.m_step(statistics))


def temper_em(
    source: RowSource,
    whole: Any,
    rng: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
    constrained: ConstrainedPosterior | None = None,
) -> Parameters:
    """Components and mixing weights at the end of annealing, to start EM from.

    All components begin as the whole data; the temperature falls step by step, and noise on the
    means lets components part as soon as the data or the constraints ask for it. Only the data term
    is tempered: at first, the constraints lead alone.
    """
    k = whole.n_components
    components, log_weights = whole, np.full(k, -np.log(k))
    spread = np.sqrt(np.diagonal(whole.full_covariances()[0]))
    n_levels = int(np.ceil(np.log(1 / FIRST_BETA) / np.log(FACTOR)))
    for beta in FIRST_BETA * FACTOR ** np.arange(n_levels):
        noise = NOISE * spread * rng.standard_normal(components.means.shape)
        result = em(
            source,
            Tempered(replace(components, means=components.means + noise), float(beta)),
            log_weights,
            sample_weight=sample_weight,
            constrained=constrained,
            max_iter=MAX_STEPS,
            tol=TOL,
        )
        components, log_weights = result.components.components, result.log_weights
    return Parameters(components, log_weights)
