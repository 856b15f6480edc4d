"""The report of a map: where the rows are, how far it can be trusted, what it made of knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array
from sidelight._words import counted, format_number, listed, statements
from sidelight.pictures import Mark, Points
from sidelight.pictures.inner import (
    MAX_LINES,
    MAX_PAIRS,
    MAX_POINTS,
    Coloring,
    Given,
    Links,
    Mapped,
    PairDistances,
    Partition,
    fill_up,
    group_class,
    known_distances,
    link_lines,
    links_of,
    sample_rows,
    shorten,
    small_map,
)
from sidelight.report.cards import (
    MAX_NAME,
    Panel,
    card,
    figures,
    html,
    joined,
    members,
    named_values,
    panels,
    row_id,
    side,
    small,
    strong,
    table,
)
from sidelight.report.maps._colors import coloring_of, lost_steps, ramps, switch_of
from sidelight.report.maps._grids import grid_card
from sidelight.report.maps._growth import growth_cards
from sidelight.report.maps._mapped import order_of_pairs, pairs_before_and_after
from sidelight.report.measures import MAX_MEASURED, Measured, measured_map
from sidelight.report.page import Page, objective_panel
from sidelight.report.plot import beyond, plot, plot_script
from sidelight.report.text import text_table

MAX_MISSING = 0.2  # share of the values, from which on neighbors are not compared
MAX_ROWS = 12  # in a table
MAX_NEIGHBORS = 5
MAX_BARS = 12
STRIP = 0.1  # height of the picture of one coordinate, as a share of its extent


@dataclass(frozen=True)
class Map(Mapped):
    """The rows with their places on the map."""

    anchors: Array | None = None

    @cached_property
    def places(self) -> Array:
        """Coordinates of all rows; NaN for rows without a place."""
        found = np.asarray(self.given.estimator.embedding_, dtype=np.float64)
        if len(found) == self.given.n_rows:
            return found
        rows = self.given.rows.take(np.arange(self.given.n_rows))
        return np.asarray(self.given.estimator.transform(rows), dtype=np.float64)

    @cached_property
    def anchored(self) -> Array:
        """Whether the coordinates of a row were known."""
        if self.anchors is None:
            return np.zeros(self.given.n_rows, dtype=bool)
        return np.asarray(np.isfinite(self.anchors).all(axis=1))

    @cached_property
    def on_map(self) -> Array:
        """Positions of the rows that have a place."""
        return np.flatnonzero(np.isfinite(self.places).all(axis=1))

    def image(self, rows: Array) -> Any:
        return self.places[rows]

    def _measure(self, pairs: Array) -> tuple[Array, Array]:
        before, after = super()._measure(pairs)
        kept = np.isfinite(after)
        return before[kept], after[kept]

    @cached_property
    def measured(self) -> Measured | None:
        """How well the map keeps neighbors; None for few rows, and for many missing values."""
        found = measured_map(self.given.estimator, self.given.source.take, self.places)
        if found is None:
            return None
        values = self.given.rows.take(found.rows)
        is_dense = not hasattr(values, "toarray")
        return None if is_dense and np.isnan(values).mean() > MAX_MISSING else found


def embedding_page(
    given: Given,
    color: tuple[str, Any] | None = None,
    anchors: Array | None = None,
    growth: Any = None,
    remarks: Sequence[str] = (),
) -> Page:
    """Return what the page of an embedding shows; parameters as for ``render_report``."""
    made = Map(given, anchors=anchors)
    known = known_distances(made)
    coloring = coloring_of(given, color)
    truth = given.truth if color is not None and given.truth is not None else None
    fine, status = _status(made, known)
    n_groups = 1 if coloring is None or coloring.ends else len(coloring.groups.names)
    map_card, script = _picture(made, coloring, truth, remarks)
    worst, anchored = _worst_pairs(made), _anchored(made)
    beside = _residuals(made), _eigenvalues(made), objective_panel(given.estimator)
    return Page(
        estimator=given.estimator,
        n_rows=given.n_rows,
        sentence=_sentence(made),
        fine=fine,
        status=status,
        facts=[
            ("Features", f"{given.source.n_features:,}"),
            ("Coordinates", f"{made.places.shape[1]:,}"),
        ],
        cards=[
            map_card,
            side(_quality(made), figures(*beside)),
            *growth_cards(given.estimator, growth, coloring, given.n_rows),
            _planes(made, coloring),
            grid_card(given),
            _lost_and_found(made),
            *pairs_before_and_after(made, known, "on the map"),
            _kept_least(worst, "wide-half" if anchored else "full") if worst else None,
            _anchors(anchored, "narrow-half" if worst else "full") if anchored else None,
        ],
        n_colors=max(n_groups, 0 if truth is None else len(truth.names)),
        css=ramps(coloring, made.measured is not None),
        script=script,
    )


def _status(made: Map, known: PairDistances) -> tuple[bool | None, str]:
    """Return the line at the top: pairs in order, else neighbors that the map keeps."""
    if (line := order_of_pairs(known)) is not None:
        return line
    if made.measured is None:
        return None, "Too few rows to measure" if len(made.on_map) < 3 else "Not measured"
    kept = made.measured.scores["neighborhood_preservation"]
    return None, f"{kept:.0%} of the nearest {made.measured.k} rows stay nearest"


def _sentence(made: Map) -> str:
    given = made.given
    said = statements(given.constraints.counts)
    if made.anchors is not None:
        said.append(counted(int(made.anchored.sum()), "anchor"))
    n_views = len(getattr(given.estimator, "embeddings_", ()))
    if n_views > 1:
        said.append(f"rows of {n_views} views that are the same")
    return (
        f"{counted(given.n_rows, 'row')} of {counted(given.source.n_features, 'feature')} on a map "
        f"of {counted(made.places.shape[1], 'coordinate')}; "
        + (f"known: {listed(said)}." if said else "nothing else was known.")
    )


# --- the picture ------------------------------------------------------------------------------


def _picture(
    made: Map, coloring: Coloring | None, truth: Partition | None, remarks: Sequence[str]
) -> tuple[Markup, Markup]:
    """Return the card of the map, and its script."""
    rng = np.random.default_rng(0)
    links = _stated(made)
    rows = _drawn(made, links, rng)
    drawn = links.among(rows)
    if len(drawn) > MAX_LINES:
        drawn = drawn[np.sort(rng.permutation(len(drawn))[:MAX_LINES])]
    lost = _lost(made)
    codes = np.zeros(made.given.n_rows, np.int64) if coloring is None else coloring.groups.codes
    picture = Points(
        title="The map",
        text=_sentence(made),
        xy=_plane(made.places[rows], rng),
        codes=codes[rows],
        others=None if truth is None else truth.codes[rows],
        classes=_lost_classes(made, lost, rows),
        marks={Mark.GIVEN: made.anchored[rows]},
        lines=link_lines(drawn),
        axes="components",
        equal=True,
        size=(800, 560),
        interactive=True,
    )
    remarked = joined(html('<p class="note remark">{}</p>', remark) for remark in remarks)
    colorings = switch_of(coloring, truth, made.measured is not None)
    notes = _notes(made, rows, links, drawn) + beyond(picture)
    about = _about(made, rows, coloring, lost)
    return (
        plot("The map", picture, drawn, colorings, remarked, notes=notes),
        plot_script(made.given, rows, drawn, truth, about=about),
    )


def _stated(made: Map) -> Links:
    none = np.zeros((0, 2), np.int64)
    links = links_of(made.given.constraints, none, none)
    return links[np.flatnonzero(np.isin(links.pairs, made.on_map).all(axis=1))]


def _drawn(made: Map, links: Links, rng: np.random.Generator) -> Array:
    """Rows to draw: those of anchors and pairs first, then others at random."""
    first = np.union1d(links.pairs.ravel(), np.flatnonzero(made.anchored))
    first = np.intersect1d(first, made.on_map)
    places = np.searchsorted(made.on_map, rng.permutation(first)[: MAX_POINTS - 1_000])
    chosen = fill_up(np.sort(places), len(made.on_map), MAX_POINTS, rng)
    return made.on_map[chosen]


def _plane(places: Array, rng: np.random.Generator) -> Array:
    """The first two coordinates; rows of a line get random heights, to tell them apart."""
    if places.shape[1] > 1:
        return places[:, :2]
    height = STRIP * np.ptp(places) * rng.uniform(-1.0, 1.0, len(places))
    return np.column_stack([places[:, 0], height])


def _lost(made: Map) -> Array:
    lost = np.full(made.given.n_rows, np.nan)
    if made.measured is not None:
        lost[made.measured.rows] = made.measured.changes.n_lost
    return lost


def _lost_classes(made: Map, lost: Array, rows: Array) -> list[str]:
    """Class of the style sheet for every drawn row by the share of its neighbors that it lost."""
    if made.measured is None:
        return []
    return [group_class("l", step) for step in lost_steps(lost, made.measured.k)[rows]]


def _notes(made: Map, rows: Array, links: Links, drawn: Links) -> list[str]:
    given, n_out = made.given, made.places.shape[1]
    notes = ["A unit is as long to the right as upwards."]
    if n_out == 1:
        notes = ["The only coordinate runs to the right; the height is random."]
    if n_out > 2:
        notes.append(f"The first two of {n_out} coordinates.")
    outside = given.n_rows - len(made.on_map)
    if outside:
        has = "has" if outside == 1 else "have"
        notes.append(f"{counted(outside, 'row')} {has} no place on the map.")
    if len(rows) < len(made.on_map):
        notes.append(f"{len(rows):,} of {len(made.on_map):,} rows are drawn.")
    if len(links):
        notes.append("Lines join known pairs; dashed ones do not belong together.")
    if len(drawn) < len(links):
        notes.append(f"{len(drawn):,} of {len(links):,} pairs are drawn.")
    if made.anchors is not None:
        notes.append("Rings mark anchors.")
    return notes


def _about(made: Map, rows: Array, coloring: Coloring | None, lost: Array) -> list[list[str]]:
    """Return what every drawn row says where it is pointed at."""
    about: list[list[str]] = [[] for _ in rows]
    for lines, row in zip(about, rows.tolist(), strict=True):
        if coloring is not None and coloring.texts[row]:
            lines.append(f"{shorten(coloring.name)}: {shorten(coloring.texts[row])}")
        if not np.isnan(lost[row]) and made.measured is not None:
            lines.append(f"{int(lost[row])} of {made.measured.k} nearest rows lost")
    return about


# --- quality ----------------------------------------------------------------------------------


def _quality(made: Map) -> Markup | None:
    measured = made.measured
    if measured is None:
        return None
    rows = [
        (html("{}<br>{}", one.title, small(f"{one.says}; {one.best}")), strong(f"{value:.3f}"))
        for one, value in measured.shown
    ]
    if not rows:
        return None
    text = f"By the {measured.k} nearest rows, with distances between the features."
    if len(measured.rows) < len(made.on_map):
        text += f" Measured on {len(measured.rows):,} random rows."
    shown = table(text_table(rows=rows), css="scores quality")
    return card("How far the map can be trusted", shown, text, size="")


def _lost_and_found(made: Map) -> Markup | None:
    """Return the rows whose neighbors changed most."""
    measured = made.measured
    if measured is None or not np.nan_to_num(measured.changes.n_lost).any():
        return None
    n_lost = np.nan_to_num(measured.changes.n_lost)
    worst = [row for row in np.argsort(-n_lost, kind="stable")[:MAX_ROWS] if n_lost[row]]

    def others(pairs: Array, row: int) -> str:
        near = pairs[pairs[:, 0] == row, 1]
        names = made.given.row_names(measured.rows[near[:MAX_NEIGHBORS]])
        return members(names, len(near) - len(names), MAX_NAME)

    rows = [
        (
            row_id(made.given.row_names([measured.rows[row]])[0]),
            f"{int(n_lost[row])} of {measured.k}",
            others(measured.changes.lost, row),
            others(measured.changes.found, row),
        )
        for row in worst
    ]
    headers = ("Near in the data, not on the map", "Near on the map, not in the data")
    told = text_table("Row", "Lost", *headers, rows=rows, justify=("left", "right", "left"))
    return card(
        "Rows whose neighbors changed most",
        table(told, scroll="scroll", label="Neighbors lost and found"),
        f"{int((n_lost == 0).sum()):,} of {counted(len(n_lost), 'row')} kept all of their "
        f"{measured.k} nearest rows; half of all rows lost "
        f"{format_number(float(np.median(n_lost)))} or fewer.",
    )


# --- knowledge --------------------------------------------------------------------------------


def _worst_pairs(made: Map) -> list[tuple[object, ...]]:
    """Return must-links that ended farthest apart and cannot-links that ended nearest."""
    links = _stated(made)
    if not len(links):
        return []
    links = links[np.arange(min(len(links), 2 * MAX_PAIRS))]
    offsets = made.places[links.pairs[:, 0]] - made.places[links.pairs[:, 1]]
    far = np.linalg.norm(offsets, axis=1) / made.typical[1]
    found: list[tuple[object, ...]] = []
    for cannot, sign in ((False, -1.0), (True, 1.0)):
        chosen = np.flatnonzero(links.cannot == cannot)
        for number in chosen[np.argsort(sign * far[chosen], kind="stable")][: MAX_ROWS // 2]:
            first, second = made.given.row_names(links.pairs[number])
            kind = "cannot-link" if cannot else "must-link"
            found.append((kind, row_id(first), row_id(second), f"{far[number]:.2f}"))
    return found


def _kept_least(pairs: list[tuple[object, ...]], size: str) -> Markup:
    told = text_table(
        "Known", "Row", "Other row", "Distance", rows=pairs, justify=(*["left"] * 3, "right")
    )
    return card(
        "Pairs that the map keeps least",
        table(told, row_heads=False),
        "Must-links that are farthest apart and cannot-links that are nearest, in units of the "
        "mean distance of two random rows on the map.",
        size=size,
    )


def _anchored(made: Map) -> list[tuple[object, ...]]:
    """Return anchors with their known and their found coordinates, the worst first."""
    if made.anchors is None:
        return []
    rows = np.intersect1d(np.flatnonzero(made.anchored), made.on_map)
    off = np.linalg.norm(made.anchors[rows] - made.places[rows], axis=1)
    order = np.argsort(-off, kind="stable")[:MAX_ROWS]
    return [
        (
            row_id(made.given.row_names([row])[0]),
            _coordinates(made.anchors[row]),
            _coordinates(made.places[row]),
            format_number(float(distance)),
        )
        for row, distance in zip(rows[order], off[order], strict=True)
    ]


def _anchors(rows: list[tuple[object, ...]], size: str) -> Markup:
    told = text_table(
        "Row", "Known", "On the map", "Off by", rows=rows, justify=(*["left"] * 3, "right")
    )
    return card("Anchors", told, size=size)


def _coordinates(place: Array) -> str:
    return ", ".join(format_number(float(value)) for value in place[:3])


# --- dimensions -------------------------------------------------------------------------------


def _eigenvalues(made: Map) -> Panel | None:
    values = getattr(made.given.estimator, "eigenvalues_", None)
    if values is None:
        return None
    shown = np.asarray(values, dtype=np.float64).ravel()[:MAX_BARS]
    kept = [place < made.places.shape[1] for place in range(len(shown))]
    return named_values(
        "Eigenvalues",
        [f"{place + 1}" for place in range(len(shown))],
        np.abs(shown),
        [format_number(float(value)) for value in shown],
        note="Of the matrix that the map is made of, one for each coordinate.",
        of=len(np.asarray(values).ravel()),
        kept=kept,
    )


def _residuals(made: Map) -> Panel | None:
    """Return the residual variance by the number of coordinates, where the estimator knows it."""
    found = getattr(made.given.estimator, "residual_variances_", None)
    if found is None or not np.isfinite(found).all():
        return None
    shown = np.asarray(found, dtype=np.float64)[:MAX_BARS]
    return named_values(
        "Residual variance by number of coordinates",
        [str(n + 1) for n in range(len(shown))],
        shown,
        [f"{value:.3f}" for value in shown],
        note="Variance of the geodesic distances that the first coordinates leave unexplained.",
        of=len(found),
        css="spread",
        largest=1.0,
    )


def _planes(made: Map, coloring: Coloring | None) -> Markup | None:
    """Return small maps of further pairs of coordinates."""
    n_out = made.places.shape[1]
    if n_out < 3:
        return None
    pairs = [(0, 2), (1, 2)] if n_out == 3 else [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    rows = made.on_map[sample_rows(len(made.on_map), MAX_MEASURED, np.random.default_rng(4))]
    codes = np.zeros(made.given.n_rows, np.int64) if coloring is None else coloring.groups.codes
    shown = []
    for a, b in pairs:
        places, css = made.places[rows][:, [a, b]], f"scatter plane{a}{b}"
        picture = small_map(places, codes[rows], css, "The map from a side")
        shown.append(Panel(f"Coordinates {a + 1} and {b + 1}", picture))
    return card("Further coordinates", panels(*shown))
