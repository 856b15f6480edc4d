"""What a user can type about other splits than the known ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._options import (
    Force,
    OneClusters,
    Report,
    SpreadsheetSafe,
    file_option,
    requests,
)

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="conditional-information-bottleneck (the default), or cond-ens, which is faster.",
    ),
]


@requests(OneClusters, also={"method": (Method, None)})
def alternatives(
    request: Any,
    screen: Any,
    avoid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A split that is known already: a column of DATA, which is then no feature, or a "
            "file with ids and a column per split (.csv, .tsv, .json, .parquet), such as the "
            "output of an earlier run; repeatable.",
        ),
    ] = None,
    number: Annotated[
        int,
        typer.Option(
            "-n",
            "--number",
            metavar="N",
            help="How many splits to find, each different from those before.",
        ),
    ] = 2,
    output: Annotated[
        Path | None,
        file_option(
            "--output",
            "-o",
            text="Where to write id and cluster, a column per split (.csv, .parquet).",
        ),
    ] = None,
    report: Report = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find splits of the rows that differ from the known ones, one after the other.

    Without --avoid the first split is a plain clustering, and the following differ from it.

    Example: sidelight alternatives customers.csv -k 3 --avoid country -n 2 -o splits.csv
    """
    from sidelight.cli.alternative._run import run
    from sidelight.jobs import AlternativesRequest

    asked = AlternativesRequest(request, tuple(avoid or ()), number)
    run(asked, screen, force=force, spreadsheet_safe=spreadsheet_safe, splits=output, report=report)
