"""Mixtures of von Mises-Fisher distributions, for directions such as documents.

p(x | s) = c_D(κ_s) exp(κ_s μ_sᵀ x),   ‖x‖ = ‖μ_s‖ = 1,
log c_D(κ) = (D/2 - 1) log κ - (D/2) log 2π - log I_{D/2 - 1}(κ)
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._fit.parameters import FinitePositive, estimator
from sidelight._fit.views import UnitRows, divide_rows, row_lengths
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import ExponentialFamily, Statistics, as_floats
from sidelight.mixture.families._base import FamilyMixture
from sidelight.mixture.families._bessel import concentration, log_bessel
from sidelight.tags import own_tags


@dataclass(frozen=True)
class DirectionComponents(ExponentialFamily):
    """Mean directions and concentrations of all components."""

    directions: Array
    concentrations: Array
    largest: float

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.directions)

    @property
    def n_parameters(self) -> int:
        """A point of the sphere and a concentration per component."""
        k, d = self.directions.shape
        return k * d

    @property
    def n_statistics(self) -> int:
        """Numbers per row: the row."""
        return int(self.directions.shape[1])

    def features(self, block: Any) -> Any:
        """The rows themselves."""
        return as_floats(block, self.memory)

    def _natural(self) -> tuple[Array, Array]:
        d = self.directions.shape[1]
        eta = (self.directions * self.concentrations[:, None]).T
        return eta, log_normalizer(d, self.concentrations)

    def m_step(self, statistics: Statistics) -> Self:
        """Direction of the weighted sum; its length against the weight gives the concentration."""
        totals, sums = statistics
        lengths = np.linalg.norm(sums, axis=1)
        fed = (totals > 0) & (lengths > 0)
        safe = np.where(fed, lengths, 1.0)
        directions = np.where(fed[:, None], sums / safe[:, None], self.directions)
        mean_lengths = np.where(fed, lengths / np.where(fed, totals, 1.0), 0.0)
        found = concentration(self.directions.shape[1], mean_lengths, self.largest)
        return replace(
            self,
            directions=directions,
            concentrations=np.where(totals > 0, found, self.concentrations),
        )

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes."""
        return {
            "means_": self.directions.astype(dtype),
            "concentrations_": self.concentrations.astype(dtype),
        }

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw directions around one mean (Wood's rejection sampling)."""
        mean, kappa = self.directions[component], float(self.concentrations[component])
        d = len(mean)
        if d == 1:
            yes = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * kappa * mean[0]))
            return np.where(yes, 1.0, -1.0)[:, None]
        cosines = _wood_cosines(d, kappa, n, rng)
        sideways = rng.standard_normal((n, d))
        sideways -= np.outer(sideways @ mean, mean)
        sideways /= np.linalg.norm(sideways, axis=1, keepdims=True)
        return cosines[:, None] * mean + np.sqrt(1 - cosines**2)[:, None] * sideways


@estimator
class VonMisesFisherMixture(FamilyMixture):
    """Mixture of von Mises-Fisher distributions by EM, for directions such as documents.

    Maximizes ``Σ_n w_n log Σ_s π_s c_D(κ_s) exp(κ_s μ_sᵀ x_n)`` over mixing weights ``π``, mean
    directions ``μ`` and concentrations ``κ`` (Book 2009, section 8.3 uses it; Banerjee et al.
    2005). Rows are brought to length 1 first; rows of zeros have no direction and are refused.
    Sparse rows stay sparse. As all ``κ`` grow the responsibilities become those of spherical
    k-means. Rows of a known class belong to the component of that class. Read more in the
    :doc:`user guide </mixture/families>`.

    Parameters
    ----------
    max_concentration : float > 0, finite, default=1000000.0
        Upper bound of the concentrations, also where all rows of a component are the same.

    Attributes
    ----------
    means_ : ndarray of shape (n_components, n_features)
        Mean directions ``μ``.
    concentrations_ : ndarray of shape (n_components,)
        Concentrations ``κ``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import VonMisesFisherMixture
    >>> X = np.array([[5.0, 0.1], [1.0, 0.0], [0.1, 3.0], [0.2, 9.0]])
    >>> labels = VonMisesFisherMixture(2, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _: KW_ONLY
    max_concentration: FinitePositive = 1e6

    _own_tags = own_tags(
        summary="mixture of von Mises-Fisher distributions for directions, with partial labels",
        source="Banerjee, Dhillon, Ghosh, Sra 2005",
        complexity="O(nnz k) per iteration, O(nnz + k d) memory",
        sparse=True,
        raw_columns=True,
        out_of_core=True,
    )

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """The rows, brought to length 1; those from elsewhere as they are read."""
        rows: Any = self._check_rows(X, reset=reset)
        if isinstance(rows, RowSource):
            return UnitRows(rows)
        lengths = row_lengths(rows)
        zero = np.flatnonzero(lengths == 0)
        if len(zero):
            raise SidelightError(
                f"Row {zero[0]} is all zeros (as are {len(zero) - 1} more), and zeros have no "
                f"direction: {type(self).__name__} needs other values there, or leave them out."
            )
        return as_rows(divide_rows(rows, lengths))

    @property
    def _takes_directions(self) -> bool:
        return True

    def _whole_data(self, source: RowSource) -> DirectionComponents:
        first = np.zeros((self.n_components, source.n_features))
        first[:, 0] = 1.0
        return DirectionComponents(first, np.ones(self.n_components), float(self.max_concentration))


def log_normalizer(d: int, kappa: Array) -> Array:
    """``log c_D(κ)``; for ``κ = 0`` the sphere has the same density everywhere."""
    order = d / 2 - 1
    positive = np.maximum(kappa, 1e-12)
    return order * np.log(positive) - (d / 2) * np.log(2 * np.pi) - log_bessel(order, positive)


def _wood_cosines(d: int, kappa: float, n: int, rng: np.random.RandomState) -> Array:
    """Cosines to the mean direction, by rejection from a Beta distribution."""
    b = (d - 1) / (2 * kappa + np.sqrt(4 * kappa**2 + (d - 1) ** 2))
    x0 = (1 - b) / (1 + b)
    c = kappa * x0 + (d - 1) * np.log(1 - x0**2)
    accepted = np.empty(0)
    while len(accepted) < n:
        z = rng.beta((d - 1) / 2, (d - 1) / 2, size=2 * n + 10)
        w = (1 - (1 + b) * z) / (1 - (1 - b) * z)
        good = kappa * w + (d - 1) * np.log(1 - x0 * w) - c >= np.log(rng.uniform(size=len(z)))
        accepted = np.append(accepted, w[good])
    return accepted[:n]
