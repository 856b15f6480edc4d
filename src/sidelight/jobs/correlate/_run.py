"""Scored pairs: from a table of pairs to clusters that agree with the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._fit.parameters import declared
from sidelight._words import format_number, worded
from sidelight.catalog import Method
from sidelight.constraints import Relations
from sidelight.constraints.inner import hold_log_odds
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.jobs._graph import GraphRun, gap_text, objects_table, read_roles
from sidelight.jobs._method import (
    check_takes,
    estimator_for,
    is_path,
    method_for,
    timed_fit,
)
from sidelight.jobs._table._features import IN_MEMORY
from sidelight.jobs._table._knowledge import knowledge_about
from sidelight.jobs.correlate._facts import worst_disagreements
from sidelight.jobs.correlate._request import CorrelateRequest

#: Parameter that says what it costs to join two objects that were not compared.
ABSENT = "absent"


@dataclass(frozen=True, eq=False, repr=False)
class CorrelateRun(GraphRun):
    """Clusters of scored pairs, with the cost that they have and the least that any could have.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes
        As in every run about a graph: the fitted estimator, and what it was given.
    request : CorrelateRequest
        What was asked for.
    relations : Relations
        The scored pairs.

    Examples
    --------
    >>> from sidelight import jobs
    >>> pairs = {"i": ["ann", "bob", "ann"], "j": ["anne", "bert", "bob"], "score": [3, -1, -2]}
    >>> found = jobs.run("correlate", pairs=pairs)
    >>> found.n_clusters, found.gap
    (3, 'proven optimal')
    """

    request: CorrelateRequest
    relations: Relations

    def worst(self, most: int) -> list[dict[str, Any]]:
        """Return the pairs that the clusters are most against, with their names and scores."""
        return worst_disagreements(self.relations, self.labels, most)

    @property
    def gap(self) -> str:
        """How far from the best partition the cost can be at most, in words."""
        return gap_text(self.estimator)

    def _own_facts(self) -> dict[str, Any]:
        names = ("objective", "agreement", "lower_bound", "gap", "absent", "bound_method")
        return {
            "n_pairs": self.relations.n_edges,
            **self.fitted(*names),
            "found_by": self.fitted("method")["method"],
            "largest": self.largest(10),
            "worst": self.worst(10),
        }


def prepare(request: CorrelateRequest) -> CorrelateRun:
    """Cluster objects so that scored pairs agree with the clusters."""
    method = method_for("correlate", request.method)
    estimator_for(method, request.settings, request.seed)  # refuses settings before files are read
    nodes = _nodes(request)
    relations = _read_pairs(request, None if nodes is None else nodes.ids)
    estimator = estimator_for(method, _settings(request, method, relations), request.seed)
    path = Path(request.pairs) if is_path(request.pairs) else IN_MEMORY
    data = objects_table(relations.ids, relations.n_samples, path, nodes)
    fit_params: dict[str, Any] = {}
    if nodes is not None and request.sources is not None:
        check_takes(method, "sources", ("sources=", "--source-column"))
        fit_params["sources"] = nodes.labels
    knowledge = knowledge_about(data, request.constraints, request.must_link, request.cannot_link)
    seconds = timed_fit(method, estimator, relations, constraints=knowledge, **fit_params)
    notes = () if nodes is None else nodes.notes
    return CorrelateRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(
            *notes,
            *_note_isolated(relations),
            *relations.notes,
            *_note_absent(request, estimator),
            *knowledge.notes,
        ),
        request=request,
        relations=relations,
    )


def _settings(request: CorrelateRequest, method: Method, relations: Relations) -> Mapping[str, Any]:
    """Return the settings; by default pairs without a probability count against joining.

    Probabilities come from a matcher that compares the pairs that look alike, so that a pair that
    it left out is evidence. Scores may be anything, and then a pair without one says nothing.
    """
    if hold_log_odds(relations.notes) and ABSENT in declared(method.cls):
        return {ABSENT: "auto", **request.settings}
    return request.settings


def _note_absent(request: CorrelateRequest, estimator: Any) -> tuple[str, ...]:
    """Return a note on the cost of pairs without a score, where it was not asked for."""
    if ABSENT in request.settings or not getattr(estimator, "absent_", 0.0):
        return ()
    return (
        "Joining two objects that were not compared costs "
        f"{format_number(estimator.absent_, 3)}, by how often likely pairs were; "
        f"{worded('absent=0 in settings', '--set absent=0')} ignores them.",
    )


def _nodes(request: CorrelateRequest) -> Table | None:
    """Read ids of the objects, their true classes, and (as labels) their sources."""
    roles = {
        "id_column": (request.id_column, worded("id_column", "--id-column")),
        "truth_column": (request.truth, worded("truth", "--truth-column")),
        "label_column": (request.sources, worded("sources", "--source-column")),
    }
    if request.nodes is None:
        named = [option for column, option in roles.values() if column is not None]
        if named:
            raise InvalidRequest(
                f"{named[0]} names a column of the objects: give their table with "
                f"{worded('nodes=', '--nodes')}."
            )
        return None
    columns = {role: column for role, (column, _) in roles.items()}
    nodes = read_roles(request.nodes, "objects", columns=[], **columns)
    if nodes.ids is None:
        raise InvalidRequest(
            f"no column of {nodes.path} names the objects; say which one does with "
            f"{worded('id_column=', '--id-column')}."
        )
    return nodes


def _read_pairs(request: CorrelateRequest, ids: Any) -> Relations:
    """Read or take the scored pairs; ``ids`` are those of all objects, where they are known."""
    if isinstance(request.pairs, Relations):
        if request.prior is not None or ids is not None:
            raise InvalidRequest(
                "relations have their scores and objects: leave prior and nodes out."
            )
        return request.pairs
    options: dict[str, Any] = {"ids": ids, "duplicates": request.duplicates}
    if request.prior is not None:
        options["prior"] = request.prior
    read = Relations.read if is_path(request.pairs) else Relations.from_table
    relations: Relations = read(request.pairs, **options)
    return relations


def _note_isolated(relations: Relations) -> tuple[str, ...]:
    """Return a note on objects in no pair."""
    alone = int(np.count_nonzero(relations.degree == 0))
    if not alone:
        return ()
    if alone == 1:
        return ("1 object is in no scored pair, and so a cluster of its own.",)
    return (f"{alone:,} objects are in no scored pair, and so clusters of their own.",)
