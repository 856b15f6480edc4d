"""Coordinated factor analysis: local linear models joined into one map (Verbeek 2004, 5.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.checks import check_weights
from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import numbers_in, run_restarts
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index
from sidelight.engine import as_rows
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold.atlas._bound import Coordination, Estimates
from sidelight.manifold.atlas._model import Atlas, ViewUnits
from sidelight.manifold.atlas._queries import AtlasEmbedding
from sidelight.manifold.atlas._search import (
    CoordinatedFit,
    CoordinatedRestart,
    FirstPlaces,
    aligned_to_anchors,
    best_search,
    checked_anchors,
    checked_init,
    default_n_charts,
    spectral_places,
    with_messages,
)
from sidelight.manifold.atlas._steps import ChartRules
from sidelight.tags import own_tags

Start: TypeAlias = Literal["auto", "llc", "charting", "lle", "pca"]

#: Of more rows than the first number, as many as the second have a spectral start, and a model of
#: them places the rest. It is faster, and better where there is noise: neighbors in a dense sample
#: are nearer than the noise, and say little about the manifold.
MAX_SPECTRAL_ROWS = 5_000
SAMPLE_ROWS = 3_000

#: Share of noise variances at their floor above which a warning is given.
FLOORED_SHARE = 0.9

PARAMETERS = {
    "n_components": "Number of coordinates ``d`` of the map, at most the number of features.",
    "n_charts": "Number of local models ``k`` to begin with; by default one for every "
    "``8 (n_components + 2)`` rows, at most 50. Charts that keep fewer than ``n_components + 2`` "
    "rows are dropped.",
    "chart": "Noise of a chart: a variance for every column (factor analyzers), or one for all "
    "columns of a view (probabilistic principal components).",
    "conformal": "Whether the linear maps of the charts are rotations with a scale (``B = b O`` "
    "with ``OᵀO = I``, one variance of the coordinates, isotropic noise), which is safer with few "
    "rows per chart.",
    "n_neighbors": "Number of neighbors of every row in the graph of the spectral start.",
    "latent_var_init": "Variance of the coordinates of each row in the first phase, as a share of "
    "their variance over all rows. It has to be well below the squared distance of neighbors: "
    "larger values blur the charts.",
    "noise_floor": "Noise variances do not fall below this share of the variance of their column.",
    "alpha": "Ridge on the loadings: it counts like scatter of this size, in units of the variance "
    "of the coordinates, which the rows of a chart do not follow.",
    "n_init": "Number of restarts from different rough clusters. Of those that reconstruct the "
    "rows about as well as the best, the one with the highest bound is kept.",
    "max_iter": "Largest number of iterations of each of the two phases of a restart.",
    "tol": "Stop when an iteration raises the bound by no more than this share of it.",
}


@estimator
class CoordinatedFactorAnalysis(AtlasEmbedding):
    """Local linear models that agree on one map: coordinates, rows from coordinates, a density.

    A mixture of charts ``s``, each linear in the coordinates ``g`` of one map,

    ``p(g | s) = N(κ_s, G_s)``, ``p(x | g, s) = N(μ_s + B_s (g - κ_s), Ψ_s)``.

    Every row has an estimate ``q_n(g) = N(g_n, Σ_n)`` of its coordinates and responsibilities
    ``q_n(s)``; the fit maximizes the bound

    ``Φ = Σ_n [ log p(x_n) - KL(q_n(g) q_n(s) ‖ p(g, s | x_n)) ]``

    in closed-form steps (Verbeek 2004, sections 5.2.2 and 5.2.3): first with the coordinates of a
    spectral embedding held fast, then with all free. Charts that share rows are so made to agree
    on their coordinates. The rows are read block by block: time and memory are linear in their
    number. Read more in the :doc:`user guide </manifold/atlas>`.

    Parameters
    ----------
    init : {"auto", "llc", "charting", "lle", "pca"} or array, default="auto"
        Coordinates to start from: locally linear coordination ("llc"), charting, locally linear
        embedding, principal components, or an array of shape (n_samples, n_components). "auto" is
        "llc", and "pca" for a single chart. Of more than 5,000 rows a sample of 3,000 is embedded
        and fitted, which places the rest.

    Attributes
    ----------
    n_charts_ : int
        Number of charts that were kept.
    weights_ : ndarray of shape (n_charts,)
        Mixing weights ``π``.
    offsets_ : ndarray of shape (n_charts, n_components)
        Centers ``κ`` of the charts on the map.
    spreads_ : ndarray of shape (n_charts, n_components, n_components)
        Covariances ``G`` of the coordinates of the charts.
    means_ : ndarray of shape (n_charts, n_features)
        Rows ``μ`` at the centers of the charts.
    loadings_ : ndarray of shape (n_charts, n_features, n_components)
        Linear maps ``B`` from coordinates to rows.
    noise_variances_ : ndarray of shape (n_charts, n_features)
        Noise ``Ψ``.
    floored_ : ndarray of bool, shape (n_charts, n_features)
        Noise variances that are at their floor.
    objective_ : float
        ``-Φ`` per row at the end, less the ridge; never below the negative log-likelihood.
    history_ : ndarray
        ``objective_`` at every iteration of the best restart since the last chart was dropped;
        never rises.
    unexplained_variance_ratio_ : float
        Mean squared difference between the values of the rows and ``E[x | g_n]``, as a share of
        the variance.
    n_iter_ : int
        Number of iterations of the best restart.
    converged_ : bool
        Whether the best restart converged before ``max_iter``.
    n_start_rows_ : int
        Number of rows whose first coordinates come from the spectral start itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import CoordinatedFactorAnalysis
    >>> t = np.linspace(0, 3, 200)
    >>> X = np.column_stack([t, np.cos(t), np.sin(2 * t)])
    >>> X += np.random.default_rng(0).normal(scale=0.02, size=X.shape)
    >>> model = CoordinatedFactorAnalysis(1, n_charts=8, random_state=0).fit(X)
    >>> bool(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.99)
    True
    >>> bool(np.abs(model.inverse_transform(model.embedding_) - X).max() < 0.2)
    True
    """

    _common_parameters: ClassVar[dict[str, str]] = PARAMETERS

    n_components: Count = 2
    _: KW_ONLY
    n_charts: Count | Auto = "auto"
    chart: Literal["factor", "ppca"] = "factor"
    conformal: bool = False
    init: Start | ArrayLike = "auto"
    n_neighbors: Count = 10
    latent_var_init: FinitePositive = 1e-4
    noise_floor: FinitePositive = 1e-4
    alpha: FiniteNonNegative = 1e-6
    n_init: Restarts = 3
    max_iter: Count = 200
    tol: FiniteNonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="local factor analyzers that agree on one map, both ways, with a density",
        knowledge=("anchors",),
        enforcement="hard",
        source="Verbeek 2004, section 5.2",
        complexity="O(n k D d) per iteration, O(n (D + d²) + k D d) memory",
        monotone=True,
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        anchors: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the charts to rows, some of which may have known coordinates.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Not used.
        constraints : Constraints, default=None
            Not used.
        anchors : array of shape (n_samples, n_components), default=None
            Known coordinates of rows, which keep them; NaN in all coordinates of the others.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, _ = self._validate_fit_in_memory(X, y, constraints)
        weights = check_weights(sample_weight, as_rows(rows), X)
        columns = (np.arange(rows.shape[1]),)
        seen = np.ones((len(rows), 1), dtype=bool)
        check_one_index(anchors, X, "anchors")
        return self._fit_table(rows, columns, seen, anchors, weights)

    def _fit_table(
        self,
        table: Array,
        columns: tuple[Array, ...],
        seen: Array,
        anchors: Any,
        sample_weight: Array | None,
    ) -> Self:
        """Fit to a table in which views are missing as a whole."""
        n, d = len(table), self.n_components
        self._check_size(n, columns)
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        units = ViewUnits.of(table, columns, seen, weights)
        rows = units.scaled(table, seen)
        by_view = zip(seen.T, units.views, strict=True)
        if not any(np.ptp(rows[there, view], axis=0).any() for there, view in by_view):
            raise SidelightError("All rows are equal: there is nothing to map.")
        clamped, known = checked_anchors(anchors, n, d)
        rng = check_random_state(self.random_state)
        first = self._first_places(table, rows, seen, units, clamped, known, rng)
        places = [np.where(clamped[:, None], known, start.places) for start in first]
        place_units = [self._place_units(each) for each in places]
        covariances = np.tile(self.latent_var_init * np.eye(d), (n, 1, 1))
        starts = tuple(
            Estimates((each - center) / scale, covariances)
            for each, (center, scale) in zip(places, place_units, strict=True)
        )
        steps = Coordination(as_rows(rows), seen, weights, clamped, self._rules(units, rows, seen))
        n_charts = min(self._n_charts(n), n)
        restart = CoordinatedRestart(
            steps, starts, n_charts, self.max_iter, self.tol, type(self).__name__, self.verbose
        )
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_restarts(self))
        searches = run_restarts(
            restart,
            seeds,
            numbers_in(steps.source),
            description=type(self).__name__,
            verbose=self.verbose,
        )
        best = best_search(searches)
        self._atlas = Atlas(best.last.parameters.charts, units, *place_units[best.start])
        self._anchored = table[clamped], known[clamped]
        per_row = float(weights @ (seen @ units.log_scales)) / float(weights.sum())
        self._set_fitted_attributes(best, table.dtype, steps.rules, per_row)
        self.embedding_ = self._places(table, seen)
        for message in first[best.start].messages:
            warn(message)
        self._warn_of_fit(best)
        return self

    def _check_size(self, n: int, columns: tuple[Array, ...]) -> None:
        """Check the number of coordinates against the shape of the table."""
        d, n_features = self.n_components, sum(len(own) for own in columns)
        if d > n_features:
            raise SidelightError(
                f"{setting('n_components', d)} is more than "
                f"{worded(f'n_features={n_features}', counted(n_features, 'feature'))}: a map has "
                "at most as many coordinates as the rows have features."
            )
        narrow = min(len(own) for own in columns)
        if self.conformal and narrow < d:
            raise SidelightError(
                f"{setting('conformal', True)} needs at least {d} columns in every view, one "
                f"for each coordinate, but a view has {narrow}."
            )
        if n < d + 2:
            raise SidelightError(
                f"{worded(f'n_samples={n} is', counted(n, 'row') + ' are')} too few: a chart of "
                f"{counted(d, 'coordinate')} needs at least {d + 2} rows."
            )

    def _n_charts(self, n: int) -> int:
        return default_n_charts(n, self.n_components) if self.n_charts == "auto" else self.n_charts

    def _rules(self, units: ViewUnits, rows: Array, seen: Array) -> ChartRules:
        """Restrictions of the charts, with the least noise of every column."""
        there = np.ones_like(rows)
        for number, view in enumerate(units.views):
            there[:, view] = seen[:, number, None]
        total = np.maximum(there.sum(axis=0), 1.0)
        variances = np.sum(there * rows**2, axis=0) / total
        variances -= (np.sum(there * rows, axis=0) / total) ** 2
        typical = np.where(variances > 1e-12, variances, 1.0)
        return ChartRules(
            views=units.views,
            isotropic=self.chart == "ppca",
            conformal=self.conformal,
            floor=self.noise_floor * typical,
            ridge=self.alpha,
        )

    def _place_units(self, places: Array) -> tuple[Array, Array]:
        """Center and scale of the coordinates; one scale where charts are rotations."""
        variances = places.var(axis=0)
        if self.conformal:
            variances = np.full_like(variances, variances.mean())
        return places.mean(axis=0), np.sqrt(np.where(variances > 0, variances, 1.0))

    def _first_places(
        self,
        table: Array,
        rows: Array,
        seen: Array,
        units: ViewUnits,
        clamped: Array,
        known: Array,
        rng: np.random.RandomState,
    ) -> list[FirstPlaces]:
        """Coordinates to start from, near the anchors, between which restarts take turns."""
        n = len(rows)
        self.n_start_rows_ = n
        if not isinstance(self.init, str):
            return [FirstPlaces(checked_init(self.init, n, self.n_components))]
        if clamped.all():
            return [FirstPlaces(known)]
        how = self._start(n)
        if n > MAX_SPECTRAL_ROWS and how != "pca":
            first = [with_messages(lambda: self._places_by_sample(table, seen, units, rng))]
        else:
            first = self._spectral_places(how, rows, seen, units, rng)
        if not clamped.any():
            return first
        return [
            one._replace(places=aligned_to_anchors(one.places, clamped, known)) for one in first
        ]

    def _places_by_sample(
        self, table: Array, seen: Array, units: ViewUnits, rng: np.random.RandomState
    ) -> Array:
        """Coordinates of all rows by a model of some of them."""
        order = rng.permutation(len(table))
        linked = seen[order].sum(axis=1) > 1  # what joins views comes first, up to half of them
        kept = order[linked][: SAMPLE_ROWS // 2]
        others = order[~np.isin(order, kept)][: SAMPLE_ROWS - len(kept)]
        chosen = np.sort(np.concatenate([kept, others]))
        params = self.get_params() | {
            "random_state": rng.randint(np.iinfo(np.int32).max),
            "n_charts": self._n_charts(len(table)),
            "n_init": 1,
        }
        small = type(self)(**params)
        small.n_features_in_ = self.n_features_in_
        small._fit_table(table[chosen], units.columns, seen[chosen], None, None)
        self.n_start_rows_ = SAMPLE_ROWS
        return small._places(table, seen).astype(np.float64)

    def _start(self, n: int) -> str:
        """Method of the start; a single chart is linear, and so begins with a linear map."""
        if self.init == "auto" and self._n_charts(n) == 1:
            return "pca"
        return str(self.init)

    def _spectral_places(
        self, how: str, rows: Array, seen: Array, units: ViewUnits, rng: np.random.RandomState
    ) -> list[FirstPlaces]:
        """Coordinates by a method that ``init`` names."""
        d, near = self.n_components, self.n_neighbors
        return [with_messages(lambda: spectral_places(how, rows, d, near, rng))]

    def _set_fitted_attributes(
        self, best: CoordinatedFit, dtype: np.dtype[Any], rules: ChartRules, per_row: float
    ) -> None:
        charts = self._atlas.in_user_units
        back = np.argsort(self._atlas.units.order)
        noise_floor = best.last.parameters.charts.noise <= rules.floor * (1 + 1e-12)
        self.n_charts_ = charts.n_charts
        self.weights_ = np.exp(charts.log_weights).astype(dtype)
        self.offsets_ = charts.offsets.astype(dtype)
        self.spreads_ = charts.spreads.astype(dtype)
        self.means_ = charts.means[:, back].astype(dtype)
        self.loadings_ = charts.loadings[:, back].astype(dtype)
        self.noise_variances_ = charts.noise[:, back].astype(dtype)
        self.floored_ = noise_floor[:, back]
        self.objective_ = best.objective + per_row
        self.history_ = best.history + per_row
        self.unexplained_variance_ratio_ = best.error
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged

    def _warn_of_fit(self, best: CoordinatedFit) -> None:
        """Warn of charts that were dropped, of noise at its floor and of an early end."""
        if best.n_dropped and self.n_charts != "auto":
            warn(
                f"{counted(best.n_dropped, 'chart')} of {self.n_charts} kept fewer than "
                f"{self.n_components + 2} rows and {'was' if best.n_dropped == 1 else 'were'} "
                f"dropped; ask for fewer by {setting('n_charts')}.",
                EmbeddingWarning,
            )
        floored = self.floored_.sum(axis=1)
        if self.floored_.mean() > FLOORED_SHARE:
            chart = int(np.argmax(floored))
            warn(
                f"The variance floor is active for {floored[chart]} of {self.n_features_in_} "
                f"columns of chart {chart}, and for {self.floored_.mean():.0%} of all noise "
                f"variances: likelihoods depend on {setting('noise_floor', self.noise_floor)}.",
                EmbeddingWarning,
            )
        if not best.converged and not best.interrupted:
            warn(
                f"{type(self).__name__} did not converge in "
                f"{setting('max_iter', self.max_iter)} iterations; allow more, or a larger tol.",
                ConvergenceWarning,
            )
