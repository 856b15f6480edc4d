"""What runs about graphs share: objects and their knowledge, the method, files, the command."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import set_by, worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints, Violations
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_table
from sidelight.runs._request import Request, _named_method, make_estimator, read_knowledge
from sidelight.runs._run import Outcome

PathLike = str | os.PathLike[str]


def is_path(given: Any) -> bool:
    """Whether something is named by its file."""
    return isinstance(given, str | os.PathLike)


def paths_of(*given: Any) -> list[Path]:
    """Those that are files."""
    return [Path(one) for one in given if is_path(one)]


def method_for(command: str, name: str) -> Method:
    """Find a method by its name, and refuse one that another command runs."""
    method = _named_method(Request(None, method=name, command=command))
    assert method is not None  # it has a name
    return method


def estimator_for(method: Method, settings: Mapping[str, Any], seed: int) -> Any:
    """Make the estimator as it was asked for."""
    return make_estimator(method, Request(None, settings=settings, seed=seed))


def check_takes(method: Method, knowledge: str, option: tuple[str, str]) -> None:
    """Refuse what a method has no use for."""
    if knowledge not in method.tags.knowledge:
        raise InvalidRequest(
            f"{method.cls.__name__} has no use for {knowledge}: leave {worded(*option)} out."
        )


def knowledge_about(
    data: Table, constraints: Any, must_link: PathLike | None, cannot_link: PathLike | None
) -> Constraints:
    """Everything that is known for certain about the objects."""
    request = Request(None, constraints=constraints, must_link=must_link, cannot_link=cannot_link)
    return read_knowledge(data, request)


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


def command_line(
    command: str, data: Any, options: Mapping[str, Any], settings: Mapping[str, Any]
) -> str | None:
    """Write the command that asks the same; None where something is only in memory."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    values = (data, *given.values(), *settings.values())
    if not all(isinstance(value, str | int | float | os.PathLike | tuple) for value in values):
        return None
    words: list[Any] = ["sidelight", command, data]
    for name, value in given.items():
        for one in value if isinstance(value, tuple) else (value,):
            words += [name, one]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(map(str, words))


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

    def report(self, path: PathLike) -> Path:
        """Write the report as one HTML file."""
        return self.write(report=path)["report"]

    def _inputs(self) -> Iterable[PathLike]:
        return self.files

    def _writers(self, safe_ids: bool) -> dict[str, Callable[[Path], None]]:
        fill_labels = partial(self._fill_labels, safe_ids=safe_ids)
        return {"labels": fill_labels, "report": self._fill_report}

    def _fill_report(self, path: Path) -> None:
        path.write_text(self._page(), encoding="utf-8")

    def _page(self) -> str:
        """The report; runs that have one say what is in it."""
        raise SidelightError(f"{type(self.estimator).__name__} has no report; write its labels.")


def timed_fit(method: Method, estimator: Any, X: Any, **beside: Any) -> float:
    """Fit, and tell how long it took; messages speak of the options that set the parameters."""
    start = time.perf_counter()
    with set_by(method.options):
        estimator.fit(X, **beside)
    return time.perf_counter() - start
