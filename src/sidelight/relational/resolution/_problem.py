"""The problem of a resolver: candidates, hyper-edges, and what must and must not join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.constraints import Constraints, Relations, as_relations
from sidelight.constraints.inner import (
    StatedPairs,
    Statements,
    as_codes,
    check_one_index,
    own_ids,
    plain,
    text_of,
)
from sidelight.exceptions import ConstraintWarning, SidelightError, UnusedKnowledge
from sidelight.relational.resolution._blocking import CandidatePairs
from sidelight.relational.resolution._references import ReferenceColumn, References
from sidelight.relational.resolution._similarities import Scorer


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs of a resolver: candidates, similarities, hyper-edges, rules.

    A node stands for the references of one must-link component.

    Attributes
    ----------
    references : References
        The rows.
    scorer : Scorer
        Attribute similarity of any pairs of references.
    candidates : CandidatePairs
        Pairs that blocking keeps.
    incidence : csr_array of shape (n, n_hyperedges), int8
        1 where a reference is in a hyper-edge; no columns where none were given.
    known : Constraints
        What was stated about the references.
    node : ndarray of shape (n,), int64
        Must-link component of every reference.
    n_nodes : int
        Number of components.
    conflicts : ndarray of shape (c, 2), int64
        Pairs of nodes that must not join.
    exclusive : csr_array of shape (n_nodes, n_codes), int8
        1 where a node has a reference of a source, or of a hyper-edge whose references are all
        different: two nodes that share a column must not join.
    """

    references: References
    scorer: Scorer
    candidates: CandidatePairs
    incidence: sparse.csr_array
    known: Constraints
    node: IntArray
    n_nodes: int
    conflicts: IntArray
    exclusive: sparse.csr_array


@dataclass(frozen=True, eq=False)
class MergeRules:
    """Rules on merges: what must and must not join, by node; see :class:`Problem`."""

    node: IntArray
    n_nodes: int
    conflicts: IntArray
    exclusive: sparse.csr_array


def read_hyperedges(given: Any, n: int, X: Any) -> sparse.csr_array:
    """Incidence of references and hyper-edges, from any form of input that defines them.

    Parameters
    ----------
    given : Relations, array of shape (n,), list of lists, mapping of lists, or incidence matrix
        One value per reference, such as its paper; or sets of references. Edges of Relations are
        hyper-edges of two.
    n : int
        Number of references.
    X : object
        The rows, whose index names the references.
    """
    if given is None:
        return sparse.csr_array((n, 0), dtype=np.int8)
    relations = _as_hyperedges(given, n, X)
    if not relations.n_edges:
        return relations.incidence
    if relations.is_signed:
        raise SidelightError(
            "Edges between references say that they occur together; their scores cannot be "
            "negative. Pass pairs that are different as cannot-links of the constraints, and "
            "signed scores to CorrelationClustering."
        )
    if np.any(relations.scores != 1):
        warn(
            "Scores of edges between references are not used: every edge counts as a hyper-edge "
            "of two.",
            UnusedKnowledge,
        )
    m = relations.n_edges
    ends = relations.edges.ravel()
    of_edge = np.repeat(np.arange(m), 2)
    twos = sparse.csr_array((np.ones(2 * m, np.int8), (ends, of_edge)), shape=(n, m))
    return sparse.csr_array(sparse.hstack([relations.incidence, twos], format="csr"))


def _as_hyperedges(given: Any, n: int, X: Any) -> Relations:
    if isinstance(given, Relations):
        return as_relations(given, n, X)
    if isinstance(given, Mapping) or sparse.issparse(given) or _is_list_of_sets(given):
        return Relations(hyperedges=given, n_samples=n, ids=own_ids(X))
    if hasattr(given, "adj") and hasattr(given, "edges"):
        return as_relations(given, n, X)
    if np.ndim(given) == 2:
        return Relations(hyperedges=np.asarray(given), n_samples=n)
    check_one_index(given, X, "relations")
    if isinstance(given, str) or np.ndim(given) != 1 or len(given) != n:
        raise SidelightError(
            f"relations must hold one value per reference ({n} of them), such as its paper, or be "
            "a list of lists of references, an incidence matrix, or sidelight.Relations."
        )
    return Relations.from_groups(plain(given))


