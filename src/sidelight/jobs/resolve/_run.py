"""Entities: which references of a table mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import worded
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import (
    DOUBTFUL,
    ENTITY,
    ID,
    check_readable,
    column_names,
    column_texts,
    label_values,
)
from sidelight.jobs._graph import GraphRun, read_columns
from sidelight.jobs._method import (
    check_different,
    check_takes,
    estimator_for,
    is_path,
    method_for,
    timed_fit,
    with_options,
)
from sidelight.jobs._result import writer_of
from sidelight.jobs._table._features import raw_columns
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs._table._model import Model, columns_of, fill_model
from sidelight.jobs.resolve._facts import doubtful_pairs
from sidelight.jobs.resolve._request import ResolveRequest
from sidelight.pictures.inner import ResolutionCurve, curve_of, threshold_of
from sidelight.preparation.inner import as_source

#: The default where references occur in groups, and where they do not.
COLLECTIVE, ALONE = "collective-resolution", "attribute-resolution"
#: Doubtful pairs that are written, by default.
MAX_DOUBTFUL = 100
#: The curve of precision and recall goes down to this share of the threshold.
LOWEST = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class ResolveRun(GraphRun):
    """Entities of references, with the merges that made them.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes
        As in every run about a graph: the fitted estimator, and what it was given.
    request : ResolveRequest
        What was asked for.
    table : pyarrow.Table
        The compared columns.
    groups, sources : ndarray or None
        Group and source of every reference.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import jobs
    >>> people = pd.DataFrame({"name": ["Ann Lee", "Anne Lee", "Bob Ross", "Bob Ross"]})
    >>> jobs.run("resolve", data=people, compare={"name": "text"}).labels.tolist()
    [0, 0, 1, 1]
    """

    request: ResolveRequest
    table: Any
    groups: Array | None
    sources: Array | None

    @cached_property
    def curve(self) -> ResolutionCurve | None:
        """Precision and recall over the threshold; None without true entities.

        One more fit with a lower threshold makes the merges below that of the run: it goes through
        the same states and then on.
        """
        if self.data.truth is None:
            return None
        lower = self.method.cls(**self.estimator.get_params(deep=False))
        lower.set_params(threshold=LOWEST * self.threshold)
        _fit(self.method, lower, self.table, self.knowledge, self.groups, self.sources)
        return curve_of(lower.merges_, self.data.truth_codes)

    @property
    def best(self) -> dict[str, float] | None:
        """Threshold with the best pairwise F1; None without true entities or merges."""
        curve = self.curve
        if curve is None or not len(curve.thresholds):
            return None
        return {
            "threshold": float(curve.thresholds[curve.best]),
            "f1": float(curve.f1[curve.best]),
        }

    @property
    def threshold(self) -> float:
        """Threshold that was used."""
        used = threshold_of(self.estimator)
        assert used is not None  # every resolver has one
        return used

    @cached_property
    def completeness(self) -> float | None:
        """Share of the true pairs that were compared; None without true entities."""
        if self.data.truth is None:
            return None
        return float(self.estimator.blocking_.completeness(self.data.truth_codes))

    def blocking_lines(self) -> list[str]:
        """Return how the compared pairs were chosen, a sentence each."""
        lines = str(self.estimator.blocking_).splitlines()
        if self.completeness is not None:
            lines.append(f"{self.completeness:.1%} of the pairs that belong together are compared.")
        return lines

    def doubtful(self, most: int = MAX_DOUBTFUL) -> dict[str, Array]:
        """Return the pairs nearest to the threshold: positions, similarities and a reason."""
        return doubtful_pairs(self, most)

    def row_texts(self) -> list[str]:
        """Return the compared columns of every reference as one text."""
        columns = [column_texts(self.table.column(name)) for name in self.table.column_names]
        return [", ".join(filter(None, row)) for row in zip(*columns, strict=True)]

    def _own_facts(self) -> dict[str, Any]:
        blocking = self.estimator.blocking_
        facts: dict[str, Any] = {
            "n_entities": self.n_clusters,
            "threshold": self.threshold,
            "n_pairs": int(blocking.n_pairs),
            "n_all_pairs": int(blocking.n_all_pairs),
            "completeness": self.completeness,
            "n_merges": len(self.estimator.merges_["i"]),
            "largest": self.largest(10),
        }
        return facts if self.best is None else {**facts, "best": self.best}

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            "entities": writer_of(self._entity_columns, spreadsheet_safe),
            "doubtful": writer_of(self._doubtful_columns, spreadsheet_safe),
            "model": self._fill_model,
        }

    def _fill_model(self, path: Path) -> None:
        estimator, names = self.estimator, self.table.column_names
        functions = [name for name, how in estimator.comparisons_.items() if callable(how.kind)]
        if functions:
            raise SidelightError(
                f"The column {functions[0]!r} is compared by a function, which no file can keep; "
                "in Python, pickle the estimator."
            )
        roles = {"groups": self.request.groups, "sources": self.request.sources}
        keys = [] if isinstance(estimator.blocking, str) else estimator.blocking or []
        used = dict.fromkeys((*estimator.comparisons_, *_key_columns(keys, names)))
        model = Model(
            estimator=estimator,
            preparer=None,
            method=self.method.name,
            feature_names=list(used),
            id_column=self.data.id_column,
            zero_based=None,
            knowledge={kind: n for kind, n in self.knowledge.counts.items() if n},
            roles={role: name for role, name in roles.items() if name is not None},
        )
        fill_model(model, path)

    def _entity_columns(self) -> dict[str, Any]:
        return {ID: self.data.row_ids, ENTITY: np.asarray(self.labels)}

    def _doubtful_columns(self) -> dict[str, Any]:
        found, ids = self.doubtful(), self.data.row_ids
        return {
            name: ids[np.asarray(found[name], np.int64)]
            if name in ("i", "j")
            else np.asarray(found[name], dtype=str if name == "reason" else np.float64)
            for name in DOUBTFUL
        }


def prepare(request: ResolveRequest) -> ResolveRun:
    """Find out which references of a table mean the same entity."""
    default = COLLECTIVE if request.groups is not None else ALONE
    method = method_for("resolve", request.method or default)
    estimator = estimator_for(method, _settings(request), seed=0)  # nothing is drawn
    data, table, groups, sources = _read(request)
    if request.groups is not None:
        check_takes(method, "relations", ("groups=", "--group-column"))
    if request.sources is not None:
        check_takes(method, "sources", ("sources=", "--source-column"))
    knowledge = read_knowledge(data, request)
    seconds = _fit(method, estimator, table, knowledge, groups, sources)
    return ResolveRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(*data.notes, *knowledge.notes),
        request=request,
        table=table,
        groups=groups,
        sources=sources,
    )


def _settings(request: ResolveRequest) -> dict[str, Any]:
    """Return the parameters of the method, those with an option of their own among them."""
    own = {
        "compare": {name: _comparison(name, how) for name, how in request.compare.items()} or None,
        "blocking": tuple(request.blocking) or None,
        "threshold": request.threshold,
        "relational_share": request.relational_share,
    }
    given = {name: value for name, value in own.items() if value is not None}
    return with_options(request, given)


def _comparison(name: str, how: Any) -> Any:
    """Return how a column is compared; ``words*2`` is a kind with a weight."""
    from sidelight.relational import ColumnComparison

    kind, star, weight = how.partition("*") if isinstance(how, str) else (how, "", "")
    if not star:
        return kind
    try:
        return ColumnComparison(kind, weight=float(weight))
    except (SidelightError, ValueError) as error:
        option = worded(f"compare of {name!r}: {how}", f"--compare {name}:{how}")
        raise InvalidRequest(f"{option}: {error}") from None


def _fit(
    method: Any, estimator: Any, table: Any, knowledge: Any, groups: Any, sources: Any
) -> float:
    fit_params: dict[str, Any] = {}
    if groups is not None:
        fit_params["relations"] = groups
    if sources is not None:
        fit_params["sources"] = sources
    return timed_fit(method, estimator, table, constraints=knowledge, **fit_params)


def _read(request: ResolveRequest) -> tuple[Table, Any, Any, Any]:
    """Read the references, their columns to compare as Arrow, groups and sources."""
    special = [name for name in (request.groups, request.sources) if name is not None]
    _check_roles(request, special)
    data = read_columns(
        request.data,
        "references",
        id_column=request.id_column,
        truth_column=request.truth,
        columns=_named_columns(request),
        drop=tuple(dict.fromkeys((*request.drop, *special))),
    )
    table = columns_of(data, data.feature_names)
    columns: Any = raw_columns(request.data, special)
    groups, sources = (
        None if name is None else label_values(columns.column(name))
        for name in (request.groups, request.sources)
    )
    return data, table, groups, sources


def _named_columns(request: ResolveRequest) -> list[str] | None:
    """Return the columns to read: those that are compared or make keys; None for all."""
    if not request.compare:
        return None
    if is_path(request.data):
        header = column_names(check_readable(request.data))
    else:
        header = list(as_source(request.data).columns.names)
    return list(dict.fromkeys((*request.compare, *_key_columns(request.blocking, header))))


def _key_columns(keys: Sequence[Any], header: Sequence[str]) -> list[str]:
    """Return the columns that make keys of blocking."""
    single = [one for key in keys for one in (key if isinstance(key, tuple | list) else (key,))]
    texts = [key for key in single if isinstance(key, str)]
    of_keys = [key if key in header else key.rpartition(":")[0] for key in texts]
    return [name for name in of_keys if name in header]


def _check_roles(request: ResolveRequest, special: Sequence[str]) -> None:
    roles = [*special, request.id_column, request.truth]
    named = [name for name in roles if name is not None]
    check_different(named)
    both = [name for name in request.compare if name in named]
    if both:
        raise InvalidRequest(
            f"the column {both[0]!r} is compared, and something else at once: leave it out of "
            f"{worded('compare', '--compare')}."
        )
