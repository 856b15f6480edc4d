"""Strategies that compare one row after the other with neighborhoods that are mutually apart."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.active._answers import Answers
from sidelight.active._strategies import (
    BoolArray,
    FarthestFirst,
    Strategy,
    block_distances,
    dense_rows,
)
from sidelight.engine import RowSource


class NeighborhoodStrategy(Strategy):
    """Grow neighborhoods: must-link components that are known to be mutually apart.

    A row is compared with the neighborhoods in an order of promise, each time with the member
    nearest to it, until it is found to be in one of them; if it is apart from all, it opens the
    next. With ``k`` neighborhoods, a row that is apart from all but one belongs to that one, which
    is stored without a question.

    Subclasses say which row comes next and in which order neighborhoods are tried.
    """

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        self._rows, self._random = rows, random_state
        self._order = random_state.permutation(rows.n_rows)
        largest_first = self._answers.mentioned_components().tolist()
        known = mutually_apart(largest_first, self._answers, self._k)
        self._anchors = known or [int(self._order[0])]
        self._given_up = np.zeros(rows.n_rows, bool)  # compared with all, and still not known
        self._spread = FarthestFirst(rows)
        self._point: int | None = None
        self._n_fruitless = 0  # rows in a row that did not open a neighborhood
        self._seen = (-1, 0)

    @abstractmethod
    def _choose(self, free: BoolArray) -> int:
        """Return which of the free rows comes next."""

    @abstractmethod
    def _expected_gain(self, point: int, members: list[IntArray]) -> FloatArray:
        """How likely the row is in each neighborhood: any measure, larger is more likely."""

    def next_pair(self) -> tuple[int, int] | None:
        """Positions of the two rows to ask about, or None if nothing is left to ask."""
        while self._k != 1:  # one cluster holds everything
            self._follow()
            if self._point is None:
                free = ~(self._inside | self._given_up)
                if not free.any():
                    return None
                self._point = self._choose(free)
            partner = self._partner(self._point)
            if partner is not None:
                return self._point, partner
            self._record_point(self._point)
            self._point = None
        return None

    def _follow(self) -> None:
        """Update the state with the answers and undos since the last call."""
        now = (self._answers.revision, len(self._anchors))
        if now == self._seen:
            return
        self._seen = now
        self._anchors = mutually_apart(self._anchors, self._answers)
        component = self._answers.components()
        self._members = [np.flatnonzero(component == component[anchor]) for anchor in self._anchors]
        self._inside = np.zeros(self._answers.n_samples, bool)
        for members in self._members:
            self._inside[members] = True

    def _farthest(self, among: BoolArray) -> int:
        """The row among these that is farthest from all rows visited so far."""
        self._spread.cover(self._inside | self._given_up)
        return self._spread.farthest(among)

    def _partner(self, point: int) -> int | None:
        """The next row to compare with; None if all is known or was tried."""
        answers = self._answers
        known = [answers.entailed(point, anchor) for anchor in self._anchors]
        if True in known:
            return None
        unknown = [place for place, answer in enumerate(known) if answer is None]
        if len(unknown) == 1 and len(known) == self._k:
            answers.add(point, self._nearest(point, unknown[0]), True, inferred=True)
            return None
        promise = self._expected_gain(point, self._members)
        for place in sorted(unknown, key=lambda place: -promise[place]):
            nearest = self._nearest(point, place)
            if not answers.was_skipped(point, nearest):
                return nearest
        return None

    def _nearest(self, point: int, place: int) -> int:
        """The member of a neighborhood that is nearest to a row."""
        members = self._members[place]
        return int(members[np.argmin(self._distances(point, members))])

    def _distances(self, point: int, others: IntArray) -> FloatArray:
        """Squared distances of a row to some others."""
        return block_distances(self._rows.take(others), dense_rows(self._rows, [point]))[0]

    def _record_point(self, point: int) -> None:
        """Note what became of a row: in a neighborhood, the first of a new one, or neither."""
        known = [self._answers.entailed(point, anchor) for anchor in self._anchors]
        if all(answer is False for answer in known):
            self._anchors.append(point)
            self._n_fruitless = 0
            return
        self._n_fruitless += 1
        self._given_up[point] = True not in known
        self._seen = (-1, 0)


def mutually_apart(rows: list[int], answers: Answers, most: int | None = None) -> list[int]:
    """The first row, and later ones that are apart from all before, until there are ``most``."""
    kept: list[int] = []
    for row in rows:
        if all(answers.entailed(row, other) is False for other in kept):
            kept.append(row)
        if len(kept) == most:
            break
    return kept
