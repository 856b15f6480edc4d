"""Normalized point uncertainty (Xiong, Azimi, Fern 2014)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from sidelight._fit.parameters import Count, estimator
from sidelight._typing import FloatArray, IntArray
from sidelight.active._neighborhoods import NeighborhoodStrategy
from sidelight.active._strategies import BoolArray
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

# Rows of the sample from which a tree learns the clusters.
MAX_ROWS_PER_TREE = 10_000


@estimator
class NPU(NeighborhoodStrategy):
    """Ask about the row that brings most information per expected question.

    The rows are clustered with what is known; a random forest is trained on the clusters; two rows
    are as similar as the share of trees in which they fall into the same leaf, ``S``. With
    neighborhoods ``N_1 ... N_l`` and every row x outside them::

        p_i(x)  = mean_{j ∈ N_i} S(x, j) / Σ_q mean_{j ∈ N_q} S(x, j)      (uniform if all are 0)
        H(x)    = - Σ_i p_i log2 p_i
        E[q(x)] = Σ_i i p_(i),   p_(1) ≥ p_(2) ≥ ...
        x*      = argmax H(x) / E[q(x)]

    and neighborhoods are tried by falling ``p``. With ``l = k`` the last question is saved, so
    that ``p_(l)`` counts ``l - 1`` times. With one neighborhood there is no uncertainty to
    measure, and the farthest row is asked about. Means over a neighborhood are looked up by leaf,
    in O(n T l) for T trees; no matrix of similarities is made.

    Parameters
    ----------
    estimator : clusterer, default=None
        Clusters the rows with ``fit(X, constraints=...)``;
        :class:`~sidelight.active.ActiveClusterer` gives its own.
    n_estimators : int >= 1, default=50
        Number of trees ``T``.
    batch : int >= 1, default=5
        Number of rows that are asked about between two clusterings.

    References
    ----------
    Xiong, Azimi, Fern (2014), Active learning of constraints for semi-supervised clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import Answers, NPU
    >>> from sidelight.cluster import PCKMeans
    >>> X = np.array([[0.0], [0.1], [4.0], [4.1], [9.0], [9.1]])
    >>> strategy = NPU(PCKMeans(3, n_init=1)).start(X, Answers(6), k=3, random_state=0)
    >>> strategy.next_pair()
    (0, 5)
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: Count = 50
    batch: Count = 5

    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        if self.estimator is None:
            raise SidelightError("NPU clusters the rows again and again: give it an estimator.")
        if isinstance(X, RowSource):
            raise SidelightError("NPU needs the rows in memory; load them first.")
        super()._begin(X, rows, random_state)
        self._X = X
        self._leaves: npt.NDArray[np.int64] | None = None
        self._n_asked = 0

    def _choose(self, free: BoolArray) -> int:
        if len(self._anchors) == 1:
            return self._farthest(free)
        if self._leaves is None or self._n_asked % self.batch == 0:
            self._leaves = self._grow_forest()
        self._n_asked += 1
        p = neighborhood_probabilities(self._leaves, self._members)
        scores = entropy(p) / expected_questions(p, last_is_free=p.shape[1] == self._k)
        candidates = self._order[free[self._order]]  # ties are broken at random
        return int(candidates[np.argmax(scores[candidates])])

    def _expected_gain(self, point: int, members: list[IntArray]) -> FloatArray:
        if self._leaves is None:
            return np.zeros(len(members))
        # The row itself comes first, its neighborhoods behind it.
        rows = np.concatenate([[point], *members])
        ends = 1 + np.cumsum([0, *map(len, members)])
        places = [np.arange(*span) for span in pairwise(ends.tolist())]
        return neighborhood_probabilities(self._leaves[:, rows], places)[0]

    def _grow_forest(self) -> npt.NDArray[np.int64]:
        """Leaf of every row (columns) in every tree (rows) of a forest for the clusters."""
        from sklearn.ensemble import RandomForestClassifier

        labels = self._cluster()
        forest = RandomForestClassifier(
            self.n_estimators,
            max_samples=min(len(labels), MAX_ROWS_PER_TREE),
            random_state=self._random.randint(2**31),
        )
        leaves = forest.fit(self._X, labels).apply(self._X)
        return np.ascontiguousarray(leaves.T)

    def _cluster(self) -> IntArray:
        estimator = clone(self.estimator)
        parameters = estimator.get_params(deep=False)
        if "random_state" in parameters:
            estimator.set_params(random_state=self._random.randint(2**31))
        if self._k is not None and "n_clusters" in parameters:
            estimator.set_params(n_clusters=self._k)
        labels: IntArray = estimator.fit(self._X, constraints=self._answers.constraints).labels_
        return labels


def neighborhood_probabilities(
    leaves: npt.NDArray[np.int64], members: list[IntArray]
) -> FloatArray:
    """Probability of every neighborhood (columns) for every row, from the leaves per tree."""
    similarity = np.zeros((len(members), leaves.shape[1]))
    for leaf in leaves:
        n_leaves = int(leaf.max()) + 1
        for place, inside in enumerate(members):
            share = np.bincount(leaf[inside], minlength=n_leaves) / len(inside)
            similarity[place] += share[leaf]
    total = similarity.sum(axis=0)
    uniform = np.full(similarity.shape, 1 / len(members))
    return np.divide(similarity, total, out=uniform, where=total > 0).T


def entropy(p: FloatArray) -> FloatArray:
    """Entropy of every row of p in bits."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    return -(p * logs).sum(axis=1)


def expected_questions(p: FloatArray, *, last_is_free: bool) -> FloatArray:
    """Expected number of questions until the neighborhood is found, the likeliest asked first."""
    n_questions = np.arange(1, p.shape[1] + 1)
    if last_is_free:
        n_questions[-1] -= 1
    return -np.sort(-p, axis=1) @ n_questions
