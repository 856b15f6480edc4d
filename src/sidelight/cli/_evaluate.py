"""``sidelight evaluate``: clusters against known classes, joined by id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._screen import Screen, score_table, violation_lines
from sidelight.constraints import Constraints
from sidelight.constraints.inner import rows_named_in
from sidelight.evaluation import constrained_scores
from sidelight.exceptions import SidelightError, UnknownIds
from sidelight.io import Table, read_labels, read_table
from sidelight.io.inner import alike_hint, position_of, quoted


def run(
    labels_path: Path,
    *,
    truth: Path,
    label_column: str,
    constraints: Path | None,
    id_column: str | None,
    screen: Screen,
) -> None:
    """Join, score, show."""
    data = read_table(
        truth,
        id_column=id_column,
        truth_column=label_column,
        columns=[],
        named=lambda: _named_rows(labels_path, constraints),
    )
    screen.note(*data.notes)
    rows, clusters = _join(labels_path, data, screen)
    classes = data.truth_codes[rows]
    if not np.any(classes >= 0):
        raise SidelightError(f"No row of {labels_path} has a class in {label_column!r} of {truth}.")
    place: dict[str, Any] = {"ids": data.ids, "n_samples": data.n_rows}
    stated = Constraints.read(constraints, **place) if constraints else Constraints(**place)
    known = stated[rows]
    scores = constrained_scores(classes, clusters, known)
    violations = None
    if constraints is not None:
        if "unconstrained" not in scores:
            screen.note("Every row is in some constraint, so none is left to score without.")
        found = known.violations(clusters)
        violations = found.as_dict()
        screen.show(*violation_lines(known, found))
    screen.show(score_table(scores, label_column))
    screen.result(
        {
            "command": "evaluate",
            "labels": str(labels_path),
            "truth": str(truth),
            "scores": scores,
            "violations": violations,
        }
    )


def _named_rows(labels: Path, constraints: Path | None) -> set[str]:
    """Everything that the labels and the constraints name rows by."""
    names = {str(name) for name in read_labels(labels)[0].tolist()}
    return names if constraints is None else names | rows_named_in(constraints)


def _join(path: Path, data: Table, screen: Screen) -> tuple[Any, Any]:
    """Positions in the data of the rows that have a cluster, and these clusters."""
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
    if len(ids) < data.n_rows:
        screen.note(f"{counted(data.n_rows - len(ids), 'row')} of {data.path} have no cluster.")
    return np.array(rows, dtype=np.int64), clusters
