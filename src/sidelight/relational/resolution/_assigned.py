"""References that come after a fit: the entity of each, while old entities stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.relational.resolution.joining import join_in_order
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.constraints.inner import text_of
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._blocking import ALL_PAIRS, MAX_PAIRS, candidate_pairs
from sidelight.relational.resolution._problem import (
    both_ways,
    numbered,
)
from sidelight.relational.resolution._references import References, appended
from sidelight.relational.resolution._similarities import Scorer

if TYPE_CHECKING:
    from sidelight.relational.resolution._base import _Resolver

#: Code of every old entity, no two of which ever join.
OLD = "of the fit"


@dataclass(frozen=True, eq=False)
class AssignedReferences:
    """Entities of references that came after a fit.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_samples,)
        Entity of every reference. Those below ``n_entities`` are the entities of the fit.
    similarity : ndarray of shape (n_samples,)
        Similarity to the most similar reference of its entity, of the fit where one of them was
        compared; NaN for a reference that is alone.
    also : tuple of tuples of int
        Other entities with a reference that is as similar as the threshold asks for, and that
        nothing known keeps apart: a fit to all references together could join them.
    n_entities : int
        Number of entities of the fit.
    """

    labels: Array
    similarity: FloatArray
    also: tuple[tuple[int, ...], ...]
    n_entities: int

    @property
    def is_new(self) -> npt.NDArray[np.bool_]:
        """Whether the entity of a reference is none of the fit."""
        found: npt.NDArray[np.bool_] = self.labels >= self.n_entities
        return found

    def __repr__(self) -> str:
        n_known = len(np.unique(self.labels[~self.is_new]))
        n_new = len(np.unique(self.labels[self.is_new]))
        known = counted(n_known, "known entity", "known entities")
        return (
            f"<AssignedReferences: {counted(len(self.labels), 'reference')} to {known} and "
            f"{n_new:,} new>"
        )


def assign_references(
    model: _Resolver, new: References, known: Constraints, rows: IntArray, names: Array
) -> AssignedReferences:
    """Find the entities of new references; see :meth:`_Resolver.assign`.

    Parameters
    ----------
    model : _Resolver
        The fitted resolver.
    new : References
        The new references, with the columns of those of the fit.
    known : Constraints
        What is known about the new references.
    rows, names : ndarray
        Codes of the new references; see :func:`exclusive_codes`.
    """
    memory, n_old = model._memory, model._memory.references.n
    n_entities = int(model.labels_.max()) + 1
    same = same_references(memory.references, new)
    pairs, similarity = compared_pairs(model, memory.references, new)
    seen = np.append(np.zeros(n_old, bool), same >= 0)  # as the reference of the fit that it is
    kept = ~seen[pairs].any(axis=1)
    pairs, similarity = pairs[kept], similarity[kept]

    node, n_nodes, conflicts = _nodes(model.labels_, same, known, n_entities)
    exclusive = _by_node(
        np.concatenate([node[memory.rows], node[n_old + rows], np.arange(n_entities)]),
        np.concatenate([memory.names, names, np.full(n_entities, OLD, dtype=object)]),
        n_nodes,
    )
    joined = np.flatnonzero(similarity >= model._threshold_of_fit())
    is_old = pairs[joined, 0] < n_old
    # Pairs with the fit come first, and of equal similarity those of the first references.
    first, second = pairs[joined].T
    order = joined[np.lexsort((first, second, -similarity[joined], ~is_old))]
    apart = both_ways(conflicts, n_nodes)
    parent, _ = join_in_order(
        node[pairs[order]],
        exclusive.indptr.astype(np.int64),
        exclusive.indices.astype(np.int64),
        exclusive.shape[1],
        apart.indptr.astype(np.int64),
        apart.indices.astype(np.int64),
    )
    labels = _labels(parent, node, n_old, n_entities)
    also = _others(pairs[joined], labels, node, exclusive[:, 1:], conflicts, n_old)
    best = _most_similar(pairs, similarity, labels, n_old)
    best[same >= 0] = 1.0
    return AssignedReferences(labels[n_old:], best, also, n_entities)


def same_references(old: References, new: References) -> IntArray:
    """Position in the fit of every new reference that has its id and all of its values; else -1."""
    found = np.full(new.n, -1, np.int64)
    if old.ids is None or new.ids is None:
        return found
    place = {text_of(name): row for row, name in enumerate(old.ids.tolist())}
    named = np.array([place.get(text_of(name), -1) for name in new.ids.tolist()], np.int64)
    rows = np.flatnonzero(named >= 0)
    for name, column in old.columns.items():
        codes = appended(column, new.columns[name]).codes
        rows = rows[codes[old.n + rows] == codes[named[rows]]]
    found[rows] = named[rows]
    return found


def compared_pairs(
    model: _Resolver, old: References, new: References
) -> tuple[IntArray, FloatArray]:
    """Pairs with a new reference that blocking keeps, behind the old ones, and their similarity.

    The references of the fit alone tell how rare a word is, so that the similarity to an old
    reference depends on nothing else that is new.
    """
    columns = {name: appended(column, new.columns[name]) for name, column in old.columns.items()}
    both = References(old.n + new.n, columns, None)
    weighed = {name: replace(column, n_counted=old.n) for name, column in columns.items()}
    scorer = Scorer(References(both.n, weighed, None), model.comparisons_)
    blocking = model.blocking
    if isinstance(blocking, str) and both.n <= ALL_PAIRS:
        blocking = None
    if blocking is None:
        pairs = _all_new_pairs(old.n, new.n)
    else:
        least = model._least_similarity()
        pairs, _ = candidate_pairs(blocking, both, scorer, least=least, X=None)
        pairs = pairs[pairs[:, 1] >= old.n]
    attribute = scorer.combine(scorer.score(pairs))
    return pairs, model._without_relations(attribute)


def _all_new_pairs(n_old: int, n_new: int) -> IntArray:
    total = n_new * n_old + n_new * (n_new - 1) // 2
    if total > MAX_PAIRS:
        raise SidelightError(
            f"{n_new:,} new references have {total:,} pairs with the {n_old:,} of the fit and with "
            f"each other, more than the {MAX_PAIRS:,} that are compared at most; assign fewer at a "
            "time, or fit with keys of blocking."
        )
    second = np.repeat(np.arange(n_old, n_old + n_new), np.arange(n_old, n_old + n_new))
    starts = np.cumsum(np.append(0, np.arange(n_old, n_old + n_new)))[:-1]
    first = np.arange(len(second)) - np.repeat(starts, np.arange(n_old, n_old + n_new))
    return np.column_stack([first, second]).astype(np.int64)


def _nodes(
    labels: Array, same: IntArray, known: Constraints, n_entities: int
) -> tuple[IntArray, int, IntArray]:
    """Node of every old and new reference, their number, and pairs of nodes that stay apart.

    The first nodes are the entities of the fit, the others must-link components of new references.
    """
    closure = known.closure()
    component = closure.component
    of_component = np.full(closure.n_components, -1, np.int64)
    for row in np.flatnonzero(same >= 0).tolist():
        entity = int(labels[same[row]])
        held = of_component[component[row]]
        if held >= 0 and held != entity:
            raise SidelightError(
                f"What is known joins the entities {held} and {entity} of the fit, which stay as "
                "they are here; fit all references together."
            )
        of_component[component[row]] = entity
    others = np.flatnonzero(of_component < 0)
    of_component[others] = n_entities + np.arange(len(others))
    node = np.concatenate([labels.astype(np.int64), of_component[component]])
    conflicts = of_component[np.asarray(closure.conflicts, np.int64).reshape(-1, 2)]
    return node, n_entities + len(others), conflicts[conflicts[:, 0] != conflicts[:, 1]]


def _by_node(nodes: IntArray, names: Array, n_nodes: int) -> sparse.csr_array:
    """Nodes and their codes; the first column marks the entities of the fit."""
    codes = {OLD: 0}
    numbers = np.array([codes.setdefault(name, len(codes)) for name in names.tolist()], np.int64)
    ones = np.ones(len(nodes), np.int32)
    found = sparse.csr_array((ones, (nodes, numbers)), shape=(n_nodes, len(codes)))
    found.sum_duplicates()
    found.sort_indices()
    return found


def _labels(root: IntArray, node: IntArray, n_old: int, n_entities: int) -> Array:
    """Entities of old and new references; new ones are numbered by their first reference."""
    entity = np.full(len(root), -1, np.int64)
    entity[root[:n_entities]] = np.arange(n_entities)
    found = entity[root[node]]
    new = np.flatnonzero(found < 0)
    found[new] = n_entities + numbered(root[node[new]])
    return found.astype(np.int32)


def _others(
    pairs: IntArray,
    labels: Array,
    node: IntArray,
    codes: sparse.csr_array,
    conflicts: IntArray,
    n_old: int,
) -> tuple[tuple[int, ...], ...]:
    """Other entities of similar references, by new reference, where nothing keeps them apart."""
    among_new = pairs[pairs[:, 0] >= n_old]
    ends = np.concatenate([pairs[:, ::-1], among_new])
    ends = ends[labels[ends[:, 0]] != labels[ends[:, 1]]]
    own, entity = node[ends[:, 0]], labels[ends[:, 1]].astype(np.int64)
    n_labels = int(labels.max()) + 1
    of_node = np.zeros(codes.shape[0], np.int64)
    of_node[node] = labels
    members = np.ones(len(of_node), np.int32), (of_node, np.arange(len(of_node)))
    held = sparse.csr_array(members, shape=(n_labels, len(of_node))) @ codes
    apart = np.asarray(codes[own].multiply(held[entity]).sum(axis=1)).ravel() > 0
    both = np.concatenate([conflicts, conflicts[:, ::-1]])
    forbidden = both[:, 0] * n_labels + of_node[both[:, 1]]
    apart |= np.isin(own * n_labels + entity, forbidden)
    found: list[set[int]] = [set() for _ in range(len(labels) - n_old)]
    for row, other in zip(ends[~apart, 0].tolist(), entity[~apart].tolist(), strict=True):
        found[row - n_old].add(other)
    return tuple(tuple(sorted(one)) for one in found)


def _most_similar(pairs: IntArray, similarity: FloatArray, labels: Array, n_old: int) -> FloatArray:
    """Similarity of every new reference to the most similar one of its entity, old ones first."""
    together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    pairs, similarity = pairs[together], similarity[together]
    is_old = pairs[:, 0] < n_old
    to_old, to_new = (np.full(len(labels), -np.inf) for _ in range(2))
    np.maximum.at(to_old, pairs[is_old, 1], similarity[is_old])
    for end in (0, 1):
        np.maximum.at(to_new, pairs[~is_old, end], similarity[~is_old])
    best = np.where(np.isfinite(to_old), to_old, to_new)[n_old:]
    return np.where(np.isfinite(best), best, np.nan)
