"""What a user can type about categories of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import UsageError
from sidelight.cli._options import (
    FORMATS,
    Force,
    IdColumn,
    Report,
    Save,
    SpreadsheetSafe,
    file_argument,
    file_option,
    screened,
    split_names,
    split_pairs,
)


@screened()
def categorize(
    screen: Any,
    documents: Annotated[Path, file_argument("DOCUMENTS", f"Table of documents: {FORMATS}.")],
    label_column: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Column with the class of every document; empty where unknown."
        ),
    ],
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of text, which are read one after the other; by default text.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", metavar="NAME", help="By default text-categories."),
    ] = None,
    id_column: IdColumn = None,
    truth_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column with the true topics, only to score the result."),
    ] = None,
    min_df: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Leave out words of fewer documents; by default 7, fewer for less than 700 "
            "documents.",
        ),
    ] = None,
    max_df: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Leave out words of a larger share of the documents than 0.5."
        ),
    ] = None,
    keep_words: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Share or number of the words to keep, those that are spread least evenly over "
            "the classes; by default 0.9.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    output: Annotated[
        Path | None,
        file_option(
            "--output",
            "-o",
            text="Where to write id, class, category, whether the document moved, and its cosine "
            "(.csv, .parquet).",
        ),
    ] = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Tidy a category system: merge double classes, move documents that stand in the wrong one.

    The given classes are only the start; words decide. `sidelight predict` ranks the categories of
    new documents by what --save keeps.

    Example: sidelight categorize pages.csv --text-column title,text --label-column category
    -o categories.csv --report categories.html --save categories.skops
    """
    from sidelight.cli.categories._run import read_keep, run
    from sidelight.jobs import CategorizeRequest

    columns = split_names(text_column)
    if columns == []:
        raise UsageError("--text-column names no column; name at least one.")
    given: dict[str, Any] = {
        "text": columns,
        "method": method,
        "max_df": max_df,
        "keep_words": read_keep(keep_words),
    }
    request = CategorizeRequest(
        documents,
        label_column,
        id_column=id_column,
        truth=truth_column,
        min_df=min_df,
        settings=split_pairs("--set", settings),
        **{name: value for name, value in given.items() if value is not None},
    )
    outputs: Any = {"categories": output, "report": report, "model": save}
    run(request, screen, force=force, spreadsheet_safe=spreadsheet_safe, **outputs)
