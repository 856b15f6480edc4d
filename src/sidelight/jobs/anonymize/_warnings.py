"""What a published table does not protect, in sentences with its own figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sidelight._words import counted, listed
from sidelight.io.inner import column_texts
from sidelight.jobs.anonymize._roles import are_numbers, folded_values, row_codes
from sidelight.privacy import AnonymityCheck

if TYPE_CHECKING:
    import pyarrow as pa

#: Sensitive numbers with so many values say little by being different.
MANY_NUMBERS = 30

#: What no number of equal rows protects from.
ALWAYS = (
    "Background knowledge: who knows more about a person than the quasi-identifiers can rule out "
    "values of a class, and who knows that a person is in the table learns the range of each "
    "column.",
    "Several releases: do not publish the same people again in another way (another k, another "
    "seed, another day); who joins two releases may single people out.",
)


def warnings_about(
    table: pa.Table, check: AnonymityCheck, quasi: list[str], keep: list[str]
) -> list[str]:
    """Sentences about the limits of a published table; aggregates only."""
    return [
        *_homogeneous(check),
        *_skewed(check),
        *_similar(table, check),
        *_several(table, check, quasi),
        *_kept(table, quasi, keep),
        *ALWAYS,
    ]


def _homogeneous(check: AnonymityCheck) -> Iterator[str]:
    for name, column in check.sensitive.items():
        if column.n_homogeneous:
            yield (
                f"Homogeneity: in {counted(column.n_homogeneous, 'class')} of "
                f"{check.n_classes:,} all rows have the same {name}, so that whoever finds a "
                f"person's class knows it; l = 2 or more prevents it."
            )


def _skewed(check: AnonymityCheck) -> Iterator[str]:
    for name, column in check.sensitive.items():
        yield (
            f"Skew: the distribution of {name} in a class differs from that of the table by up to "
            f"t = {column.t_closeness:.2f} (0: a class tells nothing more, 1: everything)."
        )


def _similar(table: pa.Table, check: AnonymityCheck) -> Iterator[str]:
    for name in check.sensitive:
        values = {*folded_values(table.column(name))} - {None}
        if check.l > 1 and are_numbers(values) and len(values) >= MANY_NUMBERS:
            yield (
                f"Similarity: the values of {name} are {len(values):,} different numbers, and "
                "different ones may be close; a class of high numbers tells that a number is high."
            )


def _several(table: pa.Table, check: AnonymityCheck, quasi: list[str]) -> Iterator[str]:
    names = list(check.sensitive)
    if len(names) < 2:
        return
    n_told = _rows_told(table, quasi, names)
    yield (
        f"Several sensitive columns: {listed(names)} keep the promise one by one. Who knows the "
        f"quasi-identifiers and one of them of a person knows another of {counted(n_told, 'row')} "
        f"of {table.num_rows:,}."
    )


def _rows_told(table: pa.Table, quasi: list[str], sensitive: list[str]) -> int:
    """Number of rows of which class and one sensitive value tell another sensitive value."""
    alike = row_codes([column_texts(table.column(name)) for name in quasi])
    values = {
        name: row_codes([[str(value) for value in folded_values(table.column(name))]])
        for name in sensitive
    }
    told = np.zeros(table.num_rows, bool)
    for known in sensitive:
        _, group = np.unique(np.column_stack([alike, values[known]]), axis=0, return_inverse=True)
        group = group.ravel()
        for other in sensitive:
            if other != known:
                pairs = np.unique(np.column_stack([group, values[other]]), axis=0)
                told |= (np.bincount(pairs[:, 0]) == 1)[group]
    return int(told.sum())


def _kept(table: pa.Table, quasi: list[str], keep: list[str]) -> Iterator[str]:
    if not keep:
        return
    codes = row_codes([column_texts(table.column(name)) for name in (*quasi, *keep)])
    n_single = int((np.bincount(codes) == 1).sum())
    if n_single:
        yield (
            f"Kept columns: {listed(keep)} {'is' if len(keep) == 1 else 'are'} published as they "
            f"are, and with the quasi-identifiers {counted(n_single, 'row')} of "
            f"{table.num_rows:,} {'is' if n_single == 1 else 'are'} like no other; who knows these "
            "values of a person finds the row."
        )
