"""Set operations on statements, and what remains of them for some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.algebra._canonical import (
    CLASS_KINDS,
    PAIR_KINDS,
    StatedPairs,
    Statements,
)
from sidelight.constraints.algebra._closure import components, first_appearances
from sidelight.constraints.algebra._plain import Classes
from sidelight.exceptions import InconsistentConstraints, SidelightError


def statements_of(known: Any) -> Statements:
    """Statements of a constraints object."""
    return Statements(
        StatedPairs(known.must_link, known.must_link_weight),
        StatedPairs(known.cannot_link, known.cannot_link_weight),
        None if known.labels is None else Classes(known.labels, known.label_names),
        None if known.groups is None else Classes(known.groups, known.group_names),
    )


def unite(first: Any, second: Any) -> Statements:
    """Statements of either set; a pair of both keeps the larger weight."""
    here, there = statements_of(first), statements_of(second)
    labels, groups = here.labels or there.labels, here.groups or there.groups
    notes: tuple[str, ...] = ()
    if here.labels and there.labels:
        labels = _unite_labels(here.labels, there.labels, first.name_rows)
    if here.groups and there.groups:
        groups, notes = _unite_groups(here.groups, there.groups)
    return Statements(
        _append(here.must_link, there.must_link),
        _append(here.cannot_link, there.cannot_link),
        labels,
        groups,
        notes,
    )


def intersect(first: Any, second: Any) -> Statements:
    """Statements of both sets; a pair keeps the smaller weight."""
    return _by_kind(first, second, _intersect_pairs, _intersect_classes)


def subtract(first: Any, second: Any) -> Statements:
    """Statements of the first set that the second does not make."""
    return _by_kind(first, second, _subtract_pairs, _subtract_classes)


def _by_kind(
    first: Any, second: Any, of_pairs: Callable[..., StatedPairs], of_classes: Callable[..., Any]
) -> Statements:
    """Combine the statements of two sets, kind by kind."""
    here, there, n = (
        statements_of(first)._asdict(),
        statements_of(second)._asdict(),
        first.n_samples,
    )
    n = first.n_samples
    pairs: dict[str, Any] = {
        k.field: of_pairs(here[k.field], there[k.field], n) for k in PAIR_KINDS
    }
    classes: dict[str, Any] = {
        k.field: of_classes(here[k.field], there[k.field]) for k in CLASS_KINDS
    }
    return Statements(**pairs, **classes)


def flip(known: Any, fraction: float, random_state: Any) -> Statements:
    """Statements with a fraction of the pairs turned into their opposite."""
    from sidelight.constraints._sampling import flip_pairs

    must_link, cannot_link, must_weight, cannot_weight = flip_pairs(
        known.must_link,
        known.cannot_link,
        known.must_link_weight,
        known.cannot_link_weight,
        fraction,
        random_state,
    )
    return statements_of(known)._replace(
        must_link=StatedPairs(must_link, must_weight),
        cannot_link=StatedPairs(cannot_link, cannot_weight),
    )


def _append(first: StatedPairs, second: StatedPairs) -> StatedPairs:
    return StatedPairs(
        np.concatenate([first.rows, second.rows]), np.concatenate([first.weight, second.weight])
    )


def _intersect_pairs(first: StatedPairs, second: StatedPairs, n: int) -> StatedPairs:
    _, here, there = np.intersect1d(
        _keys(first, n), _keys(second, n), assume_unique=True, return_indices=True
    )
    return StatedPairs(first.rows[here], np.minimum(first.weight[here], second.weight[there]))


def _subtract_pairs(first: StatedPairs, second: StatedPairs, n: int) -> StatedPairs:
    keep = ~np.isin(_keys(first, n), _keys(second, n))
    return StatedPairs(first.rows[keep], first.weight[keep])


def _unite_labels(first: Classes, second: Classes, name_rows: Any) -> Classes:
    """Classes that either states; two different ones for a row are a contradiction."""
    here, there, names = _common(first, second)
    clash = np.flatnonzero((here >= 0) & (there >= 0) & (here != there))
    if len(clash):
        row = int(clash[0])
        one, other = names[here[row]].item(), names[there[row]].item()
        raise InconsistentConstraints(
            f"{name_rows([row])[0]} is labeled {one!r} by one set and {other!r} by the other; "
            "remove one of these labels.",
            pair=(row, row),
            chain=(row,),
        )
    return Classes(np.maximum(here, there), names)


def _unite_groups(first: Classes, second: Classes) -> tuple[Classes, tuple[str, ...]]:
    """Groups that either states, and a note if groups were merged.

    A row that is in two groups makes them one, under the name that sorts first.
    """
    here, there, names = _common(first, second)
    both = np.flatnonzero((here >= 0) & (there >= 0) & (here != there))
    links = np.column_stack([here[both], there[both]])
    component, n_components = components(len(names), links, None, None)
    first_name = first_appearances(component)
    codes = np.maximum(here, there)
    codes[codes >= 0] = first_name[component[codes[codes >= 0]]]
    merged = len(names) - n_components
    if not merged:
        return Classes(codes, names), ()
    verb = "groups were merged into others" if merged > 1 else "group was merged into another"
    return Classes(codes, names), (f"{merged} {verb} because of rows in both.",)


def _intersect_classes(first: Classes | None, second: Classes | None) -> Classes | None:
    if first is None or second is None:
        return None
    here, there, names = _common(first, second)
    return Classes(np.where(here == there, here, -1), names)


def _subtract_classes(first: Classes | None, second: Classes | None) -> Classes | None:
    if first is None or second is None:
        return first
    here, there, names = _common(first, second)
    return Classes(np.where(here == there, -1, here), names)


def as_rows(rows: Any, n_samples: int, what: str = "constraints") -> IntArray:
    """Rows of a subset (positions, a mask or a slice) as positions; each row once."""
    if isinstance(rows, slice):
        return np.arange(n_samples)[rows]
    given = np.asarray(rows)
    if given.size == 0 and given.dtype != bool:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "biu":
        raise SidelightError(
            "rows must be positions, a boolean mask or a slice, got "
            f"{type(rows).__name__} of shape {given.shape} and dtype {given.dtype}."
        )
    if given.dtype == bool:
        if len(given) != n_samples:
            raise SidelightError(f"The mask has {len(given)} entries for {n_samples} rows.")
        return np.flatnonzero(given)
    outside = (given < -n_samples) | (given >= n_samples)
    if outside.any():
        raise SidelightError(
            f"There is no row {given[outside][0]}; the {what} are about {n_samples} rows."
        )
    positions = np.where(given < 0, given + n_samples, given).astype(np.int64)
    counts = np.bincount(positions, minlength=n_samples)
    if len(counts) and counts.max() > 1:
        raise SidelightError(
            f"Row {int(counts.argmax())} is asked for {counts.max()} times; {what} can only be "
            "restricted to different rows."
        )
    return positions


def restrict(known: Any, rows: IntArray) -> Statements:
    """Statements inside the rows, and those that are needed to entail what all statements did.

    Links that ran through dropped rows are replaced: a component that fell apart is joined again
    by must-links between consecutive pieces, a component that lost its class gets it back on its
    first kept row, and two components that lost what kept them apart get a cannot-link between
    their first kept rows. A new link weighs as much as the lightest statement behind it.
    """
    place = np.full(known.n_samples, -1, np.int64)
    place[rows] = np.arange(len(rows))
    stated = statements_of(known)
    kept = Statements(
        _inside(stated.must_link, place),
        _inside(stated.cannot_link, place),
        None if stated.labels is None else stated.labels._replace(codes=stated.labels.codes[rows]),
        None if stated.groups is None else stated.groups._replace(codes=stated.groups.codes[rows]),
    )
    nothing_is_lost = len(known.mentioned) == 0 or place[known.mentioned].min() >= 0
    return kept if nothing_is_lost else _Repair(known, rows, kept).statements()


class _Repair:
    """Puts back what kept rows owe to dropped ones.

    Most rows are in no statement, so all is done on the rows of constrained components
    (``touched``, in the numbers of the subset).
    """

    def __init__(self, known: Any, rows: IntArray, kept: Statements) -> None:
        self.known, self.kept = known, kept
        self.closure = known.closure(on_contradiction="keep")
        concerned = np.zeros(self.closure.n_components, bool)
        concerned[self.closure.constrained_components()] = True
        home = self.closure.component[rows]
        self.touched = np.flatnonzero(concerned[home])
        self.home = home[self.touched]
        # First kept row of every component, -1 where none is kept.
        self.first = np.full(self.closure.n_components, -1, np.int64)
        self.first[self.home[::-1]] = self.touched[::-1]

    def statements(self) -> Statements:
        """Kept statements with those that replace what was lost."""
        # Smallest must-link weight in each component, infinite where no stated pair is.
        strength = np.full(self.closure.n_components, np.inf)
        home = self.closure.component[self.known.must_link[:, 0]]
        np.minimum.at(strength, home, self.known.must_link_weight)
        return self.kept._replace(
            must_link=_append(self.kept.must_link, self._joints(strength)),
            cannot_link=_append(self.kept.cannot_link, self._separations(strength)),
            labels=self._labels(),
        )

    def _joints(self, strength: FloatArray) -> StatedPairs:
        """Must-links between the pieces of every component that fell apart."""
        links = np.searchsorted(self.touched, self.kept.must_link.rows)
        codes = [
            None if classes is None else classes.codes[self.touched]
            for classes in (self.kept.labels, self.kept.groups)
        ]
        piece, _ = components(len(self.home), links, *codes)
        head = first_appearances(piece)
        head = head[np.argsort(self.home[head], kind="stable")]
        apart = self.home[head[1:]] == self.home[head[:-1]]
        new = np.column_stack([head[:-1][apart], head[1:][apart]])
        weight = strength[self.home[new[:, 0]]]
        # What rests on labels and groups alone weighs 1.
        return StatedPairs(self.touched[new], np.where(np.isinf(weight), 1.0, weight))

    def _labels(self) -> Classes | None:
        """Labels, with a class for every component that kept none of its labeled rows."""
        if self.kept.labels is None:
            return None
        codes = self.kept.labels.codes.copy()
        labeled = np.zeros(self.closure.n_components, bool)
        labeled[self.home[codes[self.touched] >= 0]] = True
        lost = ~labeled & (self.closure.component_label >= 0) & (self.first >= 0)
        codes[self.first[lost]] = self.closure.component_label[lost]
        return self.kept.labels._replace(codes=codes)

    def _separations(self, strength: FloatArray) -> StatedPairs:
        """Cannot-links between components that only dropped rows kept apart.

        Two components with a class need none: they still have it.
        """
        closure, c = self.closure, self.closure.n_components
        ends = closure.component[self.known.cannot_link]
        wanted = (ends[:, 0] != ends[:, 1]) & (self.first[ends] >= 0).all(axis=1)
        wanted &= (closure.component_label[ends] < 0).any(axis=1)
        home = self.home[np.searchsorted(self.touched, self.kept.cannot_link.rows)]
        wanted &= ~np.isin(_edge_keys(ends, c), _edge_keys(home, c))
        ends, weight = ends[wanted], self.known.cannot_link_weight[wanted]
        weight = np.minimum(weight, strength[ends].min(axis=1, initial=np.inf))
        keys, which = np.unique(_edge_keys(ends, c), return_inverse=True)
        lightest = np.full(len(keys), np.inf)
        np.minimum.at(lightest, which, weight)
        return StatedPairs(self.first[np.column_stack(np.divmod(keys, c))], lightest)


def _edge_keys(edges: IntArray, n_components: int) -> IntArray:
    return edges.min(axis=1) * n_components + edges.max(axis=1)


def _inside(pairs: StatedPairs, place: IntArray) -> StatedPairs:
    """Pairs with both ends in the subset, by their new positions."""
    rows = place[pairs.rows]
    keep = (rows >= 0).all(axis=1)
    return StatedPairs(rows[keep], pairs.weight[keep])


def _keys(pairs: StatedPairs, n: int) -> npt.NDArray[np.int64]:
    return pairs.rows[:, 0] * n + pairs.rows[:, 1]


def _common(first: Classes, second: Classes) -> tuple[IntArray, IntArray, Array]:
    """Codes of both in one list of names, which are compared by their text."""
    words = [classes.names.astype(str) for classes in (first, second)]
    names = np.unique(np.concatenate(words))
    here, there = (
        np.append(np.searchsorted(names, own), -1)[classes.codes]
        for own, classes in zip(words, (first, second), strict=True)
    )
    return here, there, names
