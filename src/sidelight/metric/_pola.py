"""Pseudo-metric online learning, POLA (Shalev-Shwartz, Singer, Ng 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Count, Seed, estimator
from sidelight._fit.scatter import root
from sidelight._kernels.metric.pair_metric import pola_epoch
from sidelight._typing import Array
from sidelight.base import PairStream
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.metric._base import _MetricBase
from sidelight.tags import own_tags


@estimator
class POLA(PairStream, _MetricBase):
    """Online learning of a metric and a threshold: pairs nearer than it belong together.

    A pair ``v = x_i - x_j`` with ``y = ±1`` (must-link, cannot-link) has the loss
    ``max(0, 1 - y (b - v'Av))``. Each pair moves ``(A, b)`` to the nearest point without a loss on
    it, ``α = loss / (‖v‖⁴ + 1)``, ``A -= y α vv'``, ``b += y α``, then to the nearest with ``A``
    positive semi-definite (a rank-one change leaves at most one negative eigenvalue) and ``b ≥ 1``
    (Shalev-Shwartz, Singer, Ng 2004). A pair goes this way by its weight, as a share of the largest
    weight shown so far. Streams of pairs go through :meth:`partial_fit`, each pair once in the
    order in which it is stated.
    Read more in the :doc:`user guide </metric/index>`.

    With few pairs k-means on the mapped rows can be worse than on the rows themselves (wine, glass)
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_epochs : int >= 1, default=5
        Number of passes of ``fit`` over all pairs, each in random order.
    average : bool, default=True
        Whether to use the averages of ``A`` and ``b`` over the last epoch, which are steadier than
        their last values.
    random_state : int or RandomState or None, default=None
        Seed or generator for the order of the pairs; pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``; directions without weight are left out.
    threshold_ : float
        ``√b``: largest distance of two rows that are taken to belong together.
    n_updates_ : int
        Number of pairs with a loss at their turn.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import POLA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.1], [0.0, 2.0], [2.0, 2.1]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 3)], n_samples=4)
    >>> model = POLA(n_epochs=50, random_state=0).fit(X, constraints=known)
    >>> model.predict_pairs([(0, 1), (0, 2)], X)
    array([ 1, -1])
    """

    _: KW_ONLY
    n_epochs: Count = 5
    average: bool = True
    random_state: Seed = None

    _own_tags = own_tags(
        summary="metric and threshold learned online from a stream of pairs",
        source="Shalev-Shwartz, Singer, Ng 2004",
        complexity="O(d²) per pair (O(d³) for must-links with a loss), O(d²) memory",
    )

    def _learn(self, source: RowSource, known: Constraints) -> None:
        self._reset(source.n_features)
        shown = self._signed_differences(source, known)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_epochs if len(shown[0]) else 0):
            self._run_epoch(*shown, rng.permutation(len(shown[0])))
        self._set_learned(source.dtype)

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        first = not hasattr(self, "_A")
        rows, known = self._validate_fit_in_memory(X, y, constraints, reset=first)
        if first:
            self._reset(rows.shape[1])
        shown = self._signed_differences(as_rows(rows), known)
        if len(shown[0]):
            self._run_epoch(*shown, np.arange(len(shown[0])))
        return self._set_learned(rows.dtype)

    def _reset(self, d: int) -> None:
        self._A = np.zeros((d, d))
        self._b = np.ones(1)
        self._mean, self._mean_b = self._A, self._b
        self._heaviest = 0.0
        self.n_updates_ = 0

    def _run_epoch(self, differences: Array, sign: Array, weights: Array, order: Array) -> None:
        self._heaviest = max(self._heaviest, float(weights.max()))
        totals = np.zeros_like(self._A), np.zeros(1)
        stream = (differences, sign, weights / self._heaviest, order)
        self.n_updates_ += int(pola_epoch(self._A, self._b, *stream, *totals))
        self._mean, self._mean_b = (total / len(order) for total in totals)

    def _set_learned(self, dtype: np.dtype[Any]) -> Self:
        learned, threshold = (self._mean, self._mean_b) if self.average else (self._A, self._b)
        if not learned.any():  # no pair, or none that asks for a distance
            learned = np.eye(len(learned))
        self.threshold_ = float(np.sqrt(threshold[0]))
        self._set_map(root(learned), dtype)
        return self

    def _learn_threshold(self, source: RowSource, known: Constraints) -> None:
        """Leave the threshold to the algorithm, which learns it with the metric."""
