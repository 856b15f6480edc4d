"""How a map grew: its stages, and what each row cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array
from sidelight._words import counted, format_number
from sidelight.pictures.inner import Coloring, by_step, small_map, steady_frames
from sidelight.report.cards import Panel, card, panels

MAX_STAGES = 6
#: Points of a curve; more rows are averaged.
MAX_POINTS = 200
#: Counts of an update that are drawn, with the fields of ``updates_`` that they are sums of.
COUNTS = {
    "Edges of the neighborhood graph that changed": (
        "edges_added",
        "edges_deleted",
        "edges_changed",
    ),
    "Geodesics that changed": ("pairs_invalidated", "pairs_shortened"),
}


def growth_cards(
    estimator: Any, growth: Any, coloring: Coloring | None, n_rows: int
) -> list[Markup]:
    """Return stages of the map, time per row and changes per row, where they are known."""
    curves = _counts(getattr(estimator, "updates_", None))
    cards = []
    if growth is not None:
        curves = [*_seconds(growth), *curves]
        cards.append(
            card(
                "How the map grew",
                panels(*_stages(growth, coloring, n_rows)),
                f"The map began with {counted(growth.n_start, 'row')} and grew by "
                f"{counted(len(growth.seconds), 'row')}, one by one. Each stage is turned to fit "
                "the last.",
            )
        )
    return [*cards, card("What each row changed", panels(*curves))] if curves else cards


def _stages(growth: Any, coloring: Coloring | None, n_rows: int) -> list[Panel]:
    """Return small maps at some stages, each turned to fit the last one."""
    stages = growth.stages
    chosen = np.unique(np.linspace(0, len(stages) - 1, MAX_STAGES).round().astype(int))
    codes = np.zeros(n_rows, np.int64) if coloring is None else coloring.groups.codes
    shown = [stages[place] for place in chosen]
    frames = steady_frames([one.places for one in shown], [one.rows for one in shown])
    found = []
    for number, (stage, places) in enumerate(zip(shown, frames, strict=True)):
        known = np.isfinite(places).all(axis=1)
        xy = np.column_stack([places, np.zeros(len(places))])[known, :2]
        title = counted(stage.n_rows, "row")
        picture = small_map(xy, codes[stage.rows[known]], f"scatter stage{number}", title)
        found.append(Panel(title, picture))
    return found


def _seconds(growth: Any) -> list[Panel]:
    if not growth.seconds:
        return []
    times = 1e3 * np.asarray(growth.seconds)
    curve = _curve(times, "Milliseconds per row", growth.n_start, "seconds")
    note = f"{curve.note} Median {format_number(float(np.median(times)))} ms."
    return [curve._replace(note=note)]


def _counts(updates: Any) -> list[Panel]:
    """Return curves of what each row changed, out of the records of the estimator."""
    grown = [update for update in updates or () if update.n_added == 1]
    if len(grown) < 2:
        return []
    first = grown[0].n_rows
    found = []
    for number, (title, fields) in enumerate(COUNTS.items()):
        values = np.array([sum(getattr(one, name) for name in fields) for one in grown], float)
        found.append(_curve(values, title, first, f"changes{number}"))
    return found


def _curve(values: Array, title: str, first: int, name: str) -> Panel:
    """Return a line of values by row; of very many, means of rows that follow each other."""
    n_together = max(1, -(-len(values) // MAX_POINTS))
    note = ""
    if n_together > 1:
        starts = np.arange(0, len(values), n_together)
        sizes = np.diff(np.append(starts, len(values)))
        means = np.add.reduceat(values, starts) / sizes
        values = np.full(len(values), np.nan)
        values[starts] = means
        note = f"Means of {n_together} rows."
    picture = by_step({title: values}, title, step="row", first=first, css=f"curve {name}")
    return Panel(title, picture, note)
