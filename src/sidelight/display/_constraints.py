"""What is known, as a graph: rows that belong together, and rows that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sidelight._typing import Array, IntArray
from sidelight._words import counted, statements
from sidelight.constraints import Closure, Constraints
from sidelight.constraints.inner import align, check_one_index
from sidelight.display._canvas import Display, Inks, casing, check_matplotlib, set_titles
from sidelight.display._draw._points import draw_points, explain, name_points
from sidelight.display._layout import place_components
from sidelight.exceptions import SidelightError
from sidelight.pictures._points import Points, link_lines
from sidelight.pictures._projection import project
from sidelight.pictures._rows import given_of, plain_labels
from sidelight.pictures._run import shorten
from sidelight.pictures._selection import Links, contains_pairs

#: So many rows are drawn, of a component at most so many.
MAX_ROWS = 300
MAX_OF_ONE = 40
#: Up to so many rows are named, and up to so many classes are joined by lines.
MAX_NAMED = 40
MAX_CLASSES = 8


@dataclass(eq=False, repr=False, kw_only=True)
class ConstraintsDisplay(Display):
    """Graph of what is known: rows that belong together in one color, cannot-links dashed.

    Rows of one must-link component have one color; thin lines lead from rows with a known class or
    group to the middle of their component. Statements that contradict the others are red; with the
    labels of a clustering, rows have the colors of their clusters and violated statements are red.
    Of very many rows 300 are drawn, whole components first those with trouble.

    Parameters
    ----------
    rows : ndarray of int, shape (m,)
        Drawn rows: their positions.
    xy : ndarray of shape (m, 2)
        Places of the drawn rows.
    codes : ndarray of int, shape (m,)
        Number of the color of each drawn row; -1 for rows that are with no other.
    links : Links
        Stated pairs between drawn rows: ``pairs`` point into ``rows``.
    spokes : ndarray of shape (s, 2, 2)
        Lines from rows of a known class or group to the middle of their component.
    between : ndarray of shape (e, 2, 2)
        Lines between classes, which are kept apart.
    names : sequence of str
        Names of the drawn rows, where they are few.
    class_names : dict of str to ndarray
        Known classes and where they are.
    wrong : str
        What red statements are: "violated" or "contradicted".
    axis_titles : tuple of str
        Titles of the axes; empty for a layout, of which only the links mean something.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    points_ : PathCollection
        The rows.
    links_ : dict of str to LineCollection
        Stated pairs by kind.
    spokes_, between_ : LineCollection
        Lines of known classes and groups.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.display import ConstraintsDisplay
    >>> people = ["ann", "bob", "cid", "dan"]
    >>> known = Constraints([("ann", "bob")], [("bob", "cid"), ("bob", "dan")], ids=people)
    >>> display = ConstraintsDisplay.from_constraints(known)
    >>> display.codes
    array([ 0,  0, -1, -1])
    """

    rows: IntArray
    xy: Array
    codes: IntArray
    links: Links
    spokes: Array
    between: Array
    names: Sequence[str] = ()
    class_names: dict[str, Array]
    wrong: str = "violated"
    axis_titles: tuple[str, str] = ("", "")
    title: str = ""
    note: str = ""

    @classmethod
    def from_constraints(
        cls,
        constraints: Constraints,
        X: Any = None,
        labels: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what is known.

        Parameters
        ----------
        constraints : Constraints
            The statements.
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features), \
default=None
            The rows, which tell where to draw; without them a layout puts linked rows side by side.
        labels : array-like of shape (n_samples,), default=None
            Clusters to compare with: what they violate is red.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame.
        """
        check_matplotlib(cls.__name__)
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
        if X is None:
            xy = place_components(component, component[links.pairs])
            axis_titles = ("layout: only links mean something", "")
        else:
            given = given_of(None, X, known, feature_names)
            projection = project(given.source, rows, given.feature_names, np.random.default_rng(0))
            xy, axis_titles = projection.xy, projection.axis_titles
        hubs = _means(xy, component)
        spokes = _spokes(known, rows, xy, hubs[component])
        class_names, between = _classes(known, rows, hubs[component])
        trouble = len(closure.contradictions)
        return cls(
            rows=rows,
            xy=xy,
            codes=_codes(component, rows, labels),
            links=links,
            spokes=spokes,
            between=between,
            names=_names(known, rows),
            class_names=class_names,
            wrong="contradicted" if labels is None else "violated",
            axis_titles=axis_titles,
            title=_title(known, closure, trouble),
            note=_note(known, rows, links),
        ).plot(ax)

    def _draw(self, inks: Inks) -> None:
        from matplotlib.collections import LineCollection

        picture = Points(
            title="What is known",
            text=self.title,
            xy=self.xy,
            codes=self.codes,
            n_colors=int(self.codes.max(initial=-1)) + 1,
            lines=link_lines(self.links, self.wrong),
            axis_titles=self.axis_titles,
            note=self.note,
        )
        size = float(np.clip(4_000 / max(len(self.xy), 1), 16, 70))
        drawn = draw_points(self.ax_, picture, inks, s=size)
        self.points_, self.links_ = drawn.points, drawn.lines
        self.spokes_ = LineCollection(
            list(self.spokes), colors=inks.faint, linewidths=0.8, zorder=1.2
        )
        self.between_ = LineCollection(
            list(self.between), colors=inks.faint, linestyles="dotted", linewidths=1.4, zorder=1.1
        )
        self.ax_.add_collection(self.spokes_)
        self.ax_.add_collection(self.between_)
        self._write(inks)
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
        if not self.axis_titles[1]:
            self.ax_.set(xticks=[], yticks=[])
            self.ax_.set_aspect("equal", adjustable="datalim")
        self.ax_.margins(0.08)
        if self.links_:
            explain(self.ax_, inks)

    def _write(self, inks: Inks) -> None:
        """Write the names of few rows beside them, and of few classes at their middle."""
        names = {place: shorten(name, 18) for place, name in enumerate(self.names)}
        name_points(self.ax_, self.xy, names, inks.ink, inks)
        for name, place in self.class_names.items():
            self.ax_.annotate(
                shorten(name, 18),
                place,
                ha="center",
                va="center",
                fontsize="small",
                fontweight="bold",
                color=inks.ink,
                path_effects=casing(inks, 3.5),
                zorder=6,
            )


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
    n = known.n_samples
    if labels is None:
        violated = [np.zeros(len(known.must_link), bool)]
        violated.append(contains_pairs(closure.contradicted, known.cannot_link, n))
    else:
        found = known.violations(labels)
        violated = [
            contains_pairs(found.must_link, known.must_link, n),
            contains_pairs(found.cannot_link, known.cannot_link, n),
        ]
    pairs = np.concatenate([known.must_link, known.cannot_link])
    drawn = np.isin(pairs, rows).all(axis=1)
    return Links(
        np.searchsorted(rows, pairs[drawn]),
        np.repeat([False, True], [len(known.must_link), len(known.cannot_link)])[drawn],
        np.concatenate(violated)[drawn],
        np.concatenate([known.must_link_weight, known.cannot_link_weight])[drawn],
    )


