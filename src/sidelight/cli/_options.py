"""The arguments and options that commands share."""

from __future__ import annotations

import contextlib
import gc
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

FORMATS = ".csv, .csv.gz, .tsv, .parquet, .npy, .libsvm"


def file_argument(metavar: str, text: str) -> Any:
    """A file among the arguments; we look at it, not Typer, to which any problem is wrong usage."""
    return typer.Argument(metavar=metavar, readable=False, help=text)


def file_option(*names: str, text: str, metavar: str = "FILE") -> Any:
    """A file by option, likewise."""
    return typer.Option(*names, metavar=metavar, readable=False, help=text)


Data = Annotated[Path, file_argument("DATA", f"Table of rows: {FORMATS}.")]
Clusters = Annotated[
    int | None, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.")
]
ConstraintFile = Annotated[
    Path | None,
    file_option(
        "--constraints",
        "-c",
        text="What is known: a table with the columns i, j, kind and perhaps weight (.csv, .json, "
        ".parquet); kind is must-link, cannot-link, label or group.",
    ),
]
MustLink = Annotated[
    Path | None,
    file_option("--must-link", text="Pairs that belong together: two ids per line."),
]
CannotLink = Annotated[
    Path | None, file_option("--cannot-link", text="Pairs to keep apart: two ids per line.")
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column that names the rows. By default a column called id, or a first column of "
        "text without repetition; otherwise rows are numbered from 0.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,...", help="Columns to use as features; by default all others."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="A,B,...", help="Columns to leave out.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, for machines.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
LabelsOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write id and cluster (.csv, .parquet)."),
]


def split_names(values: list[str] | None) -> list[str] | None:
    """Names given as ``a,b`` or by repeating the option."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def typed_command(context: typer.Context) -> str:
    """Return the command as the user typed it."""
    return shlex.join(["sidelight", *(context.obj or [context.info_name or ""])])


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """End the pause of the garbage collector that ``main`` began, and spare what was imported."""
    yield
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
