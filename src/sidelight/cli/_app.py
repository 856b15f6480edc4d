"""What a user can type. Nothing here imports NumPy: each command imports its own work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import PROBLEM, USAGE, Commands
from sidelight.cli._options import (
    OF_CLASSES,
    OF_CLUSTERS,
    OF_MAPS,
    PIPED,
    ClassesOutput,
    Clusters,
    ConstraintFile,
    Coordinates,
    CoordinatesOutput,
    Data,
    Dimensions,
    Features,
    FeaturesOutput,
    Force,
    IdColumn,
    LabelsOutput,
    OneClusters,
    Report,
    Save,
    Seed,
    SpreadsheetSafe,
    file_argument,
    file_option,
    requests,
    screened,
)
from sidelight.cli.alternative._command import alternatives
from sidelight.cli.categories._command import categorize
from sidelight.cli.privacy._command import anonymize, check_anonymity

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
@requests(Clusters, also=OF_CLUSTERS)
def cluster(
    request: Any,
    screen: Any,
    output: LabelsOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Cluster the rows of a table.

    Example: sidelight cluster customers.csv -k 4 --constraints known.csv -o labels.csv
    """
    from sidelight.cli._run import run

    run(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        labels=output,
        report=report,
        model=save,
    )


@app.command()
@requests(Clusters, without=("method", "settings"))
def compare(
    request: Any,
    screen: Any,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Methods to compare; by default a few that suit the data and what is known.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time after which the best so far is taken, such as 90s or 2m; by default no "
            "limit.",
        ),
    ] = None,
    output: LabelsOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find the method and the number of clusters that suit, and whether the knowledge helps.

    Every candidate is scored on statements that it was not told, on stability and on time, beside
    the same method without the knowledge; the best is written as `sidelight cluster` does.

    Example: sidelight compare customers.csv -c known.csv -k 2:8 --budget 2m -o labels.csv
    """
    from sidelight.cli._compare import run

    run(
        request,
        screen,
        methods=methods,
        budget=budget,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        labels=output,
        report=report,
        model=save,
    )


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


@app.command()
@requests(also=OF_CLASSES)
def classify(
    request: Any,
    screen: Any,
    output: ClassesOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Learn classes from the rows whose class is known, and predict those of all others.

    Rows without a label, and pairs, are learned from too; the same method on the labels alone is
    always fitted beside it, to tell whether they helped.

    Example: sidelight classify customers.csv --label-column segment -o classes.csv
    """
    from sidelight.cli._run import run

    run(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        classes=output,
        report=report,
        model=save,
    )


@app.command()
@requests(Features)
def select(
    request: Any,
    screen: Any,
    output: FeaturesOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Rank the features by what is known about the rows, and keep the best.

    Example: sidelight select genes.csv -m constraint-score -n 50 -c known.csv -o fewer.csv
    """
    from sidelight.cli._run import run

    run(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        features=output,
        report=report,
        model=save,
    )


app.command()(categorize)
app.command()(alternatives)
app.command()(anonymize)
app.command()(check_anonymity)


@app.command()
@requests(OneClusters, without=("must_link", "cannot_link", "truth", "settings", "quiet"))
def ask(
    request: Any,
    screen: Any,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which pairs to ask about: explore-consolidate (the default), min-max, npu, "
            "cobras or random; with a classifier of pairs also ambiguous-min (its default), "
            "ambiguous-max or ambiguous-com.",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", help="At most N questions; by default until you quit."),
    ] = None,
    answers: Annotated[
        Path | None,
        file_option(
            "--answers",
            text="Where every answer is kept at once, and where to go on if it is there; by "
            "default DATA.answers.jsonl in the current folder.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        file_option(
            "--pairs",
            text="Ask about these pairs (columns i and j), such as those of `sidelight resolve "
            "--doubtful`, and write the answers as constraints; nothing is clustered.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        file_option(
            "--output",
            "-o",
            text="Where to write id and cluster, or the classes of a classifier (.csv, .parquet).",
        ),
    ] = None,
    report: Report = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Ask a person which rows belong together, then cluster or classify with the answers.

    Examples: sidelight ask customers.csv -k 4 --budget 50 -o labels.csv, or sidelight ask
    customers.csv --label-column segment -m pairwise-logistic-regression --budget 20 -o classes.csv
    """
    from sidelight.cli.ask import _command, _listed

    options: Any = {
        "budget": budget,
        "answers_file": answers,
        "spreadsheet_safe": spreadsheet_safe,
        "force": force,
    }
    if pairs is not None:
        asked: Any = {"strategy": strategy, "output": output, "report": report}
        _listed.run(request, screen, pairs, **options, **asked)
        return
    outputs = {"labels": output, "report": report}
    _command.run(request, screen, outputs, strategy=strategy, **options)


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
@requests(Clusters, without=("method", "labels", "truth", "settings", "seed"))
def check(request: Any, screen: Any) -> None:
    """Check constraints against data: contradictions, feasibility, quality.

    Exit code 1 if the constraints contradict each other or k clusters cannot satisfy them.
    """
    from sidelight.cli._check import run

    if not run(request, screen):
        raise typer.Exit(PROBLEM)


@app.command()
@screened()
def sample(
    screen: Any,
    data: Data,
    label_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column with the class of every row.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            readable=False,
            help="Where to write them (.csv, .json, .parquet).",
        ),
    ],
    n: Annotated[
        int | None, typer.Option("-n", metavar="N", help="How many pairs (or points) to draw.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="random, level, disjoint, balanced, chunklets or teachers."
        ),
    ] = "random",
    level: Annotated[
        float | None, typer.Option(help="Protocol level: pairs per row, 0.1 for 10 per cent.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Protocol chunklets: fraction of the rows to group.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Protocols chunklets and teachers: rows in each.")
    ] = None,
    teachers: Annotated[
        int | None, typer.Option(help="Protocol teachers: how many there are.")
    ] = None,
    id_column: IdColumn = None,
    seed: Seed = 0,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Draw constraints from a column of known classes, for experiments.

    Example: sidelight sample iris.csv --label-column class -n 100 -o constraints.csv
    """
    from sidelight.cli._sample import run

    run(
        data,
        label_column=label_column,
        output=output,
        n=n,
        protocol=protocol,
        level=level,
        fraction=fraction,
        size=size,
        teachers=teachers,
        id_column=id_column,
        seed=seed,
        spreadsheet_safe=spreadsheet_safe,
        force=force,
        screen=screen,
    )


@app.command()
@screened()
def evaluate(
    screen: Any,
    labels: Annotated[Path, file_argument("LABELS", "Clusters of rows: columns id and cluster.")],
    truth: Annotated[
        Path,
        file_option("--truth", text="Table with the true classes, joined by id.", metavar="DATA"),
    ],
    label_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column with the true classes.")
    ],
    constraints: ConstraintFile = None,
    id_column: IdColumn = None,
) -> None:
    """Score clusters against known classes.

    With constraints, also over the rows that no constraint mentions: the others were given away.
    """
    from sidelight.cli._evaluate import run

    run(
        labels,
        truth=truth,
        label_column=label_column,
        constraints=constraints,
        id_column=id_column,
        screen=screen,
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