def names_of_hyperedges(given: Any, n: int, X: Any) -> Array | None:
    """Names by which hyper-edges are known again in another table; None where they have none.

    One value per reference names them, as do the keys of a mapping and words of Relations.
    """
    names = _as_hyperedges(given, n, X).hyperedge_names
    if isinstance(given, Mapping) or names.dtype.kind == "U":
        return names
    is_object = isinstance(given, Relations) or sparse.issparse(given) or hasattr(given, "adj")
    return None if is_object or _is_list_of_sets(given) or np.ndim(given) != 1 else names


def _is_list_of_sets(given: Any) -> bool:
    """Whether a list holds sets of references, not one value per reference."""
    sets = list | tuple | set | frozenset | np.ndarray
    return isinstance(given, list | tuple) and all(isinstance(one, sets) for one in given)


def read_sources(given: Any, n: int, X: Any) -> IntArray | None:
    """Code of the source of every reference, -1 for none."""
    if given is None:
        return None
    check_one_index(given, X, "sources")
    if isinstance(given, str) or np.ndim(given) != 1:
        raise SidelightError(
            f"sources must hold one value per row, shape ({n},): the file or list that the row is "
            "from, whose rows are all different."
        )
    classes = as_codes(plain(given), n, "sources")
    return None if classes is None else classes.codes


def make_rules(
    known: Constraints,
    incidence: sparse.csr_array,
    sources: IntArray | None,
    *,
    distinct: bool,
) -> MergeRules:
    """Contract must-links, and collect what must not join.

    Raises
    ------
    InconsistentConstraints
        With the chain of must-links that joins what is kept apart, or two rows of one source.
    """
    if sources is not None:
        _check_sources(known, sources)
    closure = known.closure()
    node, n_nodes = closure.component, closure.n_components
    parts = []
    if sources is not None:
        parts.append(_of_nodes(_source_incidence(sources), node, n_nodes))
    if distinct and incidence.shape[1]:
        _warn_of_joined_members(known, incidence, node)
        parts.append(_of_nodes(incidence, node, n_nodes))
    exclusive = (
        sparse.csr_array(sparse.hstack(parts, format="csr"))
        if parts
        else sparse.csr_array((n_nodes, 0), dtype=np.int8)
    )
    exclusive.sort_indices()
    return MergeRules(node, n_nodes, np.asarray(closure.conflicts, dtype=np.int64), exclusive)


def _source_incidence(sources: IntArray) -> sparse.csr_array:
    placed = np.flatnonzero(sources >= 0)
    shape = (len(sources), int(sources.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(len(placed), np.int8), (placed, sources[placed])), shape=shape)


def _of_nodes(incidence: sparse.csr_array, node: IntArray, n_nodes: int) -> sparse.csr_array:
    """Incidence of nodes, from that of their references, without multiplicity."""
    entries = incidence.tocoo()
    shape = (n_nodes, incidence.shape[1])
    ones = np.ones(entries.nnz, np.int32)
    found = sparse.csr_array((ones, (node[entries.row], entries.col)), shape=shape)
    found.sum_duplicates()
    found.data = np.ones(found.nnz, np.int8)
    return found


def _first_repeated(incidence: sparse.csr_array, node: IntArray) -> tuple[int, int] | None:
    """Two references of one node that are in the same column, if there are any."""
    entries = incidence.tocoo()
    order = np.lexsort((entries.row, entries.col, node[entries.row]))
    rows, columns = entries.row[order], entries.col[order]
    same = (node[rows[:-1]] == node[rows[1:]]) & (columns[:-1] == columns[1:])
    found = np.flatnonzero(same)
    return (int(rows[found[0]]), int(rows[found[0] + 1])) if len(found) else None


def _check_sources(known: Constraints, sources: IntArray) -> None:
    """Raise, with the chain, where must-links join two references of one source."""
    pair = _first_repeated(_source_incidence(sources), known.components())
    if pair is not None:
        none = StatedPairs(np.empty((0, 2), np.int64))
        apart = known._derive(Statements(none, StatedPairs(np.array([pair]))))
        (known | apart).closure()


def _warn_of_joined_members(
    known: Constraints, incidence: sparse.csr_array, node: IntArray
) -> None:
    pair = _first_repeated(incidence, node)
    if pair is not None:
        first, second = known.name_rows(np.array(pair))
        warn(
            f"{first} and {second} are in one hyper-edge, whose references are taken for different "
            "entities (distinct=True), but must-links join them: the must-links hold.",
            ConstraintWarning,
        )


