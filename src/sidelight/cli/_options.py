"""The arguments and options that commands share, and how they become a request."""

from __future__ import annotations

import contextlib
import gc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sidelight._words import set_by
from sidelight.cli._errors import UsageError
from sidelight.tags import KINDS

RUNS = {kind.command for kind in KINDS.values()}
OPTION = inspect.Parameter.KEYWORD_ONLY
STANDARD_INPUT = Path("-")
#: Most numbers of clusters that a range may hold.
MOST_NUMBERS = 1000
FORMATS = ".csv, .csv.gz, .tsv, .xlsx, .parquet, .feather, .npy, .libsvm"


def file_argument(metavar: str, text: str) -> Any:
    """A file among the arguments; we look at it, not Typer, to which any problem is wrong usage."""
    return typer.Argument(metavar=metavar, readable=False, help=text)


def file_option(*names: str, text: str, metavar: str = "FILE") -> Any:
    """A file by option, likewise."""
    return typer.Option(*names, metavar=metavar, readable=False, help=text)


Data = Annotated[Path, file_argument("DATA", f"Table of rows: {FORMATS}.")]
Clusters = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K",
        help="Number of clusters; several to choose from as 2:8 or 2,3,5.",
    ),
]
OneClusters = Annotated[
    str | None, typer.Option("-k", "--clusters", metavar="K", help="Number of clusters.")
]
Dimensions = Annotated[
    int | None,
    typer.Option("-d", "--dimensions", metavar="N", help="Number of dimensions to keep."),
]
Coordinates = Annotated[
    int | None,
    typer.Option(
        "-d", "--dimensions", metavar="N", help="Number of coordinates of the map; by default 2."
    ),
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
        help="Column that names the rows. By default a column called id, a first column of text "
        "without repetition, or one whose name says so (customer_id, OrderNo) and that repeats "
        "nothing; otherwise rows are numbered from 0.",
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of the random numbers.")
]
LabelsOutput = Annotated[
    Path | None,
    file_option(
        "--output",
        "-o",
        text="Where to write id and cluster, and the class that a cluster "
        "stands for where labels tell (.csv, .parquet).",
    ),
]
FeaturesOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write the features (.csv, .parquet, .npy)."),
]
ClassesOutput = Annotated[
    Path | None,
    file_option(
        "--output",
        "-o",
        text="Where to write id and class of every row, the probability of each class (or its "
        "decision value), and whether the class was given (.csv, .parquet).",
    ),
]
CoordinatesOutput = Annotated[
    Path | None,
    file_option("--output", "-o", text="Where to write id and coordinates (.csv, .parquet, .npy)."),
]
Report = Annotated[Path | None, file_option("--report", text="Where to write the report (.html).")]
Save = Annotated[
    Path | None, file_option("--save", text="Where to keep the model for new rows (.skops).")
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace existing files also where Sidelight did not write them."),
]

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="For spreadsheets: in CSV files, an apostrophe in front of texts that begin with =, "
        "+, - or @, which would be run as formulas.",
    ),
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
                "is known about the rows, else kmeans, for maps isomap, or landmark-isomap for "
                "many rows.",
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
    "kinds": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--as",
                metavar="COLUMN=KIND",
                help="What a column holds: number, log, yes-no, category, ordered:LOW<...<HIGH, "
                "date, time, text or aside; repeatable. By default found out, and told.",
            ),
        ],
        None,
    ),
    "weights": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--weight",
                metavar="COLUMN=W",
                help="How many features a column counts as; repeatable.",
            ),
        ],
        None,
    ),
    "scale": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Scale of the numbers: standard (variance 1, the default), robust, range or "
                "none.",
            ),
        ],
        None,
    ),
    "raw": (
        Annotated[
            bool,
            typer.Option("--raw", help="Take the columns as they are: numbers, and not scaled."),
        ],
        False,
    ),
    "seed": (Seed, 0),
}

#: The table where rows may come through a pipe.
PIPED: dict[str, tuple[Any, Any]] = {
    "data": (
        Annotated[
            Path | None,
            file_argument(
                "DATA", f"Table of rows: {FORMATS}. With --stream also - for standard input."
            ),
        ],
        None,
    )
}

