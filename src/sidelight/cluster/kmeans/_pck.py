"""PCK-means: k-means in which violated constraints cost (Basu, Banerjee, Mooney 2004).

``PCKMeans.fit`` is the algorithm in one view: prices, starts, loop. The loop, and all that the
class inherits (``n_clusters``, ``max_iter``, ``predict`` ...), are in ``cluster/_core/_lloyd.py``;
prices and the search for the labels of constrained rows are in ``cluster/pairs/_penalties.py``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    FiniteNonNegative,
    Restarts,
    estimator,
    n_restarts,
)
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.cluster._core._distances import PointCosts
from sidelight.cluster._core._lloyd import (
    ConstrainedRows,
    LloydResult,
    Relabeled,
    _CentersBase,
    lloyd,
)
from sidelight.cluster._core._starts import Starts, likely_twins
from sidelight.cluster.pairs._penalties import Penalties, resolve_penalty
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning
from sidelight.tags import MethodTags


@estimator
class PCKMeans(_CentersBase):
    """Pairwise constrained k-means: side information is a preference with a price.

    Minimizes over labels ``l`` and centers ``μ``::

        J = ½ Σ_i ‖x_i - μ_{l_i}‖²  +  Σ_ML w_ij [l_i ≠ l_j]  +  Σ_CL w_ij [l_i = l_j]

    where ``w_ij`` is ``penalty`` times the weight of the pair. Rows without constraints go to the
    nearest center; the labels of constrained rows are improved one by one (iterated conditional
    modes) and must-link component by component (block moves, which free linked rows that none could
    leave alone); centers are means. No step raises ``J``. Known classes and groups add ``penalty``
    for every row outside the cluster that stands for its class (a one-to-one match) or its group
    (where most of it is). Contradictory constraints are allowed: some will be violated.
    Read more in the :doc:`user guide </cluster/kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float >= 0, finite or "auto", default="auto"
        Price of violating a constraint of weight 1, in the units of ``J``: squared distance.
        ``"auto"`` is the mean squared distance of the rows to their mean, so that the result does
        not depend on the units of the data: what moving a row into some other cluster costs on
        average when the clusters lie well apart.
    init : {"auto", "neighborhoods", "k-means++", "k-means||", "random"} or array, default="auto"
        Initial centers: the means of must-link components, greedy D² sampling, D² sampling of many
        rows a pass, random rows, or an array of shape (n_clusters, n_features). ``"auto"`` starts
        once from the neighborhoods and otherwise with k-means++, or k-means|| from 1,000,000 rows
        on.
    neighborhoods : {"farthest-first", "largest", "clique"}, default="farthest-first"
        Choice of the must-link components that give centers when there are more than
        ``n_clusters``.
    variant : {"default", "published"}, default="default"
        Start from neighborhoods. ``"published"`` takes the largest ones, whatever
        ``neighborhoods`` says, and puts missing centers near the global mean; ``"default"`` finds
        missing centers by D² sampling given the others.

    Attributes
    ----------
    penalty_ : float
        The penalty that was used.
    inertia_ : float
        Sum of squared distances of the rows to their centers.

    See Also
    --------
    COPKMeans : Satisfies every constraint.

    Notes
    -----
    Basu, Banerjee, Mooney (2004), Active semi-supervision for pairwise constrained clustering;
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 4.4 and appendix C. The stated
    pairs are penalized; the paper's version on all entailed pairs is
    ``Constraints(closure.must_link_pairs(), closure.cannot_link_pairs(), n_samples=n)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0], [5.1]])
    >>> known = Constraints(must_link=[(1, 4)], n_samples=5)
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> bool(model.labels_[4] == model.labels_[1] != model.labels_[2]), model.n_violations_
    (True, 0)
    """

    _: KW_ONLY
    penalty: FiniteNonNegative | Auto = "auto"
    init: Literal["auto", "neighborhoods", "k-means++", "k-means||", "random"] | ArrayLike = "auto"
    neighborhoods: Literal["farthest-first", "largest", "clique"] = "farthest-first"
    variant: Literal["default", "published"] = "default"
    n_init: Restarts = 10

    _has_inertia = True

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means in which violated constraints cost",
            source="Basu, Banerjee, Mooney 2004; Constrained Clustering 4.4",
            complexity="O(n k d + m k) per iteration with m constraints, O(n + m k) memory",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        self.penalty_ = resolve_penalty(self.penalty, source)
        # Lloyd's loop minimizes Σ ‖x - μ‖² + penalty, that is 2 J: all prices count twice.
        penalties = Penalties(known, 2 * self.penalty_)
        points = PointCosts(source.take(penalties.rows))
        starts = Starts(
            source,
            self.n_clusters,
            self.init,
            n_restarts(self),
            known,
            rule=self.neighborhoods,
            published=self.variant == "published",
        )
        if isinstance(self.init, str) and self.init == "neighborhoods":
            _warn_of_twins(starts, known)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                starts.centers(number, random_state),
                constrained=SoftConstrainedRows(penalties, points, random_state),
                max_iter=self.max_iter,
                tol=self.tol,
                unit=0.5,
                description="PCKMeans",
                verbose=self.verbose,
            )

        return self._set_fitted_attributes(self._best_restart(starts.n_starts, run, source), known)


def _warn_of_twins(starts: Starts, known: Constraints) -> None:
    """Warn when two of the neighborhoods that the fit starts from look like one class."""
    assert starts.contraction is not None
    twins = likely_twins(starts.contraction, starts.chosen())
    if twins is not None:
        one, other = known.name_rows(twins)
        warn(
            f"The neighborhoods of {one} and {other} lie closer than a typical neighborhood is "
            "wide and no cannot-link separates them, so two clusters probably start in the same "
            "class; init='auto' tries other starts too.",
            ConstraintWarning,
        )


class SoftConstrainedRows(ConstrainedRows):
    """Rows under constraints, labeled by iterated conditional modes.

    They start from the nearest centers, as the centers have moved, and from their last labels only
    if that ends no better: from there alone linked rows would hardly ever follow the centers. The
    better of both is never worse than the labels before. Rows that no violated constraint reaches
    stay with the nearest centers, and need no costs.

    Parameters
    ----------
    penalties : Penalties
        Prices of the statements.
    points : PointCosts
        The constrained rows.
    random_state : RandomState
        Generator for the order of the sweeps.
    """

    begin_nearest = True

    def __init__(
        self, penalties: Penalties, points: PointCosts, random_state: np.random.RandomState
    ) -> None:
        self.rows = penalties.rows
        self._penalties = penalties
        self._points = points
        self._random_state = random_state
        self._labels: IntArray | None = None
        self._cost: Array | None = None

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        """Return the labels of the rows, their penalty, and what the labels add to the sums."""
        assert nearest is not None
        labels = self._penalties.start(nearest, len(centers))
        contested = self._penalties.contested(labels)
        if contested.any():
            labels = self._icm_from(centers, labels, contested)
        self._labels, own = labels, labels[: len(self.rows)]
        left = np.flatnonzero(own != nearest)
        corrections = self._points.moved(centers, left, nearest[left], own[left])
        return Relabeled(own, self._penalties.value(labels), corrections)

    def _icm_from(self, centers: Array, start: Array, contested: Array) -> Array:
        """Return labels of a local optimum; only contested nodes may leave where they start."""
        nodes = np.flatnonzero(contested[: len(self.rows)])
        cost, nearest = self._costs(centers, nodes)

        def improve(labels: Array) -> None:
            self._penalties.improve(cost, nearest, labels, self._random_state, nodes)

        def objective(labels: Array) -> float:
            own = cost[nodes, labels[nodes]].sum(dtype=np.float64)
            return float(own) + self._penalties.value(labels)

        last = self._labels
        labels = start.copy()
        improve(labels)
        if last is None:
            return labels
        # Outside, nothing is violated at the nearest centers: the labels there are no worse.
        again = np.where(contested, last, start)
        if objective(labels) < objective(again):
            return labels
        if not np.array_equal(labels, again):
            improve(again)
        return again

    def _costs(self, centers: Array, nodes: IntArray) -> tuple[Array, IntArray]:
        """Return costs and cheapest centers, which only these rows of the tables have."""
        n = len(self.rows)
        if len(nodes) == n:
            return self._points.at(centers)
        cost, cheapest = self._points.at(centers, nodes)
        if self._cost is None:
            self._cost = np.empty((n, len(centers)), dtype=cost.dtype)
        nearest = np.empty(n, dtype=np.int64)
        self._cost[nodes], nearest[nodes] = cost, cheapest
        return self._cost, nearest

    def farthest(self, centers: Array, n: int) -> Array:
        """Return at most ``n`` rows for clusters that are empty."""
        if self._labels is None:
            return centers[:0]
        return self._points.farthest(centers, self._labels[: len(self.rows)], n)
