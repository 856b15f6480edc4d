"""Which family each column of a table belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from sidelight._typing import Array
from sidelight._words import listed, setting
from sidelight.exceptions import SidelightError
from sidelight.mixture.som._categories import categorical_part
from sidelight.mixture.som._parts import (
    FAMILIES,
    BernoulliPart,
    FamilyColumns,
    FamilySettings,
    MultinomialPart,
    NumericPart,
)

Blocks: TypeAlias = Sequence[tuple[str, Any]]

#: Columns of at most this many different whole numbers are categorical by default.
MAX_CATEGORIES = 10


def parts_of(
    rows: Any, blocks: Blocks | None, settings: FamilySettings, names: Sequence[str] | None
) -> list[FamilyColumns]:
    """Parts of the rows, each with its family; ``names`` are those of all columns."""
    if blocks is None:
        blocks = default_blocks(rows)
    columns = [_columns(chosen, rows.shape[1], names) for _, chosen in blocks]
    _check_cover(columns, rows.shape[1], names)
    return [
        _part(family, own, rows, settings, names)
        for (family, _), own in zip(blocks, columns, strict=True)
    ]


def default_blocks(rows: Array) -> list[tuple[str, Array]]:
    """Columns of few whole numbers are categorical, all others Gaussian with own variances."""
    few = np.array([_has_few_whole_numbers(column) for column in rows.T])
    found = [("diag", np.flatnonzero(~few)), ("categorical", np.flatnonzero(few))]
    return [(family, columns) for family, columns in found if len(columns)]


def _has_few_whole_numbers(column: Array) -> bool:
    values = np.unique(column[~np.isnan(column)])
    return bool(0 < len(values) <= MAX_CATEGORIES and np.all(values == np.round(values)))


def _part(
    family: str, columns: Array, rows: Any, settings: FamilySettings, names: Sequence[str] | None
) -> FamilyColumns:
    if family == "bernoulli":
        return BernoulliPart(columns, settings)
    if family == "categorical":
        return categorical_part(rows, columns, settings, names)
    if family == "multinomial":
        return MultinomialPart(columns, settings)
    if family not in FAMILIES:
        raise SidelightError(
            f"{setting('blocks')} names the family {family!r}, which is none of "
            f"{', '.join(map(repr, FAMILIES))}."
        )
    own = None if names is None else [str(names[column]) for column in columns]
    return NumericPart(columns, family, settings, own)


def _columns(chosen: Any, n_columns: int, names: Sequence[str] | None) -> Array:
    """Positions of columns that are given by name or number."""
    single = isinstance(chosen, (str, int, np.integer))
    places = []
    known = [] if names is None else [str(name) for name in names]
    for column in [chosen] if single else list(chosen):
        if isinstance(column, str) and column in known:
            places.append(known.index(column))
        elif isinstance(column, (int, np.integer)) and -n_columns <= column < n_columns:
            places.append(int(column) % n_columns)
        else:
            raise SidelightError(
                f"{setting('blocks')} names column {column!r}, which the rows do not have; columns "
                f"are given by name, or by number from 0 to {n_columns - 1}."
            )
    if not places:
        raise SidelightError(f"A family in {setting('blocks')} has no column; leave it out.")
    return np.array(places, dtype=np.int64)


def _check_cover(columns: list[Array], n_columns: int, names: Sequence[str] | None) -> None:
    """Raise on columns that no family has, or several."""
    counts = np.bincount(np.concatenate(columns), minlength=n_columns)
    for problem, where in (("in no family", counts == 0), ("in several families", counts > 1)):
        found = np.flatnonzero(where)
        if len(found):
            shown = [str(column if names is None else names[column]) for column in found[:5]]
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            raise SidelightError(
                f"Column {listed(shown)}{more} of the rows is {problem} of {setting('blocks')}; "
                "every column belongs to one."
            )
