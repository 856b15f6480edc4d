"""A fitted atlas: its units, how rows and coordinates get there, and tables of several views."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.manifold.atlas import _charts as inference
from sidelight.manifold.atlas._charts import ChartPosterior, Charts, posterior
from sidelight.manifold.atlas._steps import tiles


def column_positions(
    views: Sequence[Any] | None, n_features: int, names: Array | None
) -> tuple[Array, ...]:
    """Positions of the columns of every view; all columns are one view by default."""
    if views is None:
        return (np.arange(n_features),)
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    columns = []
    for number, view in enumerate(views):
        found = []
        for column in view:
            position = place.get(column) if isinstance(column, str) else int(column)
            if position is None or not 0 <= position < n_features:
                raise SidelightError(
                    f"{setting('views')} gives view {number} the column {column!r}, which the "
                    f"{counted(n_features, 'column')} do not have."
                )
            found.append(position)
        columns.append(np.array(found))
    counts = np.bincount(np.concatenate(columns), minlength=n_features)
    odd = np.flatnonzero(counts != 1)
    if len(odd):
        times = "no view" if counts[odd[0]] == 0 else "several views"
        raise SidelightError(
            f"{setting('views')} has column {odd[0]} in {times}; every column belongs to one view."
        )
    return tuple(columns)


def views_seen(table: Array, columns: tuple[Array, ...]) -> Array:
    """Views that every row has, of shape (n, V); a view is there as a whole or not at all."""
    seen = np.empty((len(table), len(columns)), dtype=bool)
    for number, own in enumerate(columns):
        missing = np.isnan(table[:, own])
        partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        if len(partly):
            row, column = int(partly[0]), int(own[np.argmax(missing[partly[0]])])
            raise SidelightError(
                f"Row {row} has view {number} without column {column}: a view is there as a whole, "
                "or NaN in all its columns. Fill the column in, or drop the view of the row."
            )
        seen[:, number] = ~missing[:, 0]
    nothing = np.flatnonzero(~seen.any(axis=1))
    if len(nothing):
        raise SidelightError(f"Row {nothing[0]} has no view at all; drop it.")
    return seen


def of_one_view(rows: Array, columns: Array, n_features: int) -> Array:
    """Rows of one view with all columns, NaN in those of the other views."""
    table = np.full((len(rows), n_features), np.nan, dtype=rows.dtype)
    table[:, columns] = rows
    return table


def check_joined(seen: Array, d: int) -> None:
    """Check that all views hang together by more links than there are coordinates."""
    joined = np.zeros(seen.shape[1], dtype=bool)
    joined[0] = True
    while not joined.all():
        shared = seen[seen[:, joined].any(axis=1)].sum(axis=0)
        shared[joined] = -1
        best = int(np.argmax(shared))
        if shared[best] < d + 1:
            raise SidelightError(
                f"{counted(int(shared[best]), 'link')} for a {d}-dimensional latent space: at "
                f"least {d + 1} are needed between view {best} and the others."
            )
        joined[best] = True


@dataclass(frozen=True)
class ViewUnits:
    """Units of the search: rows about their mean, of variance 1 on average in every view.

    Attributes
    ----------
    columns : tuple of ndarray of int
        Columns of every view in the table of the user.
    center, scale : ndarray of shape (D,)
        Center and scale of the columns, view after view.
    """

    columns: tuple[Array, ...]
    center: Array
    scale: Array

    @cached_property
    def views(self) -> tuple[slice, ...]:
        """Columns of every view in the table of the search."""
        ends = np.cumsum([0, *(len(columns) for columns in self.columns)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def order(self) -> Array:
        """Columns of the user's table in the order of the search."""
        return np.concatenate(self.columns)

    @cached_property
    def log_scales(self) -> Array:
        """Sum of the logarithms of the scales of every view: what a density loses by scaling."""
        return np.array([np.log(self.scale[view]).sum() for view in self.views])

    @classmethod
    def of(cls, table: Array, columns: tuple[Array, ...], seen: Array, weights: Array) -> ViewUnits:
        """Units of a table in which views are missing as a whole."""
        centers, scales = [], []
        for number, own in enumerate(columns):
            there = seen[:, number]
            rows = np.asarray(table[there][:, own], dtype=np.float64)
            total = weights[there]
            total = total if total.sum() > 0 else np.ones(len(rows))
            center = np.average(rows, axis=0, weights=total)
            variance = float(np.average(((rows - center) ** 2).mean(axis=1), weights=total))
            centers.append(center)
            scales.append(np.full(len(own), np.sqrt(variance) if variance > 0 else 1.0))
        return cls(columns, np.concatenate(centers), np.concatenate(scales))

    def scaled(self, table: Array, seen: Array) -> Array:
        """The table in the units of the search, 0 where a view is missing."""
        rows = (np.asarray(table[:, self.order], dtype=np.float64) - self.center) / self.scale
        for number, view in enumerate(self.views):
            missing = ~seen[:, number]
            if missing.any():
                rows[missing, view] = 0.0
        return rows


