"""What a user can type. Nothing here imports NumPy: each command imports its own work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidelight.cli._errors import PROBLEM, USAGE, Commands
from sidelight.cli._feature_commands import select, transform
from sidelight.cli._options import (
    CannotLink,
    Clusters,
    Columns,
    ConstraintFile,
    Data,
    Drop,
    IdColumn,
    Json,
    LabelsOutput,
    MustLink,
    Quiet,
    Seed,
    file_argument,
    file_option,
    quick_imports,
    split_names,
    typed_command,
)

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
def cluster(
    context: typer.Context,
    data: Data,
    k: Clusters = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="See `sidelight methods`; by default pckmeans where something is known about the "
            "rows, else kmeans.",
        ),
    ] = None,
    constraints: ConstraintFile = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column with labels known for some rows; empty or -1: unknown."
        ),
    ] = None,
    truth_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column with the true classes, only to score the result."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Bring all features to mean 0 and variance 1.")
    ] = False,
    seed: Seed = 0,
    output: LabelsOutput = None,
    report: Annotated[
        Path | None, file_option("--report", text="Where to write the report (.html).")
    ] = None,
    save: Annotated[
        Path | None, file_option("--save", text="Where to keep the model for `predict` (.skops).")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the rows of a table.

    Example: sidelight cluster customers.csv -k 4 --constraints known.csv -o labels.csv
    """
    with quick_imports():
        from sidelight.cli._cluster import Request, run
        from sidelight.cli._common import Screen

    request = Request(
        data=data,
        k=k,
        method=method,
        constraints=constraints,
        must_link=must_link,
        cannot_link=cannot_link,
        label_column=label_column,
        truth_column=truth_column,
        settings=tuple(settings or ()),
        id_column=id_column,
        columns=split_names(columns),
        drop=split_names(drop) or [],
        standardize=standardize,
        seed=seed,
        output=output,
        report=report,
        save=save,
        command=typed_command(context),
    )
    run(request, Screen(as_json=as_json, quiet=quiet))


@app.command()
def ask(
    data: Data,
    k: Clusters = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", metavar="NAME", help="See `sidelight methods`; pckmeans by default."
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Which pairs to ask about: explore-consolidate, min-max, npu, cobras or random.",
        ),
    ] = "explore-consolidate",
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
    constraints: ConstraintFile = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Bring all features to mean 0 and variance 1.")
    ] = False,
    seed: Seed = 0,
    output: LabelsOutput = None,
    report: Annotated[
        Path | None, file_option("--report", text="Where to write the report (.html).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a person which rows belong together, then cluster with the answers.

    Example: sidelight ask customers.csv -k 4 --budget 50 -o labels.csv
    """
    with quick_imports():
        from sidelight.cli._ask import run
        from sidelight.cli._cluster import Request

    request = Request(
        data=data,
        k=k,
        method=method,
        constraints=constraints,
        id_column=id_column,
        columns=split_names(columns),
        drop=split_names(drop) or [],
        standardize=standardize,
        seed=seed,
        output=output,
        report=report,
    )
    run(request, strategy=strategy, budget=budget, answers_file=answers, as_json=as_json)


@app.command()
def predict(
    model: Annotated[Path, file_argument("MODEL", "What `sidelight cluster --save` wrote.")],
    data: Data,
    id_column: IdColumn = None,
    output: LabelsOutput = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Assign new rows to the clusters of a saved model.

    Example: sidelight predict model.skops new.csv -o labels.csv
    """
    with quick_imports():
        from sidelight.cli._common import Screen
        from sidelight.cli._predict import run

    screen = Screen(as_json=as_json, quiet=quiet)
    run(model, data, id_column=id_column, output=output, screen=screen)


@app.command()
def check(
    data: Data,
    constraints: ConstraintFile = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    k: Clusters = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check constraints against data: contradictions, feasibility, quality.

    Exit code 1 if the constraints contradict each other or k clusters cannot satisfy them.
    """
    with quick_imports():
        from sidelight.cli._check import run
        from sidelight.cli._common import Screen

    fine = run(
        data,
        constraints=constraints,
        must_link=must_link,
        cannot_link=cannot_link,
        k=k,
        id_column=id_column,
        columns=split_names(columns),
        drop=split_names(drop) or [],
        screen=Screen(as_json=as_json, quiet=quiet),
    )
    if not fine:
        raise typer.Exit(PROBLEM)


@app.command()
def sample(
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw constraints from a column of known classes, for experiments.

    Example: sidelight sample iris.csv --label-column class -n 100 -o constraints.csv
    """
    with quick_imports():
        from sidelight.cli._common import Screen
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
        screen=Screen(as_json=as_json, quiet=quiet),
    )


@app.command()
def evaluate(
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score clusters against known classes.

    With constraints, also over the rows that no constraint mentions: the others were given away.
    """
    with quick_imports():
        from sidelight.cli._common import Screen
        from sidelight.cli._evaluate import run

    run(
        labels,
        truth=truth,
        label_column=label_column,
        constraints=constraints,
        id_column=id_column,
        screen=Screen(as_json=as_json, quiet=quiet),
    )


@app.command()
def methods(
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
    as_json: Json = False,
) -> None:
    """List the methods, or tell the parameters of one."""
    with quick_imports():
        from sidelight.cli._common import Screen
        from sidelight.cli._methods import run

    run(name, knowledge=knowledge, hard=hard, screen=Screen(as_json=as_json))


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write the results.")
    ] = Path("sidelight-demo"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the main job on the bundled example and write its report."""
    with quick_imports():
        from sidelight.cli._common import Screen
        from sidelight.cli._demo import run

    run(output, Screen(as_json=as_json, quiet=quiet))


app.command()(transform)
app.command()(select)
