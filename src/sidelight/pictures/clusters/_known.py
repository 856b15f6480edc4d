"""What is known, as a graph: rows that belong together, and rows that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sidelight._typing import Array, IntArray
from sidelight._words import counted, statements
from sidelight.constraints import Closure, Constraints
from sidelight.constraints.inner import align, check_one_index
from sidelight.exceptions import SidelightError
from sidelight.pictures._projection import project
from sidelight.pictures._rows import given_of, plain_labels
from sidelight.pictures._run import clusters_of, shorten
from sidelight.pictures._selection import Links, links_of
from sidelight.pictures.clusters._layout import place_components
from sidelight.pictures.kinds._points import Lines, Points, Text, link_lines

#: So many rows are drawn, of a component at most so many.
MAX_ROWS = 300
MAX_OF_ONE = 40
#: Up to so many rows are named, and up to so many classes are joined by lines.
MAX_NAMED = 40
MAX_CLASSES = 8
_LETTERS = 18


def known_graph(
    constraints: Constraints,
    X: Any = None,
    labels: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Points:
    """Rows that something is said about, with what is said as lines.

    The parameters are those of ``ConstraintsDisplay.from_constraints``.
    """
    known = constraints if X is None else align(constraints, X)
    if labels is not None:
        check_one_index(labels, X, "labels")
        labels = plain_labels(labels)
        if len(labels) != known.n_samples:
            raise SidelightError(
                f"There are {len(labels):,} labels but the constraints are about "
                f"{known.n_samples:,} rows; give one label for every row."
            )
    closure = known.closure(on_contradiction="keep")
    rows = _chosen_rows(known, closure)
    component = np.unique(closure.component[rows], return_inverse=True)[1]
    links = _links(known, closure, rows, labels)
    place: dict[str, Any]
    if X is None:
        xy = place_components(component, component[links.pairs])
        titles = ("layout: only links mean something", "")
        place = {"xy": xy, "axes": "layout", "axis_titles": titles, "equal": True}
    else:
        given = given_of(None, X, known, feature_names)
        projection = project(given.source, rows, given.feature_names, np.random.default_rng(0))
        xy = projection.xy
        place = {"xy": xy, "axes": projection.kind, "axis_titles": projection.axis_titles}
    middle = _means(xy, component)[component]
    codes = _codes(component, rows, labels)
    classes, between = _classes(known, rows, middle)
    title = _title(known, closure, len(closure.contradictions))
    return Points(
        title="What is known",
        text=title,
        heading=title,
        note=_note(known, rows, links),
        codes=codes,
        n_colors=int(codes.max(initial=-1)) + 1,
        rows=rows,
        lines=[
            *link_lines(links, "contradicted" if labels is None else "violated"),
            *_grey_lines("spokes", _spokes(known, rows, xy, middle)),
            *_grey_lines("between", between, dashed=True),
        ],
        texts=[*_names(known, rows, xy), *classes],
        **place,
    )


def _grey_lines(name: str, places: Array, *, dashed: bool = False) -> list[Lines]:
    none = np.zeros((0, 2), np.int64)
    lines = Lines(name, none, "faint", dashed=dashed, label=None, places=places)
    return [lines] if len(places) else []


def _chosen_rows(known: Constraints, closure: Closure) -> IntArray:
    """Rows that something is said about; of very many those of whole parts of the graph.

    Parts that statements connect come with trouble first, then the largest first; of a part that
    is too large, rows near one that has most statements.
    """
    rows = known.mentioned
    if len(rows) <= MAX_ROWS:
        return rows
    troubled = np.unique(closure.contradictions)
    graph = _graph(known, closure, rows)
    part = connected_components(graph, directed=False)[1]
    priority = np.isin(part, part[np.searchsorted(rows, troubled)])
    size = np.bincount(part)[part]
    order = np.lexsort([rows, part, -size, ~priority])
    if size[order[0]] > MAX_ROWS:
        of_part = np.flatnonzero(part == part[order[0]])
        degree = np.diff(graph.indptr)[of_part] + len(rows) * np.isin(rows[of_part], troubled)
        near = breadth_first_order(
            graph, of_part[degree.argmax()], directed=False, return_predecessors=False
        )
        order = np.concatenate([near, order[len(near) :]])
    number = _numbers_within(closure.component[rows[order]])
    return np.sort(rows[order[number < MAX_OF_ONE][:MAX_ROWS]])


def _numbers_within(component: IntArray) -> IntArray:
    """How many rows of the same component come before each row."""
    which = np.unique(component, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(which)
    number = np.empty(len(which), np.int64)
    start = np.repeat(np.cumsum(counts) - counts, counts)
    number[np.argsort(which, kind="stable")] = np.arange(len(which)) - start
    return number


def _graph(known: Constraints, closure: Closure, rows: IntArray) -> Any:
    """Statements as a symmetric matrix over the mentioned rows."""
    representative = closure.first_row[closure.component[rows]]
    # The smallest row of a component that something joins is mentioned itself.
    joined = representative != rows
    edges = np.concatenate(
        [
            known.must_link,
            known.cannot_link,
            np.column_stack([rows, representative])[joined],
        ]
    )
    edges = np.searchsorted(rows, edges)
    shape = (len(rows), len(rows))
    upper = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=shape)
    return (upper + upper.T).tocsr()


def _links(known: Constraints, closure: Closure, rows: IntArray, labels: Any) -> Links:
    """Stated pairs between drawn rows, with what the labels violate or the others contradict."""
    if labels is None:
        return links_of(known, np.zeros((0, 2), np.int64), closure.contradicted).among(rows)
    found = known.violations(labels)
    return links_of(known, found.must_link, found.cannot_link).among(rows)


def _codes(component: IntArray, rows: IntArray, labels: Any) -> IntArray:
    """Numbers of colors: of the clusters, or of the components of several drawn rows."""
    if labels is not None:
        return clusters_of(labels).codes[rows]
    several = np.bincount(component) > 1
    number = np.where(several, np.cumsum(several) - 1, -1)
    return np.asarray(number[component], np.int64)


def _means(xy: Array, component: IntArray) -> Array:
    """Middle of every component."""
    counts = np.maximum(np.bincount(component), 1)
    return np.column_stack([np.bincount(component, weights=axis) / counts for axis in xy.T])


def _spokes(known: Constraints, rows: IntArray, xy: Array, middle: Array) -> Array:
    said = np.zeros(len(rows), bool)
    for codes in (known.labels, known.groups):
        if codes is not None:
            said |= codes[rows] >= 0
    return np.stack([xy[said], middle[said]], axis=1)


def _classes(known: Constraints, rows: IntArray, middle: Array) -> tuple[list[Text], Array]:
    """Names of known classes where they are, and lines between them, where they are few."""
    none = np.zeros((0, 2, 2))
    if known.labels is None:
        return [], none
    codes, first = np.unique(known.labels[rows], return_index=True)
    first = first[codes >= 0]
    if len(first) > MAX_CLASSES:
        return [], none
    names = [shorten(str(known.label_names[code]), _LETTERS) for code in codes[codes >= 0]]
    one, other = np.triu_indices(len(first), k=1)
    places = middle[first]
    texts = [Text(name, place, "middle") for name, place in zip(names, places, strict=True)]
    return texts, np.stack([places[one], places[other]], axis=1)


def _names(known: Constraints, rows: IntArray, xy: Array) -> list[Text]:
    """Names of the rows, where they are few."""
    if len(rows) > MAX_NAMED:
        return []
    names = rows if known.ids is None else known.ids[rows]
    return [Text(shorten(str(n), _LETTERS), place) for n, place in zip(names, xy, strict=True)]


def _title(known: Constraints, closure: Closure, n_contradictions: int) -> str:
    said = ", ".join(statements(known.counts)) or "nothing known"
    sizes = closure.sizes[np.unique(closure.component[known.mentioned])]
    together = counted(int((sizes > 1).sum()), "component")
    title = f"{said}\n{len(known.mentioned):,} of {counted(known.n_samples, 'row')}, {together}"
    if n_contradictions:
        title += f", {counted(n_contradictions, 'contradiction')}"
    return title


def _note(known: Constraints, rows: IntArray, links: Links) -> str:
    if len(rows) == len(known.mentioned):
        return ""
    return f"{len(rows):,} rows and {counted(len(links), 'link')} drawn"
