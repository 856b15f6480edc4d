"""The result of a job that gives every row, object or reference a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight.catalog import Method
from sidelight.constraints import Constraints
from sidelight.io import Table
from sidelight.jobs._table._run import Reported

if TYPE_CHECKING:
    from sidelight.report.inner import Page


@dataclass(frozen=True, eq=False, repr=False)
class FittedRun(Reported):
    """A fitted estimator that puts its rows into groups, with a page of its own.

    Attributes
    ----------
    method : Method
        The method, out of the catalog.
    estimator : object
        The fitted estimator.
    data : Table
        What was grouped: ids, true classes.
    seconds : float
        Time of the fit.
    request : Request
        What was asked for.
    """

    method: Method
    estimator: Any
    data: Table
    seconds: float

    request: Any = field(kw_only=True)
    features: Any = field(default=None, kw_only=True)  # none are made
    feature_names: list[str] = field(default_factory=list, kw_only=True)

    @property
    def labels(self) -> Any:
        """Cluster of every row, -1 for those in none."""
        return self.estimator.labels_

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values."""
        return {
            "data": str(self.data.path),
            "method": self.method.name,
            "parameters": self.estimator.get_params(deep=False),
            "n_rows": self.data.n_rows,
            "seconds": self.seconds,
            **self._own_facts(),
        }

    def _own_facts(self) -> dict[str, Any]:
        """Return the facts that only this job has."""
        raise NotImplementedError

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        fill_labels = partial(self._fill_labels, spreadsheet_safe=spreadsheet_safe)
        return {"labels": fill_labels, "report": self._fill_report}

    def page_of(
        self,
        package: str,
        *,
        settings: Mapping[str, Any] | None = None,
        styles: Sequence[str] = ("page.css",),
        **own: Any,
    ) -> Page:
        """Return a page with the heading, settings and command that pages of clusters have."""
        from sidelight.report.inner import Page

        page = Page(
            estimator=self.estimator,
            n_rows=len(self.labels),
            package=package,
            styles=styles,
            **own,
        )
        return self.framed(page, **(settings or {}))


@dataclass(frozen=True, eq=False, repr=False)
class LabeledRun(FittedRun):
    """A fitted estimator with clusters of all that it was given, and what was known about them.

    Attributes
    ----------
    method, estimator, data, seconds, request
        As in :class:`FittedRun`.
    knowledge : Constraints
        All that was known for certain.
    notes : tuple of str
        Decisions made on the way, as sentences for the user.
    """

    knowledge: Constraints
    notes: tuple[str, ...]

    @property
    def truth_codes(self) -> Any:
        """Codes of the true classes, -1 where unknown; None without true classes."""
        return None if self.data.truth is None else self.data.truth_codes

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.labels[self.labels >= 0]))

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values."""
        return {
            **super().facts(),
            "n_clusters": self.n_clusters,
            "knowledge": self.knowledge.counts,
            "violations": self.violations.as_dict(),
            "scores": self.scores or None,
        }
