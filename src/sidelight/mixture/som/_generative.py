"""Generative topographic mapping (Bishop, Svensén, Williams; Verbeek 2004, section 2.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.alternation import alternate
from sidelight._fit.moments import moments
from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    FinitePositive,
    NonNegative,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import (
    ExpectationMaximization,
    Parameters,
    Statistics,
    log_joint_blocks,
    most_probable,
)
from sidelight.mixture.som._base import MapBase, PlacesUnder
from sidelight.mixture.som._families import spherical
from sidelight.mixture.som._grid import Grid, means_on_plane, squared_distances
from sidelight.mixture.som._nearest import two_nearest
from sidelight.tags import own_tags

#: The variance does not fall below this share of the mean variance of the columns.
MIN_VARIANCE = 1e-9


@dataclass(frozen=True)
class Basis:
    """Gaussian bumps on the map, and a constant.

    Attributes
    ----------
    centers : ndarray of shape (m, a)
        Centers of the bumps.
    width : float
        Their standard deviation.
    periods : ndarray of shape (a,) or None
        Length of the axes of a periodic map.
    """

    centers: Array
    width: float
    periods: Array | None

    def __call__(self, places: Array) -> Array:
        """``φ`` at places of the map, of shape (n, m + 1); the last column is the constant."""
        squares = squared_distances(places, self.centers, self.periods)
        bumps = np.exp(-squares / (2 * self.width**2))
        return np.hstack((bumps, np.ones((len(places), 1))))


def make_basis(nodes: Grid, numbers: Sequence[int], width: float) -> Basis:
    """Bumps in rows and columns over the extent of the grid; the width is in their spacings."""
    low, high = nodes.positions.min(axis=0), nodes.positions.max(axis=0)
    periods = nodes.periods / nodes.scale if nodes.periodic else None
    axes, spacings = [], []
    for axis, n in enumerate(numbers):
        if periods is not None:
            places = low[axis] + periods[axis] * np.arange(n) / n
        elif n > 1:
            places = np.linspace(low[axis], high[axis], n)
        else:
            places = np.array([(low[axis] + high[axis]) / 2])
        axes.append(places)
        extent = (high - low)[axis] if periods is None else periods[axis]
        spacings.append(places[1] - places[0] if n > 1 else extent)
    spacing = max(float(np.max(spacings)), 1e-12)
    mesh = np.meshgrid(*axes, indexing="ij")
    return Basis(np.column_stack([one.ravel() for one in mesh]), width * spacing, periods)


class BasisWeights(NamedTuple):
    """Weights ``W`` of the basis functions, about the origin, and the variance."""

    weights: Array
    variance: float


@dataclass(frozen=True)
class Responsibilities:
    """A sheet with the sums of the e-step."""

    parameters: BasisWeights
    objective: float
    statistics: Statistics


class SheetEM:
    """EM for ``p(x) = (1/k) Σ_s N(x; Wᵀ φ_s, σ² I)`` with a Gaussian prior on ``W``.

    Parameters
    ----------
    source : RowSource
        The rows.
    origin : ndarray of shape (d,)
        Mean of the rows.
    basis : ndarray of shape (k, m)
        ``φ_s`` of all nodes.
    alpha : float
        Inverse variance of the prior.
    least : float
        The variance does not fall below this.
    """

    def __init__(
        self, source: RowSource, origin: Array, basis: Array, *, alpha: float, least: float = 0.0
    ) -> None:
        self._em = ExpectationMaximization(source)
        self._n = source.n_rows
        self._origin = origin
        self._basis = basis
        self._alpha = alpha
        self._least = least
        self._log_weights = np.full(len(basis), -np.log(len(basis)))

    def evaluate(self, sheet: BasisWeights, before: Responsibilities | None) -> Responsibilities:
        """Posterior of the nodes, and the negative log-likelihood and log-prior per row."""
        means = self._basis @ sheet.weights + self._origin
        components = spherical(means, sheet.variance, self._origin)
        found = self._em.e_step(Parameters(components, self._log_weights))
        prior = 0.5 * self._alpha * float(np.sum(sheet.weights**2))
        return Responsibilities(sheet, found.objective + prior / self._n, found.statistics)

    def update(self, now: Responsibilities) -> BasisWeights:
        """Solve ``(Φᵀ G Φ + α σ² I) W = Φᵀ Rᵀ X``, then the variance about the new means."""
        totals, sums = now.statistics
        d = sums.shape[1] - 1
        matrix = self._basis.T @ (totals[:, None] * self._basis)
        matrix[np.diag_indices_from(matrix)] += self._alpha * now.parameters.variance
        weights = np.linalg.lstsq(matrix, self._basis.T @ sums[:, :d], rcond=None)[0]
        means = self._basis @ weights
        squares = float(sums[:, d].sum()) - 2 * float(np.sum(means * sums[:, :d]))
        squares += float(totals @ np.einsum("kd,kd->k", means, means))
        return BasisWeights(weights, max(squares / (self._n * d), self._least))


@estimator
class GenerativeTopographicMap(MapBase):
    """Generative topographic mapping: nodes of a mixture on a smooth sheet in the data space.

    Maximizes ``Σ_n log (1/k) Σ_s N(x_n; Wᵀ φ(g_s), σ² I) - (α/2) |W|²`` by EM, with Gaussian bumps
    and a constant as the basis ``φ`` (Verbeek 2004, sections 2.2.2 and 4.3). Places between nodes
    have a picture too, ``Wᵀ φ(g)``. Read more in the :doc:`user guide </mixture/som>`.

    Parameters
    ----------
    n_basis : sequence of int >= 1 or None, default=None
        Numbers of bumps along the axes of the grid; by default half as many as nodes.
    basis_width : float > 0, finite, default=1.0
        Standard deviation of the bumps, as a multiple of the distance between them.
    alpha : float >= 0, finite, default=0.001
        Inverse variance of the prior of ``W``, in units of the mean variance of the columns.
    tol : float >= 0, default=0.0001
        Stop when an iteration improves the objective, which is per row, by no more than this.
    max_iter : int >= 1, default=500
        Largest number of iterations.

    Attributes
    ----------
    means_ : ndarray of shape (n_nodes, n_features)
        Means ``Wᵀ φ(g_s)`` of the nodes.
    variance_ : float
        ``σ²``.
    objective_ : float
        Negative log-likelihood and log-prior per row at the end.
    history_ : ndarray
        The same at every iteration; never rises.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the loop ended before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import GenerativeTopographicMap
    >>> t = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> X = np.column_stack([t, t[:, 0] ** 2])
    >>> gtm = GenerativeTopographicMap((8, 8)).fit(X)
    >>> bool(np.abs(gtm.inverse_transform(gtm.transform(X)) - X).mean() < 0.1)
    True
    """

    _: KW_ONLY
    n_basis: Sequence[Count] | None = None
    basis_width: FinitePositive = 1.0
    alpha: FiniteNonNegative = 1e-3
    tol: NonNegative = 1e-4
    max_iter: Count = 500
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="generative topographic mapping: a smooth sheet of nodes",
        source="Bishop, Svensén, Williams 1998; Verbeek 2004, sections 2.2.2 and 4.3",
        complexity="O(n k d) per iteration, O(n d + k m) memory",
        monotone=True,
        out_of_core=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        nodes = self._make_grid()
        self._basis = make_basis(nodes, self._numbers(nodes), float(self.basis_width))
        source = as_rows(rows)
        overall = moments(source)
        origin, spread = overall.mean, overall.mean_variance or 1.0
        basis = self._basis(nodes.positions)
        steps = SheetEM(
            source,
            origin,
            basis,
            alpha=float(self.alpha) / spread,
            least=MIN_VARIANCE * spread,
        )
        found = alternate(
            _first_sheet(source, origin, nodes, basis, MIN_VARIANCE * spread),
            steps.evaluate,
            steps.update,
            stop=lambda before, now, history: before.objective - now.objective <= self.tol,
            reject_rises=True,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        self._set_map(nodes, rows.dtype)
        self._origin, self._sheet = origin, found.last.parameters
        self._nodes_means = basis @ self._sheet.weights + origin
        self.means_ = self._nodes_means.astype(rows.dtype)
        self.variance_ = self._sheet.variance
        self.objective_, self.history_ = found.objective, found.history
        self.n_iter_, self.converged_ = found.n_updates, found.converged
        self._warn_unless_converged(found)
        best, second, distances = two_nearest(source, self.means_, origin)
        self.winners_ = best
        self._set_errors(source, best, second, distances)
        self.embedding_ = self._transform(source)

    def _numbers(self, nodes: Grid) -> Sequence[int]:
        """Numbers of bumps along the axes."""
        if self.n_basis is None:
            return [-(-n // 2) for n in nodes.shape]
        if len(self.n_basis) != len(nodes.shape):
            raise SidelightError(
                f"{setting('n_basis')} has {len(self.n_basis)} numbers, but "
                f"{setting('grid')} has {len(nodes.shape)} axes; give one for each."
            )
        return [int(n) for n in self.n_basis]

    def _map_joint(self, rows: Any, finish: Any) -> Array:
        components = spherical(self._nodes_means, self.variance_, self._origin)
        log_weights = np.full(len(self._nodes_means), -np.log(len(self._nodes_means)))
        joint: Array = log_joint_blocks(as_rows(rows), components, log_weights, finish)
        return joint

    def _transform(self, rows: Any) -> Array:
        return self._map_joint(rows, PlacesUnder(self._nodes, rows.dtype))

    def inverse_transform(self, Z: Any) -> Array:
        """Return the points ``Wᵀ φ(g)`` of the sheet at places of the map.

        Parameters
        ----------
        Z : array of shape (n_places, n_axes)
            Places on the map, as :meth:`transform` gives them.

        Returns
        -------
        X : ndarray of shape (n_places, n_features)
            Rows.
        """
        places = self._check_places(Z)
        points = self._basis(places) @ self._sheet.weights + self._origin
        return points.astype(self.means_.dtype)

    def _nodes_of(self, rows: Any) -> Array:
        """Most probable nodes."""
        return self._map_joint(rows, most_probable)

    def score_samples(self, X: Any) -> Array:
        """Return the log-density ``log p(x)`` of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of float64, shape (n_samples,)
            Logarithms of the density.
        """
        check_is_fitted(self)
        return self._map_joint(
            self._check_rows(X, reset=False), lambda joint: logsumexp(joint, axis=1)
        )


def _first_sheet(
    source: RowSource, origin: Array, nodes: Grid, basis: Array, least: float
) -> BasisWeights:
    """The principal plane, and the larger of the next variance and half the distance of nodes."""
    means, variances = means_on_plane(source, None, nodes)
    weights = np.linalg.lstsq(basis, means - origin, rcond=None)[0]
    sheet = basis @ weights
    distances = cdist(sheet[:1], sheet[1:]) if len(sheet) > 1 else np.zeros((1, 1))
    half = 0.5 * float(distances.min())
    variance = max(float(variances[-1]), half**2, least)
    return BasisWeights(weights, variance)
