"""k-means without side information: the baseline of the family (Lloyd 1982)."""

from __future__ import annotations

from typing import Self

import numpy as np

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult, _KMeansBase, _WeightedRowsMixin, lloyd
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import PLAIN_TAGS, MethodTags


@estimator
class KMeans(_WeightedRowsMixin, _KMeansBase):
    """k-means clustering by Lloyd's algorithm.

    Minimizes ``J = Σ_i w_i ‖x_i - μ_{l_i}‖²`` over labels ``l`` and centers ``μ`` by turns: every
    row to its nearest center, every center to the mean of its rows (Law 2006, section 1.3.3.1).
    Side information is not used, but ``n_violations_`` counts the constraints that the clustering
    violates: the baseline for the methods that use them. Read more in the
    :doc:`user guide </cluster/kmeans>`.

    Parameters
    ----------
    init : {"auto", "k-means++", "k-means||", "farthest-first", "random"} or array, default="auto"
        Initial centers: greedy D² sampling, D² sampling of many rows a pass, rows far from each
        other, random rows, or an array of shape (n_clusters, n_features). ``"auto"`` is
        ``"k-means||"`` from 1,000,000 rows on, and ``"k-means++"`` below: six passes over the rows
        where that takes ``2 k``, and the start is as good.

    Attributes
    ----------
    objective_ : float
        Sum of squared distances of the rows to their centers: the ``inertia_`` of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> float(round(model.objective_, 6))
    0.01
    """

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means without side information, the baseline",
            **PLAIN_TAGS,
            source="Lloyd 1982; k-means++: Arthur, Vassilvitskii 2007",
            complexity="O(n k d) per iteration, O(n + k d) memory",
        )

    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                self._start(source, random_state, weights),
                sample_weight=weights,
                project=self._project,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        return self._set_fitted_attributes(self._best_restart(self._n_starts, run, source), known)
