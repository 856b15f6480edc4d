"""The arguments and options that commands share, and how they become a request."""

from __future__ import annotations

import contextlib
import gc
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight.cli._errors import UsageError
from sidelight.tags import KINDS

RUNS = {kind.command for kind in KINDS.values()}
OPTION = inspect.Parameter.KEYWORD_ONLY
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
Dimensions = Annotated[
    int | None,
    typer.Option("-d", "--dimensions", metavar="N", help="Number of dimensions to keep."),
]
Features = Annotated[
    int | None, typer.Option("-n", "--features", metavar="N", help="Number of features to keep.")
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
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column that names the rows. By default a column called id, or a first column of "
        "text without repetition; otherwise rows are numbered from 0.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, for machines.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
LabelsOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write id and cluster (.csv, .parquet)."),
]
FeaturesOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write the features (.csv, .parquet, .npy)."),
]
Report = Annotated[Path | None, file_option("--report", text="Where to write the report (.html).")]
Save = Annotated[
    Path | None, file_option("--save", text="Where to keep the model for new rows (.skops).")
]

#: Options that make a request, by the names of its fields, with their defaults.
REQUEST: dict[str, tuple[Any, Any]] = {
    "data": (Data, inspect.Parameter.empty),
    "method": (
        Annotated[
            str | None,
            typer.Option(
                "--method",
                "-m",
                metavar="NAME",
                help="See `sidelight methods`; for clusters by default pckmeans where something "
                "is known about the rows, else kmeans.",
            ),
        ],
        None,
    ),
    "constraints": (ConstraintFile, None),
    "must_link": (
        Annotated[
            Path | None,
            file_option("--must-link", text="Pairs that belong together: two ids per line."),
        ],
        None,
    ),
    "cannot_link": (
        Annotated[
            Path | None, file_option("--cannot-link", text="Pairs to keep apart: two ids per line.")
        ],
        None,
    ),
    "labels": (
        Annotated[
            str | None,
            typer.Option(
                "--label-column",
                metavar="NAME",
                help="Column with labels known for some rows; empty or -1: unknown.",
            ),
        ],
        None,
    ),
    "truth": (
        Annotated[
            str | None,
            typer.Option(
                "--truth-column",
                metavar="NAME",
                help="Column with the true classes, only to score the result.",
            ),
        ],
        None,
    ),
    "settings": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."
            ),
        ],
        None,
    ),
    "id_column": (IdColumn, None),
    "columns": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="A,B,...", help="Columns to use as features; by default all others."
            ),
        ],
        None,
    ),
    "drop": (
        Annotated[list[str] | None, typer.Option(metavar="A,B,...", help="Columns to leave out.")],
        None,
    ),
    "standardize": (
        Annotated[
            bool, typer.Option("--standardize", help="Bring all features to mean 0 and variance 1.")
        ],
        False,
    ),
    "seed": (Seed, 0),
}


def requests(
    size: Any, *, without: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that make a request to those of a command, which gets the request first.

    ``size`` is the option that becomes ``k`` of the request.
    """
    options = {name: option for name, option in REQUEST.items() if name not in without}
    options = {"data": options.pop("data"), "k": (size, None), **options}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        parameters = [
            *(
                inspect.Parameter(name, OPTION, default=default, annotation=hint)
                for name, (hint, default) in options.items()
            ),
            *(option.replace(kind=OPTION) for option in own),
        ]

        def with_request(**given: Any) -> None:
            from sidelight.runs import Request

            asked = {name: given.pop(name) for name in options}
            asked["command"] = command.__name__ if command.__name__ in RUNS else "cluster"
            asked["columns"] = _split_names(asked["columns"])
            asked["drop"] = _split_names(asked["drop"]) or ()
            asked["settings"] = _split_settings(asked.get("settings") or ())
            command(Request(**asked), **given)

        with_request.__name__, with_request.__doc__ = command.__name__, command.__doc__
        with_request.__annotations__ = {option.name: option.annotation for option in parameters}
        with_request.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return with_request

    return decorate


def _split_names(values: list[str] | None) -> list[str] | None:
    """Names given as ``a,b`` or by repeating the option."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _split_settings(settings: Sequence[str]) -> dict[str, str]:
    """Read ``name=value``; the declaration of the parameter reads the value."""
    parts = [setting.partition("=") for setting in settings]
    for name, equals, _ in parts:
        if not equals:
            raise UsageError(f"--set {name}: write it as name=value.")
    return {name.strip(): value.strip() for name, _, value in parts}


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """End the pause of the garbage collector that ``main`` began, and spare what was imported."""
    yield
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
