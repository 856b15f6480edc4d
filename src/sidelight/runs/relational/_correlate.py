"""Scored pairs: from a table of pairs to clusters that agree with the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._fit.parameters import declared
from sidelight._words import format_number, worded
from sidelight.catalog import Method
from sidelight.constraints import Relations
from sidelight.constraints.relations._log_odds import hold_log_odds
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.runs._features import IN_MEMORY
from sidelight.runs._shared import (
    PathLike,
    check_takes,
    command_line,
    estimator_for,
    is_path,
    knowledge_about,
    method_for,
    paths_of,
    timed_fit,
)
from sidelight.runs.relational._shared import GraphRun, objects_table, read_objects

DEFAULT = "correlation-clustering"
#: Parameter that says what it costs to join two objects that were not compared.
ABSENT = "absent"


@dataclass(frozen=True, eq=False)
class CorrelateRequest:
    """What is asked for: which scored pairs, by which method, and what is known for certain.

    Attributes
    ----------
    pairs : path-like, Relations or table
        The scored pairs; a path is read by :meth:`sidelight.Relations.read`, a table by
        ``Relations.from_table``.
    method : str
        Name of the method in the catalog.
    prior : float or None
        Probability that a pair belongs together before it was looked at, by which probabilities
        become scores; None takes them as they are.
    duplicates : str
        What becomes of a pair with several scores that differ: ``"refuse"``, ``"mean"``,
        ``"sum"``, ``"max"`` or ``"min"``.
    nodes : path-like or None
        Table of all objects; those in no pair are clusters of their own.
    id_column, truth, sources : str or None
        Columns of the nodes: their ids, their true classes (for the scores only), and the source
        they come from. Objects of one source never join.
    constraints : Constraints, path-like or None
        What is known for certain, or the file that holds it.
    must_link, cannot_link : path-like or None
        Files of pairs, two ids per line.
    settings : mapping of str to object
        Parameters of the method. Where the pairs have probabilities, ``absent`` is ``"auto"`` by
        default: pairs that were not compared count against joining.
    seed : int
        Seed of the random numbers.
    """

    pairs: Any
    method: str = DEFAULT
    prior: float | None = None
    duplicates: str = "refuse"
    nodes: PathLike | None = None
    id_column: str | None = None
    truth: str | None = None
    sources: str | None = None
    constraints: Any = None
    must_link: PathLike | None = None
    cannot_link: PathLike | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return paths_of(self.pairs, self.nodes, self.constraints, self.must_link, self.cannot_link)

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory."""
        options = {
            "--method": None if self.method == DEFAULT else self.method,
            "--prior": self.prior,
            "--duplicates": None if self.duplicates == "refuse" else self.duplicates,
            "--nodes": self.nodes,
            "--id-column": self.id_column,
            "--truth-column": self.truth,
            "--source-column": self.sources,
            "--constraints": self.constraints,
            "--must-link": self.must_link,
            "--cannot-link": self.cannot_link,
            "--seed": self.seed,
        }
        return command_line("correlate", self.pairs, options, self.settings)


@dataclass(frozen=True, eq=False, repr=False)
class CorrelateRun(GraphRun):
    """Clusters of scored pairs, with the cost that they have and the least that any could have.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes, files
        As in every run about a graph: the fitted estimator, and what it was given.
    request : CorrelateRequest
        What was asked for.
    relations : Relations
        The scored pairs.
    """

    request: CorrelateRequest
    relations: Relations

    def worst(self, most: int) -> list[dict[str, Any]]:
        """The pairs that the clusters are most against, with their names and scores."""
        from sidelight.report.relational._correlation import worst_disagreements

        return worst_disagreements(self.relations, self.labels, most)

    @property
    def gap(self) -> str:
        """How far from the best partition the cost can be at most, in words."""
        from sidelight.report.relational._correlation import gap_text

        return gap_text(self.estimator)

    def _own_facts(self) -> dict[str, Any]:
        model = self.estimator
        facts = {
            name: getattr(model, f"{name}_", None)
            for name in (
                "objective",
                "agreement",
                "lower_bound",
                "gap",
                "absent",
                "method",
                "bound_method",
            )
        }
        facts["found_by"] = facts.pop("method")
        return {
            "n_pairs": self.relations.n_edges,
            **facts,
            "largest": self.largest(10),
            "worst": self.worst(10),
        }

    def _page(self) -> str:
        from sidelight.report.relational._correlation import render_correlation

        truth = None if self.data.truth is None else self.data.truth_codes
        return render_correlation(
            estimator=self.estimator,
            relations=self.relations,
            constraints=self.knowledge,
            truth=truth,
            title=f"{self.data.path.name}: {type(self.estimator).__name__}",
            settings={"data": str(self.data.path)},
            command=self.request.command_line(),
            seconds=self.seconds,
        )


