"""COBRAS: constraint-based repeated aggregation and splitting (Van Craenendonck et al. 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.parameters import estimator
from sidelight._typing import FloatArray, IntArray
from sidelight._words import worded
from sidelight.active._strategies import (
    Strategy,
    block_distances,
    check_rows,
    dense_rows,
    mean_row,
)
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

# A question goes out of the procedure, and whether the two rows belong together comes back.
Asking = Generator[tuple[int, int], None, bool | None]


@dataclass(eq=False)
class SuperInstance:
    """Rows that are taken to belong together, and the row that speaks for them.

    Attributes
    ----------
    rows : ndarray of int64
        The rows.
    representative : int
        The row closest to their mean.
    stuck : bool
        Whether they cannot be split further, as they are all alike.
    """

    rows: IntArray
    representative: int
    stuck: bool = False


@estimator
class COBRAS(Strategy):
    """Split the rows into super-instances and join these to clusters, by questions alone.

    The largest super-instance is split again and again: 2-means halves it, and a random half of a
    half, as long as the two representatives are said to be different; ``s`` such answers make
    ``2^max(s, 1)`` parts. Each part is a cluster of its own at first; then the two closest clusters
    that are not known to be different are asked about and joined if they are the same, until all
    are different. No number of clusters is needed. The current clusters are in :attr:`labels_`;
    they change only when a splitting and joining is complete, the first time after about twice as
    many questions as there are clusters.

    One wrong answer stays wrong: there is no protection against noise.

    Parameters
    ----------
    estimator : clusterer, default=None
        k-means, or any other clusterer with the parameter ``n_clusters``; fitted without
        constraints. :class:`~sidelight.active.ActiveClusterer` gives its own.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        Cluster of every row.
    representatives_ : ndarray of int64
        Rows that stood for the super-instances of these clusters; their answers are all kept.

    References
    ----------
    Van Craenendonck, Dumančić, Van Wolputte, Blockeel (2018), COBRAS: interactive clustering with
    pairwise queries.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import COBRAS, Answers
    >>> from sidelight.cluster import KMeans
    >>> X = np.array([[0.0], [0.1], [4.0], [4.1], [9.0], [9.1]])
    >>> answers = Answers(len(X))
    >>> strategy = COBRAS(KMeans()).start(X, answers, random_state=0)
    >>> while (pair := strategy.next_pair()) is not None:
    ...     answers.add(*pair, same=abs(X[pair[0], 0] - X[pair[1], 0]) < 1)
    >>> strategy.labels_
    array([0, 0, 1, 1, 2, 2])
    """

    estimator: Any = None

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        if self.estimator is None or "n_clusters" not in self.estimator.get_params(deep=False):
            raise SidelightError(
                "COBRAS splits rows by k-means: "
                + worded("give it an estimator with the parameter n_clusters.", "-m kmeans.")
            )
        self._rows = rows
        self._seed = random_state.randint(2**31)
        self.labels_ = np.zeros(rows.n_rows, np.int64)
        self.representatives_ = np.empty(0, np.int64)
        self._restart()

    @property
    def has_clusters(self) -> bool:
        """Whether a first splitting and joining is complete."""
        return len(self.representatives_) > 0

    def predict(self, X: Any) -> IntArray:
        """Clusters of new rows: that of the nearest representative.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int64, shape (n_samples,)
            Cluster of every row, numbered as in ``labels_``.
        """
        if not self.has_clusters:
            raise SidelightError(
                "COBRAS has no clusters yet: they are complete after about twice as many questions "
                "as there are clusters."
            )
        speakers = dense_rows(self._rows, self.representatives_)

        def nearest(block: Any) -> tuple[tuple[()], tuple[IntArray]]:
            return (), (np.argmin(block_distances(block, speakers), axis=0),)

        (place,) = check_rows(X).map_reduce(nearest)[1]
        return self.labels_[self.representatives_[place]]

    def _restart(self) -> None:
        """Begin again with the same seed: what is known already costs no question."""
        self._n_undone = self._answers.n_undone
        self._random = np.random.RandomState(self._seed)
        self._procedure = self._refine()

    def next_pair(self) -> tuple[int, int] | None:
        """Positions of the two rows to ask about, or None if nothing is left to ask."""
        if self._answers.n_undone != self._n_undone or not hasattr(self, "_procedure"):
            self._restart()
        return next(self._procedure, None)

    def __getstate__(self) -> dict[str, Any]:
        # Python does not copy a running procedure; it is taken up again where it was.
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_procedure", None)
        return state

    def _refine(self) -> Generator[tuple[int, int], None, None]:
        everything = self._super_instance(np.arange(self._rows.n_rows))
        clusters = [[everything]]
        while True:
            candidates = [s for cluster in clusters for s in cluster if _can_split(s)]
            if not candidates:
                return
            largest = max(candidates, key=lambda s: len(s.rows))
            level = yield from self._split_level(largest.rows)
            parts = self._split(largest.rows, min(len(largest.rows), 2 ** max(level, 1)))
            if len(parts) == 1:
                largest.stuck = True
                continue
            clusters = [[s for s in cluster if s is not largest] for cluster in clusters]
            clusters += [[self._super_instance(rows)] for rows in parts]
            clusters = yield from self._merge([cluster for cluster in clusters if cluster])
            self.labels_ = self._label(clusters)
            self.representatives_ = _representatives(clusters)

    def _ask(self, i: int, j: int) -> Asking:
        """Whether two rows belong together (None if unanswered); asks unless it is entailed."""
        while not self._answers.is_settled(i, j):
            yield i, j
        return self._answers.entailed(i, j)

    def _split_level(self, rows: IntArray) -> Generator[tuple[int, int], None, int]:
        """How many times in a row halves turned out to be different."""
        level = 0
        while len(rows) > 1:
            halves = self._split(rows, 2)
            if len(halves) == 1:
                break
            one, other = (self._representative(half) for half in halves)
            if (yield from self._ask(one, other)) is not False:
                break
            level += 1
            large = [half for half in halves if len(half) > 1]
            if not large:
                break
            rows = large[self._random.randint(len(large))]
        return level

    def _split(self, rows: IntArray, n_parts: int) -> list[IntArray]:
        """Split rows by k-means; fewer parts if rows are alike."""
        estimator = clone(self.estimator).set_params(n_clusters=n_parts)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self._random.randint(2**31))
        block = self._rows.take(rows)
        if _all_alike(block):
            return [rows]
        with warnings.catch_warnings():  # equal rows make fewer parts
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = estimator.fit(block).labels_
        return [rows[labels == label] for label in np.unique(labels)]

    def _merge(
        self, clusters: list[list[SuperInstance]]
    ) -> Generator[tuple[int, int], None, list[list[SuperInstance]]]:
        """Join clusters, the closest first, until all are known to be different."""
        clusters = self._join_known(clusters)
        unclear: set[tuple[int, int]] = set()
        while True:
            pair = self._closest(clusters, unclear)
            if pair is None:
                return clusters
            same = yield from self._ask(*pair)
            if same is None:
                unclear.add(pair)
            elif same:
                clusters = self._join_known(clusters)

    def _join_known(self, clusters: list[list[SuperInstance]]) -> list[list[SuperInstance]]:
        """Join clusters whose representatives are known to belong together."""
        joined: dict[int, list[SuperInstance]] = {}
        component = self._answers.components()
        for cluster in clusters:
            joined.setdefault(int(component[cluster[0].representative]), []).extend(cluster)
        return list(joined.values())

    def _closest(
        self, clusters: list[list[SuperInstance]], unclear: set[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """Closest representatives of two clusters that may or may not belong together."""
        speakers = _representatives(clusters)
        home = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
        # One representative tells for its cluster: they are all known to belong together.
        first = [cluster[0].representative for cluster in clusters]
        open_pairs = np.array(
            [[a != b and self._answers.entailed(a, b) is None for b in first] for a in first]
        )
        if not open_pairs.any():
            return None
        points = dense_rows(self._rows, speakers)
        squared = block_distances(points, points)
        squared[~open_pairs[home[:, None], home]] = np.inf
        for one, other in unclear:
            a, b = (home[speakers == row] for row in (one, other))
            squared[(home == a)[:, None] & (home == b)] = np.inf
            squared[(home == b)[:, None] & (home == a)] = np.inf
        place = int(np.argmin(squared))
        if not np.isfinite(squared.flat[place]):
            return None
        i, j = divmod(place, len(speakers))
        return int(speakers[i]), int(speakers[j])

    def _super_instance(self, rows: IntArray) -> SuperInstance:
        return SuperInstance(rows, self._representative(rows))

    def _representative(self, rows: IntArray) -> int:
        """The row closest to the mean; the first of equals."""
        mean: FloatArray = mean_row(self._rows, rows)
        return int(rows[np.argmin(block_distances(self._rows.take(rows), mean[None])[0])])

    def _label(self, clusters: list[list[SuperInstance]]) -> IntArray:
        """Clusters numbered by their first row."""
        number = np.empty(self._rows.n_rows, np.int64)
        for place, cluster in enumerate(clusters):
            for part in cluster:
                number[part.rows] = place
        _, first, labels = np.unique(number, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[labels]


def _representatives(clusters: list[list[SuperInstance]]) -> IntArray:
    return np.array([s.representative for cluster in clusters for s in cluster], np.int64)


def _can_split(instance: SuperInstance) -> bool:
    return len(instance.rows) > 1 and not instance.stuck


def _all_alike(block: Any) -> bool:
    if hasattr(block, "tocsr"):
        return bool((block.max(axis=0) - block.min(axis=0)).count_nonzero() == 0)
    return bool(np.all(block == block[0]))
