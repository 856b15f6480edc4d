"""What is asked for: which clusters to score by which true classes."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import GOAL, Request, column, infile, table
from sidelight.jobs._shared import Ids, Known, request


@request
class EvaluateRequest(Ids, Known, Request):
    """Which clusters to score by which true classes."""

    job: ClassVar[str] = "evaluate"

    labels: Annotated[Any, table("Clusters of rows: columns id and cluster.", metavar="LABELS")] = (
        field(kw_only=False)
    )
    truth: Annotated[
        Any, infile("Table with the true classes, joined by id.", metavar="DATA", panel=GOAL)
    ]
    truth_column: Annotated[str, column("Column of that table with the true classes.", panel=GOAL)]


REQUEST = EvaluateRequest
