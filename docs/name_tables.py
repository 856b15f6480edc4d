"""The tables of names in ``conventions.rst``, from ``names/parameters.csv`` and ``attributes.csv``.

A row is a name with its type and meaning. A name whose type depends on the kind of method has a row
for each of the families that differ; its meaning is the same in all of them, except for names that
scikit-learn itself uses for two things. ``tests/common/test_names.py`` holds every method to it.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

NAMES = Path(__file__).parent / "names"
ROLES = ("parameters", "attributes")
#: Between these comments of the page stands a table.
MARKS = r"(\.\. table of {role}[^\n]*\n\n).*?(\.\. end of {role}\n)"


@dataclass(frozen=True)
class Name:
    """A row of the table.

    Attributes
    ----------
    name : str
        Name of a parameter or of a fitted attribute.
    family : str
        Family that the row is about; empty for all that have no row of their own.
    type : str
        Its type. A method may take a part of it: fewer choices, a narrower range.
    meaning : str
        What it means.
    """

    name: str
    family: str
    type: str
    meaning: str


def read(role: str) -> list[Name]:
    """Return the rows of the parameters or of the attributes, in the order of their names."""
    with (NAMES / f"{role}.csv").open(encoding="utf-8", newline="") as file:
        return [Name(**row) for row in csv.DictReader(file)]


def row_of(rows: list[Name], name: str, family: str) -> Name | None:
    """Return the row of a name in a family: its own one, or that of all others."""
    found = {row.family: row for row in rows if row.name == name}
    return found.get(family) or found.get("")


def table(role: str) -> str:
    """Return the rows as a reStructuredText table."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in read(role):
        name = f"``{row.name}``" + (f" ({row.family})" if row.family else "")
        writer.writerow((name, row.type, row.meaning))
    head = [".. csv-table::", "   :header: name, type, meaning", "   :widths: auto", ""]
    return "\n".join([*head, *(f"   {line}" for line in text.getvalue().splitlines())]) + "\n\n"


def page_with_tables(text: str) -> str:
    """Return the text of the page with the tables as they are now."""
    for role in ROLES:
        marks = re.compile(MARKS.format(role=role), flags=re.DOTALL)
        made = table(role)
        text = marks.sub(lambda found, made=made: found[1] + made + found[2], text)
    return text
