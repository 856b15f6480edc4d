"""k-means from partial labels: Seeded and Constrained k-means (Basu, Banerjee, Mooney 2002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from sidelight._fit.few_rows import FewRows
from sidelight._fit.parameters import ArrayLike, Auto, NonNegative, estimator, n_restarts
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.cluster._core._distances import PointCosts
from sidelight.cluster._core._lloyd import (
    ConstrainedRows,
    LloydResult,
    Relabeled,
    _KMeansBase,
    _WeightedRowsMixin,
    lloyd,
)
from sidelight.cluster._core._starts import check_centers, initial_centers, random_rows
from sidelight.cluster.pairs._penalties import resolve_penalty
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError, UnusedKnowledge
from sidelight.tags import MethodTags


@dataclass(frozen=True)
class _Seeds:
    """Rows whose class is known: their positions, and the cluster that stands for the class."""

    rows: Array
    clusters: Array
    classes: Array


@estimator
class SeededKMeans(_WeightedRowsMixin, _KMeansBase):
    """k-means that starts at the means of labeled rows.

    Minimizes ``J = Σ_i w_i ‖x_i - μ_{l_i}‖²`` by Lloyd's algorithm from ``μ_h`` = the mean of the
    seeds of class ``h`` (Basu, Banerjee, Mooney 2002). The labels only choose the start: seeds may
    leave their cluster, so wrong ones do little harm. Cluster ``h`` stands for
    ``classes_[h]``; clusters beyond the known classes start by k-means++ given the others.

    Labels come as ``y`` with -1 for unknown, or in ``constraints``. Must-links and groups pass a
    label on to all rows they join; pairs that reach no label are not used, and a warning says so.
    Read more in the :doc:`user guide </cluster/kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    vowel, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_clusters : int >= 1, default=8
        Number of clusters ``k``, at least the number of classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Names of the classes that the first clusters stand for.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SeededKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> model = SeededKMeans(n_clusters=3, random_state=0).fit(X, y=[7, -1, 3, -1, -1])
    >>> model.labels_
    array([1, 1, 0, 0, 2], dtype=int32)
    >>> model.classes_
    array([3, 7])
    """

    _common_parameters: ClassVar[Mapping[str, str]] = {
        **_KMeansBase._common_parameters,
        "n_clusters": "Number of clusters ``k``, at least the number of classes.",
        "init": "Initial centers of clusters without seeds: greedy D² sampling given the others, "
        "D² sampling of many rows a pass, random rows, or an array of shape (n_clusters, "
        'n_features), whose row ``h`` is for cluster ``h``. ``"auto"`` is ``"k-means||"`` from '
        '1,000,000 rows on, and ``"k-means++"`` below.',
        "n_init": "Number of restarts with different seeds; the best is kept. One is run when "
        "``init`` is an array or when every cluster has seeds.",
    }
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "classes_ : ndarray of shape (n_classes,)": "Names of the classes that the first "
        "clusters stand for.",
        **_KMeansBase._common_attributes,
    }

    _: KW_ONLY
    init: Literal["auto", "k-means++", "k-means||", "random"] | ArrayLike = "auto"

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means that starts at the means of labeled rows",
            knowledge=("labels",),
            enforcement="start",
            source="Basu, Banerjee, Mooney 2002",
            complexity="O(n k d) per iteration, O(n + k d) memory",
        )

    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:
        seeds = self._find_seeds(known)
        given = _seed_means(source, seeds, weights)
        constrained = self._constrain(source, seeds, weights)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                self._complete(source, given, random_state, weights),
                sample_weight=weights,
                constrained=constrained,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        all_starts_equal = len(given) == self.n_clusters or not isinstance(self.init, str)
        result = self._best_restart(1 if all_starts_equal else n_restarts(self), run, source)
        self.classes_ = seeds.classes
        return self._set_fitted_attributes(result, known)

    def _find_seeds(self, known: Constraints) -> _Seeds:
        """Rows with a known class, also through must-links and groups."""
        closure = known.closure(on_contradiction=self._on_contradiction())
        code = closure.component_label[closure.component]
        self._warn_of_unused_pairs(known, code >= 0)
        rows = np.flatnonzero(code >= 0)
        present, clusters = np.unique(code[rows], return_inverse=True)
        if len(present) > self.n_clusters:
            names = ", ".join(str(name) for name in known.label_names[present])
            raise SidelightError(
                f"There are {len(present)} classes among the labels ({names}) but only "
                f"{setting('n_clusters', self.n_clusters)}; ask for at least {len(present)} "
                "clusters."
            )
        classes = known.label_names[present] if known.has_labels else np.empty(0, dtype=np.int64)
        return _Seeds(rows, clusters.astype(np.int32), classes)

    _with_labels = ("must-link", "cannot-link", "groups")

    def _on_contradiction(self) -> Literal["raise", "keep"]:
        return "keep"

    def _constrain(
        self, source: RowSource, seeds: _Seeds, weights: Array | None
    ) -> ConstrainedRows | None:
        """Rows that the loop may not label freely: none, the seeds only choose the start."""
        return None

    def _warn_of_unused_pairs(self, known: Constraints, has_class: Array) -> None:
        joined = has_class[known.must_link].any(axis=1)
        apart = has_class[known.cannot_link].all(axis=1)
        unused = np.count_nonzero(~joined) + np.count_nonzero(~apart)
        if known.groups is not None:
            unused_groups = known.groups[(known.groups >= 0) & ~has_class]
            unused += len(np.unique(unused_groups))
        if unused:
            warn(
                f"{unused} of the must-links, cannot-links and groups reach no labeled row, and "
                f"{type(self).__name__} only uses labels: these are ignored. COPKMeans and "
                "PCKMeans use them.",
                UnusedKnowledge,
            )

    def _complete(
        self,
        source: RowSource,
        given: Array,
        random_state: np.random.RandomState,
        weights: Array | None,
    ) -> Array:
        """Put the centers of clusters without seeds behind those with seeds."""
        n_given = len(given)
        if n_given == self.n_clusters:
            return given
        if isinstance(self.init, str) and self.init != "random":
            return initial_centers(
                source,
                self.n_clusters,
                self.init,
                random_state,
                given=given if n_given else None,
                sample_weight=weights,
            )
        if isinstance(self.init, str) and self.init == "random":
            others = random_rows(
                source, self.n_clusters - n_given, random_state, sample_weight=weights
            )
        else:
            others = check_centers(self.init, self.n_clusters, source)[n_given:]
        return np.concatenate([given, others])


@estimator
class ConstrainedKMeans(SeededKMeans):
    """k-means in which labeled rows keep their cluster, or pay for leaving it.

    Minimizes

        ``J = Σ_i w_i ‖x_i - μ_{l_i}‖² + penalty · Σ_{seeds i} w_i [l_i ≠ class of i]``

    by Lloyd's algorithm from the means of the seeds (Basu, Banerjee, Mooney 2002, Constrained
    k-means: ``penalty = inf``, seeds never leave). A finite ``penalty`` is our extension for labels
    that may be wrong: a seed leaves where that saves more than ``penalty`` of squared distance; 0
    is :class:`SeededKMeans`. The label of a row is one of the ``k`` clusters that minimizes its own
    part of ``J``, so the loop is exact and ``J`` never rises.

    Labels come as ``y`` with -1 for unknown, or in ``constraints``. Must-links and groups pass a
    label on to all rows they join; pairs that reach no label are not used, and a warning says so.
    Read more in the :doc:`user guide </cluster/kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass and vowel, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float >= 0 or "auto", default=inf
        Price of a seed outside the cluster of its class, in the units of ``J``: squared distance
        that the seed would have to save by leaving. ``inf``, the published method, never lets it
        leave; ``"auto"`` is the mean squared distance of the rows to their mean.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row; the nearest center except for seeds.
    penalty_ : float
        The penalty that was used.
    inertia_ : float
        Sum of squared distances of the rows to their centers.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import ConstrainedKMeans
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> y = [0, -1, 1, 1, -1]
    >>> ConstrainedKMeans(n_clusters=2).fit_predict(X, y)
    array([0, 0, 1, 1, 1], dtype=int32)
    >>> ConstrainedKMeans(n_clusters=2, penalty=1.0).fit_predict(X, y)
    array([0, 0, 0, 1, 1], dtype=int32)
    """

    _: KW_ONLY
    penalty: NonNegative | Auto = np.inf

    _has_inertia = True

    def __sidelight_tags__(self) -> MethodTags:
        return replace(
            super().__sidelight_tags__(),
            summary="k-means in which labeled rows keep their cluster, or pay for leaving it",
            enforcement="hard" if self._is_hard else "soft",
        )

    @property
    def _is_hard(self) -> bool:
        return self.penalty == np.inf

    _with_labels = ("must-link", "cannot-link", "groups")

    def _on_contradiction(self) -> Literal["raise", "keep"]:
        return "raise" if self._is_hard else "keep"

    def _constrain(
        self, source: RowSource, seeds: _Seeds, weights: Array | None
    ) -> ConstrainedRows | None:
        """The seeds: kept where they are, or weighed against the cost of leaving."""
        self.penalty_ = resolve_penalty(self.penalty, source)
        if len(seeds.rows) == 0 or self.penalty_ == 0:
            return None
        if self._is_hard:
            return _KeptSeeds(seeds)
        seed_weights = np.ones(len(seeds.rows)) if weights is None else weights[seeds.rows]
        points = PointCosts(source.take(seeds.rows).astype(np.float64))
        return _CostlySeeds(seeds, points, seed_weights, self.penalty_)


class _KeptSeeds(ConstrainedRows):
    """Seeds that never leave the cluster of their class."""

    def __init__(self, seeds: _Seeds) -> None:
        self.rows, self._clusters = seeds.rows, seeds.clusters

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        return Relabeled(self._clusters)


class _CostlySeeds(_KeptSeeds):
    """Seeds that leave where that saves more squared distance than it costs."""

    def __init__(self, seeds: _Seeds, points: PointCosts, weights: Array, price: float) -> None:
        super().__init__(seeds)
        self._points, self._weights, self._price = points, weights, price

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        costs = self._points.at(centers)[0] + self._price
        costs[np.arange(len(self.rows)), self._clusters] -= self._price
        labels = np.argmin(costs, axis=1)
        left = self._weights[labels != self._clusters]
        return Relabeled(labels, self._price * float(np.sum(left, dtype=np.float64)))


def _seed_means(source: RowSource, seeds: _Seeds, weights: Array | None) -> Array:
    """Weighted mean of the seeds of every class."""
    n_classes = len(seeds.classes)
    if n_classes == 0:
        return np.empty((0, source.n_features), dtype=source.dtype)
    seed_weights = (
        np.ones(len(seeds.rows)) if weights is None else weights[seeds.rows].astype(float)
    )
    mass = np.bincount(seeds.clusters, seed_weights, minlength=n_classes)
    # A class whose seeds all weigh nothing still has a place: their plain mean.
    seed_weights[mass[seeds.clusters] == 0] = 1.0
    mass = np.bincount(seeds.clusters, seed_weights, minlength=n_classes)

    def add(block: Any, clusters: Any, weights: Any) -> tuple[tuple[Array], tuple[()]]:
        places, own = clusters
        shape = (n_classes, block.shape[0])
        sums = sparse.csr_array((weights[1], (own, places)), shape=shape) @ block
        return (sums.toarray() if sparse.issparse(sums) else sums,), ()

    aligned = FewRows(seeds.rows, seeds.clusters), FewRows(seeds.rows, seed_weights)
    (sums,), _ = source.map_reduce(add, aligned=aligned)
    means: Array = (sums / mass[:, None]).astype(source.dtype)
    return means
