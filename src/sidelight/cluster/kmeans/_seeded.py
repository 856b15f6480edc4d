"""k-means from partial labels: Seeded and Constrained k-means (Basu, Banerjee, Mooney 2002)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.cluster._core._base import _KMeansBase, check_centers
from sidelight.cluster._core._distances import squared_center_distances
from sidelight.cluster._core._lloyd import HeldRows, LloydResult, lloyd
from sidelight.cluster._core._seeding import kmeans_plusplus, random_rows
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.tags import MethodTags


@dataclass(frozen=True)
class _Seeds:
    """Rows whose class is known: their positions, and the cluster that stands for the class."""

    rows: Array
    clusters: Array
    classes: Array


class SeededKMeans(_KMeansBase):
    """k-means that starts at the means of labelled rows.

    Minimises ``J = Σ_i w_i ‖x_i - μ_{l_i}‖²`` by Lloyd's algorithm from ``μ_h`` = the mean of the
    seeds of class ``h`` (Basu, Banerjee, Mooney 2002). The labels only choose the start: seeds may
    leave their cluster, so wrong ones do little harm. Cluster ``h`` stands for
    ``seed_classes_[h]``; clusters beyond the known classes start by k-means++ given the others.

    Labels come as ``y`` with -1 for unknown, or in ``constraints``. Must-links and groups pass a
    label on to all rows they join; pairs that reach no label are not used, and a warning says so.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``, at least the number of classes.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where clusters without seeds start; of an array, row ``h`` is the start of cluster ``h``.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when every cluster has seeds.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of
        the features; labels that stand still stop it in any case.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    seed_classes_ : ndarray of shape (n_classes,)
        Names of the classes that the first clusters stand for.
    inertia_ : float
        Sum of squared distances to the centres.
    objective_ : float
        What was minimised, at the end.
    history_ : ndarray
        The same at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SeededKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> model = SeededKMeans(n_clusters=3, random_state=0).fit(X, y=[7, -1, 3, -1, -1])
    >>> model.labels_
    array([1, 1, 0, 0, 2], dtype=int32)
    >>> model.seed_classes_
    array([3, 7])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means that starts at the means of labelled rows",
            knowledge=("labels",),
            enforcement="start",
            source="Basu, Banerjee, Mooney 2002",
            complexity="O(n k d) per iteration, O(n + k d) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Known classes, and must-links and groups that pass them on.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        weights = check_weights(sample_weight, source)
        check_n_clusters(self.n_clusters, source.n_rows)
        seeds = self._find_seeds(known)
        given = _seed_means(source, seeds, weights)
        held = self._hold(source, seeds, weights)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                self._complete(source, given, random_state, weights),
                sample_weight=weights,
                held=held,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        all_starts_equal = len(given) == self.n_clusters or not isinstance(self.init, str)
        result = self._best_restart(1 if all_starts_equal else self.n_init, run, source)
        self.seed_classes_ = seeds.classes
        return self._set_fitted_attributes(result, known)

    def _find_seeds(self, known: Constraints) -> _Seeds:
        """Rows with a known class, also through must-links and groups."""
        closure = known.closure(on_contradiction=self._on_contradiction())
        if self._on_contradiction() == "keep":
            self._warn_of_contradictions(known)
        code = closure.component_label[closure.component]
        self._warn_of_unused_pairs(known, code >= 0)
        rows = np.flatnonzero(code >= 0)
        present, clusters = np.unique(code[rows], return_inverse=True)
        if len(present) > self.n_clusters:
            names = ", ".join(str(name) for name in known.label_names[present])
            raise SidelightError(
                f"There are {len(present)} classes among the labels ({names}) but only "
                f"n_clusters={self.n_clusters}; ask for at least {len(present)} clusters."
            )
        classes = known.label_names[present] if known.has_labels else np.empty(0, dtype=np.int64)
        return _Seeds(rows, clusters.astype(np.int32), classes)

    def _on_contradiction(self) -> Literal["raise", "keep"]:
        return "keep"

    def _hold(self, source: RowSource, seeds: _Seeds, weights: Array | None) -> HeldRows | None:
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
            warnings.warn(
                f"{unused} of the must-links, cannot-links and groups reach no labelled row, and "
                f"{type(self).__name__} only uses labels: these are ignored. COPKMeans and "
                "PCKMeans use them.",
                ConstraintWarning,
                stacklevel=4,
            )

    def _complete(
        self,
        source: RowSource,
        given: Array,
        random_state: np.random.RandomState,
        weights: Array | None,
    ) -> Array:
        """Put the centres of clusters without seeds behind those with seeds."""
        n_given = len(given)
        if n_given == self.n_clusters:
            return given
        if isinstance(self.init, str) and self.init == "k-means++":
            return kmeans_plusplus(
                source,
                self.n_clusters,
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


class ConstrainedKMeans(SeededKMeans):
    """k-means in which labelled rows keep their cluster, or pay for leaving it.

    Minimises

        ``J = Σ_i w_i ‖x_i - μ_{l_i}‖² + seed_weight · Σ_{seeds i} w_i [l_i ≠ class of i]``

    by Lloyd's algorithm from the means of the seeds (Basu, Banerjee, Mooney 2002, Constrained
    k-means: ``seed_weight = inf``, seeds never leave). A finite ``seed_weight`` is our extension
    for labels that may be wrong: a seed leaves where that saves more than ``seed_weight`` of
    squared distance; 0 is :class:`SeededKMeans`. The label of a row is one of the ``k`` clusters
    that minimises its own part of ``J``, so the loop is exact and ``J`` never rises.

    Labels come as ``y`` with -1 for unknown, or in ``constraints``. Must-links and groups pass a
    label on to all rows they join; pairs that reach no label are not used, and a warning says so.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``, at least the number of classes.
    seed_weight : float, default=inf
        Squared distance that a seed would have to save by leaving its cluster.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where clusters without seeds start; of an array, row ``h`` is the start of cluster ``h``.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when every cluster has seeds.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of
        the features; labels that stand still stop it in any case.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row; the nearest centre except for seeds.
    seed_classes_ : ndarray of shape (n_classes,)
        Names of the classes that the first clusters stand for.
    inertia_ : float
        Sum of squared distances to the centres.
    objective_ : float
        What was minimised, at the end: ``inertia_`` and what leaving seeds cost.
    history_ : ndarray
        The same at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import ConstrainedKMeans
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> y = [0, -1, 1, 1, -1]
    >>> ConstrainedKMeans(n_clusters=2).fit_predict(X, y)
    array([0, 0, 1, 1, 1], dtype=int32)
    >>> ConstrainedKMeans(n_clusters=2, seed_weight=1.0).fit_predict(X, y)
    array([0, 0, 0, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        seed_weight: float = np.inf,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
        )
        self.seed_weight = seed_weight

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means in which labelled rows keep their cluster, or pay for leaving it",
            knowledge=("labels",),
            enforcement="hard" if np.isinf(self.seed_weight) else "soft",
            source="Basu, Banerjee, Mooney 2002",
            complexity="O(n k d) per iteration, O(n + k d) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def _on_contradiction(self) -> Literal["raise", "keep"]:
        return "raise" if np.isinf(self.seed_weight) else "keep"

    def _hold(self, source: RowSource, seeds: _Seeds, weights: Array | None) -> HeldRows | None:
        """The seeds: kept where they are, or weighed against the cost of leaving."""
        if not self.seed_weight >= 0:
            raise ValueError(f"seed_weight must not be negative, got {self.seed_weight!r}.")
        if len(seeds.rows) == 0 or self.seed_weight == 0:
            return None
        if np.isinf(self.seed_weight):
            return _KeptSeeds(seeds.rows, seeds.clusters)
        seed_weights = np.ones(len(seeds.rows)) if weights is None else weights[seeds.rows]
        return _CostlySeeds(
            seeds.rows, seeds.clusters, source.take(seeds.rows), seed_weights, self.seed_weight
        )


@dataclass(frozen=True)
class _KeptSeeds:
    """Seeds that never leave the cluster of their class."""

    rows: Array
    clusters: Array

    def assign(self, centers: Array) -> tuple[Array, float]:
        return self.clusters, 0.0


@dataclass(frozen=True)
class _CostlySeeds:
    """Seeds that leave where that saves more squared distance than it costs."""

    rows: Array
    clusters: Array
    points: Any
    weights: Array
    cost: float

    def assign(self, centers: Array) -> tuple[Array, float]:
        costs = squared_center_distances(self.points, centers) + self.cost
        costs[np.arange(len(self.rows)), self.clusters] -= self.cost
        labels = np.argmin(costs, axis=1)
        left = self.weights[labels != self.clusters]
        return labels, self.cost * float(np.sum(left, dtype=np.float64))


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

    def add(block: Any, positions: range) -> tuple[tuple[Array], tuple[()]]:
        here = slice(*np.searchsorted(seeds.rows, (positions.start, positions.stop)))
        columns = seeds.rows[here] - positions.start
        members = sparse.csr_array(
            (seed_weights[here], (seeds.clusters[here], columns)),
            shape=(n_classes, len(positions)),
        )
        sums = members @ block
        return (sums.toarray() if sparse.issparse(sums) else sums,), ()

    (sums,), _ = source.map_reduce(add, aligned=(range(source.n_rows),))
    means: Array = (sums / mass[:, None]).astype(source.dtype)
    return means