def both_ways(pairs: IntArray, n: int) -> sparse.csr_array:
    """Pairs of nodes in both directions."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ones = np.ones(len(ends), np.int8)
    return sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, n))


def numbered(labels: Array) -> Array:
    """Labels as int32, numbered by their first appearance."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[codes]


class Memory:
    """What a resolver keeps of the references of its fit, for those that come later.

    Texts are kept as letters and the ends of the texts where it is written, so that a file holds
    plain arrays only.

    Parameters
    ----------
    references : References
        The references, with the columns that are compared or make keys.
    rows, names : ndarray
        Codes that only one reference of an entity may have; see :func:`exclusive_codes`.
    """

    def __init__(self, references: References, rows: IntArray, names: Array) -> None:
        self.references, self.rows, self.names = references, rows, names

    def __getstate__(self) -> dict[str, Any]:
        ids, columns = self.references.ids, self.references.columns.values()
        return {
            "n": self.references.n,
            "ids": None if ids is None else _packed([text_of(one) for one in ids.tolist()]),
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "codes": column.codes.astype(np.int32),
                    "values": _packed(column.values) if column.kind == "text" else column.values,
                }
                for column in columns
            ],
            "rows": self.rows,
            "names": _packed(self.names),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = {
            one["name"]: ReferenceColumn(
                one["name"],
                one["kind"],
                one["codes"].astype(np.int64),
                _unpacked(one["values"]) if one["kind"] == "text" else one["values"],
            )
            for one in state["columns"]
        }
        ids = None if state["ids"] is None else _unpacked(state["ids"])
        self.references = References(state["n"], columns, ids)
        self.rows, self.names = state["rows"], _unpacked(state["names"])


def keys_of(blocking: Any) -> list[Any]:
    """Keys of blocking one by one, those that have to agree among them."""
    if blocking is None or isinstance(blocking, str):
        return []
    return [one for key in blocking for one in (key if isinstance(key, tuple | list) else (key,))]


def compared_columns(references: References, compared: Sequence[str], blocking: Any) -> References:
    """References with the columns that are compared or make keys."""
    names = {*compared}
    for key in keys_of(blocking):
        if isinstance(key, str):
            names.add(key if key in references.columns else key.rpartition(":")[0])
    columns = {name: one for name, one in references.columns.items() if name in names}
    return References(references.n, columns, references.ids)


def _packed(texts: Sequence[str] | Array) -> dict[str, Array]:
    letters = [str(text).encode() for text in texts]
    ends = np.cumsum([len(text) for text in letters], dtype=np.int64)
    return {"letters": np.frombuffer(b"".join(letters), np.uint8), "ends": ends}


def _unpacked(packed: dict[str, Array]) -> Array:
    letters, ends = packed["letters"].tobytes(), packed["ends"].tolist()
    texts = np.empty(len(ends), dtype=object)
    texts[:] = [letters[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
    return texts


def exclusive_codes(
    sources: Any, relations: Any, n: int, X: Any, *, whose: str
) -> tuple[IntArray, Array]:
    """Codes that only one reference of an entity may have: sources, and hyper-edges.

    Hyper-edges without a name are those of ``whose`` references alone.

    Returns
    -------
    rows : ndarray of int64
        References.
    names : ndarray of str objects
        A code of each.
    """
    rows, names = [np.empty(0, np.int64)], [np.empty(0, dtype=object)]
    classes = None if sources is None else as_codes(plain(sources), n, "sources")
    if classes is not None:
        placed = np.flatnonzero(classes.codes >= 0)
        rows.append(placed)
        names.append(_worded("source", classes.names)[classes.codes[placed]])
    incidence = read_hyperedges(relations, n, X)
    if incidence.shape[1]:
        entries = incidence.tocoo()
        titles = _worded(f"hyper-edge of {whose} references", np.arange(incidence.shape[1]))
        known = names_of_hyperedges(relations, n, X)
        if known is not None:
            titles[: len(known)] = _worded("hyper-edge", known)
        rows.append(entries.row.astype(np.int64))
        names.append(titles[entries.col])
    return np.concatenate(rows), np.concatenate(names)


def _worded(kind: str, names: Array) -> Array:
    found = np.empty(len(names), dtype=object)
    found[:] = [f"{kind} {text_of(name)}" for name in names.tolist()]
    return found
