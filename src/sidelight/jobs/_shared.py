"""Options that several jobs have: bases of their requests, and files that they write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from sidelight._interval import Interval
from sidelight.jobs._options import (
    COLUMNS,
    KNOWN,
    LARGE,
    METHOD,
    OWN_METHODS,
    Option,
    by_column,
    column,
    columns,
    flag,
    infile,
    number,
    outfile,
    read_numbers,
    settings,
    split_weights,
    word,
    write_numbers,
)

Class = TypeVar("Class")


@dataclass_transform(
    kw_only_default=True, frozen_default=True, eq_default=False, field_specifiers=(field,)
)
def request(cls: type[Class]) -> type[Class]:
    """Make a class of declared options a request: fields by keyword, compared by identity."""
    return dataclass(frozen=True, eq=False, kw_only=True)(cls)


TABLES = ".csv, .xlsx, .parquet"


@request
class Known:
    """Statements about rows, from one file."""

    constraints: Annotated[
        Any,
        infile(
            "What is known: a table with the columns i, j, kind and perhaps weight (.csv, .json, "
            ".parquet); kind is must-link, cannot-link, label or group.",
            "--constraints",
            "-c",
        ),
    ] = None


@request
class KnownPairs(Known):
    """Statements about rows, also as plain files of pairs."""

    must_link: Annotated[Any, infile("Pairs that belong together: two ids per line.")] = None
    cannot_link: Annotated[Any, infile("Pairs to keep apart: two ids per line.")] = None


@request
class KnownLabels:
    """Labels of rows, in a column."""

    labels: Annotated[
        Any,
        column(
            "Column with the known labels of some rows; empty or -1 where unknown.",
            "--label-column",
            panel=KNOWN,
        ),
    ] = None


@request
class KnownRows(KnownLabels, KnownPairs):
    """Statements about rows, also as labels in a column."""


@request
class Ids:
    """Which column names the rows."""

    id_column: Annotated[
        str | None,
        column(
            "Column that names the rows. By default a column called id, a first column of text "
            "without repetition, or one whose name says so (customer_id, OrderNo) and that repeats "
            "nothing; otherwise rows are numbered from 0."
        ),
    ] = None


@request
class Truth:
    """True classes, for the scores."""

    truth: Annotated[
        Any, column("Column with the true classes, only to score the result.", "--truth-column")
    ] = None


@request
class Sources:
    """Which column says where a row comes from."""

    sources: Annotated[
        str | None,
        column(
            "Column with the source of a row; rows of one source are all different.",
            "--source-column",
            panel=KNOWN,
        ),
    ] = None


@request
class UsedColumns(Ids):
    """Which columns are used."""

    columns: Annotated[
        Sequence[str] | None, columns("Columns to use as features; by default all others.")
    ] = None
    drop: Annotated[Sequence[str], columns("Columns to leave out.")] = ()


@request
class PreparedColumns(UsedColumns):
    """How columns of any kind become features."""

    kinds: Annotated[
        Mapping[str, Any],
        by_column(
            "What a column holds: number, log, yes-no, category, ordered:LOW<...<HIGH, date, time, "
            "text, or aside to leave it out; repeatable. By default this is found out, and shown.",
            "--as",
            metavar="COLUMN=KIND",
        ),
    ] = field(default_factory=dict)
    weights: Annotated[
        Mapping[str, float],
        by_column(
            "How many features a column counts as, instead of one; repeatable.",
            "--weight",
            metavar="COLUMN=W",
            read=split_weights,
        ),
    ] = field(default_factory=dict)
    scale: Annotated[
        str | None,
        word(
            "Scale of the numbers: standard (variance 1, the default), robust, range or none.",
            panel=COLUMNS,
            choices=("standard", "robust", "range", "none"),
        ),
    ] = None
    raw: Annotated[
        bool,
        flag(
            "Take the columns as they are: they must be numbers, which are not scaled.",
            panel=COLUMNS,
        ),
    ] = False


@request
class InBlocks:
    """How a table that is larger than memory is read."""

    memory: Annotated[
        int | str | None,
        word(
            "Memory that blocks of rows may take, such as 500MB or 2GB: the table is read block by "
            "block, as a folder, a pattern and very large files always are. By default 256MB.",
            metavar="SIZE",
            panel=LARGE,
        ),
    ] = None

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, also those of a folder or a pattern."""
        from sidelight.jobs._large._when import files_in

        named: list[Path] = super().inputs  # type: ignore[misc]
        return [file for path in named for file in files_in(path)]


@request
class Elsewhere(InBlocks):
    """Where a table that is larger than memory is worked on, and how a fit goes on."""

    engine: Annotated[
        str | None,
        word(
            "Who works on the blocks: dask starts a worker for every processor of this machine, "
            "dask=tcp://HOST:PORT joins a cluster whose workers reach the same files.",
            metavar="ENGINE",
            panel=LARGE,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        Option(
            "Keep the state of the fit in this file after every pass over the rows; it is removed "
            "once the results are written.",
            metavar="FILE",
            kind=Path,
            panel=LARGE,
        ),
    ] = None
    resume: Annotated[
        bool, flag("Go on from the file of --checkpoint, if there is one.", panel=LARGE)
    ] = False

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, that of the checkpoint too: no result may replace it."""
        found = super().inputs
        return found if self.checkpoint is None else [*found, Path(self.checkpoint)]


@request
class Seed:
    """Where the random numbers begin."""

    seed: Annotated[
        int,
        number(
            "Seed of the random numbers.",
            panel=METHOD,
            range=Interval(0, 2**32 - 1),
            sets="random_state",
        ),
    ] = 0


@request
class Settings:
    """Parameters of the method."""

    settings: Annotated[
        Mapping[str, Any],
        settings(
            "Set a parameter of the method; `sidelight methods METHOD` lists them. Repeatable.",
            "--set",
            panel=METHOD,
        ),
    ] = field(default_factory=dict)


@request
class Fit(Settings, Seed):
    """How the method is set."""


def clusters(help: str, *, sets: str = "n_clusters") -> Any:
    """Declare a number of clusters."""
    return number(help, "-k", "--clusters", metavar="K", sets=sets)


def several_clusters(help: str, *, sets: str = "n_clusters") -> Any:
    """Declare numbers of clusters, such as ``2:8``."""
    return word(
        help, "-k", "--clusters", metavar="K", read=read_numbers, write=write_numbers, sets=sets
    )


#: Where methods are found.
METHODS = "Name of a method; `sidelight methods` lists them"


def method(help: str = f"{METHODS}.", completes: str = OWN_METHODS) -> Any:
    """Declare the method of a job."""
    return word(help, "--method", "-m", panel=METHOD, completes=completes)


# --- files that are written ---------------------------------------------------------------------

LABELS = outfile(
    "Where to write id and cluster of every row, and the class that the cluster stands for where "
    f"labels are known ({TABLES}).",
    "--output",
    "-o",
)
LABELS_OR_FOLDER = outfile(
    f"{LABELS.help[:-1]}; or a folder, which gets a Parquet file for every file of rows.",
    *LABELS.names,
)
REPORT = outfile("Where to write the report (.html).", "--report")
MODEL = outfile("Where to keep the model for new rows (.skops).", "--save")


def main_output(help: str) -> Any:
    """Declare the main file that a job writes: ``-o``."""
    return outfile(help, "--output", "-o")