@dataclass(frozen=True)
class Atlas:
    """Fitted charts with their units; all results are in the units of the user.

    Attributes
    ----------
    charts : Charts
        Charts in the units of the search.
    units : ViewUnits
        Units of the rows.
    place_center, place_scale : ndarray of shape (d,)
        Center and scale of the coordinates.
    """

    charts: Charts
    units: ViewUnits
    place_center: Array
    place_scale: Array

    @cached_property
    def in_user_units(self) -> Charts:
        """The charts in the units of the user, columns in the order of the search."""
        return self.charts.in_units(
            self.units.center, self.units.scale, self.place_center, self.place_scale
        )

    def by_rows(
        self, table: Array, seen: Array, finish: Callable[[ChartPosterior, Array], Array]
    ) -> Array:
        """Map ``finish(posterior, seen)`` over the rows, in which it has an entry for each."""

        def work(block: Array, there: Array) -> tuple[tuple[()], tuple[Array]]:
            out: Array | None = None
            codes = there @ (1 << np.arange(there.shape[1]))
            for code in np.unique(codes):
                same = np.flatnonzero(codes == code)
                for part in tiles(self.charts, len(same)):
                    own = same[part]
                    pattern = there[own[0]]
                    rows = self.units.scaled(block[own], there[own])
                    found = finish(posterior(self.charts, rows, pattern), pattern)
                    if out is None:
                        out = np.empty((len(block), *found.shape[1:]), dtype=found.dtype)
                    out[own] = found
            assert out is not None
            return (), (out,)

        joined: Array = as_rows(table).map_reduce(work, aligned=(seen,))[1][0]
        return joined

    def coordinates(self, found: ChartPosterior, seen: Array) -> Array:
        """``E[g | x]``."""
        return self.to_user(found.coordinates())

    def coordinate_covariances(self, found: ChartPosterior, seen: Array) -> Array:
        """Covariances of ``g`` given ``x``."""
        scale = np.multiply.outer(self.place_scale, self.place_scale)
        return found.coordinate_covariances() * scale

    def log_density(self, found: ChartPosterior, seen: Array) -> Array:
        """``log p(x)`` of the views that are seen."""
        return found.log_density - float(self.units.log_scales[seen].sum())

    def to_user(self, places: Array) -> Array:
        """Coordinates in the units of the user."""
        return np.asarray(self.place_center + self.place_scale * places)

    def to_search(self, places: Array) -> Array:
        """Coordinates in the units of the search."""
        return np.asarray((np.asarray(places, np.float64) - self.place_center) / self.place_scale)

    def view_units(self, view: int | None) -> tuple[slice, Array, Array]:
        """Columns of a view in the search (all for None), with their center and scale."""
        own = slice(0, len(self.units.center)) if view is None else self.units.views[view]
        return own, self.units.center[own], self.units.scale[own]

    def predicted_rows(self, found: ChartPosterior, view: int, allowed: Array) -> Array:
        """Expected columns of a view, by the ``allowed`` charts."""
        own, center, scale = self.view_units(view)
        resp = found.responsibilities(allowed)
        rows = inference.expected_rows(self.charts, own, resp, found.means)
        return np.asarray(center + scale * rows)

    def predicted_covariances(self, found: ChartPosterior, view: int, allowed: Array) -> Array:
        """Covariances of the columns of a view, by the ``allowed`` charts."""
        own, _, scale = self.view_units(view)
        resp = found.responsibilities(allowed)
        means = inference.chart_rows(self.charts, own, found.means)
        within = inference.chart_covariances(self.charts, own, found.covariances)
        covariances = inference.mixture_covariances(resp, means, within)
        return np.asarray(covariances * np.multiply.outer(scale, scale))

    def rows_of(self, places: Array, *, covariance: bool) -> Array:
        """``E[x | g]``, or the covariances of ``x`` given ``g``, columns as in the search."""
        charts = self.charts
        own, center, scale = self.view_units(None)
        resp = inference.chart_posterior_of_places(charts, places)
        each = np.repeat(places[:, None, :], charts.n_charts, axis=1)
        if not covariance:
            return np.asarray(center + scale * inference.expected_rows(charts, own, resp, each))
        means = inference.chart_rows(charts, own, each)
        within = inference.chart_covariances(charts, own, None)
        return inference.mixture_covariances(resp, means, within) * np.multiply.outer(scale, scale)
