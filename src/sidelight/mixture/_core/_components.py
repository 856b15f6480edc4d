"""What EM needs to know about the components of a mixture.

Most components are exponential families: with sufficient statistics ``T(x)``

    log p(x | s) = T(x)·η_s + a_s

is linear in ``T``, and the M-step needs the sums ``Σ_n q_ns T(x_n)`` only. So a block of rows costs
one matrix product in the E-step and one in the M-step, and a row may also be the average of the
statistics of many rows (a cell of a tree): the average log-density is the log-density of the
average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from sidelight._typing import Array

Statistics = tuple[Array, ...]


class Components(Protocol):
    """Parameters of all components; a new object after every M-step."""

    @property
    def n_components(self) -> int:
        """Number of components ``k``."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all components together, without the mixing weights."""

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`: how many rows are worked on at a time."""

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior density of the parameters, which is maximised with the rest."""

    def features(self, block: Any) -> Any:
        """Sufficient statistics ``T(x)`` of every row, as :meth:`log_density` takes them."""

    def log_density(self, features: Any) -> Array:
        """``log p(x_n | s)``, float64 of shape (b, k)."""

    def statistics(self, features: Any, resp: Array) -> Statistics:
        """Sums over the rows, weighted by ``resp`` of shape (b, k); first the sums of ``resp``."""

    def maximize(self, statistics: Statistics) -> Self:
        """Components of highest expected likelihood: the M-step."""

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component."""


class ExponentialFamily(ABC):
    """Components whose log-density is linear in their statistics."""

    @abstractmethod
    def _natural(self) -> tuple[Array, Array]:
        """``η`` of shape (F, k) and ``a`` of shape (k,)."""

    @property
    def log_prior(self) -> float:
        """Nothing is known about the parameters unless a family says so."""
        return 0.0

    @cached_property
    def natural(self) -> tuple[Array, Array]:
        """``η`` of shape (F, k) and ``a`` of shape (k,)."""
        return self._natural()

    def log_density(self, features: Any) -> Array:
        """``log p(x_n | s)`` of every row and component."""
        eta, offset = self.natural
        log_density: Array = features @ eta
        log_density += offset
        return log_density

    def statistics(self, features: Any, resp: Array) -> Statistics:
        """Return ``Σ_n q_ns`` and ``Σ_n q_ns T(x_n)``."""
        return resp.sum(axis=0), np.asarray((features.T @ resp).T)
