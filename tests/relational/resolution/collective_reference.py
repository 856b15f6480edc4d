"""The collective algorithm as the book has it: sets, no heap, everything computed anew."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from sidelight.relational.resolution._collective_merges import Evidence, Settings


def draw_evidence(
    seed: int,
    *,
    n: int = 16,
    n_hyperedges: int = 8,
    share: float = 0.5,
    distinct: bool = True,
    n_conflicts: int = 0,
    n_must_links: int = 0,
) -> Evidence:
    """Random candidates with continuous similarities, and random hyper-edges."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < share
    pairs = np.column_stack([i[kept], j[kept]]).astype(np.int64)
    members = [rng.choice(n, rng.integers(2, 5), replace=False) for _ in range(n_hyperedges)]
    columns = np.repeat(np.arange(n_hyperedges), [len(one) for one in members])
    incidence = sparse.csr_array(
        (np.ones(len(columns), np.int8), (np.concatenate(members), columns)), (n, n_hyperedges)
    )
    node = np.arange(n)
    for _ in range(n_must_links):
        a, b = rng.choice(n, 2, replace=False)
        node[node == node[b]] = node[a]
    _, first, codes = np.unique(node, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    node = rank[codes]
    n_nodes = int(node.max()) + 1
    exclusive = sparse.csr_array((n_nodes, 0), dtype=np.int8)
    if distinct:
        held = incidence.tocoo()
        dense = np.zeros((n_nodes, n_hyperedges), np.int8)
        dense[node[held.row], held.col] = 1
        exclusive = sparse.csr_array(dense)
    conflicts = {tuple(sorted(rng.choice(n_nodes, 2, replace=False))) for _ in range(n_conflicts)}
    return Evidence(
        pairs=pairs,
        similarity=rng.random(len(pairs)),
        incidence=incidence,
        node=node,
        conflicts=np.array(sorted(conflicts), np.int64).reshape(-1, 2),
        exclusive=exclusive,
    )


@dataclass
class Reference:
    """Clusters of references as sets, and the merges so far."""

    evidence: Evidence
    settings: Settings
    clusters: list[frozenset[int]] = field(init=False)
    merges: list[tuple[frozenset[int], float]] = field(init=False, default_factory=list)
    n_bootstrapped: int = 0

    def __post_init__(self) -> None:
        node = self.evidence.node
        self.clusters = [
            frozenset(np.flatnonzero(node == one).tolist()) for one in range(node.max() + 1)
        ]
        self.sets = [set(column) for column in _columns(self.evidence.incidence)]

    def around(self, cluster: frozenset[int]) -> set[frozenset[int]]:
        """Other clusters in the hyper-edges of a cluster."""
        together = set().union(*[one for one in self.sets if one & cluster], set())
        return {other for other in self.clusters if other & together} - {cluster}

    def relational(self, a: frozenset[int], b: frozenset[int]) -> float:
        one, other = self.around(a), self.around(b)
        if not one or not other:
            return self.settings.isolated
        return len(one & other) / len(one | other)

    def attribute(self, a: frozenset[int], b: frozenset[int]) -> float | None:
        """Similarity of attributes over the candidate pairs between two clusters."""
        pairs = self.evidence.pairs.tolist()
        between = [
            self.evidence.similarity[k]
            for k, (i, j) in enumerate(pairs)
            if (i in a and j in b) or (i in b and j in a)
        ]
        if not between:
            return None
        how = {"single": max, "complete": min, "average": np.mean}[self.settings.linkage]
        return float(how(between))

    def similarity(self, a: frozenset[int], b: frozenset[int]) -> float | None:
        attribute, alpha = self.attribute(a, b), self.settings.alpha
        if attribute is None or self.must_stay_apart(a, b):
            return None
        return (1 - alpha) * attribute + alpha * self.relational(a, b)

    def must_stay_apart(self, a: frozenset[int], b: frozenset[int]) -> bool:
        node = self.evidence.node
        nodes = [{int(node[row]) for row in cluster} for cluster in (a, b)]
        for u, v in self.evidence.conflicts.tolist():
            if (u in nodes[0] and v in nodes[1]) or (v in nodes[0] and u in nodes[1]):
                return True
        held = self.evidence.exclusive.toarray()
        return bool(np.any(held[list(nodes[0])].any(0) & held[list(nodes[1])].any(0)))

    def open_pairs(self) -> dict[frozenset[frozenset[int]], float]:
        """Similarity of every pair of clusters that may be merged."""
        found = {}
        for place, a in enumerate(self.clusters):
            for b in self.clusters[:place]:
                value = self.similarity(a, b)
                if value is not None:
                    found[frozenset((a, b))] = value
        return found

    def merge(self, a: frozenset[int], b: frozenset[int], value: float) -> None:
        self.clusters = [one for one in self.clusters if one not in (a, b)] + [a | b]
        self.merges.append((a | b, value))

    def run(self) -> Reference:
        self.bootstrap()
        self.n_bootstrapped = len(self.merges)
        while pairs := self.open_pairs():
            best = max(pairs, key=lambda pair: pairs[pair])
            if pairs[best] < self.settings.threshold:
                break
            self.merge(*best, pairs[best])
        return self

    def bootstrap(self) -> None:
        """Nearly identical pairs with nearly identical neighbors, the most similar first."""
        least, wanted = self.settings.bootstrap, self.settings.bootstrap_neighbors
        if least is None:
            return

        def alike(x: frozenset[int], y: frozenset[int]) -> bool:
            value = self.attribute(x, y)
            apart = value is not None and self.must_stay_apart(x, y)
            return x == y or (value is not None and not apart and value >= least)

        marked = []
        for place, a in enumerate(self.clusters):
            for b in self.clusters[:place]:
                if not alike(a, b):
                    continue
                one, other = self.around(a), self.around(b)
                left = sum(any(alike(x, y) for y in other) for x in one)
                right = sum(any(alike(x, y) for x in one) for y in other)
                if min(left, right) >= wanted:
                    marked.append((-self._best(a, b), min(a), min(b)))
        for _, i, j in sorted(marked):
            a = next(one for one in self.clusters if i in one)
            b = next(one for one in self.clusters if j in one)
            if a != b and not self.must_stay_apart(a, b):
                self.merge(a, b, 1.0)

    def _best(self, a: frozenset[int], b: frozenset[int]) -> float:
        single = Settings(self.settings.alpha, self.settings.threshold, "single")
        value = Reference.attribute(_with(self, single), a, b)
        assert value is not None
        return value


def _with(reference: Reference, settings: Settings) -> Reference:
    other = Reference(reference.evidence, settings)
    other.clusters = reference.clusters
    return other


def _columns(incidence: sparse.csr_array) -> list[list[int]]:
    columns = incidence.tocsc()
    return [
        columns.indices[columns.indptr[j] : columns.indptr[j + 1]].tolist()
        for j in range(columns.shape[1])
    ]
