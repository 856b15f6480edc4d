"""What runs about graphs share: objects and what is known about them, facts, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints, Violations
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_table
from sidelight.jobs._method import PathLike
from sidelight.jobs._table._run import Outcome


def objects_table(ids: Any, n_objects: int, path: Path, **fields: Any) -> Table:
    """Objects without attributes, as the results of a run need them."""
    return Table(np.empty((n_objects, 0)), ids, (), path, **fields)


def read_objects(
    path: PathLike, *, id_column: str | None, truth: str | None = None, source: str | None = None
) -> Table:
    """Read ids of objects, their true classes, and (as labels) their sources."""
    data = read_table(
        path, id_column=id_column, truth_column=truth, label_column=source, columns=[]
    )
    if data.ids is None:
        raise InvalidRequest(
            f"no column of {path} names the objects; say which one does with "
            f"{worded('id_column=', '--id-column')}."
        )
    return data


@dataclass(frozen=True, eq=False, repr=False)
class GraphRun(Outcome):
    """A fitted estimator of objects in a graph, with all that it was given.

    Attributes
    ----------
    method : Method
        The method, out of the catalog.
    estimator : object
        The fitted estimator.
    data : Table
        The objects: ids, true classes.
    knowledge : Constraints
        All that was known for certain.
    seconds : float
        Time of the fit.
    notes : tuple of str
        Decisions made on the way, as sentences for the user.
    files : tuple of Path
        Files that were read.
    """

    method: Method
    estimator: Any
    data: Table
    knowledge: Constraints
    seconds: float
    notes: tuple[str, ...]
    files: tuple[Path, ...]

    features: Any = field(default=None, kw_only=True)  # none are made
    feature_names: list[str] = field(default_factory=list, kw_only=True)

    @property
    def labels(self) -> Any:
        """Cluster of every object."""
        return self.estimator.labels_

    @cached_property
    def violations(self) -> Violations:
        """Stated constraints that the clusters do not keep."""
        return self.knowledge.violations(self.labels)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Agreement with the true classes, over all objects and over those nothing mentions."""
        if self.data.truth is None:
            return {}
        from sidelight.evaluation import constrained_scores

        return constrained_scores(self.data.truth_codes, self.labels, self.knowledge)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.labels[self.labels >= 0]))

    def largest(self, most: int) -> dict[str, int]:
        """The largest clusters and their sizes."""
        return dict(sorted(self.sizes.items(), key=lambda one: -one[1])[:most])

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values."""
        return {
            "data": str(self.data.path),
            "method": self.method.name,
            "parameters": self.estimator.get_params(deep=False),
            "n_rows": self.data.n_rows,
            "n_clusters": self.n_clusters,
            "seconds": self.seconds,
            "knowledge": self.knowledge.counts,
            "violations": self.violations.as_dict(),
            "scores": self.scores or None,
            **self._own_facts(),
        }

    def _own_facts(self) -> dict[str, Any]:
        return {}

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        return self.files

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        fill_labels = partial(self._fill_labels, spreadsheet_safe=spreadsheet_safe)
        return {"labels": fill_labels, "report": self._fill_report}

    def _fill_report(self, path: Path) -> None:
        path.write_text(self._page(), encoding="utf-8")

    def _page(self) -> str:
        """The report; runs that have one say what is in it."""
        raise SidelightError(f"{type(self.estimator).__name__} has no report; write its labels.")
