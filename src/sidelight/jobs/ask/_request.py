"""What is asked for: which rows a person is asked about, in which order, and how often."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import infile, number, outfile, table, word
from sidelight.jobs._shared import (
    METHODS,
    REPORT,
    TABLES,
    Known,
    KnownLabels,
    PreparedColumns,
    Seed,
    clusters,
    main_output,
    method,
    request,
)
from sidelight.jobs._table._asked import ROWS, Rows


@request
class AskRequest(Seed, PreparedColumns, KnownLabels, Known, Rows):
    """Which rows a person is asked about, in which order, and how often."""

    job: ClassVar[str] = "ask"

    data: Annotated[Any, table(ROWS)] = field(kw_only=False)
    k: Annotated[int | None, clusters("Number of clusters.")] = None
    questions: Annotated[
        int | None,
        number("Most questions to ask; by default they go on until you quit.", range=Interval(0)),
    ] = None
    strategy: Annotated[
        str | None,
        word(
            "Which pairs to ask about: explore-consolidate (the default), min-max, npu, cobras or "
            "random; with a classifier of pairs also ambiguous-min (its default), ambiguous-max or "
            "ambiguous-com.",
        ),
    ] = None
    pairs: Annotated[
        Any,
        infile(
            "Ask about these pairs (columns i and j), such as those of `sidelight resolve "
            "--doubtful`, and write the answers as constraints; nothing is clustered."
        ),
    ] = None
    method: Annotated[
        str | None,
        method(
            f"{METHODS}. A clusterer (by default pckmeans) or a classifier gets the answers.",
            completes="cluster classify",
        ),
    ] = None


REQUEST = AskRequest
OUTPUTS = {
    "labels": main_output(
        f"Where to write id and cluster of every row, or the classes of a classifier ({TABLES})."
    ),
    "report": REPORT,
    "answers": outfile(
        "Where every answer is kept at once; if the file exists already, the questions go on from "
        "its end. By default DATA.answers.jsonl in the current folder.",
        "--answers",
    ),
}
