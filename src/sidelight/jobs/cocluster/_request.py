"""What is asked for: which 0/1 table, how many co-clusters, and what is known about both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import (
    FORMATS,
    column,
    columns,
    flag,
    infile,
    number,
    share,
    split_names,
    table,
    word,
)
from sidelight.jobs._shared import (
    LABELS,
    MODEL,
    REPORT,
    TABLES,
    Fit,
    Known,
    Truth,
    UsedColumns,
    clusters,
    method,
    outfile,
    request,
)
from sidelight.jobs._table._asked import Rows

DEFAULT = "cdkmeans"
ORDER = "Orders and gaps"
AT_LEAST_0, AT_LEAST_1 = Interval(0), Interval(1)


def _gap(side: str, which: str) -> Any:
    return number(
        f"{which} {side} that lie between consecutive {side} of a bi-set without being in it.",
        panel=ORDER,
        range=AT_LEAST_0,
    )


def _read_long(text: str) -> tuple[str, ...]:
    return split_names([text])


@request
class CoclusterRequest(Fit, UsedColumns, Truth, Known, Rows):
    """Which 0/1 table, how many co-clusters, and what is known about both sides.

    Fields that name columns or files also take values in memory: ``truth`` one class per row,
    ``constraints`` and ``column_constraints`` :class:`~sidelight.Constraints`,
    ``cross_constraints`` :class:`~sidelight.constraints.CrossLinks`, ``row_order`` and
    ``ordered_columns`` values or an :class:`~sidelight.constraints.Ordering`.

    Examples
    --------
    >>> from sidelight.jobs import CoclusterRequest
    >>> CoclusterRequest("sales.csv", k=3, ordered_columns=True).command_line()
    'sidelight cocluster sales.csv -k 3 --ordered-columns'
    """

    job: ClassVar[str] = "cocluster"

    data: Annotated[
        Any,
        table(
            f"Table of rows with a column per property, 0 or 1, yes or no, x or blank: {FORMATS}.",
            metavar="TABLE",
        ),
    ] = field(kw_only=False)
    k: Annotated[
        int | None, clusters("Number of co-clusters: groups of rows together with columns.")
    ] = None
    method: Annotated[str, method("cdkmeans or information-coclustering.")] = DEFAULT
    long: Annotated[
        Sequence[str] | None,
        columns(
            "The table has a line for every 1, and these columns name its row and its column, such "
            "as customer,product.",
            metavar="ROW,COLUMN",
        ),
    ] = None
    above: Annotated[
        float | None,
        share(
            "Take numbers above this share of the largest one in their column for 1, others for 0.",
            range=Interval(0, 1, open_high=True),
            sets="binarize",
        ),
    ] = None
    overlap: Annotated[
        float | None,
        share(
            "Rows and columns also belong to other clusters in which they have at least this share "
            "of their largest weight.",
            sets="overlap",
        ),
    ] = None
    min_rows: Annotated[
        int | None,
        number(
            "Fewest rows of a bi-set: some rows and columns between which all is 1.",
            sets="min_rows",
        ),
    ] = None
    min_columns: Annotated[
        int | None, number("Fewest columns of a bi-set.", sets="min_columns")
    ] = None
    column_constraints: Annotated[Any, infile("The same about columns, by their names.")] = None
    cross_constraints: Annotated[
        Any,
        infile(
            "The same about a row and a column: i is an id, j the name of a column; must-links and "
            "cannot-links."
        ),
    ] = None
    row_order: Annotated[
        Any,
        column(
            "Column that orders the rows: numbers, dates, names.", metavar="COLUMN", panel=ORDER
        ),
    ] = None
    max_row_gap: Annotated[int | None, _gap("rows", "Most")] = None
    min_row_gap: Annotated[int | None, _gap("rows", "Fewest")] = None
    ordered_columns: Annotated[
        Any,
        flag(
            "The columns follow each other as in the table, such as weeks; with --long by their "
            "names.",
            panel=ORDER,
        ),
    ] = False
    max_column_gap: Annotated[int | None, _gap("columns", "Most")] = None
    min_column_gap: Annotated[int | None, _gap("columns", "Fewest")] = None
    circular: Annotated[
        str | None,
        word(
            "What goes around, so that the first comes behind the last: rows, columns or both.",
            metavar="SIDE",
            panel=ORDER,
            choices=("rows", "columns", "both"),
        ),
    ] = None


REQUEST = CoclusterRequest
OUTPUTS = {
    "labels": LABELS,
    "columns": outfile(
        f"Where to write the clusters of the columns, and their weights there ({TABLES}).",
        "--columns-output",
    ),
    "report": REPORT,
    "model": MODEL,
}
