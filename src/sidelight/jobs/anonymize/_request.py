"""What is asked for: which columns are published how, and how many rows have to be alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import (
    NAMED,
    Request,
    by_column,
    columns,
    flag,
    number,
    real,
    share,
    table,
    word,
)
from sidelight.jobs._shared import REPORT, TABLES, Fit, main_output, method, request

DEFAULT = "anonymizer"
#: Fields that give columns a role.
ROLES = ("quasi", "sensitive", "identifiers", "keep")
#: Fields that only the making of a table has a use for, and not the count of one.
OF_MAKING = (
    *("identifiers", "keep", "hierarchies", "suppress", "random_merges"),
    *("method", "settings", "seed"),
)
COLUMN_ROLES = "Roles of the columns"
PROMISE = "What is promised"
AT_LEAST_1 = Interval(1)


def _read_files(given: Iterable[str]) -> dict[str, Path]:
    """Read ``column=file``."""
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path):
            raise ValueError(f"{text}: write COLUMN=FILE.")
        if name in found:
            raise ValueError(f"names the column {name!r} twice.")
        found[name] = Path(path)
    return found


@request
class AnonymizeRequest(Fit, Request):
    """Which columns are published how, and how many rows have to be alike.

    ``hierarchies`` also takes :class:`~sidelight.privacy.Hierarchy` objects by column. With
    ``check`` nothing is made: the rows of a published table are counted.

    Examples
    --------
    >>> from sidelight.jobs import AnonymizeRequest
    >>> AnonymizeRequest("people.csv", quasi=["age", "zip"], k=3).command_line()
    'sidelight anonymize people.csv --quasi age,zip -k 3'
    """

    job: ClassVar[str] = "anonymize"

    data: Annotated[Any, table(f"Table with a row for every person: {NAMED}.", metavar="TABLE")] = (
        field(kw_only=False)
    )
    quasi: Annotated[
        Sequence[str],
        columns(
            "Quasi-identifiers: columns by which somebody could recognize a person, such as age, "
            "zip and sex.",
            panel=COLUMN_ROLES,
        ),
    ] = field()
    sensitive: Annotated[
        Sequence[str],
        columns(
            "Columns that nobody should learn of a person.", panel=COLUMN_ROLES, sets="sensitive"
        ),
    ] = ()
    nominal: Annotated[
        Sequence[str],
        columns(
            "Sensitive and quasi-identifying columns whose numbers are codes and have no order: "
            "they are published as sets, and all of them are equally far apart for T.",
            panel=COLUMN_ROLES,
        ),
    ] = ()
    identifiers: Annotated[
        Sequence[str],
        columns("Columns that identify people, which are not published.", panel=COLUMN_ROLES),
    ] = ()
    keep: Annotated[
        Sequence[str],
        columns(
            "Columns to publish unchanged. Columns without any role are not published.",
            panel=COLUMN_ROLES,
        ),
    ] = ()
    hierarchies: Annotated[
        Mapping[str, Any],
        by_column(
            "File that says how values of a quasi-identifier are generalized, in lines "
            "value;group;wider group;...; repeatable.",
            "--hierarchy",
            metavar="COLUMN=FILE",
            panel=COLUMN_ROLES,
            read=_read_files,
            role="input",
            sets="hierarchies",
        ),
    ] = field(default_factory=dict)
    k: Annotated[
        int,
        number(
            "Least number of rows that are published alike.",
            "-k",
            metavar="K",
            panel=PROMISE,
            range=AT_LEAST_1,
            sets="k",
        ),
    ] = 5
    l: Annotated[  # noqa: E741 - the name in the literature
        int,
        number(
            "Least diversity of every sensitive column among rows that are published alike.",
            "-l",
            metavar="L",
            panel=PROMISE,
            range=AT_LEAST_1,
            sets="l",
        ),
    ] = 1
    diversity: Annotated[
        str,
        word(
            "How diversity is counted: distinct (L different values), entropy (that of L equally "
            "frequent values), recursive (the most frequent value is rarer than C times all but "
            "the L - 1 most frequent) or recursive-published (the same with the L least frequent).",
            metavar="MODEL",
            panel=PROMISE,
            choices=("distinct", "entropy", "recursive", "recursive-published"),
            sets="diversity",
        ),
    ] = "distinct"
    c: Annotated[
        float,
        real(
            "Constant C of the recursive models.",
            "--recursive-c",
            metavar="C",
            panel=PROMISE,
            range=Interval(0, open_low=True, open_high=True),
            sets="c",
        ),
    ] = 3.0
    t: Annotated[
        float,
        real(
            "Largest distance between the distribution of a sensitive column among rows that are "
            "published alike and that in the table, from 0 to 1 (t-closeness); 1 asks for nothing.",
            "--t",
            metavar="T",
            panel=PROMISE,
            range=Interval(0, 1),
            sets="t",
        ),
    ] = 1.0
    suppress: Annotated[
        float,
        share(
            "Largest share of the rows that may be left out.",
            panel=PROMISE,
            range=Interval(0, 1, open_high=True),
            sets="suppress",
        ),
    ] = 0.0
    random_merges: Annotated[
        float,
        share(
            "Share of the groups of rows published alike that are joined with the nearest one at "
            "random, by a seed that nobody knows: it hinders conclusions from what the method "
            "would have published otherwise.",
            "--random-merges",
            panel=PROMISE,
            range=Interval(0, 1, open_high=True),
            sets="random_merges",
        ),
    ] = 0.0
    check: Annotated[
        bool,
        flag(
            "Only count how many rows of TABLE are alike, whoever published it. The exit code is 1 "
            "if fewer than K are alike somewhere, or a sensitive column is less diverse than L.",
        ),
    ] = False
    method: Annotated[str, method()] = DEFAULT

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """Named columns by role."""
        return {
            name: (given,) if isinstance(given := getattr(self, name), str) else tuple(given)
            for name in ROLES
        }

    @property
    def nominal_names(self) -> tuple[str, ...]:
        """Columns whose numbers are codes."""
        return (self.nominal,) if isinstance(self.nominal, str) else tuple(self.nominal)


REQUEST = AnonymizeRequest
OUTPUTS = {
    "published": main_output(
        f"Where to write the table to publish ({TABLES}); it is read again and checked before it "
        "is there."
    ),
    "report": REPORT,
}
