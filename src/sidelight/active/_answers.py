"""Answers to "do these two belong together?", and what follows from them at every moment."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from sidelight._typing import IntArray
from sidelight.active._growing import GrowingClosure
from sidelight.active._log import AnswerLog
from sidelight.constraints import Constraints
from sidelight.constraints.inner import StatedPairs, Statements
from sidelight.exceptions import (
    ConstraintFileError,
    InconsistentConstraints,
    SidelightError,
    UnknownIds,
)


@dataclass(frozen=True)
class Answer:
    """An answer about a pair of rows.

    Attributes
    ----------
    i, j : int
        Positions of the rows.
    same : bool or None
        Whether they belong together; None if the question was skipped.
    inferred : bool
        Whether it was not asked, but follows from the number of clusters: a row that is apart from
        all clusters but one belongs to that one.
    """

    i: int
    j: int
    same: bool | None
    inferred: bool = False


class Link(NamedTuple):
    """One step of the reason why two rows are together or apart.

    Attributes
    ----------
    i, j : int
        Positions of the rows.
    same : bool
        Whether the answer was that they belong together.
    source : str
        ``"answer 3"``, ``"number of clusters"`` or ``"known before"``.
    """

    i: int
    j: int
    same: bool
    source: str


class Answers:
    """Growing knowledge about pairs of rows: closed at every moment, never contradictory.

    An answer that contradicts the earlier ones is refused, with the chain of answers that it
    contradicts. Every answer can be undone, the last one first. Whether an answer
    follows from others is decided in O(log n) by :meth:`entailed`.

    Parameters
    ----------
    n_samples : int, optional
        Number of rows; not needed with ``ids`` or ``known``.
    ids : array-like of shape (n_samples,), optional
        Names of the rows, for messages and files; rows are named by position here.
    known : Constraints, optional
        What is known beforehand. It must not contradict itself.

    Examples
    --------
    >>> from sidelight.active import Answers
    >>> answers = Answers(ids=["ann", "bob", "cid", "dan"])
    >>> answers.add(0, 1, same=True)
    >>> answers.add(1, 2, same=False)
    >>> answers.entailed(0, 2), answers.entailed(0, 3), answers.n_saved
    (False, None, 1)
    >>> answers.add(0, 2, same=True)
    Traceback (most recent call last):
    ...
    sidelight.exceptions.InconsistentConstraints: 'ann' and 'cid' cannot be the same: 'ann' is the
    same as 'bob' (answer 1), 'bob' is different from 'cid' (answer 2). Undo one of these first.
    >>> answers.undo()
    Answer(i=1, j=2, same=False, inferred=False)
    >>> answers.constraints
    <Constraints on 4 rows 'ann' to 'dan': 1 must-link>
    """

    def __init__(
        self, n_samples: int | None = None, *, ids: Any = None, known: Constraints | None = None
    ) -> None:
        if known is None:
            known = Constraints(n_samples=n_samples, ids=ids)
        elif n_samples not in (None, known.n_samples):
            raise SidelightError(
                f"The knowledge is about {known.n_samples} rows, not about {n_samples}."
            )
        self.known = known
        self._growing = GrowingClosure(known.closure())
        self._known_pairs = self._growing.n_together + self._growing.n_apart
        self._entries: list[Answer] = []
        self._news: list[bool] = []  # whether each entry was not entailed when it was given
        self._skipped: dict[tuple[int, int], int] = {}
        self._log: AnswerLog | None = None
        self._revision = 0
        self._n_undone = 0
        self._cached: dict[str, tuple[int, Any]] = {}

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        ids: Any = None,
        *,
        n_samples: int | None = None,
        known: Constraints | None = None,
    ) -> Self:
        """Continue with the answers in a file, or begin a file.

        Every answer, skip and undo is a line of JSON that is on the disk before the call returns: a
        process that is killed at any moment loses nothing that was given. Close the file with
        :meth:`close` or use ``with``.

        Parameters
        ----------
        path : path-like
            The file, such as ``answers.jsonl``.
        ids : array-like of shape (n_samples,), optional
            Names of the rows; without them rows are named by position.
        n_samples : int, optional
            Number of rows, where there are no ids.
        known : Constraints, optional
            What is known beforehand.
        """
        answers = cls(n_samples, ids=ids, known=known)
        rows = answers.known
        log = AnswerLog(path, {"n_rows": rows.n_samples, "named_by_ids": rows.ids is not None})
        try:
            for line, record in log.records():
                answers._replay(record, line, path)
        except BaseException:
            log.close()
            raise
        answers._log = log
        answers._n_undone = 0
        return answers

    def _replay(self, record: dict[str, Any], line: int, path: str | os.PathLike[str]) -> None:
        """Apply one recorded line of the file."""
        try:
            if record["do"] == "undo":
                self.undo()
                return
            i, j = (self.known.position(record[end]) for end in ("i", "j"))
            if record["do"] == "skip":
                self.skip(i, j)
            else:
                self.add(i, j, bool(record["same"]), inferred=record["do"] == "infer")
        except (KeyError, SidelightError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise ConstraintFileError(
                f"Line {line} of {os.fspath(path)} cannot be used: {reason}",
                path=Path(path),
                line=line,
            ) from error

    # ------------------------------------------------------------------ saying something

    def add(self, i: int, j: int, same: bool, *, inferred: bool = False) -> None:
        """Record that two rows belong together, or that they do not.

        Raises
        ------
        InconsistentConstraints
            If the earlier answers say the opposite; nothing is changed.
        """
        i, j = self._pair(i, j)
        if self._growing.entailed(i, j) not in (None, bool(same)):
            raise self._contradiction(i, j)
        self._write("infer" if inferred else "answer", i, j, same=bool(same))
        self._push(Answer(i, j, bool(same), inferred), self._growing.add(i, j, bool(same)))

    def skip(self, i: int, j: int) -> None:
        """Leave a question open; strategies will not ask it again."""
        i, j = self._pair(i, j)
        self._write("skip", i, j)
        key = (min(i, j), max(i, j))
        self._skipped[key] = self._skipped.get(key, 0) + 1
        self._push(Answer(i, j, None), False)

    def undo(self) -> Answer | None:
        """Take back the last answer, with all that was inferred since.

        Returns the answer or skip that was taken back, or None if there is none.
        """
        if not any(not entry.inferred for entry in self._entries):
            return None
        if self._log is not None:
            self._log.append({"do": "undo"})
        self._revision += 1
        self._n_undone += 1
        while True:
            entry = self._entries.pop()
            self._news.pop()
            if entry.same is not None:
                self._growing.undo()
            else:
                self._forget_skip((min(entry.i, entry.j), max(entry.i, entry.j)))
            if not entry.inferred:
                return entry

    def _forget_skip(self, key: tuple[int, int]) -> None:
        self._skipped[key] -= 1
        if not self._skipped[key]:
            del self._skipped[key]

    def _push(self, entry: Answer, news: bool) -> None:
        self._entries.append(entry)
        self._news.append(news)
        self._revision += 1

    def _write(self, do: str, i: int, j: int, **more: Any) -> None:
        if self._log is None:
            return
        names = [self.known.id_of(row) for row in (i, j)]
        for name in names:
            if not isinstance(name, (str, int, float)):
                raise SidelightError(f"Ids in a file are words or numbers, not {name!r}.")
        self._log.append({"do": do, "i": names[0], "j": names[1], **more})

    def _pair(self, i: Any, j: Any) -> tuple[int, int]:
        first, second = operator.index(i), operator.index(j)
        for row in (first, second):
            if not 0 <= row < self.n_samples:
                raise UnknownIds(
                    f"There is no row {row}; the rows are 0 to {self.n_samples - 1}.", ids=[row]
                )
        if first == second:
            (name,) = self.known.name_rows([first])
            raise SidelightError(f"A pair must be of two rows, but {name} is named twice.")
        return first, second

    # ------------------------------------------------------------------ what is known

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.known.n_samples

    def entailed(self, i: int, j: int) -> bool | None:
        """Whether two rows are together (True), apart (False), or neither follows (None)."""
        return self._growing.entailed(i, j)

    def is_settled(self, i: int, j: int) -> bool:
        """Whether there is no point in asking about a pair: entailed, or skipped before."""
        return self.was_skipped(i, j) or self.entailed(i, j) is not None

    def was_skipped(self, i: int, j: int) -> bool:
        """Whether the question about a pair was left open."""
        return (min(i, j), max(i, j)) in self._skipped

    def components(self) -> IntArray:
        """Must-link component of every row, named by one of its rows."""
        found: IntArray = self._once("components", self._growing.roots)
        return found

    def mentioned_components(self) -> IntArray:
        """Names of the components of several rows or that are apart from another, by size."""
        roots = self._growing.mentioned()
        sizes = np.array([self._growing.size(root) for root in roots.tolist()], np.int64)
        return roots[np.argsort(-sizes, kind="stable")]

    @property
    def constraints(self) -> Constraints:
        """All answers and what follows from them, as constraints: never contradictory."""
        found: Constraints = self._once("constraints", self._collect)
        return found

    def _collect(self) -> Constraints:
        return self.known | self._links((e.i, e.j, e.same) for e in self._entries)

    def _links(self, links: Iterable[tuple[int, int, bool | None]]) -> Constraints:
        """Constraints of these links alone, about the same rows."""
        pairs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for i, j, same in links:
            if same is not None:
                pairs[same].append((i, j))
        must_link, cannot_link = (
            StatedPairs(np.array(pairs[same], np.int64).reshape(-1, 2)) for same in (True, False)
        )
        return self.known._derive(Statements(must_link, cannot_link))

    def _once(self, what: str, make: Any) -> Any:
        """Make something once per change."""
        if self._cached.get(what, (-1,))[0] != self._revision:
            self._cached[what] = (self._revision, make())
        return self._cached[what][1]

    def chain(self, i: int, j: int) -> tuple[Link, ...]:
        """Why two rows are together or apart: a shortest chain of links from one to the other.

        All links are "same", but for one "different" if the rows are apart. Empty if neither
        follows.
        """
        i, j = self._pair(i, j)
        together = self.entailed(i, j)
        if together is None:
            return ()
        # The opposite makes a contradiction, of which the shortest proof is known to be found.
        error = (self.constraints | self._links([(i, j, not together)])).contradiction()
        assert error is not None
        steps = _steps_from(error, i, j, together)
        return tuple(Link(a, b, same, self._source(a, b, same)) for a, b, same in steps)

    def _source(self, i: int, j: int, same: bool) -> str:
        number = 0
        for entry in self._entries:
            number += not entry.inferred and entry.same is not None
            if {entry.i, entry.j} == {i, j} and entry.same is same:
                return "number of clusters" if entry.inferred else f"answer {number}"
        return "known before"

    def _contradiction(self, i: int, j: int) -> InconsistentConstraints:
        links = self.chain(i, j)
        apart = not all(link.same for link in links)
        first, second = self.known.name_rows([i, j])
        reason = ", ".join(self.describe(link) for link in links)
        path = (links[0].i, *(link.j for link in links))
        return InconsistentConstraints(
            f"{first} and {second} cannot be {'the same' if apart else 'different'}: {reason}. "
            "Undo one of these first.",
            pair=(i, j),
            chain=path,
        )

    def describe(self, link: Link) -> str:
        """Words for a link: ``'ann' is the same as 'bob' (answer 1)``."""
        first, second = self.known.name_rows([link.i, link.j])
        how = "the same as" if link.same else "different from"
        return f"{first} is {how} {second} ({link.source})"

    # ------------------------------------------------------------------ counts

    @property
    def entries(self) -> tuple[Answer, ...]:
        """All answers that were not taken back, in order."""
        return tuple(self._entries)

    @property
    def revision(self) -> int:
        """Number that changes with every answer, skip and undo."""
        return self._revision

    @property
    def n_undone(self) -> int:
        """Number of times something was taken back since the opening."""
        return self._n_undone

    @property
    def n_same(self) -> int:
        """Number of answers "the same"."""
        return sum(entry.same is True and not entry.inferred for entry in self._entries)

    @property
    def n_different(self) -> int:
        """Number of answers "different"."""
        return sum(entry.same is False and not entry.inferred for entry in self._entries)

    @property
    def n_answers(self) -> int:
        """Number of answers; neither skips nor what was inferred."""
        return self.n_same + self.n_different

    @property
    def n_skipped(self) -> int:
        """Number of questions left open."""
        return sum(entry.same is None for entry in self._entries)

    @property
    def n_saved(self) -> int:
        """Number of pairs whose answer follows from the answers without having been asked."""
        given = sum(
            news and not entry.inferred
            for news, entry in zip(self._news, self._entries, strict=True)
        )
        return self._growing.n_together + self._growing.n_apart - self._known_pairs - given

    @property
    def n_open(self) -> int:
        """Number of pairs of which nothing follows."""
        pairs = self.n_samples * (self.n_samples - 1) // 2
        return pairs - self._growing.n_together - self._growing.n_apart

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._entries)

    def __repr__(self) -> str:
        return (
            f"<Answers on {self.n_samples:,} rows: {self.n_same} same, {self.n_different} "
            f"different, {self.n_skipped} skipped; {self.n_saved:,} more pairs follow>"
        )

    # ------------------------------------------------------------------ the file

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _steps_from(
    error: InconsistentConstraints, i: int, j: int, together: bool
) -> list[tuple[int, int, bool]]:
    """Steps from i to j out of the proof that the opposite of what is known contradicts it."""
    chain = list(error.chain)
    if together:  # the new link was the cannot-link, from end to end
        path = chain if chain[0] == i else chain[::-1]
        return [(a, b, True) for a, b in pairwise(path)]
    # The new link is a must-link somewhere inside; the known cannot-link joins the two ends.
    cut = next(place for place, ends in enumerate(pairwise(chain)) if set(ends) == {i, j})
    before, behind = chain[cut::-1], chain[:cut:-1]
    path = before + behind if before[0] == i else (before + behind)[::-1]
    apart = len(before) if before[0] == i else len(behind)
    return [(a, b, place + 1 != apart) for place, (a, b) in enumerate(pairwise(path))]
