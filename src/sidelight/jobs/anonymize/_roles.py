"""Roles of the columns of a table to publish: nothing without a role is published.

A column that tells rows apart by itself is refused, whatever it is called: a person is found by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted, listed, worded
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import (
    check_readable,
    close_names,
    column_texts,
    folded,
    is_text,
    quoted,
    read_raw,
    sounds_like_ids,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: A column of texts in which more than this share of the values are different names the rows.
TELLING = 0.9
#: Texts of so many words on average are free text, which names people by the way; it is refused if
#: more than this share of the values are different.
FREE_WORDS, FREE_TEXT = 4, 0.5
#: A sensitive column of fewer rows may have a different value in each of them.
FEW_ROWS = 20
#: Words in the name of a column that people are called or reached by.
PERSONAL = re.compile(
    r"(^|[^a-z])(e?mail|phone|mobile|telephone|fax|ssn|passport|iban|address|street|url|ip|"
    r"(first|last|middle|sur|family|given|full|user|maiden)?[ _-]?name)([^a-z]|$)"
)


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table by their roles.

    Attributes
    ----------
    path : Path
        The file.
    quasi : pyarrow.Table
        Quasi-identifiers.
    beside : pyarrow.Table
        Sensitive and kept columns, of text files as they are written.
    order : list of str
        Names of the published columns, in the order of the file.
    sensitive, keep, dropped : list of str
        Names of the sensitive, of the kept and of all columns that are not published.
    notes : tuple of str
        What was decided, as sentences for the user.
    nominal : tuple of str
        Columns whose numbers are codes, without an order.
    """

    path: Path
    quasi: pa.Table
    beside: pa.Table
    order: list[str]
    sensitive: list[str]
    keep: list[str]
    dropped: list[str]
    notes: tuple[str, ...]
    nominal: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.quasi.num_rows)

    def kind_of(self, name: str) -> Literal["number", "date", "word"]:
        """Return what a quasi-identifier holds, by its type."""
        import pyarrow as pa

        kind, types = self.quasi.column(name).type, pa.types
        if types.is_date(kind) or types.is_timestamp(kind):
            return "date"
        numbers = (types.is_integer, types.is_floating, types.is_decimal)
        return "number" if any(is_kind(kind) for is_kind in numbers) else "word"

    def sensitive_values(self) -> Any:
        """Sensitive columns with one spelling of every value; None where there are none."""
        import pyarrow as pa

        if not self.sensitive:
            return None
        columns = {}
        for name in self.sensitive:
            values = folded_values(self.beside.column(name))
            if name in self.nominal or not are_numbers(values):
                values = [None if value is None else str(value) for value in values]
            columns[name] = pa.array(values)
        return pa.table(columns)


def check_roles(
    roles: Mapping[str, Sequence[str]],
    hierarchies: Mapping[str, Any],
    *,
    least: int,
    t: float,
    nominal: Sequence[str],
) -> None:
    """Refuse roles that contradict each other."""
    if not roles["quasi"]:
        raise InvalidRequest(
            "name the quasi-identifiers, the columns that a person could be recognized by, with "
            f"{worded('quasi=', '--quasi age,zip,sex')}."
        )
    seen: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in seen:
                said = worded(f"{seen[name]}= and {role}=", f"--{seen[name]} and --{role}")
                where = "twice" if seen[name] == role else f"by {said}"
                raise InvalidRequest(
                    f"the column {name!r} is named {where}; a column has one role."
                )
            seen[name] = role
    strange = [name for name in hierarchies if name not in roles["quasi"]]
    if strange:
        raise InvalidRequest(
            f"there is a hierarchy for {strange[0]!r}, which is no quasi-identifier: add it to "
            f"{worded('quasi=', '--quasi')}, or leave the hierarchy out."
        )
    check_nominal(roles, nominal)
    if (least > 1 or t < 1) and not roles["sensitive"]:
        asked = f"l = {least}" if least > 1 else f"t = {t:g}"
        raise InvalidRequest(
            f"{asked} is about sensitive columns; name them with "
            f"{worded('sensitive=', '--sensitive')}."
        )


def check_nominal(roles: Mapping[str, Sequence[str]], nominal: Sequence[str]) -> None:
    """Refuse nominal columns of which nothing is compared."""
    strange = [name for name in nominal if name not in (*roles["quasi"], *roles["sensitive"])]
    if strange:
        raise InvalidRequest(
            f"the column {strange[0]!r} is nominal, but is neither a quasi-identifier nor "
            f"sensitive: name it with {worded('quasi= or sensitive=', '--quasi or --sensitive')}, "
            "or leave it out."
        )


