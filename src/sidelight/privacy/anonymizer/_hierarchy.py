"""Hierarchies of values: from single values to ever wider groups."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.io.inner import quoted
from sidelight.privacy.anonymizer._columns import Column

#: Name of the widest group where the user gives none: any value.
ANY = "*"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of values: which wider value may be published in place of several.

    Made by :meth:`from_table`, :meth:`from_nested`, :meth:`from_parents`, :meth:`from_intervals`
    or :meth:`read`.

    Attributes
    ----------
    parents : dict of str to str
        The next wider group of every value and group but the widest.
    root : str
        The widest group.
    bounds : dict of str to tuple of float
        For intervals of numbers, the first number of every interval and the first one after it;
        empty for hierarchies of names.

    Examples
    --------
    >>> from sidelight.privacy import Hierarchy
    >>> jobs = Hierarchy.from_nested({"health": ["nurse", "doctor"], "trade": ["baker"]})
    >>> jobs.common(["nurse", "doctor"]), jobs.common(["nurse", "baker"])
    ('health', '*')
    >>> jobs.share("health") == 2 / 3
    True
    """

    parents: Mapping[str, str]
    root: str
    bounds: Mapping[str, tuple[float, float]]

    @classmethod
    def from_table(cls, rows: Any) -> Hierarchy:
        """Make a hierarchy from lines ``value, parent, grandparent, ...``, one per value.

        A group may have the name of the only value in it: ``other, other, *``.

        Parameters
        ----------
        rows : sequence of sequences, data frame or Arrow table
            One line per value, from the value to the widest group.
        """
        parents: dict[str, str] = {}
        tops: dict[str, None] = {}
        for number, line in enumerate(_lines(rows), start=1):
            names = [str(one).strip() for one in line if one is not None and str(one).strip()]
            if not names:
                continue
            for child, parent in pairwise(names):
                if child != parent:
                    _add(parents, child, parent, f"line {number}")
            tops[names[-1]] = None
        return _made(parents, tops)

    @classmethod
    def from_nested(cls, tree: Mapping[Any, Any]) -> Hierarchy:
        """Make a hierarchy from nested dicts of groups down to lists of values.

        Parameters
        ----------
        tree : mapping
            Group to its parts: another mapping, or a list of values.
        """
        parents: dict[str, str] = {}
        stack: list[tuple[str, Any, int]] = [(str(name), part, 1) for name, part in tree.items()]
        while stack:
            group, parts, level = stack.pop()
            if level > DEEPEST:
                raise SidelightError(f"The hierarchy is deeper than {DEEPEST} levels at {group!r}.")
            if isinstance(parts, str) or not isinstance(parts, Iterable):
                raise SidelightError(
                    f"The parts of {group!r} should be a dict of groups or a list of values, got "
                    f"{parts!r}."
                )
            for part in parts:
                if str(part) != group:
                    _add(parents, str(part), group, f"the group {group!r}")
                if isinstance(parts, Mapping):
                    stack.append((str(part), parts[part], level + 1))
        return _made(parents, dict.fromkeys(str(name) for name in tree))

    @classmethod
    def from_parents(cls, parents: Mapping[Any, Any]) -> Hierarchy:
        """Make a hierarchy from the next wider group of every value and group.

        Parameters
        ----------
        parents : mapping
            Value or group to its group; a group without one is the widest.
        """
        known = {str(child): str(parent) for child, parent in parents.items()}
        known = {child: parent for child, parent in known.items() if child != parent}
        return _made(known, dict.fromkeys(p for p in known.values() if p not in known))

    @classmethod
    def from_intervals(cls, *levels: Sequence[float]) -> Hierarchy:
        """Make a hierarchy of numbers from the bounds of ever wider intervals.

        Intervals hold their lower bound and not their upper one: ``[20, 30)``.

        Parameters
        ----------
        *levels : sequences of float
            Bounds of the intervals of each level, the finest first; bounds of a level are among
            those of the finer one.

        Examples
        --------
        >>> from sidelight.privacy import Hierarchy
        >>> ages = Hierarchy.from_intervals([0, 10, 20, 30, 40], [0, 20, 40])
        >>> ages.parents["[10, 20)"], ages.root
        ('[0, 20)', '[0, 40)')
        """
        if not levels:
            raise SidelightError("A hierarchy of intervals needs the bounds of at least one level.")
        bounds = [np.asarray(level, dtype=np.float64) for level in levels]
        for number, level in enumerate(bounds, start=1):
            if level.ndim != 1 or len(level) < 2 or not np.all(np.diff(level) > 0):
                raise SidelightError(
                    f"Level {number} of the intervals needs at least two bounds in increasing "
                    f"order, got {quoted(level.ravel().tolist())}."
                )
            if not np.isfinite(level).all():
                raise SidelightError(f"Level {number} of the intervals has an infinite bound.")
        if len(bounds[-1]) > 2:
            bounds.append(bounds[-1][[0, -1]])
        return _of_levels(bounds)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Hierarchy:
        """Read a hierarchy from a file with lines ``value;parent;grandparent;...``.

        Parameters
        ----------
        path : path-like
            A file of semicolon, comma or tab separated values, without a header, as ARX has them.
        """
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise SidelightError(f"The hierarchy {path} cannot be read: {error}.") from error
        first = text.split("\n", 1)[0]
        delimiter = max(";,\t", key=first.count)
        try:
            return cls.from_table(list(csv.reader(text.splitlines(), delimiter=delimiter)))
        except SidelightError as error:
            raise SidelightError(f"The hierarchy {path}: {error}") from error

    @property
    def leaves(self) -> tuple[str, ...]:
        """Values that are no groups; the finest intervals of numbers."""
        groups = set(self.parents.values())
        return tuple(name for name in self.parents if name not in groups) or (self.root,)

    def common(self, values: Iterable[Any]) -> str:
        """Return the narrowest group that holds all of the values.

        Parameters
        ----------
        values : iterable
            Values or groups.
        """
        found: list[str] | None = None
        for value in values:
            above = self.ancestors(value)
            found = above if found is None else [name for name in found if name in set(above)]
        if found is None:
            raise SidelightError("No value has no common group.")
        return found[0]

    def ancestors(self, value: Any) -> list[str]:
        """Return a value and all groups above it, the widest last.

        Parameters
        ----------
        value : object
            A value or group.
        """
        name = str(value)
        if name not in self.parents and name != self.root:
            raise SidelightError(f"The hierarchy has no value {name!r}.")
        names = [name]
        while names[-1] != self.root:
            names.append(self.parents[names[-1]])
        return names

    def share(self, name: str) -> float:
        """Return the share of the column that a published group leaves open, 0 for a value.

        The leaves below it as a share of all leaves, or the width of an interval as a share of
        that of the widest.

        Parameters
        ----------
        name : str
            A value or group.
        """
        if self.bounds:
            low, high = self.bounds[name]
            first, last = self.bounds[self.root]
            return (high - low) / (last - first)
        leaves = self.leaves
        if name in leaves:
            return 0.0
        return sum(name in self.ancestors(leaf) for leaf in leaves) / len(leaves)


