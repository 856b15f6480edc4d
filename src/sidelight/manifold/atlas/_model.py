"""A fitted atlas: charts in the units of the search, and how rows and coordinates get there."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.manifold.atlas import _posterior as inference
from sidelight.manifold.atlas._charts import Charts
from sidelight.manifold.atlas._posterior import Posterior, posterior
from sidelight.manifold.atlas._tile import tiles


@dataclass(frozen=True)
class Units:
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
    def of(cls, table: Array, columns: tuple[Array, ...], seen: Array, weights: Array) -> Units:
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
    units : Units
        Units of the rows.
    place_center, place_scale : ndarray of shape (d,)
        Center and scale of the coordinates.
    """

    charts: Charts
    units: Units
    place_center: Array
    place_scale: Array

    @cached_property
    def in_user_units(self) -> Charts:
        """The charts in the units of the user, columns in the order of the search."""
        return self.charts.in_units(
            self.units.center, self.units.scale, self.place_center, self.place_scale
        )

    def by_rows(
        self, table: Array, seen: Array, finish: Callable[[Posterior, Array], Array]
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

    def coordinates(self, found: Posterior, seen: Array) -> Array:
        """``E[g | x]``."""
        return self.to_user(found.coordinates())

    def coordinate_covariances(self, found: Posterior, seen: Array) -> Array:
        """Covariances of ``g`` given ``x``."""
        scale = np.multiply.outer(self.place_scale, self.place_scale)
        return found.coordinate_covariances() * scale

    def log_density(self, found: Posterior, seen: Array) -> Array:
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

    def predicted_rows(self, found: Posterior, view: int, allowed: Array) -> Array:
        """Expected columns of a view, by the ``allowed`` charts."""
        own, center, scale = self.view_units(view)
        resp = found.responsibilities(allowed)
        rows = inference.expected_rows(self.charts, own, resp, found.means)
        return np.asarray(center + scale * rows)

    def predicted_covariances(self, found: Posterior, view: int, allowed: Array) -> Array:
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