def read_columns(
    data: Any,
    roles: Mapping[str, Sequence[str]],
    hierarchies: Mapping[str, Any],
    *,
    about_sensitive: bool,
    nominal: Sequence[str],
) -> Columns:
    """Read a table and tell its columns apart.

    ``about_sensitive`` is whether something is asked of the sensitive columns.
    """
    path = check_readable(data)
    sensitive, keep = list(roles["sensitive"]), list(roles["keep"])
    raw = read_raw(path, text_columns=(*sensitive, *keep, *nominal), keep_types=True)
    if not raw.has_names:
        raise SidelightError(
            f"{path} has no names of columns; give a table that has (.csv, .tsv, .xlsx, .parquet)."
        )
    for name in (name for names in roles.values() for name in names):
        if name not in raw.names:
            raise SidelightError(f"{path} has no column {name!r}; {close_names(name, raw.names)}.")
    import pyarrow as pa

    table = pa.table({name: raw.column(name) for name in raw.names})
    for name in {*nominal} & {*roles["quasi"]}:
        texts = [text or None for text in column_texts(table.column(name))]
        table = table.set_column(raw.names.index(name), name, pa.array(texts, pa.string()))
    published = {*roles["quasi"], *sensitive, *keep}
    columns = Columns(
        path=path,
        quasi=table.select(list(roles["quasi"])),
        beside=table.select([*sensitive, *keep]),
        order=[name for name in raw.names if name in published],
        sensitive=sensitive,
        keep=keep,
        dropped=[name for name in raw.names if name not in published],
        notes=(),
        nominal=tuple(nominal),
    )
    _refuse_telling(columns, hierarchies)
    if about_sensitive:
        _refuse_missing(columns)
    notes = (*raw.notes, *_notes(columns, roles["identifiers"]))
    return replace(columns, notes=notes)


def _refuse_telling(columns: Columns, hierarchies: Mapping[str, Any]) -> None:
    """Refuse columns that tell nearly all rows apart, and so name them."""
    for name in columns.quasi.column_names:
        column = columns.quasi.column(name)
        if name not in hierarchies and is_text(column):
            _refuse(
                name,
                column,
                " or say how its values are generalized: "
                + worded("hierarchies=", f"--hierarchy {name}=FILE"),
            )
    for name in columns.keep:
        if not _is_measured(columns.beside.column(name)):
            _refuse(name, columns.beside.column(name), "")
    for name in columns.sensitive:
        column = columns.beside.column(name)
        if columns.n_rows >= FEW_ROWS and not are_numbers(folded_values(column)):
            _refuse(name, column, "")


def _refuse(name: str, column: pa.ChunkedArray, otherwise: str) -> None:
    known = [text for text in column_texts(column) if text]
    if len(known) < 2:
        return
    n_different = len(set(known))
    n_words = sum(len(text.split()) for text in known) / len(known)
    if n_different > (FREE_TEXT if n_words >= FREE_WORDS else TELLING) * len(known):
        why = "free text may identify" if n_words >= FREE_WORDS else "it identifies"
        raise SidelightError(
            f"The column {name!r} has {n_different:,} different values in "
            f"{counted(len(known), 'row')}: {why} people, and is not published. Put "
            f"it into {worded('identifiers', '--identifiers')}{',' if otherwise else ''}"
            f"{otherwise}."
        )


def folded_values(column: pa.ChunkedArray) -> list[Any]:
    """Return one spelling of every value, numbers as such; None where one is missing."""
    return [folded(text) for text in column_texts(column)]


def are_numbers(values: Iterable[Any]) -> bool:
    """Whether all known values are numbers."""
    return all(value is None or isinstance(value, float) for value in values)


def _is_measured(column: pa.ChunkedArray) -> bool:
    """Whether a column has numbers that are not whole: whole ones may be numbers of people."""
    values = folded_values(column)
    return are_numbers(values) and any(not (v is None or v.is_integer()) for v in values)


def _refuse_missing(columns: Columns) -> None:
    """Refuse sensitive columns with gaps where diversity is asked for."""
    for name in columns.sensitive:
        n_missing = folded_values(columns.beside.column(name)).count(None)
        if n_missing:
            raise SidelightError(
                f"The sensitive column {name!r} is missing in {counted(n_missing, 'row')} (empty, "
                "or a word such as NA, ? and unknown): a class is not more diverse by what is not "
                "known. Remove these rows, or write what is known of them, such as: not tested."
            )


def _notes(columns: Columns, identifiers: Sequence[str]) -> Iterator[str]:
    if identifiers:
        yield f"Not published, since they identify people: {listed(list(identifiers))}."
    others = [name for name in columns.dropped if name not in set(identifiers)]
    if others:
        yield (
            f"Not published, since they have no role: {quoted(others, limit=20)}; "
            + worded("quasi=, sensitive= and keep=", "--quasi, --sensitive and --keep")
            + " give them one."
        )
    for name in columns.order:
        if sounds_like_ids(name) or PERSONAL.search(name.lower()):
            yield (
                f"The column {name!r} is called like something that identifies people; if it does, "
                f"put it into {worded('identifiers', '--identifiers')}."
            )


def notes_on_spelling(published: pa.Table, sensitive: Sequence[str]) -> Iterator[str]:
    """Note published values that are different texts, but count as one."""
    for name in sensitive:
        column = published.column(name)
        values = folded_values(column)
        n_joined = len({*column_texts(column)} - {"", None}) - len({*values} - {None})
        if n_joined > 0 and not are_numbers(values):
            yield (
                f"Values of {name!r} that differ in case or blanks only count as one: "
                f"{counted(n_joined, 'spelling')}."
            )


def row_codes(columns: Sequence[Sequence[str]]) -> IntArray:
    """Number of every row among all different rows, in the order of their texts."""
    codes = np.zeros(len(columns[0]), np.int64)
    for values in columns:
        places = {value: place for place, value in enumerate(sorted(set(values)))}
        of_column = np.array([places[value] for value in values], np.int64)
        codes = np.unique(codes * len(places) + of_column, return_inverse=True)[1]
    return codes