def correlate(request: CorrelateRequest) -> CorrelateRun:
    """Cluster objects so that scored pairs agree with the clusters.

    Parameters
    ----------
    request : CorrelateRequest
        What is asked for.

    Returns
    -------
    CorrelateRun
        The fitted estimator with its data, scores and ways to write them.

    Examples
    --------
    >>> from sidelight.runs import CorrelateRequest, correlate
    >>> pairs = {"i": ["ann", "bob", "ann"], "j": ["anne", "bert", "bob"], "score": [3, -1, -2]}
    >>> found = correlate(CorrelateRequest(pairs))
    >>> found.n_clusters, found.gap
    (3, 'proven optimal')
    """
    method = method_for("correlate", request.method)
    estimator_for(method, request.settings, request.seed)  # refuses settings before files are read
    nodes = _nodes(request)
    relations = read_pairs_of(request, None if nodes is None else nodes.ids)
    estimator = estimator_for(method, settings_for(request, method, relations), request.seed)
    path = Path(request.pairs) if is_path(request.pairs) else IN_MEMORY
    data = objects_table(relations.ids, relations.n_samples, path)
    beside: dict[str, Any] = {}
    if nodes is not None:
        data = objects_table(
            relations.ids,
            relations.n_samples,
            path,
            truth=nodes.truth,
            truth_column=nodes.truth_column,
        )
        if request.sources is not None:
            check_takes(method, "sources", ("sources=", "--source-column"))
            beside["sources"] = nodes.labels
    knowledge = knowledge_about(data, request.constraints, request.must_link, request.cannot_link)
    seconds = timed_fit(method, estimator, relations, constraints=knowledge, **beside)
    notes = () if nodes is None else nodes.notes
    return CorrelateRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(
            *notes,
            *_lonely(relations),
            *relations.notes,
            *_unscored(request, estimator),
            *knowledge.notes,
        ),
        files=tuple(request.inputs),
        request=request,
        relations=relations,
    )


def settings_for(
    request: CorrelateRequest, method: Method, relations: Relations
) -> Mapping[str, Any]:
    """Settings of the request; pairs without a probability count against joining by default.

    Probabilities come from a matcher that compares the pairs that look alike, so that a pair that
    it left out is evidence. Scores may be anything, and then a pair without one says nothing.
    """
    if hold_log_odds(relations.notes) and ABSENT in declared(method.cls):
        return {ABSENT: "auto", **request.settings}
    return request.settings


def _unscored(request: CorrelateRequest, estimator: Any) -> tuple[str, ...]:
    """Tell of a cost that was not asked for."""
    if ABSENT in request.settings or not getattr(estimator, "absent_", 0.0):
        return ()
    return (
        "Joining two objects that were not compared costs "
        f"{format_number(estimator.absent_, 3)}, by how often likely pairs were; "
        f"{worded('absent=0 in settings', '--set absent=0')} ignores them.",
    )


def _nodes(request: CorrelateRequest) -> Table | None:
    if request.nodes is not None:
        return read_objects(
            request.nodes,
            id_column=request.id_column,
            truth=request.truth,
            source=request.sources,
        )
    given = {
        worded("id_column", "--id-column"): request.id_column,
        worded("truth", "--truth-column"): request.truth,
        worded("sources", "--source-column"): request.sources,
    }
    named = [option for option, value in given.items() if value is not None]
    if named:
        raise InvalidRequest(
            f"{named[0]} names a column of the objects: give their table with "
            f"{worded('nodes=', '--nodes')}."
        )
    return None


def read_pairs_of(request: CorrelateRequest, ids: Any) -> Relations:
    """Read or take the scored pairs; ``ids`` are those of all objects, where they are known."""
    if isinstance(request.pairs, Relations):
        if request.prior is not None or ids is not None:
            raise InvalidRequest(
                "relations have their scores and objects: leave prior and nodes out."
            )
        return request.pairs
    options: dict[str, Any] = {"ids": ids, "duplicates": request.duplicates}
    if request.prior is not None:
        if not 0.0 < request.prior < 1.0:
            name = worded("prior", "--prior")
            raise InvalidRequest(f"{name} is a probability between 0 and 1, got {request.prior}.")
        options["prior"] = request.prior
    read = Relations.read if is_path(request.pairs) else Relations.from_table
    relations: Relations = read(request.pairs, **options)
    return relations


def _lonely(relations: Relations) -> tuple[str, ...]:
    """Tell of objects in no pair."""
    alone = int(np.count_nonzero(relations.degree == 0))
    if not alone:
        return ()
    if alone == 1:
        return ("1 object is in no scored pair, and so a cluster of its own.",)
    return (f"{alone:,} objects are in no scored pair, and so clusters of their own.",)