def _codes(component: IntArray, rows: IntArray, labels: Any) -> IntArray:
    """Numbers of colors: of the clusters, or of the components of several drawn rows."""
    if labels is not None:
        values, codes = np.unique(labels, return_inverse=True)
        outside = int(values.dtype.kind in "iu" and len(values) > 0 and values[0] == -1)
        return np.asarray(codes.reshape(-1)[rows] - outside, np.int64)
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


def _classes(known: Constraints, rows: IntArray, middle: Array) -> tuple[dict[str, Array], Array]:
    """Where known classes are, and lines between them, where they are few."""
    none = np.zeros((0, 2, 2))
    if known.labels is None:
        return {}, none
    codes, first = np.unique(known.labels[rows], return_index=True)
    first = first[codes >= 0]
    if len(first) > MAX_CLASSES:
        return {}, none
    names = [str(known.label_names[code]) for code in codes[codes >= 0]]
    one, other = np.triu_indices(len(first), k=1)
    places = middle[first]
    return dict(zip(names, places, strict=True)), np.stack([places[one], places[other]], axis=1)


def _names(known: Constraints, rows: IntArray) -> list[str]:
    if len(rows) > MAX_NAMED:
        return []
    return [str(row) for row in rows] if known.ids is None else [str(i) for i in known.ids[rows]]


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
