"""Transitive closure of must-links and the cannot-links that follow from it.

Must-link is an equivalence relation: its classes are the components of the must-link graph. If
some row of component A is kept apart from some row of component B, then all rows of A are kept
apart from all rows of B; cannot-link itself is not transitive. (Basu, Davidson and Wagstaff,
Constrained Clustering, 2009, section 1.2, observations 1 and 2.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._kernels.constraints.unionfind import (
    join_codes,
    join_pairs,
    members_by_code,
    number_components,
    pairs_across,
    pairs_inside,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.algebra._plain import frozen
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.assignment import Feasibility

# More pairs than this are not written out: 16 bytes each.
MAX_PAIRS = 50_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Closure:
    r"""Consequences of the stated must-links, cannot-links, labels and groups.

    Components are the classes of the must-link equivalence, numbered by their smallest row; the
    entailed cannot-links are kept between components and never written out unless asked,

    .. math::
        \mathrm{CL}(x, y),\ x \in A,\ y \in B
        \;\Rightarrow\; \mathrm{CL}(a, b)\ \forall a \in A,\ b \in B .

    Rows of one class are one component, and two classes are kept apart. Made by
    :meth:`Constraints.closure`.

    Attributes
    ----------
    component : ndarray of shape (n_samples,), int64
        Component of each row.
    n_components : int
        Number of components, single rows included.
    contradicted : ndarray of shape (c, 2), int64
        Stated cannot-links inside one component. Empty for a consistent set.
    joined_classes : ndarray of shape (l, 2), int64
        Where a component holds rows of several classes, a row of each of two of them. Empty for a
        consistent set.

    Examples
    --------
    >>> from sidelight.constraints import Constraints
    >>> known = Constraints(must_link=[(1, 2), (2, 3)], cannot_link=[(3, 4)], n_samples=5)
    >>> closure = known.closure()
    >>> closure
    <Closure on 5 rows in 3 components (the largest of 3 rows): 3 pairs together, 3 pairs apart,
    no contradiction>
    >>> closure.component
    array([0, 1, 1, 1, 2])
    >>> closure.conflicts
    array([[1, 2]])
    >>> closure.cannot_link_pairs()
    array([[1, 4],
           [2, 4],
           [3, 4]])
    """

    component: IntArray
    n_components: int
    # Stated cannot-links inside a component, and for each two classes joined a row of each.
    contradicted: IntArray
    joined_classes: IntArray
    # Unique edges from stated cannot-links with their weights, and where each class lives;
    # the pairs of classes stay implicit until `conflicts` is asked for.
    _stated_edges: IntArray
    _stated_weight: FloatArray
    _class_component: IntArray

    def __repr__(self) -> str:
        from sidelight.constraints._shown import closure_line

        return closure_line(self)

    def _repr_html_(self) -> str:
        from sidelight.constraints._shown import closure_table

        return closure_table(self)

    @cached_property
    def contradictions(self) -> IntArray:
        """Rows that are kept apart although they are in one component, shape (c, 2)."""
        return frozen(np.concatenate([self.contradicted, self.joined_classes]))

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each component, shape (n_components,)."""
        return frozen(np.bincount(self.component, minlength=self.n_components))

    @cached_property
    def first_row(self) -> IntArray:
        """Smallest row of each component, shape (n_components,)."""
        return frozen(first_appearances(self.component))

    @cached_property
    def component_label(self) -> IntArray:
        """Code of the class that a component is known to be in, or -1."""
        label = np.full(self.n_components, -1, np.int64)
        # Backwards, so that the smallest code stays where a contradiction joins several classes.
        label[self._class_component[::-1]] = np.arange(len(self._class_component))[::-1]
        return frozen(label)

    @property
    def conflicts(self) -> IntArray:
        """Pairs a < b of components that are kept apart, sorted, shape (e, 2)."""
        return self._conflicts[0]

    @property
    def conflict_weight(self) -> FloatArray:
        """Sum of the stated cannot-link weights on each conflict; two classes add 1."""
        return self._conflicts[1]

    @cached_property
    def _conflicts(self) -> tuple[IntArray, FloatArray]:
        homes = np.unique(self._class_component)
        _check_number(len(homes) * (len(homes) - 1) // 2, "conflicts between classes")
        if len(homes) < 2:
            return self._stated_edges, self._stated_weight
        first, second = np.triu_indices(len(homes), k=1)
        classes = np.column_stack([homes[first], homes[second]])
        return unique_edges(
            np.concatenate([self._stated_edges, classes]),
            np.concatenate([self._stated_weight, np.ones(len(classes))]),
            self.n_components,
        )

    @cached_property
    def n_entailed_must_link(self) -> int:
        """Number of pairs of rows that must be together: sum of s (s - 1) / 2 over components."""
        sizes = self.sizes[self.sizes > 1]
        return int(np.sum(sizes * (sizes - 1) // 2))

    @cached_property
    def n_entailed_cannot_link(self) -> int:
        """Number of pairs of rows that must be apart: sum of s_a s_b over conflicts."""
        edges = self._stated_edges
        labeled = np.isin(edges, self._class_component)
        edges = edges[~labeled.all(axis=1)]
        stated = int(np.sum(self.sizes[edges[:, 0]] * self.sizes[edges[:, 1]]))
        homes = self.sizes[np.unique(self._class_component)]
        between_classes = (int(homes.sum()) ** 2 - int(np.sum(homes**2))) // 2
        return stated + between_classes

    def must_link_pairs(self) -> IntArray:
        """All pairs of rows that must be together, sorted, shape (n_entailed_must_link, 2)."""
        _check_number(self.n_entailed_must_link, "entailed must-links")
        order, indptr = self.members()
        return _sorted_pairs(pairs_inside(order, indptr, self.n_entailed_must_link))

    def cannot_link_pairs(self) -> IntArray:
        """All pairs of rows that must be apart, sorted, shape (n_entailed_cannot_link, 2)."""
        _check_number(self.n_entailed_cannot_link, "entailed cannot-links")
        order, indptr = self.members()
        pairs = pairs_across(order, indptr, self.conflicts, self.n_entailed_cannot_link)
        return _sorted_pairs(pairs)

    def members(self) -> tuple[IntArray, IntArray]:
        """Rows of each component as ``(order, indptr)``.

        The rows of component ``c`` are ``order[indptr[c]:indptr[c + 1]]``, ascending.
        """
        return self._members

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray]:
        indptr = np.zeros(self.n_components + 1, np.int64)
        np.cumsum(self.sizes, out=indptr[1:])
        return frozen(members_by_code(self.component, indptr)), frozen(indptr)

    def constrained_components(self) -> IntArray:
        """Components of at least two rows, or with a conflict, ascending."""
        constrained = self.sizes > 1
        constrained[self._stated_edges.ravel()] = True
        homes = np.unique(self._class_component)
        if len(homes) > 1:
            constrained[homes] = True
        return np.flatnonzero(constrained)


def close(known: Any) -> Closure:
    """Close the statements of a constraints object; contradictions are kept and listed."""
    component, n_components = components(
        known.n_samples, known.must_link, known.labels, known.groups
    )
    ends = component[known.cannot_link]
    inside = ends[:, 0] == ends[:, 1]
    edges, weight = unique_edges(ends[~inside], known.cannot_link_weight[~inside], n_components)
    class_row = _first_rows(known.labels)
    class_component = component[class_row]
    return Closure(
        component=frozen(component),
        n_components=n_components,
        contradicted=frozen(known.cannot_link[inside]),
        joined_classes=frozen(_joined_classes(class_row, class_component)),
        _stated_edges=edges,
        _stated_weight=weight,
        _class_component=class_component,
    )


def components(
    n_samples: int, must_link: IntArray, labels: IntArray | None, groups: IntArray | None
) -> tuple[IntArray, int]:
    """Must-link component of each row, numbered by smallest row, and how many there are."""
    # Half the memory traffic wherever the rows can be counted in 32 bits.
    width = np.int32 if n_samples < 2**31 else np.int64
    parent = np.arange(n_samples, dtype=width)
    join_pairs(parent, _read_only(must_link))
    for codes in (labels, groups):
        if codes is not None:
            join_codes(parent, _read_only(codes), int(codes.max(initial=-1)) + 1)
    component = np.empty(n_samples, np.int64)
    return component, number_components(parent, component)


def _read_only(array: IntArray) -> IntArray:
    """The same numbers as one kind of array: a kernel is compiled once for each kind."""
    return frozen(np.ascontiguousarray(array).view())


def first_appearances(component: IntArray) -> IntArray:
    """First row of each component; components are numbered in the order of appearance."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(component), prepend=-1))


def unique_edges(
    ends: IntArray, weight: FloatArray, n_components: int
) -> tuple[IntArray, FloatArray]:
    """Edges a < b between components, sorted and unique, with the sum of their weights."""
    if not len(ends):
        return frozen(np.empty((0, 2), np.int64)), frozen(np.empty(0))
    key = ends.min(axis=1) * n_components + ends.max(axis=1)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    edges = np.column_stack(np.divmod(key[first], n_components))
    return frozen(edges), frozen(np.add.reduceat(weight[order], first))


def _first_rows(labels: IntArray | None) -> IntArray:
    """First row of every class."""
    if labels is None:
        return np.empty(0, np.int64)
    known = np.flatnonzero(labels >= 0)
    _, first = np.unique(labels[known], return_index=True)
    return known[first]


def _joined_classes(class_row: IntArray, class_component: IntArray) -> IntArray:
    """For each class that shares a component with an earlier one, a row of each."""
    homes, first, which = np.unique(class_component, return_index=True, return_inverse=True)
    if len(homes) == len(class_component):
        return np.empty((0, 2), np.int64)
    earlier = first[which]
    later = np.flatnonzero(earlier != np.arange(len(class_component)))
    return np.sort(np.column_stack([class_row[earlier[later]], class_row[later]]), axis=1)


def _sorted_pairs(pairs: Array) -> IntArray:
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _check_number(number: int, what: str) -> None:
    if number > MAX_PAIRS:
        raise SidelightError(
            f"There are {number:,} {what}, too many to write out (the limit is {MAX_PAIRS:,}); "
            "work with components instead."
        )


def feasibility(closure: Closure, k: int, time_limit: float) -> Feasibility:
    """Whether ``k`` clusters suffice; rows of the proof are the smallest of their components."""
    from sidelight.assignment.inner import check_coloring

    nodes, edges = np.unique(closure.conflicts, return_inverse=True)
    if not len(nodes):  # rows without cannot-links need one cluster all the same
        nodes = np.arange(min(1, closure.n_components))
    found = check_coloring(len(nodes), edges.reshape(-1, 2), k, time_limit=time_limit)
    coloring = None
    if found.coloring is not None:
        coloring = np.zeros(closure.n_components, np.int64)
        coloring[nodes] = found.coloring
    first_row = closure.first_row[nodes]
    return replace(
        found,
        coloring=coloring,
        clique=_rows(found.clique, first_row),
        odd_cycle=_rows(found.odd_cycle, first_row),
    )


def _rows(nodes: tuple[int, ...] | None, first_row: IntArray) -> tuple[int, ...] | None:
    return None if nodes is None else tuple(first_row[list(nodes)].tolist())