#: Levels of a hierarchy; more are a mistake.
DEEPEST = 1000


def as_hierarchy(given: Any, column: str) -> Hierarchy:
    """Hierarchy as given, or made from a mapping."""
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, Mapping) and given:
        if all(isinstance(parent, str) for parent in given.values()):
            return Hierarchy.from_parents(given)
        return Hierarchy.from_nested(given)
    if isinstance(given, str | os.PathLike):
        return Hierarchy.read(given)
    raise SidelightError(
        f"The hierarchy of column {column!r} should be a Hierarchy, a dict of groups or a file, "
        f"got {type(given).__name__}."
    )


@dataclass(frozen=True, eq=False)
class Tree:
    """A hierarchy as nodes, for the values of a column.

    Attributes
    ----------
    leaf : ndarray of int
        Node of every different value of the column, and behind them that of a missing one.
    parent, depth : ndarray of int
        Parent (that of the root is the root) and depth of every node.
    open : ndarray
        Share of the column that each node leaves open.
    names : list of str
        Names of the nodes.
    """

    leaf: Array
    parent: Array
    depth: Array
    open: FloatArray
    names: list[str]


def tree_of(hierarchy: Hierarchy, column: Column) -> Tree:
    """Nodes of a hierarchy with a leaf for every value of a column.

    Raises
    ------
    SidelightError
        If a value is not in the hierarchy.
    """
    nodes, parent = _nodes_of(hierarchy)
    names = list(nodes)
    open_ = _shares(hierarchy, nodes, parent)
    if hierarchy.bounds:
        leaf = _leaves_of_numbers(hierarchy, column, nodes)
        for place, text in enumerate(column.texts()):  # each number is a leaf of its own
            parent.append(leaf[place])
            leaf[place] = len(names)
            names.append(text)
            open_.append(0.0)
    else:
        leaf = _leaves_of_names(hierarchy, column, nodes)
    root = 0
    if column.n_missing and hierarchy.root != ANY:  # the widest group does not hold missing ones
        root = len(names)
        parent[0] = root
        parent.append(root)
        names.append(ANY)
        open_.append(1.0)
    parent.append(root)
    leaf.append(len(names))
    names.append("")
    open_.append(0.0)
    return Tree(
        np.array(leaf, np.int32),
        np.array(parent, np.int32),
        _depths(parent, root),
        np.array(open_),
        names,
    )


