"""What a user can type. Nothing here imports NumPy: each command imports its own work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import USAGE, Commands
from sidelight.cli._options import (
    OF_MAPS,
    PIPED,
    Coordinates,
    CoordinatesOutput,
    Data,
    Dimensions,
    FeaturesOutput,
    Force,
    IdColumn,
    Report,
    Save,
    SpreadsheetSafe,
    file_argument,
    file_option,
    requests,
    screened,
)
from sidelight.cli.alternative._command import alternatives
from sidelight.cli.categories._command import categorize
from sidelight.cli.privacy._command import anonymize, check_anonymity
from sidelight.cli.relational._commands import COMMANDS

app = typer.Typer(
    cls=Commands,
    name="sidelight",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Clustering with what you already know about your data.",
    epilog="Try `sidelight demo`. Exit codes: 0 fine, 1 a problem in data or constraints, 2 wrong "
    "usage, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sidelight import __version__

        print(f"sidelight {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _everything(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(USAGE)


@app.command()
@requests(Dimensions)
def transform(
    request: Any,
    screen: Any,
    output: FeaturesOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
    model: Annotated[
        Path | None, file_option("--model", text="Use a map that --save kept; nothing is learned.")
    ] = None,
) -> None:
    """Learn a distance or projection and write the rows in its coordinates.

    Example: sidelight transform customers.csv -m rca -c known.csv -o mapped.csv
    """
    from sidelight.cli._apply import run_transform
    from sidelight.cli._run import run

    outputs: Any = {"features": output, "report": report, "model": save, "force": force}
    outputs["spreadsheet_safe"] = spreadsheet_safe
    if model is None:
        run(request, screen, **outputs)
    else:
        run_transform(model, request.data, screen, id_column=request.id_column, **outputs)


@app.command()
@requests(Coordinates, also=PIPED | OF_MAPS)
def embed(
    request: Any,
    screen: Any,
    output: CoordinatesOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
    model: Annotated[
        Path | None, file_option("--model", text="Use a map that --save kept; nothing is learned.")
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read rows one after the other (CSV with a header, or JSON lines) and write "
            "their coordinates as they come.",
        ),
    ] = False,
    start: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="With --stream: number of rows with which the map begins; by default 100.",
        ),
    ] = None,
    final: Annotated[
        Path | None,
        file_option(
            "--final",
            text="With --stream: where to write the coordinates that all rows have at the end; "
            "they move as the map grows.",
        ),
    ] = None,
    predict_view: Annotated[
        Path | None,
        file_option(
            "--predict-view",
            text="With --view: where to write the columns of all views for every row, predicted "
            "where a view does not show it, with their standard deviations.",
        ),
    ] = None,
) -> None:
    """Place the rows on a map and write their coordinates.

    Example: sidelight embed customers.csv -m isomap --color age -o map.csv --report map.html
    """
    from sidelight.cli._embed import run

    run(
        request,
        screen,
        stream=stream,
        start=start,
        final=final,
        model_path=model,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        coordinates=output,
        report=report,
        model=save,
        predictions=predict_view,
    )


for command in COMMANDS:
    app.command()(command)
app.command()(categorize)
app.command()(alternatives)
app.command()(anonymize)
app.command()(check_anonymity)


@app.command()
@screened()
def predict(
    screen: Any,
    model: Annotated[
        Path,
        file_argument(
            "MODEL", "What `sidelight cluster`, `classify` or `categorize` wrote by --save."
        ),
    ],
    data: Data,
    id_column: IdColumn = None,
    output: Annotated[
        Path | None,
        file_option(
            "--output",
            "-o",
            text="Where to write id and cluster, class and probabilities, or ranked categories and "
            "why (.csv, .parquet).",
        ),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Assign new rows to the clusters, classes or categories of a saved model.

    Example: sidelight predict model.skops new.csv -o labels.csv
    """
    from sidelight.cli._apply import run_predict

    run_predict(
        model,
        data,
        screen,
        id_column=id_column,
        output=output,
        spreadsheet_safe=spreadsheet_safe,
        force=force,
    )


@app.command()
@screened()
def explain(
    screen: Any,
    model: Annotated[
        Path, file_argument("MODEL", "What `sidelight cluster --save` or `classify --save` wrote.")
    ],
    data: Data,
    id_column: IdColumn = None,
    output: Annotated[
        Path | None,
        file_option("--output", "-o", text="Where to write all of it as a table (.csv, .parquet)."),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Say what clusters or classes of a saved model are: what sets them apart, typical rows, rules.

    Example: sidelight explain model.skops customers.csv -o explanation.csv
    """
    from sidelight.cli._explain import run

    run(
        model,
        data,
        screen,
        id_column=id_column,
        output=output,
        spreadsheet_safe=spreadsheet_safe,
        force=force,
    )


@app.command()
@screened(without=("quiet",))
def methods(
    screen: Any,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Tell all about this one, its parameters too."),
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Only those that use this: must-link, cannot-link, labels ..."
        ),
    ] = None,
    hard: Annotated[
        bool | None,
        typer.Option("--hard/--soft", help="Only those that never violate, or that weigh."),
    ] = None,
) -> None:
    """List the methods, or tell the parameters of one."""
    from sidelight.cli._methods import run

    run(name, knowledge=knowledge, hard=hard, screen=screen)


@app.command()
@screened()
def demo(
    screen: Any,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write the results.")
    ] = Path("sidelight-demo"),
    force: Force = False,
) -> None:
    """Run the main job on the bundled example and write its report."""
    from sidelight.cli._demo import run

    run(output, screen, force=force)
