"""Questions about the rows of which a classifier is least sure (Yan and others 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from sidelight._fit.parameters import Count, estimator
from sidelight.active._strategies import Strategy
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError


@estimator
class AmbiguousPairs(Strategy):
    """Ask about the rows of which a classifier is least sure, paired with rows of known class.

    The classifier is fitted to the labels that are known beforehand and to all answers so far. A
    row, or rows that belong together, of unknown class is as ambiguous as
    ``max_x min_s log(1 + exp(-f_s(x)))``, and is compared with

    - "min": the nearest row of known class in the space of the kernel. "Same" passes its class on,
      and "different" rules out the class that seemed most likely;
    - "max": the farthest row of known class;
    - "com": another ambiguous row, such that ``amb(G) + amb(H) - K(G, H)`` is largest.

    Parameters
    ----------
    estimator : classifier, default=None
        Learns from labels and pairs with ``fit(X, constraints=...)`` and has ``suggest_pairs``,
        such as :class:`~sidelight.semi_supervised.PairwiseLogisticRegression`.
    pairing : {"min", "max", "com"}, default="min"
        Whom an ambiguous row is compared with.
    batch : int >= 1, default=5
        Number of answers between two fits.

    References
    ----------
    Yan, Zhang, Yang and Hauptmann, in Basu, Davidson and Wagstaff (eds.), *Constrained Clustering*
    (2009), section 17.7.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.active import AmbiguousPairs, Answers
    >>> from sidelight.semi_supervised import PairwiseLogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.4], [4.0], [5.0]])
    >>> answers = Answers(known=Constraints(labels=[0, -1, -1, -1, 1]))
    >>> strategy = AmbiguousPairs(PairwiseLogisticRegression()).start(X, answers)
    >>> strategy.next_pair()  # the row in the middle, and the nearer of the two that are labeled
    (2, 0)
    """

    estimator: Any = None
    pairing: Literal["min", "max", "com"] = "min"
    _: KW_ONLY
    batch: Count = 5

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        if self.estimator is None or not hasattr(self.estimator, "suggest_pairs"):
            given = "has none" if self.estimator is None else f"got {type(self.estimator).__name__}"
            raise SidelightError(
                "AmbiguousPairs asks about the rows of which a classifier is least sure, and needs "
                f"one with suggest_pairs, such as PairwiseLogisticRegression; it {given}."
            )
        if isinstance(X, RowSource):
            raise SidelightError("AmbiguousPairs needs the rows in memory; load them first.")
        labels = self._answers.known.labels
        if labels is None or len(np.unique(labels[labels >= 0])) < 2:
            raise SidelightError(
                "AmbiguousPairs compares rows with labeled ones: label at least one row of two "
                "classes, Answers(known=Constraints(labels=...))."
            )
        self._X, self._random = X, random_state
        self._queue: list[tuple[int, int]] = []
        self._pair: tuple[int, int] | None = None
        self._fitted: int | None = None  # revision of the answers at the last fit

    def next_pair(self) -> tuple[int, int] | None:
        """Positions of the two rows to ask about, or None if nothing is left to ask."""
        if self._pair is None or self._answers.is_settled(*self._pair):
            self._pair = self._choose()
        return self._pair

    def _choose(self) -> tuple[int, int] | None:
        """The next open pair of the last fit, or of a new one."""
        if self._fitted is None or self._answers.revision - self._fitted >= self.batch:
            self._queue = self._suggest()
        pair = self._next_open()
        if pair is None and self._fitted != self._answers.revision:
            self._queue = self._suggest()
            pair = self._next_open()
        return pair

    def _next_open(self) -> tuple[int, int] | None:
        while self._queue:
            pair = self._queue.pop(0)
            if not self._answers.is_settled(*pair):
                return pair
        return None

    def _suggest(self) -> list[tuple[int, int]]:
        """Fit the classifier to all answers, and list the pairs that it would ask about."""
        self._fitted = self._answers.revision
        model = clone(self.estimator)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=self._random.randint(2**31))
        model.fit(self._X, constraints=self._answers.constraints)
        skipped = [(entry.i, entry.j) for entry in self._answers if entry.same is None]
        pairs, _ = model.suggest_pairs(
            self._X, self.pairing, self.batch, exclude=skipped if skipped else None
        )
        return [(i, j) for i, j in pairs.tolist()]
