"""A fit to a table that comes in parts: one pass or two to know the columns, one for features.

1. What do the columns hold? Numbers are measured, texts are counted, and so are the shapes that may
   spell numbers and dates.
2. Only if texts spell some: these columns again, as numbers or dates.
3. What do the features need: moments, quantiles, calendars, words, rows with gaps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sidelight.io.inner import Spelling, sounds_like_ids
from sidelight.preparation._decide import ColumnChoice, is_code
from sidelight.preparation._fitting import Fitting
from sidelight.preparation._parts import extent_of
from sidelight.preparation._plan import ASIDE
from sidelight.preparation.streams._columns import SeenColumn
from sidelight.preparation.streams._features import FeatureWatch
from sidelight.preparation.streams._looks import ColumnLook, ColumnWatch
from sidelight.preparation.streams._table import PartTable

if TYPE_CHECKING:
    import pyarrow as pa

LEVEL_KINDS = ("category", "ordered", "yes-no", "text")
NUMBER_KINDS, DATE_KINDS = (None, "number", "log"), (None, "date", "time")


def fit_parts(table: PartTable, fitting: Fitting) -> None:
    """Fit to a table in parts.

    Parameters
    ----------
    table : PartTable
        The table.
    fitting : Fitting
        The user's choices; decisions and features are added to it.
    """
    plans, watches = [], {}
    for column in _columns(table, fitting):
        plan = fitting.plan(column)
        plans.append(plan)
        if plan.used:
            watches[plan.name] = FeatureWatch(
                plan,
                table.places.n_rows,
                extent_of(plan, column),
                fitting.scale,
                fitting.compares(plan.name),
            )
    looks = table.look(list(watches.values()))
    for plan in plans:
        if plan.used:
            watch, look = watches[plan.name], looks[plan.name]
            fitting.add(plan, watch.facts(look), look.gaps, watch.picked(look))
        else:
            fitting.add(plan, None)


def _columns(table: PartTable, fitting: Fitting) -> list[SeenColumn]:
    """Look at the columns, at those whose texts spell numbers or dates again."""
    n_rows = table.places.n_rows
    chosen = {name: one for name, one in fitting.choices.items() if one.kind != ASIDE}
    first = [
        watch_of(name, table.schema.field(name).type, choice, n_rows)
        for name, choice in chosen.items()
    ]
    looks: dict[str, ColumnLook] = table.look(first)
    spelled = {
        name: spelling
        for name, choice in chosen.items()
        if (spelling := _spelling(looks[name], choice.kind)) is not None
    }
    again = [
        ColumnWatch(
            name,
            n_rows,
            reading=spelling.kind,
            written=spelling.written,
            ids=sounds_like_ids(name),
            logarithm=chosen[name].kind == "log",
        )
        for name, spelling in spelled.items()
    ]
    for name, look in table.look(again).items():
        looks[name] = replace(looks[name], numbers=look.numbers, dates=look.dates)
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    return [
        SeenColumn(
            name,
            table.source,
            kinds.get(name),
            looks.get(name),
            spelled.get(name),
            table.unreadable,
        )
        for name in fitting.choices
    ]


def watch_of(name: str, kind: pa.DataType, choice: ColumnChoice, n_rows: int) -> ColumnWatch:
    """Return what to look for in a column of a type, of which the user says something."""
    import pyarrow as pa

    types, asked = pa.types, choice.kind
    if types.is_dictionary(kind) and kind.ordered and asked in (None, *LEVEL_KINDS):
        return ColumnWatch(name, n_rows, levels=True)
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_null(kind) or types.is_nested(kind):
        return ColumnWatch(name, n_rows)
    if types.is_boolean(kind) and asked is None:
        return ColumnWatch(name, n_rows, levels=True)
    if types.is_string(kind) or types.is_large_string(kind):
        return ColumnWatch(name, n_rows, levels=True, spelling=asked not in LEVEL_KINDS)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if asked in NUMBER_KINDS and (is_number or types.is_duration(kind) or types.is_boolean(kind)):
        return ColumnWatch(
            name,
            n_rows,
            reading="number",
            levels=is_code(name),
            ids=sounds_like_ids(name),
            logarithm=asked == "log",
        )
    is_dated = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    if asked in DATE_KINDS and is_dated:
        return ColumnWatch(name, n_rows, reading="time" if types.is_time(kind) else "date")
    return ColumnWatch(name, n_rows, levels=True)


def _spelling(look: ColumnLook, asked: str | None) -> Spelling | None:
    """Return what the texts of a column spell, out of what it may hold."""
    if look.tally is None:
        return None
    found = look.tally.numbers() if asked in NUMBER_KINDS else None
    return look.tally.dates() if found is None and asked in DATE_KINDS else found
