"""The greedy collective algorithm on arrays: candidates, hyper-edges and rules in, merges out.

The steps of figure 10.2 of the book, after blocking: bootstrap, a heap of the similarities of all
candidate pairs of clusters, and merges that change the similarities of neighboring clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sidelight._kernels.relational.resolution.collective import (
    DONE,
    HEAP_FULL,
    PAUSED,
    final_edges,
    follow,
    merge_best,
    merge_listed,
    name_merges,
    near_identical,
    pairs_in_edges,
    parts_of,
)
from sidelight._kernels.relational.resolution.collective_graph import merge_graph
from sidelight._kernels.relational.resolution.collective_state import (
    AVERAGE,
    COMPLETE,
    HEAP_SIZE,
    JOINED,
    N_MERGES,
    OPEN,
    SINGLE,
    State,
    drop_conflicts,
    fill_heap,
)
from sidelight._progress import fit_progress
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.exceptions import SidelightError

LINKAGES = {"single": SINGLE, "average": AVERAGE, "complete": COMPLETE}

#: Why two clusters were merged.
MUST_LINK, BOOTSTRAP, GREEDY = "must-link", "bootstrap", "similar"

#: Pairs of references that occur together, beyond which they do not fit into memory.
MAX_NEIGHBORS = 100_000_000

#: Merges between two looks at progress and Ctrl-C.
MERGES_AT_ONCE = 20_000


@dataclass(frozen=True)
class Settings:
    """Numbers that the merges depend on; see :class:`CollectiveResolution`."""

    alpha: float
    threshold: float
    linkage: str = "single"
    bootstrap: float | None = None
    bootstrap_neighbors: int = 1
    isolated: float = 0.0
    verbose: int = 0


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence that the merges depend on.

    A node stands for the references of one must-link component.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2), int64
        Candidate pairs of references ``i < j``, each once.
    similarity : ndarray of shape (m,)
        Similarity of their attributes.
    incidence : csr_array of shape (n, n_hyperedges)
        Which references are in which hyper-edge.
    node : ndarray of shape (n,), int64
        Node of every reference; nodes are numbered by their first reference.
    conflicts : ndarray of shape (c, 2), int64
        Pairs of nodes that must not join.
    exclusive : csr_array of shape (n_nodes, n_codes)
        Two nodes that share a column must not join.
    """

    pairs: IntArray
    similarity: FloatArray
    incidence: sparse.csr_array
    node: IntArray
    conflicts: IntArray
    exclusive: sparse.csr_array

    @property
    def n(self) -> int:
        """Number of references."""
        return len(self.node)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.exclusive.shape[0]

    @cached_property
    def neighbors(self) -> IntArray:
        """Pairs of nodes that occur together in a hyper-edge, each once."""
        columns = self.incidence.tocsc()
        sizes = np.diff(columns.indptr).astype(np.int64)
        n_pairs = int((sizes * (sizes - 1) // 2).sum())
        if n_pairs > MAX_NEIGHBORS:
            largest = int(sizes.argmax())
            raise SidelightError(
                f"The hyper-edges hold {n_pairs:,} pairs of references that occur together, and "
                f"at most {MAX_NEIGHBORS:,} fit; the largest is hyper-edge {largest} with "
                f"{sizes[largest]:,} references. Leave out hyper-edges that are too large to "
                "identify anyone."
            )
        members = self.node[columns.indices]
        pairs = pairs_in_edges(columns.indptr.astype(np.int64), members)
        return unique_pairs(pairs[pairs[:, 0] != pairs[:, 1]], self.n_nodes)


@dataclass(frozen=True, eq=False)
class CollectiveMerges:
    """Merges in their order; cluster ``r`` is reference ``r``, merge ``s`` makes cluster ``n + s``.

    Attributes
    ----------
    clusters : ndarray of shape (n_merges, 2), int64
        The two clusters.
    pairs : ndarray of shape (n_merges, 2), int64
        Candidate pair between them whose attributes are most similar.
    attribute, relational, similarity : ndarray of shape (n_merges,)
        Both parts of the similarity of the clusters, and the similarity, at that moment; the
        similarity is 1 for merges that no threshold prevents.
    shared, around : ndarray of shape (n_merges,), int64
        Number of neighbor clusters that both had, and that one or the other had.
    kind : ndarray of str
        ``"must-link"``, ``"bootstrap"`` or ``"similar"``.
    """

    clusters: IntArray
    pairs: IntArray
    attribute: FloatArray
    relational: FloatArray
    similarity: FloatArray
    shared: IntArray
    around: IntArray
    kind: Array

    def __len__(self) -> int:
        return len(self.clusters)


@dataclass(frozen=True, eq=False)
class Ended:
    """Where the merges ended.

    Attributes
    ----------
    state : State
        Clusters and similarities at the end.
    settings : Settings
        Numbers that they depended on.
    evidence : Evidence
        What the merges depended on.
    edge : ndarray of shape (m,), int64
        Edge between two clusters that every candidate pair ended in, -1 for pairs of one node.
    n_bootstrapped : int
        Number of merges of the bootstrap.
    converged : bool
        Whether no pair that reaches the threshold is left.
    """

    state: State
    settings: Settings
    evidence: Evidence
    edge: IntArray
    n_bootstrapped: int
    converged: bool

    @property
    def n_merges(self) -> int:
        """Number of merges, without those of must-links."""
        return int(self.state.counters[N_MERGES])

    def root(self) -> IntArray:
        """Node that the node of every reference was merged into."""
        nodes: IntArray = follow(self.state.parent.copy())[self.evidence.node]
        return nodes

    def best_left(self) -> float:
        """Largest similarity of two clusters that may still be merged; 0 without any."""
        return float(self.state.value[self.state.fate == OPEN].max(initial=0.0))


def merge_collectively(
    evidence: Evidence, settings: Settings, *, max_merges: int | None = None
) -> Ended:
    """Merge references to entities, the most similar pair of clusters first.

    Parameters
    ----------
    evidence : Evidence
        Candidates, hyper-edges and rules.
    settings : Settings
        Numbers that the merges depend on.
    max_merges : int, optional
        Stop after this many merges, those of bootstrap and must-links not counted.
    """
    linkage = LINKAGES[settings.linkage]
    state, edge = _start(evidence, settings)
    drop_conflicts(state)
    if settings.bootstrap is not None:
        _bootstrap(state, settings, linkage)
    n_bootstrapped = int(state.counters[N_MERGES])
    fill_heap(state, settings.alpha, linkage, settings.threshold)
    state, converged = _merge(state, settings, linkage, max_merges)
    inside = edge < 0
    edge = np.where(inside, -1, final_edges(state)[edge] if len(state.value) else -1)
    return Ended(state, settings, evidence, edge, n_bootstrapped, converged)


def _start(evidence: Evidence, settings: Settings) -> tuple[State, IntArray]:
    """Every node its own cluster; and the edge of every candidate pair, -1 inside a node."""
    n_nodes, linkage = evidence.n_nodes, LINKAGES[settings.linkage]
    ends = np.sort(evidence.node[evidence.pairs], axis=1)
    between = np.flatnonzero(ends[:, 0] != ends[:, 1])
    key = ends[between, 0] * n_nodes + ends[between, 1]
    keys, number, count = np.unique(key, return_inverse=True, return_counts=True)
    edge = np.full(len(ends), -1, np.int64)
    edge[between] = number
    # Of the pairs between two nodes, the most similar one first, the first of equals.
    given = evidence.similarity[between]
    order = np.lexsort((between, -given, number))
    starts = np.cumsum(count) - count
    exemplar = between[order[starts]] if len(keys) else between
    best = evidence.similarity[exemplar]
    total: FloatArray
    if linkage == AVERAGE:
        total = np.bincount(number, given, len(keys)).astype(np.float64)
    elif linkage == SINGLE:
        total = best.copy()
    else:
        total = given[order[starts + count - 1]] if len(keys) else best.copy()
    m = len(keys)
    state = State(
        similar=merge_graph(np.column_stack(np.divmod(keys, n_nodes)), n_nodes),
        neighbors=merge_graph(evidence.neighbors, n_nodes),
        conflicts=_conflict_graph(evidence),
        total=total.astype(np.float64),
        best=best.astype(np.float64),
        count=count.astype(np.int64),
        exemplar=exemplar,
        value=np.zeros(m),
        version=np.zeros(m, np.int32),
        fate=np.zeros(m, np.int8),
        into=np.full(m, -1, np.int64),
        heap_value=np.empty(m + 64),
        heap_edge=np.empty(m + 64, np.int32),
        heap_version=np.empty(m + 64, np.int32),
        parent=np.arange(n_nodes),
        touched=np.empty(n_nodes, np.int32),
        **{name: np.zeros(n_nodes, np.int64) for name in ("lost", "kept", "edge")},
        **{name: np.zeros(n_nodes, np.int64) for name in ("shared", "around")},
        **{name: np.zeros(n_nodes) for name in ("attribute", "relational", "similarity")},
        isolated=np.array([settings.isolated]),
        counters=np.zeros(2, np.int64),
    )
    return state, edge


def _conflict_graph(evidence: Evidence) -> object:
    """Conflicts between nodes, and between nodes and the codes that only one of them may have."""
    held = evidence.exclusive.tocoo()
    # A column with one entry forbids nothing.
    several = np.bincount(held.col, minlength=evidence.exclusive.shape[1])[held.col] > 1
    codes = np.column_stack([held.row[several], evidence.n_nodes + held.col[several]])
    pairs = np.concatenate([evidence.conflicts, codes.astype(np.int64)])
    return merge_graph(pairs, evidence.n_nodes + evidence.exclusive.shape[1])


def _bootstrap(state: State, settings: Settings, linkage: int) -> None:
    """Merge what is nearly identical and occurs with what is nearly identical.

    Before any merge, references in different hyper-edges have no neighbor cluster in common.
    """
    assert settings.bootstrap is not None
    marked = np.flatnonzero(
        near_identical(state, settings.bootstrap, settings.bootstrap_neighbors, linkage)
    )
    most_similar_first = marked[np.argsort(-state.best[marked], kind="stable")]
    merge_listed(state, most_similar_first, settings.alpha, linkage)
    drop_conflicts(state)


def _merge(
    state: State, settings: Settings, linkage: int, max_merges: int | None
) -> tuple[State, bool]:
    """Merge until no pair reaches the threshold; the state may get a larger heap."""
    left = len(state.parent) if max_merges is None else max_merges
    ended = PAUSED
    with fit_progress("CollectiveResolution", verbose=settings.verbose) as progress:
        while ended != DONE and (left > 0 or ended == HEAP_FULL):
            before = int(state.counters[N_MERGES])
            most = min(left, MERGES_AT_ONCE)
            ended = merge_best(state, settings.alpha, linkage, settings.threshold, most)
            merged = int(state.counters[N_MERGES]) - before
            left -= merged
            progress.step(n_steps=merged)
            if ended == HEAP_FULL:
                state = _with_larger_heap(state)
    return state, ended == DONE


def _with_larger_heap(state: State) -> State:
    size = int(state.counters[HEAP_SIZE])
    larger = {}
    for name in ("heap_value", "heap_edge", "heap_version"):
        old = getattr(state, name)
        new = np.empty(2 * len(old), old.dtype)
        new[:size] = old[:size]
        larger[name] = new
    return state._replace(**larger)


def merges_of(ended: Ended) -> CollectiveMerges:
    """All merges, those of must-links first."""
    state, evidence, n = ended.state, ended.evidence, ended.evidence.n
    stated, name = _must_link_merges(evidence)
    k = ended.n_merges
    clusters = name_merges(state.lost[:k], state.kept[:k], name, n + len(stated))
    exemplar = evidence.pairs[state.exemplar[state.edge[:k]]]
    kind = np.array([BOOTSTRAP] * ended.n_bootstrapped + [GREEDY] * (k - ended.n_bootstrapped))
    return CollectiveMerges(
        clusters=np.concatenate([stated.clusters, clusters]),
        pairs=np.concatenate([stated.pairs, exemplar]),
        attribute=np.concatenate([stated.attribute, state.attribute[:k]]),
        relational=np.concatenate([stated.relational, state.relational[:k]]),
        similarity=np.concatenate([stated.similarity, _similarity_of_merges(ended)]),
        shared=np.concatenate([stated.shared, state.shared[:k]]),
        around=np.concatenate([stated.around, state.around[:k]]),
        kind=np.concatenate([stated.kind, kind.astype("<U9")]),
    )


def _similarity_of_merges(ended: Ended) -> FloatArray:
    """Similarity of every merge, 1 for those of the bootstrap, which no threshold prevents."""
    similarity: FloatArray = ended.state.similarity[: ended.n_merges].copy()
    similarity[: ended.n_bootstrapped] = 1.0
    return similarity


def _must_link_merges(evidence: Evidence) -> tuple[CollectiveMerges, IntArray]:
    """References of every node one after the other; and the cluster of every node then."""
    node, n = evidence.node, evidence.n
    order = np.argsort(node, kind="stable")
    sorted_nodes = node[order]
    is_first = np.diff(sorted_nodes, prepend=-1) > 0
    later = np.flatnonzero(~is_first)
    made = n + np.arange(len(later))
    # The cluster before a reference: that of the merge before, or the first reference.
    after_first = is_first[later - 1] if len(later) else np.empty(0, bool)
    cluster_before = np.where(after_first, order[later - 1], made - 1)
    name = np.empty(evidence.n_nodes, np.int64)
    name[sorted_nodes[is_first]] = order[is_first]
    name[sorted_nodes[later]] = made  # the last merge of a node comes last
    pairs = np.sort(np.column_stack([order[later - 1], order[later]]), axis=1).astype(np.int64)
    zeros = np.zeros(len(later), np.int64)
    return (
        CollectiveMerges(
            clusters=np.sort(np.column_stack([cluster_before, order[later]]), axis=1),
            pairs=pairs,
            attribute=_similarity_of(pairs, evidence),
            relational=np.zeros(len(later)),
            similarity=np.ones(len(later)),
            shared=zeros,
            around=zeros,
            kind=np.full(len(later), MUST_LINK, dtype="<U9"),
        ),
        name,
    )


def _similarity_of(pairs: IntArray, evidence: Evidence) -> FloatArray:
    """Attribute similarity of pairs, 0 for pairs that are no candidates."""
    if len(evidence.pairs) == 0:
        return np.zeros(len(pairs))
    key = evidence.pairs[:, 0] * evidence.n + evidence.pairs[:, 1]
    wanted = pairs[:, 0] * evidence.n + pairs[:, 1]
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    found: FloatArray = np.where(key[place] == wanted, evidence.similarity[place], 0.0)
    return found


def pairs_of(ended: Ended) -> dict[str, Array]:
    """Every candidate pair, with the parts of the similarity that decided about it.

    For pairs that joined it is the similarity of their clusters when they were merged, 1 for
    must-links and the bootstrap; for others that at the end, 0 where they must stay apart.
    """
    state, evidence, edge = ended.state, ended.evidence, ended.edge
    linkage = LINKAGES[ended.settings.linkage]
    relational, similarity = np.zeros(len(state.value)), np.zeros(len(state.value))
    left = np.flatnonzero(state.fate == OPEN)
    relational[left], similarity[left] = parts_of(state, left, linkage)[1], state.value[left]
    joined = np.flatnonzero(state.fate == JOINED)
    relational[joined] = state.relational[state.into[joined]]
    similarity[joined] = _similarity_of_merges(ended)[state.into[joined]]
    attribute = state.total / state.count if linkage == AVERAGE else state.total
    # Pairs inside a node, which have no edge, are found behind the last one.
    inside = edge < 0
    root = ended.root()
    i, j = evidence.pairs[:, 0], evidence.pairs[:, 1]
    return {
        "i": i.copy(),
        "j": j.copy(),
        "attribute": np.where(inside, evidence.similarity, np.append(attribute, 0.0)[edge]),
        "relational": np.append(relational, 0.0)[edge],
        "similarity": np.append(similarity, 1.0)[edge],
        "joined": root[i] == root[j],
    }


def occur_together(incidence: sparse.csr_array) -> bool:
    """Whether some hyper-edge holds two references."""
    return bool(np.any(np.bincount(incidence.indices, minlength=1) > 1))


def unique_pairs(pairs: IntArray, n: int) -> IntArray:
    """Each pair once, sorted."""
    keys = np.unique(pairs[:, 0] * n + pairs[:, 1])
    return np.column_stack(np.divmod(keys, max(n, 1)))
