"""Components that are probabilities of outcomes, and the multinomial ones that documents need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.buffers import Buffers, NewArrays
from sidelight._fit.em.components import ExponentialFamily, Statistics
from sidelight._typing import Array


class DiscreteComponents(ExponentialFamily):
    """Components that are logarithms of probabilities, with a Dirichlet prior on them.

    The prior counts as if every component had seen each outcome ``alpha`` more times.
    """

    log_probabilities: Array
    alpha: float

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_probabilities)

    @property
    def log_prior(self) -> float:
        """``α Σ log θ``."""
        return self.alpha * float(self.log_probabilities.sum())

    def _natural(self) -> tuple[Array, Array]:
        return np.ascontiguousarray(self.log_probabilities.T), np.zeros(self.n_components)


@dataclass(frozen=True)
class MultinomialComponents(DiscreteComponents):
    """Logarithms of the probabilities of the words, for all components.

    The multinomial coefficient of a row is left out: it is the same for all parameters.
    """

    log_probabilities: Array
    alpha: float

    @property
    def n_parameters(self) -> int:
        """Free probabilities."""
        k, n_words = self.log_probabilities.shape
        return k * (n_words - 1)

    @property
    def n_statistics(self) -> int:
        """Numbers per row: the counts."""
        return int(self.log_probabilities.shape[1])

    def features(self, block: Any) -> Any:
        """The counts themselves."""
        return as_floats(block, self.memory)

    def m_step(self, statistics: Statistics) -> Self:
        """Shares of the words in each component, ``θ_sw ∝ α + Σ_n q_ns x_nw``."""
        counts = statistics[1] + self.alpha
        return replace(
            self, log_probabilities=np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))
        )

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes."""
        return {"feature_log_prob_": self.log_probabilities.astype(dtype)}

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows of one word each: the model has no distribution of lengths."""
        probabilities = np.exp(self.log_probabilities[component])
        return rng.multinomial(1, probabilities / probabilities.sum(), size=n).astype(np.float64)


def as_floats(block: Any, memory: Buffers | NewArrays) -> Any:
    """The rows themselves, dense ones in float64."""
    if sparse.issparse(block) or block.dtype == np.float64:
        return block
    rows = memory.array("features", block.shape)
    rows[:] = block
    return rows
