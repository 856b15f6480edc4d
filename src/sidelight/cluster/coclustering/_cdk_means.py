"""CDK-Means: clusters of bi-sets give clusters of rows and columns (Pensa, Robardet, Boulicaut)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

from sidelight._fit.parameters import Count, Seed, Share, Verbosity, estimator
from sidelight._typing import Array
from sidelight.base import Clusterer
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.tags import MethodTags


@estimator
class CDKMeans(Clusterer):
    """Constraint-driven co-clustering of a 0/1 table.

    Read more in the :doc:`user guide </cluster/coclustering>`.

    Parameters
    ----------
    n_clusters : int >= 1, default=3
        Number of co-clusters: cluster ``l`` of the rows goes with cluster ``l`` of the columns.
    variant : {"auto", "published"}, default="auto"
        Bi-sets that satisfy the constraints.
    min_rows, min_columns : int >= 1, default=1
        Fewest rows and fewest columns of a bi-set.
    max_concepts : int >= 1, default=1000000
        Most bi-sets.
    overlap : float in [0, 1] or None, default=None
        Share of an element's largest weight.
    on_blocked : {"skip", "fail"}, default="skip"
        Bi-sets that no cluster may take.
    binarize : {"mean", "positive"} or float in [0, 1] or None, default=None
        Rule that makes a table 0/1.

    Attributes
    ----------
    column_labels_ : ndarray of int32, shape (n_features,)
        Cluster of every column, -1 where no bi-set covers it.
    """

    n_clusters: Count = 3
    _: KW_ONLY
    variant: Literal["auto", "published"] = "auto"
    min_rows: Count = 1
    min_columns: Count = 1
    max_concepts: Count = 1_000_000
    overlap: Share | None = None
    on_blocked: Literal["skip", "fail"] = "skip"
    binarize: Literal["mean", "positive"] | Share | None = None
    n_init: Count = 10
    max_iter: Count = 50
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of rows and columns of a 0/1 table, from its rectangles of ones",
            knowledge=("must-link", "cannot-link", "labels", "groups", "order"),
            enforcement="hard",
            source="Pensa, Robardet, Boulicaut; Constrained Clustering 6.3",
            complexity="O(b (r + c) k) per iteration for b bi-sets of r rows and c columns",
            kind="coclusterer",
            sparse=True,
            as_they_are=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        column_constraints: Constraints | None = None,
        cross_constraints: CrossLinks | None = None,
        row_order: Ordering | None = None,
        column_order: Ordering | None = None,
    ) -> Self:
        """Cluster the rows and columns of a 0/1 table."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Return the cluster of new rows."""
        raise NotImplementedError
