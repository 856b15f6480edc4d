"""``sidelight sample``: constraints from a column of known classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.io import Table, read_table
from sidelight.jobs._parts import knowledge_text
from sidelight.jobs._result import Result, Writer
from sidelight.jobs.sample._request import SampleRequest
from sidelight.report.inner import Told


@dataclass(frozen=True, eq=False)
class SampleRun(Result):
    """Constraints that were drawn from known classes.

    Attributes
    ----------
    request : SampleRequest
        What was asked for.
    data : Table
        The rows with their classes.
    constraints : Constraints
        What was drawn.
    """

    request: SampleRequest
    data: Table
    constraints: Constraints

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions made on the way."""
        return self.data.notes

    def facts(self) -> dict[str, Any]:
        """Return how many statements about how many rows were drawn."""
        return {
            "data": str(self.data.path),
            "protocol": self.request.protocol,
            "n_rows": self.data.n_rows,
            "rows_mentioned": len(self.constraints.mentioned),
            "knowledge": self.constraints.counts,
        }

    def tell(self) -> list[Told]:
        """Return how many statements about how many rows were drawn."""
        touched = len(self.constraints.mentioned)
        rows = counted(self.data.n_rows, "row")
        return [f"{knowledge_text(self.constraints)} on {touched:,} of {rows}"]

    def writers(self, spreadsheet_safe: bool) -> Mapping[str, Writer]:
        """Return what writes the constraints."""
        write = partial(self.constraints.write, spreadsheet_safe=spreadsheet_safe)
        return {"constraints": write}


def prepare(request: SampleRequest) -> SampleRun:
    """Draw constraints."""
    data = read_table(
        request.data, id_column=request.id_column, truth_column=request.labels, columns=[]
    )
    drawn = Constraints.sample(
        data.truth_codes,
        request.n,
        protocol=request.protocol,
        level=request.level,
        fraction=request.fraction,
        size=request.size,
        n_teachers=request.teachers,
        random_state=request.seed,
        ids=data.ids,
    )
    return SampleRun(request, data, drawn)
