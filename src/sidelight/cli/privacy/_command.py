"""What a user can type about tables to publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import PROBLEM, UsageError
from sidelight.cli._options import (
    FORMATS,
    Force,
    Report,
    Seed,
    SpreadsheetSafe,
    file_argument,
    file_option,
    screened,
    split_names,
    split_pairs,
)

Quasi = Annotated[
    list[str],
    typer.Option(
        metavar="A,B,...",
        help="Quasi-identifiers: columns by which somebody could recognize a person, such as age, "
        "zip and sex.",
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,...", help="Columns that nobody should learn of a person."),
]
Alike = Annotated[
    int, typer.Option("-k", metavar="K", min=1, help="Least number of rows that are alike.")
]
Diverse = Annotated[
    int,
    typer.Option(
        "-l",
        metavar="L",
        min=1,
        help="Least diversity of every sensitive column among rows that are alike.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--diversity",
        metavar="MODEL",
        help="distinct (L different values), entropy (of L equally frequent values) or recursive "
        "(the most frequent value is rarer than C times all but the L - 1 most frequent).",
    ),
]
Constant = Annotated[float, typer.Option("--c", metavar="C", help="Constant of recursive.")]


@screened()
def anonymize(
    screen: Any,
    data: Annotated[Path, file_argument("TABLE", f"Table with a row for every person: {FORMATS}.")],
    quasi: Quasi,
    sensitive: Sensitive = None,
    k: Alike = 5,
    l: Diverse = 1,  # noqa: E741 - the name in the literature
    diversity: Model = "distinct",
    c: Constant = 3.0,
    identifiers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...", help="Columns that identify people, which are not published."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns to publish as they are. Columns without any role are not published.",
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=FILE",
            help="How values of a quasi-identifier are generalized: lines value;group;wider "
            "group;...; repeatable.",
        ),
    ] = None,
    suppress: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Largest share of the rows that may be left out."),
    ] = 0.0,
    method: Annotated[
        str | None, typer.Option("--method", "-m", metavar="NAME", help="See `sidelight methods`.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        file_option(
            "--output",
            "-o",
            text="Where to write the table to publish (.csv, .parquet); it is read again and "
            "checked before it is there.",
        ),
    ] = None,
    report: Report = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Make a table that can be published: every row like at least K - 1 others.

    Example: sidelight anonymize people.csv --quasi age,zip,sex --sensitive diagnosis -k 5 -l 2
    --identifiers name -o published.csv --report published.html
    """
    from sidelight.cli.privacy._run import anonymize_table
    from sidelight.jobs import AnonymizeRequest

    given: dict[str, Any] = {} if method is None else {"method": method}
    request = AnonymizeRequest(
        data,
        quasi=_names("--quasi", quasi),
        sensitive=_names("--sensitive", sensitive),
        identifiers=_names("--identifiers", identifiers),
        keep=_names("--keep", keep),
        k=k,
        l=l,
        diversity=diversity,
        c=c,
        suppress=suppress,
        hierarchies=_files(hierarchy),
        settings=split_pairs("--set", settings),
        seed=seed,
        **given,
    )
    anonymize_table(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        published=output,
        report=report,
    )


@screened()
def check_anonymity(
    screen: Any,
    table: Annotated[Path, file_argument("TABLE", f"The published table: {FORMATS}.")],
    quasi: Quasi,
    sensitive: Sensitive = None,
    k: Alike = 5,
    l: Diverse = 1,  # noqa: E741 - the name in the literature
    diversity: Model = "distinct",
    c: Constant = 3.0,
) -> None:
    """Count how many rows of a published table are alike, whoever made it.

    Exit code 1 if fewer than K rows are alike somewhere, or a sensitive column is less diverse.
    """
    from sidelight.cli.privacy._run import check_table

    holds = check_table(
        table,
        screen,
        quasi=_names("--quasi", quasi),
        sensitive=_names("--sensitive", sensitive),
        k=k,
        l=l,
        diversity=diversity,
        c=c,
    )
    if not holds:
        raise typer.Exit(PROBLEM)


def _names(option: str, given: list[str] | None) -> tuple[str, ...]:
    names = split_names(given)
    if names == []:
        raise UsageError(f"{option} names no column; name at least one, or leave it out.")
    return tuple(names or ())


def _files(given: list[str] | None) -> dict[str, Path]:
    """Files of hierarchies, by column."""
    found: dict[str, Path] = {}
    for text in given or ():
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path):
            raise UsageError(f"--hierarchy {text}: write COLUMN=FILE.")
        if name in found:
            raise UsageError(f"--hierarchy names the column {name!r} twice.")
        found[name] = Path(path)
    return found
