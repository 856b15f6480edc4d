"""``sidelight evaluate``: clusters against known classes, joined by id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.constraints import Constraints, Violations
from sidelight.constraints.inner import rows_named_in
from sidelight.evaluation import constrained_scores
from sidelight.exceptions import SidelightError, UnknownIds
from sidelight.io import Table, read_labels, read_table
from sidelight.io.inner import alike_hint, position_of, quoted
from sidelight.jobs._parts import score_table, violation_lines
from sidelight.jobs._result import Result
from sidelight.jobs.evaluate._request import EvaluateRequest
from sidelight.report.inner import Told


@dataclass(frozen=True, eq=False)
class EvaluateRun(Result):
    """Scores of clusters by true classes.

    Attributes
    ----------
    request : EvaluateRequest
        What was asked for.
    knowledge : Constraints
        Statements about the rows that have a cluster.
    violations : Violations
        Those that the clusters do not keep.
    scores : dict
        Agreement over all rows and over those that no statement mentions.
    notes : tuple of str
        Decisions made on the way.
    """

    request: EvaluateRequest
    knowledge: Constraints
    violations: Violations
    scores: dict[str, dict[str, float]]
    notes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return scores and violated statements as plain values."""
        stated = self.request.constraints is not None
        return {
            "labels": str(self.request.labels),
            "truth": str(self.request.truth),
            "scores": self.scores,
            "violations": self.violations.as_dict() if stated else None,
        }

    def tell(self) -> list[Told]:
        """Return what is kept, and the scores."""
        stated = self.request.constraints is not None
        kept = violation_lines(self.knowledge, self.violations) if stated else []
        return [*kept, score_table(self.scores, self.request.truth_column)]


def prepare(request: EvaluateRequest) -> EvaluateRun:
    """Join clusters and classes by id, and score them."""
    labels, truth, constraints = request.labels, request.truth, request.constraints
    data = read_table(
        truth,
        id_column=request.id_column,
        truth_column=request.truth_column,
        columns=[],
        named=lambda: _named_rows(labels, constraints),
    )
    rows, clusters = _join(labels, data)
    classes = data.truth_codes[rows]
    if not np.any(classes >= 0):
        raise SidelightError(
            f"No row of {labels} has a class in {request.truth_column!r} of {truth}."
        )
    place: dict[str, Any] = {"ids": data.ids, "n_samples": data.n_rows}
    stated = Constraints.read(constraints, **place) if constraints else Constraints(**place)
    known = stated[rows]
    scores = constrained_scores(classes, clusters, known)
    notes = list(data.notes)
    if len(rows) < data.n_rows:
        notes.append(f"{counted(data.n_rows - len(rows), 'row')} of {data.path} have no cluster.")
    if constraints is not None and "unconstrained" not in scores:
        notes.append("Every row is in some constraint, so none is left to score without.")
    return EvaluateRun(request, known, known.violations(clusters), scores, tuple(notes))


def _named_rows(labels: Path, constraints: Path | None) -> set[str]:
    """Everything that the labels and the constraints name rows by."""
    names = {str(name) for name in read_labels(labels)[0].tolist()}
    return names if constraints is None else names | rows_named_in(constraints)


def _join(path: Path, data: Table) -> tuple[Any, Any]:
    """Return positions in the data of the rows that have a cluster, and these clusters."""
    ids, clusters = read_labels(path)
    position = {str(name): row for row, name in enumerate(data.row_ids.tolist())}
    rows = [position_of(str(name), position) for name in ids.tolist()]
    unknown = [name for name, row in zip(ids.tolist(), rows, strict=True) if row is None]
    if unknown:
        raise UnknownIds(
            f"{path} names {quoted(unknown)}, but {data.path} has no such row; say which column "
            "holds the ids with --id-column, or give the table that was clustered."
            f"{alike_hint(unknown[0], data.row_ids.tolist())}",
            ids=unknown,
        )
    return np.array(rows, dtype=np.int64), clusters
