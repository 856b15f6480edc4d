"""The report of a map: where the rows are, how far it can be trusted, what it made of knowledge."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array
from sidelight._words import counted, format_number, listed, statements
from sidelight.exceptions import EmbeddingWarning
from sidelight.pictures._pairs import MAX_PAIRS, Mapped, PairDistances, known_distances
from sidelight.pictures._points import Mark, Points, link_lines, small_map
from sidelight.pictures._run import Given, sample_rows, shorten
from sidelight.pictures._selection import MAX_LINES, MAX_POINTS, Links, fill_up, links_of
from sidelight.pictures.maps._coloring import Coloring
from sidelight.pictures.svg._points import group_class, placed
from sidelight.pictures.svg._render import svg_of
from sidelight.report._mapped import order_of_pairs, pairs_before_and_after
from sidelight.report._measures import residual_variance_of
from sidelight.report.figures import bar_figure, figure
from sidelight.report.maps._colors import coloring_of, legends, lost_steps
from sidelight.report.maps._grids import grid_figures
from sidelight.report.maps._growth import growth_figures
from sidelight.report.sections import Section, objective, status

MAX_MEASURED = 2_000  # rows whose neighbors are compared: distances between all of them
NEIGHBORS = 10
MAX_MISSING = 0.2  # share of the values, from which on neighbors are not compared
MAX_ROWS = 12  # in a table
MAX_NEIGHBORS = 5
MAX_BARS = 12
STRIP = 0.1  # height of the picture of one coordinate, as a share of its extent
#: Measures that are shown: title, and which end is the good one.
MEASURES = {
    "trustworthiness": ("Trustworthiness", "rows near on the map are near in the data; 1 is best"),
    "continuity": ("Continuity", "rows near in the data are near on the map; 1 is best"),
    "neighborhood_preservation": ("Neighbors kept", "nearest rows that stay nearest; 1 is best"),
    "residual_variance": (
        "Residual variance",
        "of the distances (along the manifold, where it is known), not explained by those on the "
        "map; 0 is best",
    ),
}


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

    def _is_mostly_missing(self, rows: Array) -> bool:
        """Whether too many values are missing for distances between rows to mean much."""
        values = self.given.rows.take(rows)
        return not hasattr(values, "toarray") and bool(np.isnan(values).mean() > MAX_MISSING)

    @cached_property
    def measured(self) -> Measured | None:
        """Quality of the map, on a sample of very many rows; None for very few rows."""
        rows = self.on_map[sample_rows(len(self.on_map), MAX_MEASURED, np.random.default_rng(3))]
        k = min(NEIGHBORS, (len(rows) - 1) // 2)
        data = self.given.source.take(rows)
        metric: Any = getattr(self.given.estimator, "metric", "euclidean")
        is_graph = metric == "precomputed" and hasattr(data, "toarray")
        if k < 1 or is_graph or self._is_mostly_missing(rows):
            return None
        from sidelight.evaluation import lost_and_found_neighbors, map_scores

        dense = data.toarray() if hasattr(data, "toarray") else data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            dense = dense[:, rows] if metric == "precomputed" else dense
            scores = map_scores(dense, self.places[rows], k, metric=metric)
            residual = residual_variance_of(self.given.estimator, scores["residual_variance"])
            scores["residual_variance"] = residual
            changes = lost_and_found_neighbors(dense, self.places[rows], k, metric=metric)
        return Measured(rows, k, scores, changes)


@dataclass(frozen=True)
class Measured:
    """Measures of a map.

    Attributes
    ----------
    rows : ndarray
        Positions of the rows that were measured.
    k : int
        Number of neighbors.
    scores : dict
        Measures by name.
    changes : NeighborChanges
        Neighbors lost and found, by places among ``rows``.
    """

    rows: Array
    k: int
    scores: dict[str, float]
    changes: Any


def cards(
    given: Given,
    color: tuple[str, Any] | None = None,
    anchors: Array | None = None,
    growth: Any = None,
    remarks: Sequence[str] = (),
) -> Section:
    """Everything the page of a map shows."""
    made = Map(given, anchors=anchors)
    known = known_distances(made)
    coloring = coloring_of(given, color)
    truth = given.truth if color is not None and given.truth is not None else None
    pairs = pairs_before_and_after(made, known)
    return {
        "remarks": list(remarks),
        **_in_short(made, known),
        **_picture(made, coloring, truth),
        **legends(coloring, truth, made.measured is not None),
        **_quality(made),
        **_lost_and_found(made),
        **pairs,
        "worst_pairs": _worst_pairs(made),
        "anchored": _anchored(made),
        **_dimensions(made, coloring),
        **grid_figures(given),
        **growth_figures(given.estimator, growth, coloring, given.n_rows),
        **objective(given.estimator),
    }


def _in_short(made: Map, known: PairDistances) -> Section:
    given = made.given
    few = len(made.on_map) < 3
    not_measured = "Too few rows to measure" if few else "Not measured"
    line = order_of_pairs(known) or status(None, not_measured)
    if made.measured is not None and order_of_pairs(known) is None:
        kept = made.measured.scores["neighborhood_preservation"]
        line = status(None, f"{kept:.0%} of the nearest {made.measured.k} rows stay nearest")
    return {
        "sentence": _sentence(made),
        "status": line,
        "facts_of_its_own": [
            ("Features", f"{given.source.n_features:,}"),
            ("Coordinates", f"{made.places.shape[1]:,}"),
        ],
    }


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


def _picture(made: Map, coloring: Coloring | None, truth: Any) -> Section:
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
    return {
        "scatter": Markup(svg_of(picture)),
        "notes": _notes(made, rows, links, drawn, placed(picture).n_beyond),
        "n_must": int((~drawn.cannot).sum()),
        "n_cannot": int(drawn.cannot.sum()),
        "drawn": Markup(_json(made, rows, drawn, coloring, truth, lost)),
    }


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


def _notes(made: Map, rows: Array, links: Links, drawn: Links, n_beyond: int) -> list[str]:
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
    if n_beyond:
        lie = "lies" if n_beyond == 1 else "lie"
        notes.append(f"{counted(n_beyond, 'row')} {lie} beyond the frame, drawn on its edge.")
    return notes


def _json(
    made: Map, rows: Array, links: Links, coloring: Coloring | None, truth: Any, lost: Array
) -> str:
    """What the script tells about points; no text in it can end the script element."""
    about: list[list[str]] = [[] for _ in rows]
    for lines, row in zip(about, rows.tolist(), strict=True):
        if coloring is not None and coloring.texts[row]:
            lines.append(f"{shorten(coloring.name)}: {shorten(coloring.texts[row])}")
        if not np.isnan(lost[row]) and made.measured is not None:
            lines.append(f"{int(lost[row])} of {made.measured.k} nearest rows lost")
    facts = {
        "ids": [shorten(name, 80) for name in made.given.row_names(rows)],
        "about": about,
        "links": np.column_stack([links.pairs, links.cannot, links.violated]).astype(int).tolist(),
    }
    if truth is not None:
        facts["classes"] = [shorten(name) for name in truth.names]
        facts["t"] = truth.codes[rows].tolist()
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- quality ----------------------------------------------------------------------------------


def _quality(made: Map) -> Section:
    measured = made.measured
    if measured is None:
        return {"quality": []}
    rows = [
        {"name": title, "value": f"{measured.scores[name]:.3f}", "says": says}
        for name, (title, says) in MEASURES.items()
        if np.isfinite(measured.scores[name])
    ]
    note = f"By the {measured.k} nearest rows, with distances between the features."
    if len(measured.rows) < len(made.on_map):
        note += f" Measured on {len(measured.rows):,} random rows."
    return {"quality": rows, "quality_note": note}


def _lost_and_found(made: Map) -> Section:
    """The rows whose neighbors changed most."""
    measured = made.measured
    if measured is None or not np.nan_to_num(measured.changes.n_lost).any():
        return {"changed": []}
    n_lost = np.nan_to_num(measured.changes.n_lost)
    worst = [row for row in np.argsort(-n_lost, kind="stable")[:MAX_ROWS] if n_lost[row]]
    lost, found = measured.changes.lost, measured.changes.found

    def others(pairs: Array, row: int) -> str:
        near = pairs[pairs[:, 0] == row, 1]
        names = made.given.row_names(measured.rows[near[:MAX_NEIGHBORS]])
        more = f" and {len(near) - len(names)} more" if len(near) > len(names) else ""
        return ", ".join(shorten(name, 24) for name in names) + more

    return {
        "changed": [
            {
                "name": made.given.row_names([measured.rows[row]])[0],
                "n": f"{int(n_lost[row])} of {measured.k}",
                "lost": others(lost, row),
                "found": others(found, row),
            }
            for row in worst
        ],
        "changed_note": f"{int((n_lost == 0).sum()):,} of {counted(len(n_lost), 'row')} kept all "
        f"of their {measured.k} nearest rows; half of all rows lost "
        f"{format_number(float(np.median(n_lost)))} or fewer.",
    }


# --- knowledge --------------------------------------------------------------------------------


def _worst_pairs(made: Map) -> list[Section]:
    """Must-links that ended farthest apart and cannot-links that ended nearest."""
    links = _stated(made)
    if not len(links):
        return []
    links = links[np.arange(min(len(links), 2 * MAX_PAIRS))]
    offsets = made.places[links.pairs[:, 0]] - made.places[links.pairs[:, 1]]
    far = np.linalg.norm(offsets, axis=1) / made.typical[1]
    found = []
    for cannot, sign in ((False, -1.0), (True, 1.0)):
        chosen = np.flatnonzero(links.cannot == cannot)
        for number in chosen[np.argsort(sign * far[chosen], kind="stable")][: MAX_ROWS // 2]:
            first, second = made.given.row_names(links.pairs[number])
            kind = "cannot-link" if cannot else "must-link"
            found.append(
                {"kind": kind, "first": first, "second": second, "far": f"{far[number]:.2f}"}
            )
    return found


def _anchored(made: Map) -> list[Section]:
    """Anchors with their known and their found coordinates, the worst first."""
    if made.anchors is None:
        return []
    rows = np.intersect1d(np.flatnonzero(made.anchored), made.on_map)
    off = np.linalg.norm(made.anchors[rows] - made.places[rows], axis=1)
    order = np.argsort(-off, kind="stable")[:MAX_ROWS]
    return [
        {
            "name": made.given.row_names([row])[0],
            "known": _coordinates(made.anchors[row]),
            "found": _coordinates(made.places[row]),
            "off": format_number(float(distance)),
        }
        for row, distance in zip(rows[order], off[order], strict=True)
    ]


def _coordinates(place: Array) -> str:
    return ", ".join(format_number(float(value)) for value in place[:3])


# --- dimensions -------------------------------------------------------------------------------


def _dimensions(made: Map, coloring: Coloring | None) -> Section:
    """Eigenvalues, spread along the coordinates, and further pairs of coordinates."""
    return {
        "eigenvalues": _eigenvalues(made),
        "residuals": _residuals(made),
        "planes": _planes(made, coloring),
    }


def _eigenvalues(made: Map) -> Section | None:
    values = getattr(made.given.estimator, "eigenvalues_", None)
    if values is None:
        return None
    shown = np.asarray(values, dtype=np.float64).ravel()[:MAX_BARS]
    kept = [place < made.places.shape[1] for place in range(len(shown))]
    return bar_figure(
        "Eigenvalues",
        [f"{place + 1}" for place in range(len(shown))],
        np.abs(shown),
        [format_number(float(value)) for value in shown],
        note="Of the matrix that the map is made of, one for each coordinate.",
        of=len(np.asarray(values).ravel()),
        kept=kept,
    )


def _residuals(made: Map) -> Section | None:
    """Residual variance by the number of coordinates, where the estimator knows it."""
    found = getattr(made.given.estimator, "residual_variances_", None)
    if found is None or not np.isfinite(found).all():
        return None
    shown = np.asarray(found, dtype=np.float64)[:MAX_BARS]
    return bar_figure(
        "Residual variance by number of coordinates",
        [str(n + 1) for n in range(len(shown))],
        shown,
        [f"{value:.3f}" for value in shown],
        note="Variance of the geodesic distances that the first coordinates leave unexplained.",
        of=len(found),
        name="spread",
        largest=1.0,
    )


def _planes(made: Map, coloring: Coloring | None) -> list[Section]:
    """Small maps of further pairs of coordinates."""
    n_out = made.places.shape[1]
    pairs = [(0, 2), (1, 2)] if n_out == 3 else [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    if n_out < 3:
        return []
    rows = made.on_map[sample_rows(len(made.on_map), MAX_MEASURED, np.random.default_rng(4))]
    codes = np.zeros(made.given.n_rows, np.int64) if coloring is None else coloring.groups.codes
    return [
        figure(
            f"Coordinates {a + 1} and {b + 1}",
            small_map(
                made.places[rows][:, [a, b]],
                codes[rows],
                f"scatter plane{a}{b}",
                "The map from a side",
            ),
        )
        for a, b in pairs
    ]
