"""The information bottleneck: clusters that preserve information of rows about their features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Count,
    Interval,
    Positive,
    Restarts,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight.cluster.alternative._bottleneck_base import BottleneckBase, Method
from sidelight.cluster.alternative._bottleneck_cells import CellModel
from sidelight.cluster.alternative._bottleneck_features import Features, ItemWeight, prepare_items
from sidelight.constraints import Constraints
from sidelight.tags import MethodTags

Cooling = Annotated[float, Interval(1, open_low=True, open_high=True)]


@estimator
class InformationBottleneck(BottleneckBase):
    """Clusters of distributions that preserve the information of rows about their features.

    Maximizes ``I(C;F) - ρ I(C;X)`` over memberships ``q(c|x)`` while the temperature ``ρ`` falls to
    zero, by turns::

        q(c|x) ∝ Q(c) exp(-KL(p(f|x) ‖ p(f|c)) / ρ),   p(f|c) = Σ_x p(x) q(c|x) p(f|x) / Q(c)

    where ``p(f|x)`` are the counts of a row divided by their sum (Constrained Clustering, section
    11.4, without a known split). Squared distances instead of the divergence make it soft k-means
    that ends hard. Sparse counts stay sparse. Read more in the
    :doc:`user guide </cluster/alternative>`.

    Parameters
    ----------
    features : {"gaussian", "multinomial", "poisson"}, default="multinomial"
        Model of the features: counts of which only the shares within a row matter, counts of which
        the size matters too, or measurements by their squared distances.

    Attributes
    ----------
    information_ : float
        ``I(C;F)`` of the labels: in nats for counts; the mean squared error that the clusters save
        for measurements.
    objective_ : float
        ``-I(C;F)``; it was minimized.

    See Also
    --------
    ConditionalInformationBottleneck : The same for clusters that differ from known splits.
    MultinomialMixture : Mixture of the same distributions, with partial labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import InformationBottleneck
    >>> counts = np.array([[5, 1, 0], [9, 1, 1], [0, 1, 6], [1, 0, 14]])
    >>> model = InformationBottleneck(2, random_state=0).fit(counts)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> bool(model.predict([[0, 0, 3]])[0] == model.labels_[2])
    True
    """

    n_clusters: Count = 8
    _: KW_ONLY
    features: Features = "multinomial"
    method: Method = "annealing"
    item_weight: ItemWeight = "uniform"
    n_init: Restarts = 10
    cooling: Cooling = 1.3
    tol: Positive = 0.01
    max_iter: Count = 1000
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of counts that keep the information about words, without knowledge",
            knowledge=(),
            enforcement="none",
            source="Tishby, Pereira, Bialek 1999; Constrained Clustering 11.4",
            complexity="O(nnz k) per iteration, O(n k + k d) memory",
            sparse=True,
            monotone=self.method == "sequential",
            raw_columns=self.features != "gaussian",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        items = prepare_items(rows, self.features, self.item_weight, known)
        one_cell = np.zeros(items.n, dtype=np.int64)
        model = CellModel(items, one_cell, coordination=0.0)
        best = self._search_labels(model, items)
        self._set_fitted_attributes(model, items, best, rows.dtype, known)
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster of least divergence for every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows; those of the fit are in the clusters of ``labels_``. Where the cluster never had a
            word of a new row, all clusters have one more row with the shares of all rows, so that
            this word does not exclude them.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        rows = self._new_rows(X)
        where = np.zeros(rows.shape[0], dtype=np.int64)
        return self._placed(rows, self._fitted_costs(rows, where), self._overall_costs(rows), where)
