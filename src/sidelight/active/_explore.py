"""Explore and Consolidate (Basu, Banerjee, Mooney 2004), and Min-Max (Mallapragada et al. 2008)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, TypeAlias

import numpy as np

from sidelight._fit.parameters import Interval, estimator
from sidelight._typing import FloatArray, IntArray
from sidelight.active._neighborhoods import NeighborhoodStrategy
from sidelight.active._strategies import BoolArray, mean_row
from sidelight.engine import RowSource

# Without a number of clusters, exploring ends when this many rows in a row found no new one.
FRUITLESS = 5
# A row whose tenth neighbor is far away lies on its own.
NEIGHBORS = 10


TrimmedShare: TypeAlias = Annotated[float, Interval(0, 1, open_high=True)]


@estimator
class _Exploring(NeighborhoodStrategy):
    """Farthest-first traversal until ``k`` neighborhoods are found."""

    _: KW_ONLY
    trim: TrimmedShare = 0.0

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        super()._begin(X, rows, random_state)
        self._isolated = _isolated_rows(X, self.trim) if self.trim else np.zeros(rows.n_rows, bool)

    @property
    def _explores(self) -> bool:
        if self._k is None:
            return self._n_fruitless < FRUITLESS
        return len(self._anchors) < self._k

    def _choose(self, free: BoolArray) -> int:
        if self._explores:
            usual = free & ~self._isolated
            return self._farthest(usual if usual.any() else free)
        return self._consolidate(free)

    def _consolidate(self, free: BoolArray) -> int:
        raise NotImplementedError


class ExploreConsolidate(_Exploring):
    """Find a row of every cluster, then put random rows where they belong.

    Explore: the row farthest from all rows visited so far,

        ``x = argmax_x min_{y visited} ‖x - y‖``,

    is compared with every neighborhood, the nearest first, until there are ``k`` that are mutually
    apart. If every class lies in a ball whose diameter is smaller than the gaps between classes,
    the first k rows are of k classes, and Explore needs at most ``k (k - 1) / 2`` questions.
    Consolidate: random rows are compared with the neighborhoods, the nearest mean first, in at
    most ``k - 1`` questions each. Without ``k``, Explore ends after five rows that opened nothing.

    Parameters
    ----------
    trim : float in [0, 1), default=0.0
        Share of the rows with the largest distance to their tenth neighbor that Explore passes
        over: farthest-first is fond of outliers.

    References
    ----------
    Basu, Banerjee, Mooney (2004), Active semi-supervision for pairwise constrained clustering;
    Constrained Clustering, section 4.5.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import Answers, ExploreConsolidate
    >>> X = np.array([[0.0], [0.1], [4.0], [4.1], [9.0], [9.1]])
    >>> answers = Answers(len(X))
    >>> strategy = ExploreConsolidate().start(X, answers, k=3, random_state=0)
    >>> for _ in range(3):  # k (k - 1) / 2
    ...     i, j = strategy.next_pair()
    ...     answers.add(i, j, same=abs(X[i, 0] - X[j, 0]) < 1)
    >>> len(answers.constraints.cannot_link)
    3
    """

    def _consolidate(self, free: BoolArray) -> int:
        return int(self._order[np.argmax(free[self._order])])

    def _expected_gain(self, point: int, members: list[IntArray]) -> FloatArray:
        x = mean_row(self._rows, [point])
        means = [mean_row(self._rows, rows) for rows in members]
        return np.array([-np.sum((x - mean) ** 2) for mean in means])


class MinMax(_Exploring):
    """Explore, then ask about the row that is least like all rows known so far.

    With ``Q`` the rows in neighborhoods and a Gaussian kernel ``K``, the next row is

        ``x = argmin_{x ∉ Q} max_{y ∈ Q} K(x, y) = argmax_{x ∉ Q} min_{y ∈ Q} ‖x - y‖``:

    since ``K`` falls with the distance, its width does not matter, and Consolidate too is a
    farthest-first traversal in O(n d) per row. Neighborhoods are tried by their most similar row.

    Parameters
    ----------
    trim : float in [0, 1), default=0.0
        Share of the rows with the largest distance to their tenth neighbor that Explore passes
        over.

    References
    ----------
    Mallapragada, Jin, Jain (2008), Active query selection for semi-supervised clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import Answers, MinMax
    >>> strategy = MinMax().start(np.array([[0.0], [1.0], [5.0]]), Answers(3), k=2, random_state=0)
    >>> strategy.next_pair()
    (0, 2)
    """

    def _consolidate(self, free: BoolArray) -> int:
        return self._farthest(free)

    def _expected_gain(self, point: int, members: list[IntArray]) -> FloatArray:
        return np.array([-self._distances(point, rows).min() for rows in members])


def _isolated_rows(X: Any, share: float) -> BoolArray:
    """Rows whose distance to their tenth neighbor is among the largest."""
    from sklearn.neighbors import NearestNeighbors

    n_neighbors = min(NEIGHBORS, X.shape[0] - 1)
    if n_neighbors < 1:
        return np.zeros(X.shape[0], bool)
    distances, _ = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors()
    farthest: FloatArray = distances[:, -1]
    return farthest > np.quantile(farthest, 1 - share)
