"""How a map grew: its stages, and what each row cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from sidelight._typing import Array
from sidelight._words import counted, format_number
from sidelight.pictures._progress import by_step
from sidelight.pictures.svg._scatter import stage_map
from sidelight.report._figures import figure
from sidelight.report._sections import Section
from sidelight.report.maps._colors import Coloring

MOST_STAGES = 6
#: Points of a curve; more rows are averaged.
MOST_POINTS = 200
#: Counts of an update that are drawn, with the fields of ``updates_`` that they are sums of.
COUNTS = {
    "Edges of the neighborhood graph that changed": (
        "edges_added",
        "edges_deleted",
        "edges_changed",
    ),
    "Geodesics that changed": ("pairs_invalidated", "pairs_shortened"),
}


def growth_figures(estimator: Any, growth: Any, coloring: Coloring | None, n_rows: int) -> Section:
    """Stages of the map, time per row and changes per row, where they are known."""
    stages = [] if growth is None else _stages(growth, coloring, n_rows)
    curves = [] if growth is None else _seconds(growth)
    return {
        "stages": stages,
        "growth_curves": [*curves, *_counts(getattr(estimator, "updates_", None))],
        "growth_note": "" if growth is None else _note(growth),
    }


def _stages(growth: Any, coloring: Coloring | None, n_rows: int) -> list[Section]:
    """Small maps at some stages, each turned to fit the last one."""
    stages = growth.stages
    chosen = np.unique(np.linspace(0, len(stages) - 1, MOST_STAGES).round().astype(int))
    codes = np.zeros(n_rows, np.int64) if coloring is None else coloring.groups.codes
    figures = []
    for number, stage in enumerate(stages[place] for place in chosen):
        known = np.isfinite(stage.places).all(axis=1)
        xy = _turned(stage, stages[-1])[known]
        names = [f"k{code}" if code >= 0 else "kx" for code in codes[stage.rows[known]]]
        title = counted(stage.n_rows, "row")
        figures.append(figure(title, stage_map(xy, names, f"scatter stage{number}", title)))
    return figures


def _turned(stage: Any, last: Any) -> Array:
    """Coordinates of a stage, turned and reflected as the rows that the last one has as well."""
    if stage.places.shape[1] == 1:
        return np.column_stack([stage.places[:, 0], np.zeros(len(stage.places))])
    _, own, others = np.intersect1d(stage.rows, last.rows, return_indices=True)
    A, B = last.places[others], stage.places[own]
    both = np.isfinite(A).all(axis=1) & np.isfinite(B).all(axis=1)
    if both.sum() < 3:
        return np.asarray(stage.places)
    A, B = A[both] - A[both].mean(axis=0), B[both] - B[both].mean(axis=0)
    rotation = orthogonal_procrustes(B, A)[0]
    return np.asarray(stage.places @ rotation)


def _seconds(growth: Any) -> list[Section]:
    if not growth.seconds:
        return []
    times = 1e3 * np.asarray(growth.seconds)
    curve = _curve(times, "Milliseconds per row", growth.n_start, "seconds")
    curve["note"] += f" Median {format_number(float(np.median(times)))} ms."
    return [curve]


def _counts(updates: Any) -> list[Section]:
    """Curves of what each row changed, out of the records of the estimator."""
    grown = [update for update in updates or () if update.n_added == 1]
    if len(grown) < 2:
        return []
    first = grown[0].n_rows
    figures = []
    for number, (title, fields) in enumerate(COUNTS.items()):
        values = np.array([sum(getattr(one, name) for name in fields) for one in grown], float)
        figures.append(_curve(values, title, first, f"changes{number}"))
    return figures


def _curve(values: Array, title: str, first: int, name: str) -> Section:
    """A line of values by row; of very many, means of rows that follow each other."""
    n_together = max(1, -(-len(values) // MOST_POINTS))
    note = ""
    if n_together > 1:
        starts = np.arange(0, len(values), n_together)
        sizes = np.diff(np.append(starts, len(values)))
        means = np.add.reduceat(values, starts) / sizes
        values = np.full(len(values), np.nan)
        values[starts] = means
        note = f"Means of {n_together} rows."
    picture = by_step({title: values}, title, step="row", first=first, css=f"curve {name}")
    return figure(title, picture, note)


def _note(growth: Any) -> str:
    return (
        f"The map began with {counted(growth.n_start, 'row')} and grew by "
        f"{counted(len(growth.seconds), 'row')}, one by one. Each stage is turned to fit the last."
    )