def shares_of(hierarchy: Hierarchy) -> dict[str, float]:
    """Share of the column that every value and group leaves open."""
    nodes, parent = _nodes_of(hierarchy)
    return dict(zip(nodes, _shares(hierarchy, nodes, parent), strict=True))


def _nodes_of(hierarchy: Hierarchy) -> tuple[dict[str, int], list[int]]:
    """Numbers of all values and groups, the root first, and the parent of each."""
    nodes = {hierarchy.root: 0}
    for name in hierarchy.parents:
        nodes.setdefault(name, len(nodes))
    parent = [0] * len(nodes)
    for child, above in hierarchy.parents.items():
        parent[nodes[child]] = nodes[above]
    return nodes, parent


def _shares(hierarchy: Hierarchy, nodes: Mapping[str, int], parent: Sequence[int]) -> list[float]:
    """Share that each node leaves open: all nodes in one pass over the leaves."""
    if hierarchy.bounds:
        return [hierarchy.share(name) for name in nodes]
    leaves = [nodes[leaf] for leaf in hierarchy.leaves]
    below = [0] * len(nodes)
    for leaf in leaves:
        node = leaf
        while True:
            below[node] += 1
            if node == parent[node]:
                break
            node = parent[node]
    shares = [number / len(leaves) for number in below]
    for leaf in leaves:
        shares[leaf] = 0.0
    return shares


def _depths(parent: Sequence[int], root: int) -> Array:
    depth = np.full(len(parent), -1, np.int32)
    depth[root] = 0
    for node in range(len(parent)):
        path = []
        while depth[node] < 0:
            path.append(node)
            node = parent[node]
        for steps, below in enumerate(reversed(path), start=1):
            depth[below] = depth[node] + steps
    return depth


def _leaves_of_names(hierarchy: Hierarchy, column: Column, nodes: Mapping[str, int]) -> list[int]:
    groups = set(hierarchy.parents.values())
    leaf = []
    for code, text in enumerate(column.texts()):
        if text not in nodes or (text in groups and text in nodes):
            inner = text in nodes
            n = int(np.count_nonzero(column.codes == code))
            reason = "is a group of" if inner else "is not in"
            raise SidelightError(
                f"The value {text!r} of column {column.name!r}, in {counted(n, 'row')}, {reason} "
                "the hierarchy; " + ("rename one of the two." if inner else "add a line for it.")
            )
        leaf.append(nodes[text])
    return leaf


