"""Pairs drawn at random: the baseline of the other strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight.active._strategies import Strategy
from sidelight.engine import RowSource

BATCH = 4096
# When this many batches hold no open pair, open pairs are so rare that they can be listed.
MAX_BATCHES = 20


class RandomPairs(Strategy):
    """Uniform pairs of rows, without replacement, among those whose answer does not follow.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import Answers, RandomPairs
    >>> answers = Answers(3)
    >>> strategy = RandomPairs().start(np.zeros((3, 1)), answers, random_state=0)
    >>> answers.add(*strategy.next_pair(), same=True)
    >>> answers.add(*strategy.next_pair(), same=True)
    >>> strategy.next_pair() is None  # the third pair follows
    True
    """

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        self._random = random_state
        self._pair: tuple[int, int] | None = None

    def next_pair(self) -> tuple[int, int] | None:
        """Positions of the two rows to ask about, or None if nothing is left to ask."""
        if self._pair is None or self._answers.is_settled(*self._pair):
            self._pair = self._draw()
        return self._pair

    def _draw(self) -> tuple[int, int] | None:
        answers = self._answers
        for _ in range(MAX_BATCHES if answers.n_open else 0):
            pairs = self._random.randint(answers.n_samples, size=(BATCH, 2))
            component = answers.components()[pairs]
            for i, j in pairs[component[:, 0] != component[:, 1]].tolist():
                if not answers.is_settled(i, j):
                    return i, j
        return self._draw_from_list()

    def _draw_from_list(self) -> tuple[int, int] | None:
        answers = self._answers
        open_pairs = [pair for pair in self._open_pairs() if not answers.was_skipped(*pair)]
        if not open_pairs:
            return None
        return open_pairs[self._random.randint(len(open_pairs))]

    def _open_pairs(self) -> list[tuple[int, int]]:
        answers = self._answers
        if not answers.n_open:
            return []
        component = answers.components()
        roots, place = np.unique(component, return_inverse=True)
        members = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        return [
            (i, j)
            for a, root in enumerate(roots.tolist())
            for b in range(a + 1, len(roots))
            if answers.entailed(root, int(roots[b])) is None
            for i in members[a].tolist()
            for j in members[b].tolist()
        ]
