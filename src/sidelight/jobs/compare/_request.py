"""What is asked for: which methods and numbers of clusters to compare on which rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from sidelight.jobs._options import METHOD, columns, word
from sidelight.jobs._shared import (
    LABELS_OR_FOLDER,
    MODEL,
    REPORT,
    InBlocks,
    request,
    several_clusters,
)
from sidelight.jobs._table._asked import TableRequest


@request
class CompareRequest(InBlocks, TableRequest):
    """Which methods and numbers of clusters to compare, on which rows.

    Examples
    --------
    >>> from sidelight.jobs import CompareRequest
    >>> CompareRequest("rows.csv", k=[2, 3, 4], budget="2m").command_line()
    'sidelight compare rows.csv -k 2:4 --budget 2m'
    """

    job: ClassVar[str] = "compare"

    k: Annotated[
        int | Sequence[int] | None,
        several_clusters(
            "Numbers of clusters to try, such as 2:8 or 2,3,5; by default that of the known "
            "classes, or 2:8."
        ),
    ] = None
    methods: Annotated[
        Sequence[str] | None,
        columns(
            "Methods to compare; by default a few that suit the data and what is known.",
            panel=METHOD,
            completes="cluster",
        ),
    ] = None
    budget: Annotated[
        float | str | None,
        word(
            "Time after which the best so far is taken, such as 90s or 2m; by default no limit.",
            metavar="TIME",
        ),
    ] = None


REQUEST = CompareRequest
OUTPUTS = {"labels": LABELS_OR_FOLDER, "report": REPORT, "model": MODEL}
