"""What a user can type about tables with two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import UsageError
from sidelight.cli._options import (
    FORMATS,
    ConstraintFile,
    Force,
    IdColumn,
    LabelsOutput,
    Report,
    Seed,
    SpreadsheetSafe,
    file_argument,
    file_option,
    screened,
    split_names,
    split_pairs,
)


def _gap(side: str, which: str) -> Any:
    return typer.Option(
        metavar="N",
        min=0,
        help=f"{which} {side} that lie between consecutive {side} of a bi-set without being in it.",
    )


@screened()
def cocluster(
    screen: Any,
    table: Annotated[
        Path,
        file_argument(
            "TABLE",
            f"Table of rows with a column per property, 0 or 1, yes or no, x or blank: {FORMATS}.",
        ),
    ],
    k: Annotated[
        int | None, typer.Option("-k", "--clusters", metavar="K", help="Number of co-clusters.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="cdkmeans (the default) or information-coclustering.",
        ),
    ] = None,
    long: Annotated[
        str | None,
        typer.Option(
            metavar="ROW,COLUMN",
            help="The table has a line per one: these columns name its row and its column, such "
            "as customer,product.",
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Columns hold numbers: those above this share of the column's largest are 1, "
            "others 0.",
        ),
    ] = None,
    constraints: ConstraintFile = None,
    column_constraints: Annotated[
        Path | None,
        file_option(
            "--column-constraints",
            text="The same about columns, by their names.",
        ),
    ] = None,
    cross_constraints: Annotated[
        Path | None,
        file_option(
            "--cross-constraints",
            text="The same about a row and a column: i is an id, j the name of a column; "
            "must-links and cannot-links.",
        ),
    ] = None,
    row_order: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that orders the rows: numbers, dates, names."),
    ] = None,
    max_row_gap: Annotated[int | None, _gap("rows", "Most")] = None,
    min_row_gap: Annotated[int | None, _gap("rows", "Fewest")] = None,
    ordered_columns: Annotated[
        bool,
        typer.Option(
            "--ordered-columns",
            help="The columns follow each other as in the table, such as weeks; with --long by "
            "their names.",
        ),
    ] = False,
    max_column_gap: Annotated[int | None, _gap("columns", "Most")] = None,
    min_column_gap: Annotated[int | None, _gap("columns", "Fewest")] = None,
    circular: Annotated[
        str | None,
        typer.Option(
            metavar="SIDE",
            help="rows, columns or both: behind the last in the order comes the first.",
        ),
    ] = None,
    min_rows: Annotated[
        int | None, typer.Option(metavar="N", help="Fewest rows of a bi-set.")
    ] = None,
    min_columns: Annotated[
        int | None, typer.Option(metavar="N", help="Fewest columns of a bi-set.")
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Rows and columns also belong to other clusters in which they have at least this "
            "share of their largest weight.",
        ),
    ] = None,
    id_column: IdColumn = None,
    truth_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column with the true classes of the rows, only to score them."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,...", help="Columns to use; by default all others."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Columns to leave out.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    seed: Seed = 0,
    output: LabelsOutput = None,
    columns_output: Annotated[
        Path | None,
        file_option(
            "--columns-output",
            text="Where to write the clusters of the columns, and their weights there (.csv, "
            ".parquet).",
        ),
    ] = None,
    report: Report = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Cluster the rows and the columns of a 0/1 table at once: who buys what, and when.

    Example: sidelight cocluster sales.csv -k 3 --ordered-columns --max-column-gap 0 -o rows.csv
    """
    from sidelight._words import set_by
    from sidelight.cli.coclustering._run import run
    from sidelight.jobs import CoclusterRequest
    from sidelight.jobs.cocluster._run import OPTIONS

    names = split_names(columns)
    if names == []:
        raise UsageError("--columns names no column; name at least one, or leave it out.")
    given: dict[str, Any] = {} if method is None else {"method": method}
    request = CoclusterRequest(
        table,
        k=k,
        long=None if long is None else tuple(split_names([long]) or ()),
        id_column=id_column,
        truth=truth_column,
        columns=names,
        drop=tuple(split_names(drop) or ()),
        above=above,
        constraints=constraints,
        column_constraints=column_constraints,
        cross_constraints=cross_constraints,
        row_order=row_order,
        ordered_columns=ordered_columns,
        min_row_gap=min_row_gap,
        max_row_gap=max_row_gap,
        min_column_gap=min_column_gap,
        max_column_gap=max_column_gap,
        circular=circular,
        min_rows=min_rows,
        min_columns=min_columns,
        overlap=overlap,
        settings=split_pairs("--set", settings),
        seed=seed,
        **given,
    )
    outputs: Any = {"labels": output, "columns": columns_output, "report": report}
    with set_by({"n_clusters": "-k", "binarize": "--above", **OPTIONS}):
        run(request, screen, force=force, spreadsheet_safe=spreadsheet_safe, **outputs)
