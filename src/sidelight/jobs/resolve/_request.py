"""What is asked for: which references, how they are compared, and what is known for certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import (
    NAMED,
    Option,
    Request,
    column,
    columns,
    outfile,
    real,
    share,
    split_names,
    table,
)
from sidelight.jobs._shared import (
    METHODS,
    REPORT,
    TABLES,
    Ids,
    KnownPairs,
    Settings,
    Sources,
    Truth,
    main_output,
    method,
    request,
)

COMPARED = "What is compared"


def read_compare(given: Iterable[str]) -> dict[str, str]:
    """Read ``name:name,year:number*2``.

    Examples
    --------
    >>> read_compare(["name:name,title:words*2"])
    {'name': 'name', 'title': 'words*2'}
    """
    found: dict[str, str] = {}
    for text in split_names(given):
        name, colon, how = text.rpartition(":")
        if not colon or not name or not how:
            raise ValueError(f"{text}: write COLUMN:KIND, such as name:name.")
        if name in found:
            raise ValueError(f"names the column {name!r} twice.")
        _, star, weight = how.partition("*")
        if star:
            _check_weight(weight, text)
        found[name] = how
    return found


def _check_weight(weight: str, text: str) -> None:
    try:
        float(weight)
    except ValueError:
        raise ValueError(f"{text}: a weight is a number.") from None


def write_compare(compare: Mapping[str, Any]) -> tuple[str, ...]:
    """Write ``name:name,year:number*2``."""
    return (",".join(f"{name}:{how}" for name, how in compare.items()),)


def read_blocks(given: Iterable[str]) -> tuple[Any, ...]:
    """Read keys; several that all have to agree are joined by ``&``.

    Examples
    --------
    >>> read_blocks(["name:last", "city & name:prefix2"])
    ('name:last', ('city', 'name:prefix2'))
    """
    return tuple(map(_read_block, given))


def _read_block(key: str) -> str | tuple[str, ...]:
    parts = tuple(part.strip() for part in key.split("&"))
    if not all(parts):
        raise ValueError(f"{key}: write COLUMN, COLUMN:prefix3 or A&B.")
    return parts if len(parts) > 1 else parts[0]


def write_blocks(keys: Sequence[Any]) -> tuple[str, ...]:
    """Write keys, those of several columns with ``&``."""
    return tuple(key if isinstance(key, str) else "&".join(key) for key in keys)


@request
class ResolveRequest(Settings, Ids, Truth, Sources, KnownPairs, Request):
    """Which references, how they are compared, and what is known for certain.

    ``data`` also takes a data frame, ``constraints`` a :class:`~sidelight.Constraints`, and
    ``compare`` a :class:`~sidelight.relational.ColumnComparison` for a column.

    Examples
    --------
    >>> from sidelight.jobs import ResolveRequest
    >>> asked = ResolveRequest("authors.csv", groups="paper", compare={"name": "name*2"})
    >>> asked.command_line()
    "sidelight resolve authors.csv --group-column paper --compare 'name:name*2'"
    """

    job: ClassVar[str] = "resolve"

    data: Annotated[Any, table(f"Table of references: {NAMED}.", metavar="REFERENCES")] = field(
        kw_only=False
    )
    groups: Annotated[
        str | None,
        column(
            "Column that says which references occur together, such as the paper of an author; "
            "those of one group are different entities.",
            "--group-column",
            panel=COMPARED,
        ),
    ] = None
    compare: Annotated[
        Mapping[str, Any],
        Option(
            "How columns are compared: name, words, text, number, date or exact, with a weight as "
            "in name:name*2; by default all columns, as their values suggest.",
            metavar="COLUMN:KIND,...",
            panel=COMPARED,
            many=True,
            read=read_compare,
            write=write_compare,
            sets="compare",
        ),
    ] = field(default_factory=dict)
    blocking: Annotated[
        Sequence[Any],
        Option(
            "Compare only pairs that share a key: COLUMN, COLUMN:prefix3, COLUMN:last, "
            "COLUMN:words, COLUMN:near5 ..., or both of A&B. Repeatable; one shared key is enough.",
            ("--block",),
            metavar="KEY",
            panel=COMPARED,
            many=True,
            read=read_blocks,
            write=write_blocks,
            sets="blocking",
        ),
    ] = ()
    threshold: Annotated[
        float | None,
        real(
            "Similarity from which two references are the same; by default that of the method.",
            metavar="T",
            range=Interval(0, open_high=True),
            sets="threshold",
        ),
    ] = None
    relational_share: Annotated[
        float | None,
        share(
            "Weight of the relations in the similarity; by default that of the method.",
            metavar="A",
            sets="relational_share",
        ),
    ] = None
    drop: Annotated[Sequence[str], columns("Columns to leave out.")] = ()
    method: Annotated[
        str | None,
        method(
            f"{METHODS}. By default collective-resolution with --group-column, else "
            "attribute-resolution."
        ),
    ] = None


REQUEST = ResolveRequest
OUTPUTS = {
    "entities": main_output(f"Where to write id and entity ({TABLES})."),
    "report": REPORT,
    "model": outfile("Where to keep the model for new references (.skops).", "--save"),
    "doubtful": outfile(
        f"Where to write the pairs nearest to the threshold ({TABLES}), which "
        "`sidelight ask REFERENCES --pairs` asks about."
    ),
}