#: Options that only the request of clusters has.
OF_CLUSTERS: dict[str, tuple[Any, Any]] = {
    "conditions": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--at-least",
                metavar="CONDITION",
                help="What every cluster has to hold, such as 'count(*) >= 50', "
                "'count(income >= 50000) >= 3' or 'max(age) >= 60', on any columns of the table; "
                "repeatable. By default with --method existential-kmeans.",
            ),
        ],
        None,
    ),
}

#: Options that only the request of a map has.
OF_MAPS: dict[str, tuple[Any, Any]] = {
    "anchors": (
        Annotated[
            Path | None,
            file_option(
                "--anchors",
                text="Rows with known coordinates: a table with the id of a row and a column for "
                "each coordinate.",
            ),
        ],
        None,
    ),
    "ignore": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="A,B,...",
                help="Columns that the distances leave out, and whose linear effect on the other "
                "columns is removed first.",
            ),
        ],
        None,
    ),
    "color": (
        Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="Column that colors the points of the report; no feature, unless --columns "
                "names it.",
            ),
        ],
        None,
    ),
}

OF_MAPS["views"] = (
    Annotated[
        list[Path] | None,
        file_option(
            "--view",
            text="Another table of numbers that shows some of the same things; repeatable. All "
            "views get one map.",
        ),
    ],
    None,
)
OF_MAPS["correspondences"] = (
    Annotated[
        Path | None,
        file_option(
            "--correspondences",
            text="With --view: which rows show the same, a column of ids for each view.",
        ),
    ],
    None,
)

#: Options of the request of classes, which others do not have or have with another default.
OF_CLASSES: dict[str, tuple[Any, Any]] = {
    "method": (
        Annotated[
            str | None,
            typer.Option(
                "--method",
                "-m",
                metavar="NAME",
                help="See `sidelight methods`; by default semiboost, or "
                "pairwise-logistic-regression where pairs or groups are known.",
            ),
        ],
        None,
    ),
    "base": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Learner that the method is to wrap: stump, tree, forest, logistic, svm, "
                "rbf-svm, naive-bayes or neighbors.",
            ),
        ],
        None,
    ),
}

#: Options that make a screen.
SCREEN: dict[str, tuple[Any, Any]] = {
    "as_json": (
        Annotated[
            bool,
            typer.Option("--json", help="Print one JSON object on standard output, for machines."),
        ],
        False,
    ),
    "quiet": (
        Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")],
        False,
    ),
}

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def screened(*, without: Sequence[str] = ()) -> Decorator:
    """Add the options that make a screen to those of a command, which gets it as ``screen``."""
    options = {name: option for name, option in SCREEN.items() if name not in without}

    def make(given: dict[str, Any], command: str) -> dict[str, Any]:
        from sidelight.cli._screen import Screen

        return {"screen": Screen(**{name: given.pop(name) for name in options})}

    return _extended({}, options, make)


def requests(
    size: Any = None,
    *,
    without: Sequence[str] = (),
    also: Mapping[str, tuple[Any, Any]] | None = None,
) -> Decorator:
    """Add the options that make a request and a screen, which the command gets by these names.

    ``size`` is the option that becomes ``k`` of the request, where there is one; ``also`` are
    options in the place of others, or beside them.
    """
    everything = REQUEST | dict(also or {})
    options = {name: option for name, option in everything.items() if name not in without}
    sizes = {} if size is None else {"k": (size, None)}
    options = {"data": options.pop("data"), **sizes, **options}
    screens = {name: option for name, option in SCREEN.items() if name not in without}

    def make(given: dict[str, Any], command: str) -> dict[str, Any]:
        from sidelight.cli._screen import Screen
        from sidelight.jobs import Request

        screen = Screen(**{name: given.pop(name) for name in screens})
        asked = {name: given.pop(name) for name in options}
        if isinstance(asked.get("k"), str):
            asked["k"] = read_numbers(asked["k"])
        asked["command"] = command if command in RUNS else "cluster"
        asked["columns"] = split_names(asked["columns"])
        if asked["columns"] == []:
            raise UsageError("--columns names no column; name at least one, or leave it out.")
        asked["drop"] = split_names(asked["drop"]) or ()
        if "ignore" in asked:
            asked["ignore"] = split_names(asked["ignore"]) or ()
            asked["views"] = tuple(asked["views"] or ())
        asked["conditions"] = tuple(asked.get("conditions") or ())
        if asked["data"] is None:
            asked["data"] = _piped(given)
        asked["settings"] = split_pairs("--set", asked.get("settings"))
        asked["kinds"] = split_pairs("--as", asked.get("kinds"))
        asked["weights"] = _weights(split_pairs("--weight", asked.get("weights")))
        asked["prepare"] = not asked.pop("raw", False)
        return {"request": Request(**asked), "screen": screen}

    return _extended(options, screens, make)


