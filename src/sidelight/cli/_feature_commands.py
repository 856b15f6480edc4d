"""``sidelight transform`` and ``sidelight select`` as a user types them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidelight.cli._options import (
    CannotLink,
    Columns,
    ConstraintFile,
    Data,
    Drop,
    IdColumn,
    Json,
    MustLink,
    Quiet,
    Seed,
    file_option,
    quick_imports,
    split_names,
    typed_command,
)

Method = Annotated[
    str | None, typer.Option("--method", "-m", metavar="NAME", help="See `sidelight methods`.")
]
LabelColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column with known labels; empty or -1: unknown."),
]
TruthColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column with the true classes: carried along, not used."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Bring all features to mean 0 and variance 1.")
]
Report = Annotated[
    Path | None, file_option("--report", text="Write an HTML report: before and after.")
]
FeaturesOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write the features (.csv, .parquet, .npy)."),
]


def transform(
    context: typer.Context,
    data: Data,
    method: Method = None,
    dimensions: Annotated[
        int | None,
        typer.Option("-d", "--dimensions", metavar="N", help="Number of dimensions to keep."),
    ] = None,
    constraints: ConstraintFile = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    label_column: LabelColumn = None,
    truth_column: TruthColumn = None,
    settings: Settings = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
    output: FeaturesOutput = None,
    report: Report = None,
    save: Annotated[
        Path | None, file_option("--save", text="Where to keep the learned map (.skops).")
    ] = None,
    model: Annotated[
        Path | None, file_option("--model", text="Use a map that --save kept; nothing is learned.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a distance or projection and write the rows in its coordinates.

    Example: sidelight transform customers.csv -m rca -c known.csv -o mapped.csv
    """
    with quick_imports():
        from sidelight.cli._cluster import Request
        from sidelight.cli._common import Screen
        from sidelight.cli._features import run_apply, run_transform

    request = Request(
        data=data,
        k=dimensions,
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
    screen = Screen(as_json=as_json, quiet=quiet)
    if model is not None:
        run_apply(model, request, screen)
    else:
        run_transform(request, screen)


def select(
    context: typer.Context,
    data: Data,
    method: Method = None,
    n_features: Annotated[
        int | None,
        typer.Option("-n", "--features", metavar="N", help="Number of features to keep."),
    ] = None,
    constraints: ConstraintFile = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    label_column: LabelColumn = None,
    truth_column: TruthColumn = None,
    settings: Settings = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
    output: FeaturesOutput = None,
    report: Report = None,
    save: Annotated[
        Path | None, file_option("--save", text="Where to keep the selection (.skops).")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank the features by what is known about the rows, and keep the best.

    Example: sidelight select genes.csv -m constraint-score -n 50 -c known.csv -o fewer.csv
    """
    with quick_imports():
        from sidelight.cli._cluster import Request
        from sidelight.cli._common import Screen
        from sidelight.cli._features import run_select

    request = Request(
        data=data,
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
    run_select(request, n_features, Screen(as_json=as_json, quiet=quiet))
