"""What a user can type about graphs: scored pairs, partitions, connected clusters, entities."""

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
    Save,
    Seed,
    SpreadsheetSafe,
    file_argument,
    file_option,
    requests,
    screened,
    split_names,
    split_pairs,
)

Method = Annotated[
    str | None, typer.Option("--method", "-m", metavar="NAME", help="See `sidelight methods`.")
]
RegionsMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="connected-kmeans (the default), net-scan or connected-k-center.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
]
MustLinks = Annotated[
    Path | None, file_option("--must-link", text="Pairs that belong together: two ids per line.")
]
CannotLinks = Annotated[
    Path | None, file_option("--cannot-link", text="Pairs to keep apart: two ids per line.")
]
TruthColumn = Annotated[
    str | None,
    typer.Option(
        "--truth-column", metavar="NAME", help="Column with the truth, only to score the result."
    ),
]
Regions = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K",
        help="Number of clusters, or a range 2:8 to choose from; by default it is found.",
    ),
]
SourceColumn = Annotated[
    str | None,
    typer.Option(
        "--source-column",
        metavar="NAME",
        help="Column with the source of a row; rows of one source are all different.",
    ),
]


@screened()
def correlate(
    screen: Any,
    pairs: Annotated[
        Path,
        file_argument(
            "PAIRS",
            "Table of scored pairs: two columns of ids (i and j, or as Splink and others call "
            "them) and a column score, or probability (.csv, .tsv, .json, .parquet).",
        ),
    ],
    method: Method = None,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Probability that two objects belong together before they were looked at, by "
            "which probabilities become scores; by default they are taken as they are.",
        ),
    ] = None,
    duplicates: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="What becomes of a pair with several scores that differ: refuse, mean, sum, max "
            "or min.",
        ),
    ] = "refuse",
    nodes: Annotated[
        Path | None,
        file_option(
            "--nodes",
            text="Table of all objects; those in no pair are clusters of their own.",
        ),
    ] = None,
    id_column: IdColumn = None,
    source_column: SourceColumn = None,
    truth_column: TruthColumn = None,
    constraints: ConstraintFile = None,
    must_link: MustLinks = None,
    cannot_link: CannotLinks = None,
    settings: Settings = None,
    seed: Seed = 0,
    output: LabelsOutput = None,
    report: Report = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Cluster objects by scored pairs, such as those of a pair classifier.

    Positive scores ask for the same cluster, negative ones for different clusters; the number of
    clusters follows. What is known for certain always holds.

    Example: sidelight correlate pairs.csv -o clusters.csv --report clusters.html
    """
    from sidelight.cli.relational._correlate import run
    from sidelight.jobs import CorrelateRequest

    given: dict[str, Any] = {} if method is None else {"method": method}
    request = CorrelateRequest(
        pairs,
        prior=prior,
        duplicates=duplicates,
        nodes=nodes,
        id_column=id_column,
        sources=source_column,
        truth=truth_column,
        constraints=constraints,
        must_link=must_link,
        cannot_link=cannot_link,
        settings=split_pairs("--set", settings),
        seed=seed,
        **given,
    )
    run(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        labels=output,
        report=report,
    )


@screened()
def consensus(
    screen: Any,
    data: Annotated[
        Path, file_argument("PARTITIONS", f"Table with a column for every partition: {FORMATS}.")
    ],
    method: Method = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,...", help="Columns of the partitions; by default all others."),
    ] = None,
    id_column: IdColumn = None,
    truth_column: TruthColumn = None,
    constraints: ConstraintFile = None,
    must_link: MustLinks = None,
    cannot_link: CannotLinks = None,
    settings: Settings = None,
    seed: Seed = 0,
    output: LabelsOutput = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find the partition that is nearest to several ones.

    Example: sidelight consensus votes.csv --columns ann,bob,cid -o consensus.csv
    """
    from sidelight.cli.relational._consensus import run
    from sidelight.jobs import ConsensusRequest

    names = split_names(columns)
    if names == []:
        raise UsageError("--columns names no column; name at least two, or leave it out.")
    given: dict[str, Any] = {} if method is None else {"method": method}
    request = ConsensusRequest(
        data,
        columns=names,
        id_column=id_column,
        truth=truth_column,
        constraints=constraints,
        must_link=must_link,
        cannot_link=cannot_link,
        settings=split_pairs("--set", settings),
        seed=seed,
        **given,
    )
    run(request, screen, force=force, spreadsheet_safe=spreadsheet_safe, labels=output)


