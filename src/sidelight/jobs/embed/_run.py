"""``sidelight embed``: a map of the rows of a table, or the rows in a learned distance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sidelight._words import counted, worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.jobs._parts import heading
from sidelight.jobs._table._estimator import named_method
from sidelight.jobs._table._request import prepare as prepare_table
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs.embed._maps import (
    check_map_options,
    colored_only,
    default_map,
    with_map_options,
)
from sidelight.jobs.embed._request import EmbedRequest
from sidelight.jobs.embed._views import ViewsRun, run_views
from sidelight.report.measures import Measure, measured_map
from sidelight.report.text import Told, text_table


def prepare(request: EmbedRequest) -> Prepared | ViewsRun:
    """Read the rows and what is known, and make the map; of several views map them at once."""
    if request.views:
        if request.stream:
            raise InvalidRequest("--view makes a map of whole tables: --stream has no use.")
        return run_views(request)
    if request.correspondences is not None:
        raise InvalidRequest("--correspondences is for several tables: --view names the others.")
    if request.start is not None and not request.stream:
        raise InvalidRequest("--start is for rows that come one after the other: --stream.")
    if request.is_piped:
        raise InvalidRequest(
            f"name the table of rows ({worded('data=', 'DATA')}), or read rows that come through a "
            f"pipe: {worded('stream=True', '--stream')}."
        )
    if request.method is not None and request.map_options:
        check_map_options(request, named_method(request.job, request.method))

    def choose(data: Table, knowledge: Constraints) -> tuple[Method, tuple[str, ...]]:
        method, why = default_map(data.n_rows)
        if request.map_options:
            check_map_options(request, method)
        return method, (why,)

    prepared = prepare_table(request, choose, aside=colored_only(request), kind=PreparedMap)
    return with_map_options(prepared, request) if request.map_options else prepared


class PreparedMap(Prepared):
    """Rows, knowledge and a map that is not fitted yet."""

    def _result(self, estimator: Any) -> type[Run]:
        return MapRun if self.method.tags.kind == "embedding" else DistanceRun


class DistanceRun(Run):
    """Rows in the coordinates of a learned distance or projection."""

    def tell(self) -> list[Told]:
        """Return how many features became how many coordinates."""
        text = (
            f", {counted(len(self.features_in), 'feature')} in, {len(self.feature_names)} out, in "
            f"{self.seconds:.2f} s"
        )
        return [heading(self.estimator, self.data, text)]


class MapRun(Run):
    """A fitted map with the coordinates of the rows."""

    @cached_property
    def _measured(self) -> list[tuple[Measure, float]]:
        found = measured_map(self.estimator, lambda rows: self.X[rows], self.features)
        return [] if found is None else found.shown

    @property
    def quality(self) -> dict[str, float]:
        """Measures of the map, on at most 2,000 of its rows."""
        return {one.name: value for one, value in self._measured}

    def _feature_facts(self) -> dict[str, Any]:
        return {**super()._feature_facts(), "quality": self.quality}

    def tell(self) -> list[Told]:
        """Return the size of the map, and how far it can be trusted."""
        n_out = counted(len(self.feature_names), "coordinate")
        n_features = counted(len(self.features_in), "feature")
        text = f", {n_features} in, {n_out} out, in {self.seconds:.2f} s"
        parts: list[Told] = [heading(self.estimator, self.data, text)]
        outside = int((~np.isfinite(self.features).all(axis=1)).sum())
        if outside:
            parts.append(f"{counted(outside, 'row has', 'rows have')} no place on the map.")
        if self._measured:
            rows = [(f"{one.title} ({one.best})", f"{value:.3f}") for one, value in self._measured]
            parts.append(text_table("How far the map can be trusted", "", rows=rows))
        return parts
