"""Why references were merged, and what would decide about pairs that nearly were."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.relational.resolution.collective import parts_of
from sidelight._kernels.relational.resolution.collective_state import OPEN
from sidelight._typing import Array, IntArray
from sidelight.constraints.inner import RowIndex, as_positions
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._collective_merges import (
    BOOTSTRAP,
    GREEDY,
    LINKAGES,
    MUST_LINK,
    CollectiveMerges,
    Ended,
    Settings,
)
from sidelight.relational.resolution._references import References

#: References, and neighbor clusters, that are named in one sentence.
SHOWN = 3

#: Pairs of neighbors that are looked through for one that would decide about a doubtful pair.
MAX_PAIRS = 100_000


@dataclass(frozen=True, eq=False)
class ResolutionRun:
    """A finished run: what explanations are made of.

    Attributes
    ----------
    references : References
        The rows, with the columns that are compared.
    merges : CollectiveMerges
        All merges.
    settings : Settings
        As they were used.
    node : ndarray of shape (n,), int64
        Must-link component of every reference.
    root : ndarray of shape (n_nodes,), int64
        Node that names the cluster of every node at the end.
    neighbors : csr_array of shape (n_nodes, n_nodes)
        Nodes that occur together.
    left : ndarray of shape (p, 2), int64
        Pairs of clusters, by their nodes, that may still be merged.
    left_pairs : ndarray of shape (p, 2), int64
        Most similar pair of references of each.
    left_parts : dict of ndarray
        ``attribute``, ``relational``, ``similarity``, ``shared``, ``around`` of each.
    """

    references: References
    merges: CollectiveMerges
    settings: Settings
    node: IntArray
    root: IntArray
    neighbors: sparse.csr_array
    left: IntArray
    left_pairs: IntArray
    left_parts: dict[str, Array]

    def n_merges_at(self, threshold: float) -> int:
        """Number of merges that are made before one is below a threshold."""
        below = (self.merges.kind == GREEDY) & (self.merges.similarity < threshold)
        return int(below.argmax()) if below.any() else len(self.merges)

    def clusters_at(self, n_merges: int) -> IntArray:
        """Cluster of every reference after the first merges, as ``merges`` numbers them."""
        n = self.references.n
        above = np.arange(n + n_merges)
        above[self.merges.clusters[:n_merges].ravel()] = np.repeat(n + np.arange(n_merges), 2)
        while np.any(above[above] != above):
            above = above[above]
        return above[:n]

    def around(self, members: IntArray, cluster: IntArray) -> IntArray:
        """Clusters that occur with some references, which are one of the clusters themselves."""
        nodes = np.unique(self.node[members])
        found = np.unique(self.neighbors[nodes].indices)
        # Any reference of a node tells the cluster of the node.
        first = np.empty(len(self.root), np.int64)
        first[self.node[::-1]] = np.arange(len(self.node))[::-1]
        return np.setdiff1d(cluster[first[found]], cluster[members[:1]])

    def name(self, row: int) -> str:
        """Text for a reference: its name and attributes."""
        (named,) = self.references.name_rows([row])
        text = self.references.describe(int(row))
        return f"{named} ({text})" if text else named


def outcome_of(
    ended: Ended, merges: CollectiveMerges, references: References, compared: tuple[str, ...]
) -> ResolutionRun:
    """Keep what explanations need, and let the rest go."""
    shown = {name: references.columns[name] for name in compared}
    state, evidence = ended.state, ended.evidence
    edges = np.flatnonzero(state.fate == OPEN)
    attribute, relational, shared, around = parts_of(state, edges, LINKAGES[ended.settings.linkage])
    n_nodes = evidence.n_nodes
    ends = np.concatenate([evidence.neighbors, evidence.neighbors[:, ::-1]])
    ones = np.ones(len(ends), np.int8)
    root = np.arange(n_nodes)
    root[evidence.node] = ended.root()
    return ResolutionRun(
        references=References(references.n, shown, references.ids),
        merges=merges,
        settings=ended.settings,
        node=evidence.node,
        root=root,
        neighbors=sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)),
        left=np.sort(state.similar.ends.reshape(-1, 2)[edges].astype(np.int64), axis=1),
        left_pairs=evidence.pairs[state.exemplar[edges]],
        left_parts={
            "attribute": attribute,
            "relational": relational,
            "similarity": state.value[edges],
            "shared": shared,
            "around": around,
        },
    )


# ---------------------------------------------------------------------------- entities


@dataclass(frozen=True, eq=False)
class EntityExplanation:
    """How the references of one entity were merged; ``print`` it.

    Attributes
    ----------
    entity : int
        The entity, as in ``labels_``.
    rows : ndarray of int64
        Positions of its references.
    table : dict of ndarray
        Its merges in their order: ``i``, ``j``, ``attribute``, ``relational``, ``similarity``,
        ``shared``, ``neighbors``, ``kind`` and ``text``, a sentence.
    """

    entity: int
    rows: IntArray
    table: dict[str, Array]
    title: str

    def __str__(self) -> str:
        lines = [_wrapped(self.title, "  ")]
        for number, text in enumerate(self.table["text"].tolist(), 1):
            head = f"{number}. "
            lines.append(_wrapped(head + text, " " * len(head)))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<EntityExplanation of entity {self.entity}: {len(self.rows)} references, "
            f"{len(self.table['i'])} merges>"
        )


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def explain_entity(
    outcome: ResolutionRun, labels: Array, entity: int | None, row: Any
) -> EntityExplanation:
    """Explain an entity, given by its number or by one of its references."""
    if (entity is None) == (row is None):
        raise SidelightError(
            "Say which entity to explain: explain(3), or explain(row=...) with one of its "
            "references."
        )
    if entity is None:
        entity = int(labels[position_of(outcome.references, row)])
    rows = np.flatnonzero(labels == entity)
    if not len(rows):
        raise SidelightError(f"There is no entity {entity}: they go from 0 to {labels.max()}.")
    merges = outcome.merges
    steps = np.flatnonzero(np.isin(merges.pairs[:, 0], rows))
    names = ", ".join(outcome.name(one) for one in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    table = {
        "i": merges.pairs[steps, 0],
        "j": merges.pairs[steps, 1],
        "attribute": merges.attribute[steps],
        "relational": merges.relational[steps],
        "similarity": merges.similarity[steps],
        "shared": merges.shared[steps],
        "neighbors": merges.around[steps],
        "kind": merges.kind[steps],
        "text": np.array([_sentence(outcome, step) for step in steps.tolist()], dtype=object),
    }
    return EntityExplanation(entity, rows, table, f"Entity {entity}: {names}{more}")


def position_of(references: References, row: Any) -> int:
    """Position of a reference that is given by its id, or by its position without ids."""
    if references.ids is None:
        if not isinstance(row, int | np.integer) or not 0 <= row < references.n:
            raise SidelightError(
                f"There is no reference {row!r}: positions go from 0 to {references.n - 1}."
            )
        return int(row)
    index = RowIndex(references.ids)
    return int(as_positions([(row, row)], "row", index, references.n)[0, 0])


def _sentence(outcome: ResolutionRun, step: int) -> str:
    """One merge in words."""
    merges = outcome.merges
    first, second = outcome.references.name_rows(merges.pairs[step])
    kind = str(merges.kind[step])
    if kind == MUST_LINK:
        return f"{first} + {second}: must-linked."
    parts = f"attributes {merges.attribute[step]:.2f}"
    neighbors = _shared_in_words(outcome, step)
    if kind == BOOTSTRAP:
        around = ", as are references around them" if merges.around[step] else ""
        return f"{first} + {second}, nearly identical{around}: {parts}{neighbors}."
    similarity = merges.similarity[step]
    return f"{first} + {second}, similarity {similarity:.2f}: {parts}{neighbors}."


def _shared_in_words(outcome: ResolutionRun, step: int) -> str:
    """Neighbors that two clusters shared when they were merged, with the names of some."""
    shared, around = int(outcome.merges.shared[step]), int(outcome.merges.around[step])
    if not around or (outcome.merges.relational[step] and not shared):
        return ", no neighbors to compare" if outcome.settings.alpha else ""
    named = ""
    if shared:
        cluster = outcome.clusters_at(step)
        common = _common_neighbors(outcome, step, cluster)
        rows = [int(np.flatnonzero(cluster == one)[0]) for one in common[:SHOWN]]
        more = f" and {len(common) - SHOWN} more" if len(common) > SHOWN else ""
        named = f": {', '.join(outcome.name(row) for row in rows)}{more}"
    return f", {shared} of {around} neighbors shared{named}"


def _common_neighbors(outcome: ResolutionRun, step: int, cluster: IntArray) -> IntArray:
    """Clusters around both clusters of a merge, just before it."""
    first, second = outcome.merges.pairs[step]
    sides = [np.flatnonzero(cluster == cluster[row]) for row in (first, second)]
    one, other = (outcome.around(members, cluster) for members in sides)
    return np.intersect1d(one, other)


# ---------------------------------------------------------------------------- doubtful pairs


def doubtful_pairs(outcome: ResolutionRun, n: int) -> dict[str, Array]:
    """Undecided pairs of clusters and merges, those nearest to the threshold first."""
    threshold = outcome.settings.threshold
    merges, left = outcome.merges, outcome.left_parts
    made = np.flatnonzero(merges.kind == GREEDY)
    similarity = np.concatenate([left["similarity"], merges.similarity[made]])
    order = np.argsort(np.abs(similarity - threshold), kind="stable")[: max(int(n), 0)]
    apart = order[order < len(outcome.left)]
    joined = made[order[order >= len(outcome.left)] - len(outcome.left)]
    reason = np.empty(len(order), dtype=object)
    of_apart = order < len(outcome.left)
    final = outcome.root[outcome.node]
    reason[of_apart] = [_what_would_join(outcome, place, final) for place in apart.tolist()]
    reason[~of_apart] = [_what_would_part(outcome, step) for step in joined.tolist()]
    pairs = np.empty((len(order), 2), np.int64)
    pairs[of_apart], pairs[~of_apart] = outcome.left_pairs[apart], merges.pairs[joined]
    found: dict[str, Array] = {"i": pairs[:, 0], "j": pairs[:, 1], "similarity": similarity[order]}
    for name in ("attribute", "relational"):
        values = np.empty(len(order))
        values[of_apart], values[~of_apart] = left[name][apart], getattr(merges, name)[joined]
        found[name] = values
    return found | {"joined": ~of_apart, "reason": reason}


def _mixed(settings: Settings, attribute: float, shared: int, around: int) -> float:
    relational = shared / around if around > 0 else 0.0
    return (1 - settings.alpha) * attribute + settings.alpha * relational


def _what_would_join(outcome: ResolutionRun, place: int, final: IntArray) -> str:
    """Which other decision would let an undecided pair reach the threshold."""
    settings, left = outcome.settings, outcome.left_parts
    attribute = float(left["attribute"][place])
    shared, around = int(left["shared"][place]), int(left["around"][place])
    text = f"Attributes {attribute:.2f}"
    if settings.alpha:
        text += _neighbors_in_words(shared, around, float(left["relational"][place]))
        with_one_more = _mixed(settings, attribute, shared + 1, around - 1)
        if around >= 2 and with_one_more >= settings.threshold:
            pair = _undecided_neighbors(outcome, place, final)
            if pair is not None:
                one, other = outcome.name(pair[0]), outcome.name(pair[1])
                return (
                    f"{text}: were {one} and {other} the same, the similarity would be "
                    f"{with_one_more:.2f} and they would join."
                )
    if settings.alpha < 1:
        relational = float(left["relational"][place])
        needed = (settings.threshold - settings.alpha * relational) / (1 - settings.alpha)
        if needed <= 1:
            return f"{text}: with attributes of similarity {needed:.2f} they would join."
    return f"{text}: no other pair decides, only a statement about these two."


def _neighbors_in_words(shared: int, around: int, relational: float) -> str:
    """How many neighbors two clusters share, where both have some."""
    if not around:
        return "; nobody occurs with them"
    if relational and not shared:
        return "; nobody occurs with one of them"
    return f"; they share {shared} of {around} neighbors"


def _undecided_neighbors(outcome: ResolutionRun, place: int, final: IntArray) -> IntArray | None:
    """Most similar undecided pair of a neighbor of one cluster and a neighbor of the other."""
    sides = [np.flatnonzero(final == node) for node in outcome.left[place]]
    one, other = (outcome.around(members, final) for members in sides)
    one, other = np.setdiff1d(one, other), np.setdiff1d(other, one)
    if len(one) * len(other) > MAX_PAIRS:
        return None
    n = len(outcome.root)
    pairs = np.sort(np.stack(np.meshgrid(one, other), axis=-1).reshape(-1, 2), axis=1)
    wanted = np.unique(pairs[:, 0] * n + pairs[:, 1])
    places = np.flatnonzero(np.isin(outcome.left[:, 0] * n + outcome.left[:, 1], wanted))
    if not len(places):
        return None
    best = places[np.argmax(outcome.left_parts["similarity"][places])]
    return outcome.left_pairs[best]


def _what_would_part(outcome: ResolutionRun, step: int) -> str:
    """Which other decision would keep a merged pair apart."""
    settings, merges = outcome.settings, outcome.merges
    attribute = float(merges.attribute[step])
    shared, around = int(merges.shared[step]), int(merges.around[step])
    text = f"Attributes {attribute:.2f}"
    if settings.alpha:
        text += _neighbors_in_words(shared, around, float(merges.relational[step]))
    if settings.alpha and shared:
        with_one_less = _mixed(settings, attribute, shared - 1, around + 1)
        if with_one_less < settings.threshold:
            cluster = outcome.clusters_at(step)
            common = _common_neighbors(outcome, step, cluster)
            row = int(np.flatnonzero(cluster == common[0])[0])
            return (
                f"{text}: were the references to {outcome.name(row)} around the two different "
                f"entities, the similarity would be {with_one_less:.2f} and they would stay apart."
            )
    margin = float(merges.similarity[step]) - settings.threshold
    return f"{text}: joined, {margin:.2f} above the threshold."