@requests(Regions, also={"method": (RegionsMethod, None)})
def regions(
    request: Any,
    screen: Any,
    edges: Annotated[
        Path | None,
        file_option(
            "--edges",
            text="Table of the edges: two columns of ids, and perhaps a score (.csv, .tsv, .json, "
            ".parquet); by default every row is next to every other.",
        ),
    ] = None,
    coordinates: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            help="Columns with the place of a row on the map of the report; no features, unless "
            "--columns names them.",
        ),
    ] = None,
    output: LabelsOutput = None,
    report: Report = None,
    save: Save = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Cluster rows so that every cluster is one connected piece of a graph, as regions of a map.

    Example: sidelight regions areas.csv --edges borders.csv -k 8 --coordinates x,y -o regions.csv
    """
    from sidelight.cli.relational._regions import run
    from sidelight.jobs import RegionsRequest

    places = None if coordinates is None else split_names([coordinates])
    if places == []:
        raise UsageError("--coordinates names no column; name two, such as east,north.")
    asked = RegionsRequest(request, edges=edges, coordinates=tuple(places or ()))
    outputs: Any = {"labels": output, "report": report, "model": save}
    run(asked, screen, force=force, spreadsheet_safe=spreadsheet_safe, **outputs)


@screened()
def resolve(
    screen: Any,
    data: Annotated[Path, file_argument("REFERENCES", f"Table of references: {FORMATS}.")],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="See `sidelight methods`; by default collective-resolution with --group-column, "
            "else attribute-resolution.",
        ),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column that says which references occur together, such as the paper of an "
            "author; those of one group are different entities.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:KIND,...",
            help="How columns are compared: name, words, text, number, date or exact, with a "
            "weight as in name:name*2; by default all columns, as their values suggest.",
        ),
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Compare only pairs that share a key: COLUMN, COLUMN:prefix3, COLUMN:last, "
            "COLUMN:words, COLUMN:near5 ..., several at once as A&B; repeatable, one is enough.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="T", help="Similarity from which references are the same."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="Weight of the relations in the similarity, 0 to 1."),
    ] = None,
    id_column: IdColumn = None,
    source_column: SourceColumn = None,
    truth_column: TruthColumn = None,
    constraints: ConstraintFile = None,
    must_link: MustLinks = None,
    cannot_link: CannotLinks = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Columns to leave out.")
    ] = None,
    settings: Settings = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        file_option("--output", "-o", text="Where to write id and entity (.csv, .parquet)."),
    ] = None,
    report: Report = None,
    doubtful: Annotated[
        Path | None,
        file_option(
            "--doubtful",
            text="Where to write the pairs nearest to the threshold (.csv, .parquet), which "
            "`sidelight ask REFERENCES --pairs` asks about.",
        ),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find out which references of a table mean the same: people, products, places.

    Example: sidelight resolve authors.csv --group-column paper --compare name:name -o entities.csv
    """
    from sidelight.cli.relational._resolve import read_block, read_compare, run
    from sidelight.jobs import ResolveRequest

    request = ResolveRequest(
        data,
        method=method,
        groups=group_column,
        compare=read_compare(compare or ()),
        blocking=tuple(read_block(key) for key in block or ()),
        threshold=threshold,
        alpha=alpha,
        id_column=id_column,
        sources=source_column,
        truth=truth_column,
        constraints=constraints,
        must_link=must_link,
        cannot_link=cannot_link,
        drop=tuple(split_names(drop) or ()),
        settings=split_pairs("--set", settings),
        seed=seed,
    )
    run(
        request,
        screen,
        force=force,
        spreadsheet_safe=spreadsheet_safe,
        entities=output,
        report=report,
        doubtful=doubtful,
    )


#: In the order in which the help lists them.
COMMANDS = (correlate, consensus, regions, resolve)
