"""What is asked for: which rows to place on a map, or in a learned distance."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight._words import worded
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._options import (
    FORMATS,
    as_texts,
    column,
    columns,
    fields_of,
    flag,
    infile,
    number,
    outfile,
    table,
)
from sidelight.jobs._shared import METHODS, MODEL, REPORT, main_output, method, request
from sidelight.jobs._table._asked import MethodRequest

#: Fields that are about the rows of one whole table.
WHOLE_TABLE = (
    "constraints",
    "must_link",
    "cannot_link",
    "labels",
    "truth",
    "anchors",
    "ignore",
    "kinds",
    "weights",
)
STREAM = "Rows that come one after the other"
VIEWS = "Several views of the same things"


@request
class EmbedRequest(MethodRequest):
    """Which rows to place on a map, or in a learned distance.

    Fields that name files or columns also take values in memory: ``anchors`` an array with a row
    for each row of the data, NaN where nothing is known, ``color`` one value per row, ``views``
    :class:`~sidelight.io.Table` objects, ``correspondences``
    :class:`~sidelight.constraints.Correspondences`.
    """

    job: ClassVar[str] = "embed"

    data: Annotated[
        Any, table(f"Table of rows: {FORMATS}. With --stream also - for standard input.")
    ] = field(default="-", kw_only=False)
    k: Annotated[
        int | None,
        number("Number of coordinates; of a map by default 2.", "-d", "--dimensions"),
    ] = None
    method: Annotated[
        str | None,
        method(
            f"{METHODS}. By default isomap, or landmark-isomap for many rows. Methods such as rca "
            "learn a distance and give the rows in its coordinates."
        ),
    ] = None
    color: Annotated[
        Any,
        column(
            "Column that colors the points of the report; no feature, unless --columns names it.",
            metavar="COLUMN",
        ),
    ] = None
    ignore: Annotated[
        Sequence[str],
        columns(
            "Columns that the distances leave out, and whose linear effect on the other columns is "
            "removed first."
        ),
    ] = ()
    anchors: Annotated[
        Any,
        infile(
            "Rows with known coordinates: a table with the id of a row and a column for each "
            "coordinate."
        ),
    ] = None
    views: Annotated[
        Sequence[Any],
        infile(
            "Another table of numbers that shows some of the same things; repeatable. All views "
            "get one map.",
            "--view",
            many=True,
            read=tuple,
            write=as_texts,
            panel=VIEWS,
        ),
    ] = ()
    correspondences: Annotated[
        Any,
        infile("Which rows show the same, a column of ids for each view.", panel=VIEWS),
    ] = None
    stream: Annotated[
        bool,
        flag(
            "Read rows one after the other (CSV with a header, or JSON lines) and write their "
            "coordinates as they come.",
            panel=STREAM,
        ),
    ] = False
    start: Annotated[
        int | None,
        number(
            "Number of rows with which the map begins; by default 100.",
            panel=STREAM,
            range=Interval(2),
        ),
    ] = None

    @property
    def is_piped(self) -> bool:
        """Whether rows come through standard input."""
        return isinstance(self.data, str | os.PathLike) and os.fspath(self.data) == "-"

    @property
    def map_options(self) -> bool:
        """Whether anything is asked for that only maps have."""
        return self.anchors is not None or bool(self.ignore) or self.color is not None


def refuse_given(request: EmbedRequest, names: Iterable[str], why: str) -> None:
    """Refuse fields that are given and have no use; ``why`` ends the sentence."""
    for name in names:
        value = getattr(request, name)
        if value is not None and value != () and value != {}:
            option = worded(f"{name}=", fields_of(EmbedRequest)[name].names[0])
            raise InvalidRequest(f"{option} has no use {why}.")


REQUEST = EmbedRequest
OUTPUTS = {
    "coordinates": main_output("Where to write id and coordinates (.csv, .xlsx, .parquet, .npy)."),
    "report": REPORT,
    "model": MODEL,
    "final": outfile(
        "With --stream: where to write the coordinates that all rows have at the end; they move as "
        "the map grows.",
        "--final",
        panel=STREAM,
    ),
    "predictions": outfile(
        "With --view: where to write the columns of all views for every row, predicted where a "
        "view does not show it, with their standard deviations.",
        "--predict-view",
        panel=VIEWS,
    ),
}