def _leaves_of_numbers(hierarchy: Hierarchy, column: Column, nodes: Mapping[str, int]) -> list[int]:
    """The finest interval of every number."""
    if column.kind != "number":
        raise SidelightError(
            f"Column {column.name!r} holds no numbers, so that intervals cannot be its hierarchy."
        )
    finest = hierarchy.leaves
    lower = np.array([hierarchy.bounds[name][0] for name in finest])
    order = np.argsort(lower)
    first, last = hierarchy.bounds[hierarchy.root]
    numbers = column.values.astype(np.float64)
    outside = np.flatnonzero((numbers < first) | (numbers >= last))
    if len(outside):
        n = int(np.isin(column.codes, outside).sum())
        raise SidelightError(
            f"The value {column.texts()[outside[0]]} of column {column.name!r} is outside of the "
            f"intervals from {first:g} to {last:g} (upper bound excluded), as are values of "
            f"{counted(n, 'row')} in all; widen the intervals."
        )
    place = np.searchsorted(lower[order], numbers, side="right") - 1
    return [nodes[finest[order[one]]] for one in place]


def _lines(rows: Any) -> Iterable[Sequence[Any]]:
    if hasattr(rows, "iloc"):
        return rows.to_numpy().tolist()
    if hasattr(rows, "rows"):  # polars
        return rows.rows()
    if hasattr(rows, "column_names"):
        return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return list(rows)


def _add(parents: dict[str, str], child: str, parent: str, where: str) -> None:
    known = parents.setdefault(child, parent)
    if known != parent:
        raise SidelightError(
            f"{child!r} has two parents, {known!r} and, in {where}, {parent!r}; a value is "
            "generalized in one way only."
        )


def _made(parents: dict[str, str], tops: Mapping[str, None]) -> Hierarchy:
    """Check that the groups are a tree, and give it a root."""
    if not parents and not tops:
        raise SidelightError("The hierarchy is empty.")
    known: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        name = start
        while name in parents and name not in known:
            if name in path:
                raise SidelightError(f"The hierarchy goes in a circle at {name!r}.")
            path[name] = None
            name = parents[name]
        known.update(path)
    roots = dict.fromkeys(name for name in (*tops, *parents.values()) if name not in parents)
    if len(roots) == 1:
        return Hierarchy(dict(parents), next(iter(roots)), {})
    if ANY in parents or (ANY in roots and len(roots) > 1):
        raise SidelightError(
            f"The hierarchy has several widest groups, {quoted(list(roots))}; one should hold all."
        )
    return Hierarchy({**parents, **dict.fromkeys(roots, ANY)}, ANY, {})


def _of_levels(bounds: list[FloatArray]) -> Hierarchy:
    parents: dict[str, str] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for number, level in enumerate(bounds):
        for low, high in zip(level[:-1].tolist(), level[1:].tolist(), strict=True):
            name = _interval(low, high)
            intervals[name] = low, high
            if number + 1 == len(bounds):
                continue
            wider = bounds[number + 1]
            place = int(np.searchsorted(wider, low, side="right")) - 1
            if place < 0 or place + 1 >= len(wider) or wider[place + 1] < high:
                raise SidelightError(
                    f"The interval {name} is not inside one of the next level, with the bounds "
                    f"{quoted(wider.tolist())}; bounds of a level are among those of the finer one."
                )
            above = _interval(float(wider[place]), float(wider[place + 1]))
            if above != name:
                parents[name] = above
    root = _interval(float(bounds[-1][0]), float(bounds[-1][-1]))
    return Hierarchy(parents, root, intervals)


def _interval(low: float, high: float) -> str:
    return f"[{_plain(low)}, {_plain(high)})"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
