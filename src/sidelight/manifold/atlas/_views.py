"""Two or more views of one manifold, joined by correspondences (Verbeek 2004, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from sidelight._fit.checks import check_weights, explain_bad_rows
from sidelight._fit.parameters import NamesLike, estimator, n_restarts
from sidelight._in_memory import check_in_memory
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.constraints import Constraints, Correspondences
from sidelight.constraints.inner import check_one_index
from sidelight.engine import as_rows
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold.atlas._cfa import CoordinatedFactorAnalysis
from sidelight.manifold.atlas._charts import chart_covariances, chart_rows, posterior
from sidelight.manifold.atlas._model import (
    ViewUnits,
    check_joined,
    column_positions,
    of_one_view,
    views_seen,
)
from sidelight.manifold.atlas._queries import check_covariances
from sidelight.manifold.atlas._search import (
    CoordinatedFit,
    FirstPlaces,
    one_chart_places,
    view_places,
    with_messages,
)
from sidelight.tags import MethodTags, own_tags

#: Restarts begin from embeddings with the number of neighbors times these, beside the number
#: itself, where there are at most this many rows: which number suits a view is unknown beforehand,
#: and the error of the reconstruction tells.
NEIGHBOR_FACTORS = (1.5, 2.0)
SEVERAL_STARTS = 5_000

#: Coordinates of rows of one view this many times as far out as linked ones cause a warning.
FAR = 2.0


class PredictiveMixture(NamedTuple):
    """Density of the columns of a view given rows: a mixture of Gaussians for every row.

    Attributes
    ----------
    weights : ndarray of shape (n_samples, k)
        Weights of the charts with support in the view.
    means : ndarray of shape (n_samples, k, n_columns)
        Means given each chart.
    covariances : ndarray of shape (k, n_columns, n_columns)
        Covariances given each chart; they are the same for all rows.
    """

    weights: Array
    means: Array
    covariances: Array


@estimator
class CoordinatedViews(CoordinatedFactorAnalysis):
    """Views of one manifold that are joined by a few correspondences: each predicts the others.

    The model is that of :class:`CoordinatedFactorAnalysis` for rows that consist of views, of which
    any may be missing. With ``v`` over the views that row ``n`` has,

    ``Φ = Σ_n [ H(q_n) + Σ_s q_ns E( log π_s p(g | s) + Σ_v log p(x_nv | g, s) ) ]``,
    ``p(x_v | g, s) = N(μ_sv + B_sv (g - κ_s), Ψ_sv)``

    (Verbeek 2004, section 5.3.1). Rows of different views that are the same object share their
    coordinates; rows of one view alone show the shape of the manifold there. A missing view is
    predicted from the others, with its spread:
    ``p(x_2 | x_1) = Σ_s p(s | x_1) N(μ_s2 + B_s2 (m_s(x_1) - κ_s), B_s2 V_s⁻¹ B_s2ᵀ + Ψ_s2)``.
    Read more in the :doc:`user guide </manifold/atlas>`.

    Parameters
    ----------
    views : sequence of array or None, default=None
        Columns of every view in a table that holds all of them, by position or name; a view that
        is missing is NaN in all its columns. By default the table is one view, and views are given
        to ``fit`` as a list of tables.
    init : {"auto", "llc", "charting", "lle", "pca"} or array, default="auto"
        Coordinates to start from: correspondence LLE ("lle"), correspondence charting, a single
        chart ("pca"), or an array of shape (n_samples, n_components). "auto" is "lle", and "pca"
        for a single chart. Of one view: as in :class:`CoordinatedFactorAnalysis`, where "auto" is
        "llc", locally linear coordination.

    Attributes
    ----------
    view_columns_ : tuple of ndarray of int
        Columns of every view.
    view_counts_ : ndarray of shape (n_charts, n_views)
        Effective number of rows of every chart in every view.
    supported_ : ndarray of bool, shape (n_charts, n_views)
        Charts with at least ``n_components + 2`` rows in the view: the others are not used for its
        prediction.
    objects_ : tuple of ndarray of int
        Row of ``embedding_`` of every row of every view.
    embeddings_ : tuple of ndarray of shape (n_samples_v, n_components)
        Coordinates of the rows of every view.
    n_charts_ : int
        Number of charts that were kept.
    weights_, offsets_, spreads_, means_, loadings_, noise_variances_ : ndarray
        Parameters of the charts, as in :class:`CoordinatedFactorAnalysis`.
    floored_ : ndarray of bool
        Noise variances that are at their floor.
    objective_ : float
        ``-Φ`` per row at the end, less the ridge.
    history_ : ndarray
        ``objective_`` at every iteration of the best restart since the last chart was dropped;
        never rises.
    unexplained_variance_ratio_ : float
        Mean squared difference between the values there are and ``E[x | g_n]``, as a share of the
        variance.
    n_iter_ : int
        Number of iterations of the best restart.
    converged_ : bool
        Whether the best restart converged before ``max_iter``.
    n_start_rows_ : int
        Number of rows whose first coordinates come from the spectral start itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import Correspondences
    >>> from sidelight.manifold import CoordinatedViews
    >>> t = np.linspace(0, 1, 200)
    >>> noise = np.random.default_rng(0).normal(scale=0.02, size=(200, 4))
    >>> photos = np.column_stack([t, np.sin(4 * t)]) + noise[:, :2]
    >>> sounds = np.column_stack([np.cos(3 * t), 2 * t]) + noise[:, 2:]
    >>> known = Correspondences([(i, i) for i in range(0, 200, 20)], sizes=[200, 200])
    >>> model = CoordinatedViews(1, n_charts=8, random_state=0)
    >>> model = model.fit([photos, sounds], correspondences=known)
    >>> bool(np.mean((model.predict(photos, source=0, target=1) - sounds) ** 2) < 0.01)
    True
    """

    _: KW_ONLY
    views: Sequence[NamesLike] | None = None

    _own_tags = own_tags(
        summary="views of one manifold joined by correspondences: each predicts the others",
        knowledge=("anchors", "correspondences"),
        enforcement="hard",
        source="Verbeek 2004, section 5.3",
        complexity="O(n k D d) per iteration, O(n (D + d²) + k D d) memory",
        monotone=True,
    )

    def __sidelight_tags__(self) -> MethodTags:
        tags = super().__sidelight_tags__()
        several = self.views is not None or len(getattr(self, "_columns", ())) > 1
        return replace(tags, missing=several)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        correspondences: Any = None,
        anchors: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the charts to views of which some rows are the same objects.

        Parameters
        ----------
        X : list of arrays of shape (n_samples_v, n_features_v), or array
            The rows of every view, or one table with all columns.
        y : array of shape (n_samples,), default=None
            Not used.
        constraints : Constraints, default=None
            Not used.
        correspondences : Correspondences or array of links, default=None
            Rows of a list of views that are the same objects, at least ``n_components + 1``. Rows
            of a table are objects already.
        anchors : array of shape (n_objects, n_components), default=None
            Known coordinates of objects (rows of the table), which keep them; NaN for the others.
        sample_weight : array of shape (n_objects,), default=None
            Weights of the objects.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.__dict__.pop("_columns", None)
        listed = is_list_of_tables(X)
        if listed:
            table, columns, objects = self._stacked(X, correspondences)
            self._columns = columns
            rows, _ = self._validate_fit_in_memory(table, y, constraints)
        else:
            if correspondences is not None:
                raise SidelightError(
                    "correspondences go with a list of views; the rows of a table are objects "
                    "already, with NaN where a view is missing."
                )
            rows, _ = self._validate_fit_in_memory(X, y, constraints)
            names = getattr(self, "feature_names_in_", None)
            columns = column_positions(self.views, rows.shape[1], names)
            self._columns = columns
            check_one_index(anchors, X, "anchors")
        seen = views_seen(rows, columns)
        if not listed:
            objects = tuple(np.flatnonzero(there) for there in seen.T)
        if isinstance(self.init, str):
            check_joined(seen, self.n_components)
        weights = check_weights(sample_weight, as_rows(rows), rows if listed else X)
        self._fit_table(rows, columns, seen, anchors, weights)
        self.view_columns_, self.objects_ = columns, objects
        self.embeddings_ = tuple(self.embedding_[own] for own in objects)
        if not isinstance(self.init, str) or self._start(len(rows)) == "pca":
            # Otherwise the spectral start has warned.
            self._warn_of_far_rows(seen)
        return self

    def _stacked(
        self, X: Any, correspondences: Any
    ) -> tuple[Array, tuple[Array, ...], tuple[Array, ...]]:
        """Views side by side, one row per object."""
        if self.views is not None:
            raise SidelightError(
                f"{setting('views')} names the columns of one table; leave it out for a list of "
                "views."
            )
        tables = [checked_view(view, number) for number, view in enumerate(X)]
        if len(tables) == 1:
            return tables[0], (np.arange(tables[0].shape[1]),), (np.arange(len(tables[0])),)
        if correspondences is None:
            raise SidelightError(
                "Views are joined by correspondences: pass correspondences=Correspondences(links, "
                "sizes) or Correspondences.from_ids(...)."
            )
        if not isinstance(correspondences, Correspondences):
            correspondences = Correspondences(correspondences, [len(table) for table in tables])
        aligned = correspondences.align(X)  # by the index of data frames, which the arrays lost
        table, columns = aligned.stack(tables)
        return table, columns, aligned.objects

    def _seen(self, table: Array) -> Array:
        return views_seen(table, self._columns)

    def _spectral_places(
        self, how: str, rows: Array, seen: Array, units: ViewUnits, rng: np.random.RandomState
    ) -> list[FirstPlaces]:
        if seen.shape[1] == 1:
            return super()._spectral_places(how, rows, seen, units, rng)
        d = self.n_components
        if how == "pca":
            rules = self._rules(units, rows, seen)
            return [FirstPlaces(one_chart_places(rows, seen, d, rules))]
        if how == "llc":
            raise SidelightError(
                f"{setting('init', 'llc')} is for one view; views start from correspondence LLE "
                "('lle'), correspondence charting ('charting') or a single chart ('pca')."
            )
        most = int(seen.sum(axis=0).min()) - 1
        numbers = [self.n_neighbors]
        if how != "charting" and len(rows) <= SEVERAL_STARTS:
            numbers = [round(factor * self.n_neighbors) for factor in NEIGHBOR_FACTORS]
            numbers = [self.n_neighbors, *(more for more in numbers if more <= most)]

        def places(near: int) -> Array:
            return view_places(how, rows, seen, units.views, d, near, rng)

        return [with_messages(partial(places, near)) for near in numbers[: n_restarts(self)]]

    def _set_fitted_attributes(self, best: CoordinatedFit, *others: Any) -> None:
        super()._set_fitted_attributes(best, *others)
        self.view_counts_ = best.last.view_counts
        self.supported_ = self.view_counts_ >= self.n_components + 2

    def _warn_of_fit(self, best: CoordinatedFit) -> None:
        """Warn also of charts that have no support in a view."""
        super()._warn_of_fit(best)
        starved = np.argwhere(~self.supported_)
        if len(starved) == 0:
            return
        chart, view = starved[0]
        more = f" (and {len(starved) - 1} more)" if len(starved) > 1 else ""
        warn(
            f"Chart {chart} has no support in view {view} (effective count "
            f"{self.view_counts_[chart, view]:.1f}): it is not used for predictions into that "
            f"view{more}. Fewer charts or more links help.",
            EmbeddingWarning,
        )

    def _warn_of_far_rows(self, seen: Array) -> None:
        """Warn of coordinates far beyond those of the rows that have several views."""
        linked = seen.sum(axis=1) > 1
        if seen.shape[1] == 1 or not linked.any() or linked.all():
            return
        places = self.embedding_.astype(np.float64)
        offsets = np.abs(places - places[linked].mean(axis=0))
        reach = np.maximum(offsets[linked].max(axis=0), 1e-300)
        factor = float((offsets[~linked].max(axis=0) / reach).max())
        if factor > FAR:
            warn(
                f"Coordinates of unlinked rows extend {factor:.1f} times as far as those of linked "
                "ones; predictions there are extrapolations. Links near the ends of the views "
                "help.",
                EmbeddingWarning,
            )

    # ------------------------------------------------------------------ use

    def transform(self, X: Any, *, view: int | None = None, return_cov: bool = False) -> Any:
        """Return the expected coordinates of rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features) or (n_samples, n_columns)
            Rows with the columns of all views, NaN where one is missing; or rows of one view.
        view : int or None, default=None
            View that the rows are of; by default they have all columns.
        return_cov : bool, default=False
            Whether to return the covariances of the coordinates, too.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates, in the element type of the rows.
        cov : ndarray of shape (n_samples, n_components, n_components)
            Covariance of the coordinates given each row, if asked for.
        """
        table = self._table(X, view)
        return self._placed(table, self._seen(table), return_cov)

    def predict(
        self, X: Any, source: int | None = 0, target: int | None = None, *, return_cov: bool = False
    ) -> Any:
        """Return the expected columns of one view given rows of another.

        Parameters
        ----------
        X : array of shape (n_samples, n_columns)
            Rows of the source view.
        source : int or None, default=0
            View that the rows are of; None for rows with all columns, NaN where a view is missing.
        target : int or None, default=None
            View to predict; by default the second, or the first from the second. Of a single view
            the rows themselves are smoothed.
        return_cov : bool, default=False
            Whether to return the covariances of the prediction, too.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_target_columns)
            ``E[x_target | x_source]``, in the element type of the rows.
        cov : ndarray of shape (n_samples, n_target_columns, n_target_columns)
            Covariance of the prediction for each row, if asked for.
        """
        table = self._table(X, source)
        seen = self._seen(table)
        view = self._target(source, target)
        allowed = self._supported(view)
        atlas = self._atlas
        rows = atlas.by_rows(
            table, seen, lambda found, _: atlas.predicted_rows(found, view, allowed)
        )
        if not return_cov:
            return rows.astype(table.dtype)
        check_covariances(*rows.shape)
        cov = atlas.by_rows(
            table, seen, lambda found, _: atlas.predicted_covariances(found, view, allowed)
        )
        return rows.astype(table.dtype), cov.astype(table.dtype)

    def predictive_mixture(
        self, X: Any, source: int | None = 0, target: int | None = None
    ) -> PredictiveMixture:
        """Return the density of one view given rows of another: a mixture for every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_columns)
            Rows of the source view, all of which have the same views.
        source : int or None, default=0
            View that the rows are of; None for rows with all columns.
        target : int or None, default=None
            View to predict, as in :meth:`predict`.

        Returns
        -------
        mixture : PredictiveMixture
            ``weights``, ``means`` and ``covariances`` of the charts with support in the view.
        """
        table = self._table(X, source)
        seen = self._seen(table)
        if np.any(seen != seen[0]):
            raise SidelightError(
                "The rows have different views, and so different covariances: ask for the rows of "
                "each set of views by itself."
            )
        view = self._target(source, target)
        allowed = self._supported(view)
        kept = np.flatnonzero(allowed)
        own, center, scale = self._atlas.view_units(view)
        check_covariances(len(kept), len(center))
        found = posterior(self._atlas.charts, self._atlas.units.scaled(table, seen), seen[0])
        means = center + scale * chart_rows(self._atlas.charts, own, found.means)[:, kept]
        within = chart_covariances(self._atlas.charts, own, found.covariances)[kept]
        return PredictiveMixture(
            found.responsibilities(allowed)[:, kept].astype(table.dtype),
            means.astype(table.dtype),
            (within * np.multiply.outer(scale, scale)).astype(table.dtype),
        )

    def _table(self, X: Any, view: int | None) -> Array:
        """Rows with all columns, of rows of a view or of a table."""
        check_is_fitted(self)
        if view is None or len(self._columns) == 1:
            if view not in (None, 0):
                raise SidelightError(f"There is one view, numbered 0, and no view {view}.")
            return np.asarray(self._check_rows(X, reset=False))
        self._check_view(view)
        check_in_memory(X)
        try:
            rows = check_array(X, dtype=[np.float64, np.float32])
        except (ValueError, TypeError) as error:
            raise explain_bad_rows(X, error) from error
        columns = self._columns[view]
        if rows.shape[1] != len(columns):
            raise SidelightError(
                f"X has {rows.shape[1]} features, but view {view} has {len(columns)} features."
            )
        return of_one_view(rows, columns, self.n_features_in_)

    def _check_view(self, view: int) -> None:
        n_views = len(self._columns)
        if not 0 <= view < n_views:
            raise SidelightError(
                f"There are {counted(n_views, 'view')}, numbered from 0, and no view {view}."
            )

    def _target(self, source: int | None, target: int | None) -> int:
        if target is None:
            target = 0 if len(self._columns) == 1 or source == 1 else 1
        self._check_view(target)
        return target

    def _supported(self, view: int) -> Array:
        """Mask of the charts with support in a view; raises if there are none."""
        supported = self.supported_[:, view]
        if not supported.any():
            raise SidelightError(
                f"No chart has {self.n_components + 2} rows of view {view}: nothing can be "
                f"predicted there. Ask for fewer by {setting('n_charts')}."
            )
        return supported


def is_list_of_tables(X: Any) -> bool:
    """Whether views are given one by one."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.ndim(one) == 2 for one in X)


def checked_view(view: Any, number: int) -> Array:
    """A view as an array of finite numbers."""
    check_in_memory(view, f"View {number}")
    try:
        return np.asarray(check_array(view, dtype=[np.float64, np.float32]))
    except (ValueError, TypeError) as error:
        raise SidelightError(f"View {number}: {explain_bad_rows(view, error)}") from error
