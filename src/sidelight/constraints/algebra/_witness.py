"""The smallest proof that a set of statements contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._kernels.constraints.shortest_path import shortest_chain
from sidelight._kernels.constraints.unionfind import members_by_code
from sidelight._typing import Array, IntArray
from sidelight.constraints.algebra._closure import Closure
from sidelight.exceptions import InconsistentConstraints

# A search may walk through a whole component: the number of contradictions compared is limited.
MAX_SEARCHES = 300


@dataclass(frozen=True)
class Witness:
    """Two rows that are kept apart and the shortest chain found that joins them.

    Attributes
    ----------
    apart : {"cannot-link", "labels"}
        Why the first and the last row of the chain must be apart.
    chain : tuple of int
        Rows from one end to the other.
    links : tuple of {"must-link", "label", "group"}
        What joins each row of the chain to the next.
    """

    apart: str
    chain: tuple[int, ...]
    links: tuple[str, ...]


class _Graph:
    """Rows joined by must-links, and by sharing a class or a group."""

    def __init__(
        self, n: int, must_link: IntArray, labels: IntArray | None, groups: IntArray | None
    ) -> None:
        self.n = n
        self.must_link = must_link
        self.labels, self.groups = labels, groups
        ends = np.concatenate([must_link[:, 0], must_link[:, 1]])
        start, order = _lists(ends, n)
        neighbors = np.concatenate([must_link[:, 1], must_link[:, 0]])[order]
        self._lists = (start, neighbors, *_class_lists(labels), *_class_lists(groups))
        self._previous = np.full(n, -1, np.int64)
        self._queue = np.empty(n, np.int64)

    def chain_between(self, first: int, second: int, longest: int) -> IntArray:
        """Shortest chain from one row to another, empty if it is longer than asked."""
        return self._search(np.array([first]), second, -1, longest)

    def chain_from_class(self, code: int, longest: int) -> IntArray:
        """Shortest chain from a row of a class to a row of any other class."""
        start, rows = self._lists[3:5]
        return self._search(rows[start[code] : start[code + 1]], -1, code, longest)

    def _search(self, sources: IntArray, goal: int, own_class: int, longest: int) -> IntArray:
        chain: IntArray = shortest_chain(
            sources, goal, own_class, longest, *self._lists, self._previous, self._queue
        )
        return chain

    def link_kinds(self, chain: IntArray) -> tuple[str, ...]:
        """Kind of the link between each row of a chain and the next; stated pairs come first."""
        low = np.minimum(chain[:-1], chain[1:])
        high = np.maximum(chain[:-1], chain[1:])
        stated = np.isin(low * self.n + high, self.must_link[:, 0] * self.n + self.must_link[:, 1])
        kinds = np.full(len(low), "group", dtype="<U9")
        if self.labels is not None:
            alike = (self.labels[low] == self.labels[high]) & (self.labels[low] >= 0)
            kinds[alike] = "label"
        kinds[stated] = "must-link"
        return tuple(kinds.tolist())


def find_witness(known: Any, closure: Closure) -> Witness:
    """Contradiction with the shortest chain, among the first few hundred."""
    labels = known.labels
    graph = _Graph(known.n_samples, known.must_link, labels, known.groups)
    best, apart = np.empty(0, np.int64), ""
    longest = known.n_samples
    for first, second in closure.contradicted[:MAX_SEARCHES].tolist():
        if longest == 0:
            break
        chain = graph.chain_between(first, second, longest)
        if len(chain):
            best, apart, longest = chain, "cannot-link", len(chain) - 2
    # The shortest chain between any two classes meets no third class on its way.
    classes = [] if labels is None else np.unique(labels[closure.joined_classes]).tolist()
    for code in classes[:MAX_SEARCHES]:
        if longest == 0:
            break
        chain = graph.chain_from_class(code, longest)
        if len(chain):
            best, apart, longest = chain, "labels", len(chain) - 2
    return Witness(apart, tuple(best.tolist()), graph.link_kinds(best))


def explain(witness: Witness, known: Any) -> InconsistentConstraints:
    """Error that shows a contradiction by the user's own ids.

    ``known`` gives the names: ``name_rows``, and codes and names of labels and groups.
    """
    names = known.name_rows(witness.chain)
    first, last = witness.chain[0], witness.chain[-1]
    if set(witness.links) == {"must-link"}:
        joined = f"the must-links {' - '.join(names)}"
    else:
        links = zip(names[:-1], names[1:], witness.chain, witness.links, strict=False)
        joined = "the chain " + ", ".join(
            f"{a} - {b} ({_because(kind, row, known)})" for a, b, row, kind in links
        )
    if witness.apart == "cannot-link":
        message = f"cannot-link {names[0]} - {names[-1]} contradicts {joined}"
    else:
        here, there = (known.label_names[known.labels[row]].item() for row in (first, last))
        message = (
            f"The labels {here!r} of {names[0]} and {there!r} of {names[-1]} contradict {joined}"
        )
    plain = witness.apart == "cannot-link" and set(witness.links) == {"must-link"}
    what = "links" if plain else "statements"
    return InconsistentConstraints(
        f"{message}; remove one of these {what}.", pair=(first, last), chain=witness.chain
    )


def _because(kind: str, row: int, known: Any) -> str:
    if kind == "label":
        return f"both labeled {known.label_names[known.labels[row]].item()!r}"
    if kind == "group":
        return f"both in group {known.group_names[known.groups[row]].item()!r}"
    return kind


def _lists(codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """Where the entries of each code start, and the entries sorted by code."""
    start = np.zeros(n_codes + 1, np.int64)
    np.cumsum(np.bincount(codes[codes >= 0], minlength=n_codes), out=start[1:])
    return start, members_by_code(codes, start)


def _class_lists(codes: IntArray | None) -> tuple[Array, Array, Array]:
    if codes is None:
        nothing = np.empty(0, np.int64)
        return nothing, np.zeros(1, np.int64), nothing
    return codes, *_lists(codes, int(codes.max()) + 1)
