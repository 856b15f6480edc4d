"""Rows in the plane, with the pairs that were stated: what several maps begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.pictures._projection import Projection
from sidelight.pictures._rows import plane_of
from sidelight.pictures._run import Run
from sidelight.pictures._selection import Links, Selection, ringed_rows, select, stated_links
from sidelight.pictures.kinds._points import Mark, Points, link_lines


@dataclass(frozen=True, eq=False)
class Plane:
    """Drawn rows of a run and their places.

    Attributes
    ----------
    run : Run
        Rows, clusters, and what was known.
    links : Links
        All stated pairs.
    selection : Selection
        The drawn rows, and the links between them.
    projection : Projection
        Places of the drawn rows.
    """

    run: Run
    links: Links
    selection: Selection
    projection: Projection

    @property
    def rows(self) -> IntArray:
        """Positions of the drawn rows."""
        return self.selection.rows

    @property
    def ringed(self) -> Array:
        """Which of the drawn rows a violated statement mentions."""
        return ringed_rows(self.run, self.selection)

    def points(self, **fields: Any) -> Points:
        """The rows by cluster, with lines between pairs; fields of the picture say what else."""
        shown: dict[str, Any] = {
            "xy": self.projection.xy,
            "codes": self.run.clusters.codes[self.rows],
            "n_colors": len(self.run.clusters.names),
            "rows": self.rows,
            "marks": {Mark.WRONG: self.ringed},
            "lines": link_lines(self.selection.links),
            "axes": self.projection.kind,
            "axis_titles": self.projection.axis_titles,
        }
        return Points(**(shown | fields))


def rows_in_plane(run: Run, features: Sequence[Any] | None = None) -> Plane:
    """Choose rows and place them; the same run gives the same picture."""
    rng = np.random.default_rng(0)
    links = stated_links(run)
    selection = select(run, links, rng)
    projection = plane_of(run.source, selection.rows, run.feature_names, rng, features)
    return Plane(run, links, selection, projection)
