"""Global coordination of factor analyzers (Roweis, Saul and Hinton 2002; Law 2006, 2.9.1)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from sidelight._fit.alternation import Alternation, alternate
from sidelight._fit.checks import check_coordinates
from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FiniteNonNegative,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Embedding
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.manifold._reconstruction import connected_weights, usable_neighbors
from sidelight.manifold.coordination._alignment import align_by_reconstruction, constant_slots
from sidelight.manifold.coordination._charted import COMMON_PARAMETERS, place
from sidelight.manifold.coordination._charts import (
    LocalCharts,
    check_dimensions,
    fit_charts,
    number_of_charts,
)
from sidelight.manifold.coordination._coordinated_em import (
    CoordinateEstimates,
    LinkedCharts,
    blank_charts,
    e_step,
    m_step,
)
from sidelight.tags import own_tags

#: Variance of the first coordinates of each row, in units of their variance over all rows.
FIRST_VARIANCE = 1e-4

#: Least noise variance of a feature, as a share of its variance.
NOISE_FLOOR = 1e-4


@estimator
class GlobalCoordination(Embedding):
    r"""Global coordination: factor analyzers that agree on one coordinate of every row, by EM.

    A mixture of factor analyzers :math:`y = \mu_s + \Lambda_s z + \epsilon` with the links
    :math:`g = \kappa_s + A_s z`. Every row has a Gaussian estimate :math:`q_i(g)` of its place and
    responsibilities :math:`q_i(s)`; the fit maximizes

    .. math:: \Phi = \sum_i \log p(y_i) - \mathrm{KL}( q_i(g) q_i(s) \| p(g, s | y_i) )

    by exact steps in turns, so that charts that share a row are made to agree on its place. It
    starts from a spectral map, and ends in a density and a map in both directions. (Law 2006,
    section 2.9.1.) Read more in the :doc:`user guide </manifold/coordination>`.

    :class:`~sidelight.manifold.CoordinatedFactorAnalysis` takes the same steps, with restarts,
    anchors and uncertainties; this is the plain form of the survey.

    Parameters
    ----------
    chart : {"factor", "ppca"}, default="factor"
        Noise of a chart: a variance for every feature, or one for all.
    init : {"llc", "pca"} or array, default="llc"
        First coordinates: locally linear coordination, principal components, or an array of shape
        (n_samples, n_components).
    n_neighbors : int >= 1, default=10
        Number of neighbors of a row, for ``init="llc"``.
    tol : float >= 0, finite, default=0.0001
        Stop when an iteration raises the bound per row by less.

    Attributes
    ----------
    n_charts_ : int
        Number of charts.
    weights_ : ndarray of shape (n_charts,)
        Mixing weights.
    offsets_ : ndarray of shape (n_charts, n_components)
        ``κ``: places of the centers of the charts.
    means_ : ndarray of shape (n_charts, n_features)
        ``μ``: centers of the charts among the rows.
    loadings_ : ndarray of shape (n_charts, n_features, n_components)
        ``Λ A⁻¹``: maps from places to rows.
    noise_variances_ : ndarray of shape (n_charts, n_features)
        Noise variances.
    objective_ : float
        ``-Φ`` per row at the end, never below the negative log-likelihood per row.
    history_ : ndarray
        ``-Φ`` per row at every iteration; never rises.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the search converged before ``max_iter``.

    References
    ----------
    Roweis, Saul and Hinton, *Global coordination of local linear models* (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import GlobalCoordination
    >>> t = np.linspace(0, 3, 200)
    >>> X = np.column_stack([t, np.cos(t), np.sin(2 * t)])
    >>> model = GlobalCoordination(1, n_charts=8, random_state=0).fit(X)
    >>> bool(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.99)
    True
    """

    _common_parameters: ClassVar[dict[str, str]] = {
        name: COMMON_PARAMETERS[name] for name in ("n_components", "n_charts")
    }

    n_components: Count = 2
    _: KW_ONLY
    n_charts: Count | Auto = "auto"
    chart: Literal["factor", "ppca"] = "factor"
    init: Literal["llc", "pca"] | ArrayLike = "llc"
    n_neighbors: Count = 10
    max_iter: Count = 300
    tol: FiniteNonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="factor analyzers that agree on one coordinate of every row, by EM",
        source="Roweis, Saul and Hinton 2002; Law 2006, section 2.9.1",
        complexity="O(n k D d) per iteration, O(n k d) memory for k charts",
        monotone=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        check_dimensions(rows, self.n_components)
        with shown(self.verbose):
            charts = self._fit_charts(rows)
            start = self._start(rows, charts)
            scaled = charts.scaled(rows)
            with one_thread_blas:  # threads of BLAS wait for each other on tall thin matrices
                found = self._search(scaled, start)
        self._units = LocalCharts((), charts.center, charts.exponent)
        self._set_fitted(scaled, found, rows.dtype)

    def _fit_charts(self, rows: Array) -> LocalCharts:
        """Charts whose responsibilities the search starts from; EM finds their noise itself."""
        n_charts = number_of_charts(self.n_charts, len(rows), self.n_components)
        return fit_charts(rows, self.n_components, n_charts, "ppca", None, self.random_state)

    def _start(self, rows: Array, charts: LocalCharts) -> CoordinateEstimates:
        """Responsibilities of the charts, and first coordinates of little variance."""
        n, d = len(rows), self.n_components
        scaled = charts.scaled(rows)
        if isinstance(self.init, str):
            first = self._spectral(rows, charts) if self.init == "llc" else _principal(scaled, d)
        else:
            first = check_array(self.init, dtype=np.float64)
            if first.shape != (n, d):
                raise SidelightError(
                    f"init must have the shape ({n}, {d}), one place per row, not {first.shape}."
                )
        resp = np.concatenate([resp for _, resp, _ in charts.blocks(rows)])
        first = first - first.mean(axis=0)
        variance = float(np.mean(first.var(axis=0))) or 1.0
        covariances = np.tile(FIRST_VARIANCE * variance * np.eye(d), (n, 1, 1))
        blank = blank_charts(charts.n_charts, rows.shape[1], d)
        return CoordinateEstimates(blank, resp, first, covariances, math.inf)

    def _spectral(self, rows: Array, charts: LocalCharts) -> Array:
        """Coordinates of locally linear coordination with these charts."""
        near = usable_neighbors(self.n_neighbors, len(rows), self.n_components)
        weights = connected_weights(rows, near)
        design = charts.design(rows)
        constant = constant_slots(charts.n_charts, design.shape[1] // charts.n_charts)
        alignment = align_by_reconstruction(design, weights, self.n_components, constant)
        return place(charts, alignment.coefficients, rows)

    def _search(self, rows: Array, start: CoordinateEstimates) -> Alternation[CoordinateEstimates]:
        """Alternate between the estimates of the rows and the charts."""
        variances = rows.var(axis=0)
        least = NOISE_FLOOR * np.where(variances > 0, variances, variances.mean())
        isotropic = self.chart == "ppca"
        if isotropic:
            least = np.full(len(least), float(least.mean()))

        def update(now: CoordinateEstimates) -> LinkedCharts:
            return m_step(rows, now, least, isotropic=isotropic)

        def evaluate(
            charts: LinkedCharts, before: CoordinateEstimates | None
        ) -> CoordinateEstimates:
            return e_step(rows, charts, (start if before is None else before).resp)

        found = alternate(
            update(start),
            evaluate,
            update,
            stop=lambda before, now, history: before.objective - now.objective <= self.tol,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        if not found.converged and not found.interrupted:
            warn(
                f"The bound still rose after {self.max_iter} iterations; raise "
                f"{setting('max_iter')} or {setting('tol')}.",
                ConvergenceWarning,
            )
        return found

    def _set_fitted(
        self, scaled: Array, found: Alternation[CoordinateEstimates], dtype: np.dtype[Any]
    ) -> None:
        """Set the fitted attributes, with coordinates of mean 0 and covariance I."""
        places = found.last.parameters.place(scaled)
        shift = places.mean(axis=0)
        offsets = places - shift
        values, vectors = np.linalg.eigh(offsets.T @ offsets / len(places))
        scale = 1.0 / np.sqrt(np.maximum(values, 1e-12 * values.max()))
        self._linked = found.last.parameters.moved(shift, (vectors * scale) @ vectors.T)
        linked, unit = self._linked, math.ldexp(1.0, self._units.exponent)
        self.embedding_ = linked.place(scaled).astype(dtype)
        self.n_charts_ = len(linked.weights)
        self.weights_ = linked.weights
        self.offsets_ = linked.offsets
        self.means_ = linked.means * unit + self._units.center
        self.loadings_ = linked.maps * unit
        self.noise_variances_ = linked.noise * unit**2
        shrunk = self.n_features_in_ * math.log(unit)  # densities per unit of the rows
        self.history_ = found.history + shrunk
        self.objective_ = found.objective + shrunk
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged

    def _transform(self, rows: Array) -> Array:
        return self._linked.place(self._units.scaled(rows)).astype(rows.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Array:
        """Return the expected rows ``E[y|g]`` at places of the map.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)
            Places.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Expected rows.
        """
        check_is_fitted(self)
        places = check_coordinates(Z, self._n_features_out)
        rows = self._linked.rebuild(places.astype(np.float64))
        unscaled = np.ldexp(rows, self._units.exponent) + self._units.center
        return np.asarray(unscaled.astype(places.dtype))

    def score_samples(self, X: Any) -> Array:
        """Return ``log p(y)`` of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-likelihood of every row.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        shrunk = rows.shape[1] * self._units.exponent * math.log(2.0)
        return self._linked.log_likelihood(self._units.scaled(rows)) - shrunk


def _principal(rows: Array, n_components: int) -> Array:
    """Scores of the first principal components."""
    turned, singular, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.asarray(turned[:, :n_components] * singular[:n_components])
