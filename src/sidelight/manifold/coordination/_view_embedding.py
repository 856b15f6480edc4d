"""Shared parts of maps of several views: views from a list or a table, and places of new rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from sidelight._fit.checks import check_extent
from sidelight._fit.parameters import check_parameters
from sidelight._in_memory import check_in_memory
from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.base import Embedding
from sidelight.constraints import Constraints, Correspondences
from sidelight.exceptions import SidelightError
from sidelight.manifold.coordination._views import Views, are_views, of_list, of_table
from sidelight.tags import MethodTags


class ViewsEmbedding(Embedding):
    """One map for the rows of several views that show the same objects.

    Subclasses define ``_fit_views(views)`` and ``_place(view, rows)``.
    """

    n_components: Any
    views: Any
    embeddings_: tuple[Array, ...]
    _columns: tuple[IntArray, ...]

    #: Whether single values of a row may be missing, not only whole views.
    _models_missing = False

    def __sidelight_tags__(self) -> MethodTags:
        several = self.views is not None or len(getattr(self, "_columns", ())) > 1
        return self._method_tags(**{**self._own_tags, "missing": self._models_missing or several})

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        correspondences: Correspondences | None = None,
    ) -> Self:
        """Fit one map to the rows of several views.

        Parameters
        ----------
        X : list of arrays of shape (n_v, n_features_v), or array of shape (n_samples, n_features)
            The rows of each view; or one table with a row per object, whose columns ``views``
            divides among the views, NaN where a view does not show the object. A table without
            ``views`` is one view.
        y : array of shape (n_samples,), default=None
            Not used.
        constraints : Constraints, default=None
            Not used.
        correspondences : Correspondences, default=None
            Which rows of a list of views show the same object.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.__dict__.pop("_columns", None)  # of an earlier fit, which may have had more views
        if are_views(X):
            views = self._listed_views(X, y, constraints, correspondences)
        else:
            if correspondences is not None:
                raise SidelightError(
                    "correspondences are about several views: pass a list of their tables, "
                    "fit([X1, X2], correspondences=known)."
                )
            rows, _ = self._validate_fit_in_memory(X, y, constraints)
            names = getattr(self, "feature_names_in_", None)
            views = of_table(rows, self.views, names, missing=self._models_missing)
        if len(views.rows) > 1:
            views.check_links(self.n_components)
        self._columns = views.columns
        self.objects_ = views.objects
        self._fit_views(views)
        return self

    def _listed_views(
        self, tables: Any, y: Any, constraints: Any, correspondences: Correspondences | None
    ) -> Views:
        """Check a list of views."""
        check_parameters(self)
        if constraints is not None or y is not None:
            raise SidelightError(
                "constraints and y are about the rows of one table; of several views only "
                "correspondences are known."
            )
        views = of_list(tables, correspondences, missing=self._models_missing)
        for table, rows in zip(tables, views.rows, strict=True):
            check_extent(table, rows, fit=True)
        self.n_features_in_ = sum(rows.shape[1] for rows in views.rows)
        self.__dict__.pop("feature_names_in_", None)
        return views

    def _fit_views(self, views: Views) -> None:
        """Fit to views that have enough links."""
        raise NotImplementedError

    def _place(self, view: int, rows: Array) -> Array:
        """Coordinates of rows of a view, in float64."""
        raise NotImplementedError

    def _set_places(self, places: list[Array], views: Views) -> None:
        """Set the coordinates of the rows of every view, and those of the objects."""
        kind = np.result_type(*views.rows)
        self.embeddings_ = tuple(own.astype(kind) for own in places)
        joint = views.average(places)
        views.warn_of_extrapolation(joint)
        self.embedding_ = joint.astype(kind)

    def transform(self, X: Any, *, view: int | None = None) -> Array:
        """Return the coordinates of new rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows of all views side by side, NaN where a view does not show the object; or, with
            ``view``, rows of one view.
        view : int, default=None
            View of the rows, counted from 0.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates, in the element type of the rows; the mean over the views that show a row.
        """
        check_is_fitted(self)
        if view is None:
            return self._transform(self._check_rows(X, reset=False))
        if not 0 <= view < len(self._columns):
            raise SidelightError(
                f"There is no view {view}; the map has {counted(len(self._columns), 'view')}."
            )
        finite = "allow-nan" if self._models_missing else True
        check_in_memory(X)
        rows = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=finite)
        check_extent(X, rows, fit=False)
        if rows.shape[1] != len(self._columns[view]):
            raise SidelightError(
                f"View {view} has {counted(len(self._columns[view]), 'column')}, but these rows "
                f"have {rows.shape[1]}."
            )
        return self._place(view, rows).astype(rows.dtype)

    def _transform(self, rows: Any) -> Array:
        if len(self._columns) == 1:
            return self._place(0, rows).astype(rows.dtype)
        totals = np.zeros((len(rows), self._n_features_out))
        number = np.zeros(len(rows))
        for view, columns in enumerate(self._columns):
            known = ~np.isnan(rows[:, columns])
            complete = known.any(axis=1) if self._models_missing else known.all(axis=1)
            shown = np.flatnonzero(complete)
            if len(shown):
                totals[shown] += self._place(view, rows[np.ix_(shown, columns)])
                number[shown] += 1
        if not number.all():
            row = int(np.flatnonzero(number == 0)[0])
            raise SidelightError(f"Row {row} has no view whose values are known.")
        return (totals / number[:, None]).astype(rows.dtype)
