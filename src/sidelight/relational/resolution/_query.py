"""Query-time resolution: extract what is near to some references, and resolve that alone."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from sidelight._fit.parameters import check_parameters
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints.inner import text_of
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._blocking import candidate_pairs
from sidelight.relational.resolution._collective_merges import Evidence, merge_collectively
from sidelight.relational.resolution._explain import position_of
from sidelight.relational.resolution._problem import (
    MergeRules,
    make_rules,
    numbered,
    read_hyperedges,
    read_sources,
)
from sidelight.relational.resolution._references import References
from sidelight.relational.resolution._similarities import Scorer, read_comparisons

if TYPE_CHECKING:
    from sidelight.relational.resolution._collective import CollectiveResolution

#: Values of a column that are named where none is the value that is asked for.
SHOWN = 5


@dataclass(frozen=True, eq=False)
class QueryResult:
    """References of a query and their entities.

    Attributes
    ----------
    rows : ndarray of int64
        Positions of the references of level 0: those that were asked for, and those that look like
        them.
    labels : ndarray of int32
        Entity of each, numbered by first appearance.
    extracted : ndarray of int64
        Positions of all references that were resolved with them.
    levels : ndarray of int64
        Level at which each of the extracted references was added.
    """

    rows: IntArray
    labels: Array
    extracted: IntArray
    levels: IntArray

    def __repr__(self) -> str:
        entities = counted(len(np.unique(self.labels)), "entity", "entities")
        return (
            f"<QueryResult: {counted(len(self.rows), 'reference')} to {entities}, "
            f"{len(self.extracted)} references extracted>"
        )


class QueryNeighborhood:
    """References that are similar, or occur together; similarities are computed on demand.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2)
        Pairs that blocking keeps.
    scorer : Scorer
        Similarity of pairs.
    incidence : csr_array of shape (n, n_hyperedges)
        Which references occur together.
    node : ndarray of shape (n,)
        Must-link component of every reference, which is extracted as a whole.
    least : float
        Pairs whose attributes are less similar are no candidates.
    looks_like : float
        Attribute similarity from which a reference is added because of another.
    """

    def __init__(
        self,
        pairs: IntArray,
        scorer: Scorer,
        incidence: sparse.csr_array,
        node: IntArray,
        least: float,
        looks_like: float,
    ) -> None:
        n = len(node)
        self._scorer, self._incidence = scorer, incidence
        self._least, self._looks_like = least, max(least, looks_like)
        numbers = np.arange(len(pairs), dtype=np.int64)
        places = np.concatenate([pairs[:, 0], pairs[:, 1]])
        # Row r lists the numbers of the pairs of reference r.
        self._of_row = sparse.csr_array(
            (np.ones(2 * len(pairs), np.int8), (places, np.tile(numbers, 2))),
            shape=(n, max(len(pairs), 1)),
        )
        self._columns = incidence.tocsc()
        self._pairs, self._node = pairs, node
        self._similarity = np.full(len(pairs), np.nan)

    def similar(self, rows: IntArray) -> IntArray:
        """References that look like some references."""
        numbers = self._scored(np.unique(self._of_row[rows].indices), self._looks_like)
        return np.unique(self._pairs[numbers])

    def together(self, rows: IntArray) -> IntArray:
        """References that occur with some references."""
        edges = np.unique(self._incidence[rows].indices)
        return np.unique(self._columns[:, edges].indices).astype(np.int64)

    def with_must_links(self, rows: IntArray) -> IntArray:
        """References that are in a must-link component of some references."""
        return np.flatnonzero(np.isin(self._node, self._node[rows]))

    def inside(self, rows: IntArray) -> tuple[IntArray, FloatArray]:
        """Candidate pairs between references, and their similarity."""
        wanted = np.zeros(len(self._node), bool)
        wanted[rows] = True
        numbers = np.unique(self._of_row[rows].indices)
        numbers = self._scored(numbers[wanted[self._pairs[numbers]].all(axis=1)], self._least)
        return self._pairs[numbers], self._similarity[numbers]

    def _scored(self, numbers: IntArray, least: float) -> IntArray:
        """Compute similarities that are not known yet, and keep the pairs that are so similar."""
        new = numbers[np.isnan(self._similarity[numbers])]
        self._similarity[new] = self._scorer.combine(self._scorer.score(self._pairs[new]))
        return numbers[self._similarity[numbers] >= least]


def extract(
    near: QueryNeighborhood, asked: IntArray, levels: int | None
) -> tuple[IntArray, IntArray]:
    """References of all levels, sorted, and the level of each.

    Parameters
    ----------
    near : QueryNeighborhood
        Which references are similar or occur together.
    asked : ndarray of int64
        References that are asked for.
    levels : int or None
        Number of levels beyond level 0; None to go on as long as there is something to add.
    """

    def expanded(rows: IntArray) -> IntArray:
        return near.with_must_links(np.union1d(rows, near.similar(rows)))

    rows = expanded(asked)
    level = dict.fromkeys(rows.tolist(), 0)
    number = 0
    while levels is None or number < levels:
        number += 1
        grown = np.union1d(rows, expanded(np.union1d(rows, near.together(rows))))
        added = np.setdiff1d(grown, rows)
        if not len(added):
            break
        level |= dict.fromkeys(added.tolist(), number)
        rows = grown
    return rows, np.array([level[row] for row in rows.tolist()], np.int64)


def resolve_query(
    model: CollectiveResolution,
    X: Any,
    rows: Any,
    value: dict[str, Any] | None,
    levels: int | None,
    looks_like: float,
    given: tuple[Any, Any, Any, Any],
) -> QueryResult:
    """Resolve the requested references; see :meth:`CollectiveResolution.query`."""
    from sidelight.relational.resolution._collective import MIN_ATTRIBUTE

    check_parameters(model)
    model = clone(model)  # reading the references sets attributes
    if levels is not None and (not isinstance(levels, int | np.integer) or levels < 0):
        raise SidelightError(f"levels must be None or a whole number of at least 0, got {levels}.")
    if not isinstance(looks_like, Real) or not 0 <= looks_like <= 1:
        raise SidelightError(f"looks_like must be a number between 0 and 1, got {looks_like}.")
    y, constraints, relations, sources = given
    references = model._read(X)
    known = model._validate_knowledge(constraints, y, references.n, X)
    incidence = read_hyperedges(relations, references.n, X)
    codes = read_sources(sources, references.n, X)
    rules = make_rules(known, incidence, codes, distinct=model.distinct)
    asked = _asked_for(references, rows, value)
    scorer = Scorer(references, read_comparisons(model.compare, references))
    pairs, _ = candidate_pairs(
        model.blocking, references, scorer, least=model._least_similarity(), X=X
    )
    near = QueryNeighborhood(pairs, scorer, incidence, rules.node, MIN_ATTRIBUTE, looks_like)
    extracted, level = extract(near, asked, levels)
    evidence = _restricted(near, incidence, rules, extracted)
    ended = merge_collectively(evidence, model._settings(incidence, scorer))
    first = level == 0
    return QueryResult(extracted[first], numbered(ended.root()[first]), extracted, level)


def _asked_for(references: References, rows: Any, value: dict[str, Any] | None) -> IntArray:
    """Positions of the references that a query names."""
    if (rows is None) == (value is None):
        raise SidelightError(
            'Say which references to resolve: query(X, rows=[...]) or query(X, value={"name": '
            '"W. Wang"}).'
        )
    if rows is not None:
        listed = rows if isinstance(rows, list | tuple | np.ndarray) else [rows]
        if not len(listed):
            raise SidelightError("rows names no reference to resolve; give at least one.")
        return np.unique([position_of(references, row) for row in listed])
    if not isinstance(value, dict) or not value:
        raise SidelightError('value must map columns to values, such as {"name": "W. Wang"}.')
    matches = np.ones(references.n, bool)
    for name, wanted in value.items():
        matches &= _has_value(references, str(name), wanted)
    if not matches.any():
        raise SidelightError("No reference has all of the values that are asked for.")
    return np.flatnonzero(matches)


def _has_value(references: References, name: str, wanted: Any) -> Array:
    """Which references have a value in a column."""
    column = references.columns.get(name)
    if column is None:
        raise SidelightError(
            f"There is no column {name!r}; the columns are "
            f"{', '.join(repr(one) for one in references.columns)}."
        )
    texts = column.texts()
    found = np.flatnonzero(texts == text_of(wanted))
    if not len(found):
        shown = ", ".join(repr(str(text)) for text in texts[:SHOWN])
        raise SidelightError(
            f"No reference has {text_of(wanted)!r} in the column {name!r}; it has values such as "
            f"{shown}."
        )
    mask: Array = np.isin(column.codes, found)
    return mask


def _restricted(
    near: QueryNeighborhood, incidence: sparse.csr_array, rules: MergeRules, rows: IntArray
) -> Evidence:
    """Evidence about some references alone, which hold whole must-link components."""
    place = np.full(len(rules.node), -1, np.int64)
    place[rows] = np.arange(len(rows))
    pairs, similarity = near.inside(rows)
    nodes, node = np.unique(rules.node[rows], return_inverse=True)
    node_place = np.full(rules.n_nodes, -1, np.int64)
    node_place[nodes] = np.arange(len(nodes))
    conflicts = node_place[rules.conflicts]
    kept = incidence[rows]
    used = np.flatnonzero(np.bincount(kept.indices, minlength=incidence.shape[1]))
    return Evidence(
        pairs=place[pairs],
        similarity=similarity,
        incidence=sparse.csr_array(kept[:, used]),
        node=node.astype(np.int64),
        conflicts=conflicts[(conflicts >= 0).all(axis=1)],
        exclusive=sparse.csr_array(rules.exclusive[nodes]),
    )