def _piped(given: Mapping[str, Any]) -> Path:
    """Standard input, where rows are read from a stream."""
    if not given.get("stream"):
        raise UsageError("Missing argument 'DATA'.")
    return STANDARD_INPUT


def _extended(
    before: dict[str, tuple[Any, Any]],
    behind: dict[str, tuple[Any, Any]],
    make: Callable[[dict[str, Any], str], dict[str, Any]],
) -> Decorator:
    """Put options before and behind those of a command; ``make`` makes its other arguments."""

    def parameters(options: dict[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
        return [
            inspect.Parameter(name, OPTION, default=default, annotation=hint)
            for name, (hint, default) in options.items()
        ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [own[name].replace(kind=OPTION) for name in own if name not in ("request", "screen")]
        everything = [*parameters(before), *kept, *parameters(behind)]

        def extended(**given: Any) -> None:
            with quick_imports():
                made = make(given, command.__name__)
            # The fit of a method adds what its own parameter is called.
            with set_by({"k": "-k", "n_clusters": "-k"} if "k" in before else {}):
                command(**made, **given)

        extended.__name__, extended.__doc__ = command.__name__, command.__doc__
        extended.__annotations__ = {option.name: option.annotation for option in everything}
        extended.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
        return extended

    return decorate


def read_numbers(text: str) -> int | tuple[int, ...]:
    """Read numbers of clusters: ``3``, ``2:8`` (both ends included) or ``2,3,5``.

    Examples
    --------
    >>> read_numbers("3"), read_numbers("2:4"), read_numbers("2,5:6")
    (3, (2, 3, 4), (2, 5, 6))
    """
    found: set[int] = set()
    for part in text.split(","):
        low, colon, high = (end.strip() for end in part.partition(":"))
        ends = (low, high) if colon else (low, low)
        if not all(end.isascii() and end.removeprefix("-").isdecimal() for end in ends):
            raise UsageError(f"-k {text}: write a number, a range 2:8 or a list 2,3,5.")
        first, last = map(int, ends)
        if last < first:
            raise UsageError(f"-k {text}: the range ends before it begins; write {last}:{first}.")
        if last - first > MOST_NUMBERS:
            raise UsageError(f"-k {text}: these are more than {MOST_NUMBERS} numbers to try.")
        found.update(range(first, last + 1))
    return tuple(sorted(found)) if len(found) > 1 else found.pop()


def split_names(values: list[str] | None) -> list[str] | None:
    """Names given as ``a,b`` or by repeating the option."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def split_pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read ``name=value`` of a repeatable option."""
    split = _at_first if option == "--set" else _behind_column
    parts = [(pair, split(pair)) for pair in given or ()]
    for pair, (_, equals, _) in parts:
        if not equals:
            raise UsageError(f"{option} {pair}: write it as name=value.")
    return {name.strip(): value.strip() for _, (name, _, value) in parts}


def _at_first(pair: str) -> tuple[str, str, str]:
    return pair.partition("=")


def _behind_column(pair: str) -> tuple[str, str, str]:
    """Split behind the name of a column; it may hold ``=`` itself, as may levels behind ``:``."""
    before, colon, levels = pair.partition(":")
    if "=" not in before:
        return pair.rpartition("=")
    name, equals, kind = before.rpartition("=")
    return name, equals, f"{kind}{colon}{levels}"


def _weights(given: dict[str, str]) -> dict[str, float]:
    weights = {}
    for name, value in given.items():
        try:
            weights[name] = float(value)
        except ValueError:
            raise UsageError(f"--weight {name}={value}: a weight is a number.") from None
    return weights


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """End the pause of the garbage collector that ``main`` began, and spare what was imported."""
    yield
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
