"""Global k-means: one center at a time, where it pays most (Verbeek 2004, section 3.3)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal, Self

import numpy as np

from sidelight._fit.lowest import lowest
from sidelight._fit.moments import moments
from sidelight._fit.parameters import ArrayLike, Auto, Count, NonNegative, estimator
from sidelight._progress import FitProgress
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult, _CentersBase, _WeightedRowsMixin, lloyd
from sidelight.cluster.global_kmeans._insertion import (
    Points,
    candidate_gains,
    run_lloyd,
    trial_errors,
)
from sidelight.cluster.global_kmeans._kd_partition import kd_means
from sidelight.cluster.global_kmeans._trial_runs import Trials, number_of_trials
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.tags import MethodTags

#: Numbers that one iteration goes through, below which one compiled loop beats blocks of rows.
WORTH_BLOCKS = 1e5

#: Pairs of a row and a candidate that a search may compare for every further cluster: minutes.
MAX_PAIRS = {"fast": 4e10, "full": 1e9}


@estimator
class GlobalKMeans(_WeightedRowsMixin, _CentersBase):
    """Global k-means: solutions for 1, 2, ... k clusters, each from the one before; deterministic.

    Minimizes ``E = Σ_i w_i ‖x_i - μ_{l_i}‖²`` as :class:`KMeans` does. The solution for ``k``
    clusters starts from that for ``k - 1`` and one candidate as a further center (Verbeek 2004,
    section 3.3). With ``method="full"`` Lloyd's algorithm runs from every candidate and the lowest
    error is kept; the published fast version (``method="fast"``, ``n_trials=1``) runs it from the
    candidate ``p`` with the largest

    ``b_p = Σ_i w_i max(d_i - ‖x_i - p‖², 0)``,

    where ``d_i`` is the squared distance of row ``i`` to its nearest center so far: the drop of the
    error by ``p`` alone, so that the error ends at ``E_{k-1} - b_p`` or below. Of equally good
    candidates the first is kept. With more trials the fast version runs from some candidates of
    large gain and from some that are spread over the data, lets single rows change their cluster
    where that helps (Hartigan 1975), and tries whether one of the earlier centers would do better
    elsewhere. This comes within 0.1 % of the exhaustive search or below it, in most cases, at less
    than a tenth of its time.

    Must-links and groups are kept exactly: rows that belong together become one point, their mean,
    with their weight (their scatter about it is a constant of the error). Read more in the
    :doc:`user guide </cluster/global_kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    vowel, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_clusters : int >= 1, default=8
        Number of clusters ``k`` of the last solution.
    method : {"fast", "full"}, default="fast"
        How a candidate is chosen. ``"full"`` is for some thousand rows at most.
    candidates : {"all", "kd-tree"} or array, default="all"
        Where a further center may start: at every row, at the means of the buckets of a kd-tree
        along principal directions, or at the rows of an array of shape (n_candidates, n_features).
        The kd-tree is for many rows: the time of the search grows with rows times candidates.
    n_candidates : int >= 1 or None, default=None
        Number of buckets of the kd-tree; ``2 n_clusters`` by default.
    n_trials : int >= 1 or "auto", default="auto"
        Trials per further cluster with ``method="fast"``; 1 is the published fast version.
        ``"auto"`` is a trial for every 20 rows, at least 4, and a single one on large tables, where
        several would take long.
    max_iter : int >= 1, default=300
        Largest number of iterations of Lloyd's algorithm per run.
    tol : float >= 0, default=0.0
        Stop a run when the squared move of the centers is at most ``tol`` times the mean variance
        of the features. Unchanged labels always stop it.
    random_state : int or RandomState or None, default=None
        Ignored: the method is deterministic.

    Attributes
    ----------
    search_ : dict of str to ndarray
        The solutions for 1, 2, ... clusters: ``"n_clusters"``, ``"objective"`` (the error ``E``)
        and ``"cluster_centers"`` (an array of centers each).
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row: the center nearest to it, or to the mean of its must-link component.
    history_ : ndarray
        ``E`` of the solutions for fewer clusters, then at every iteration of the last run; never
        rises.
    n_iter_ : int
        Number of iterations of the last run.
    converged_ : bool
        Whether the last run converged before ``max_iter``. After an interruption that keeps the
        best so far the search ends early.

    See Also
    --------
    KMeans : From random initial centers.
    COPKMeans : Keeps cannot-links as well.

    Notes
    -----
    The kd-tree follows Sproull (1991): the heaviest leaf is cut through its mean, perpendicular to
    its first principal direction. In the source twice as many buckets as clusters lose next to
    nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import GlobalKMeans
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> model = GlobalKMeans(n_clusters=3).fit(X)
    >>> model.search_["objective"].round(2).tolist()
    [257.2, 26.0, 1.0]
    >>> sorted(model.search_["cluster_centers"][1].ravel().tolist())
    [3.0, 20.0]
    """

    _: KW_ONLY
    method: Literal["fast", "full"] = "fast"
    candidates: Literal["all", "kd-tree"] | ArrayLike = "all"
    n_candidates: Count | None = None
    n_trials: Count | Auto = "auto"
    tol: NonNegative = 0.0

    _elsewhere = "KMeans, with several restarts, reads rows block by block."

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means for 1, 2, ... k clusters, center by center; deterministic",
            knowledge=("must-link", "groups"),
            enforcement="hard",
            source="Verbeek 2004, 3.3; Likas, Vlassis, Verbeek 2003; Sproull 1991",
            complexity="O(n c d) per cluster and O(n k d) per iteration with c candidates, "
            "O(n d) memory",
            sparse=False,
            out_of_core=False,
        )

    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:
        self._check_options()
        _check_no_cannot_links(known)
        rows = source.to_memory()
        component, scatter = np.arange(len(rows)), 0.0
        if known.closure().n_components < len(rows):
            reduced = known.reduce(rows, weights)
            rows, weights = reduced.means, reduced.weights
            component, scatter = reduced.component, float(np.sum(reduced.scatter))
        n_trials = self._number_of_trials(rows)
        if n_trials > 1:
            rows, weights, component = _merge_equal(rows, weights, component)
        points = Points.of(rows, weights)
        solutions = _Solutions(self, points, self._find_candidates(points), n_trials)
        result = solutions.find(self.n_clusters)
        self.search_ = {
            "n_clusters": np.arange(1, len(solutions.errors) + 1),
            "objective": np.array(solutions.errors) + scatter,
            "cluster_centers": _array_of(solutions.centers),
        }
        whole = replace(
            result,
            labels=result.labels[component],
            inertia=result.inertia + scatter,
            history=result.history + scatter,
        )
        return self._set_fitted_attributes(whole, known)

    def _check_options(self) -> None:
        """Raise on options that exclude each other."""
        if self.method == "full" and self.n_trials not in ("auto", 1):
            raise InvalidParameter("method='full' tries every candidate: n_trials is for 'fast'.")
        if self.n_candidates is not None and not (
            isinstance(self.candidates, str) and self.candidates == "kd-tree"
        ):
            raise InvalidParameter(
                "n_candidates is the number of buckets of candidates='kd-tree'; leave it out."
            )

    def _number_of_trials(self, rows: Array) -> int:
        if self.method == "full":
            return 1
        if isinstance(self.n_trials, str):
            return number_of_trials(*rows.shape)
        return int(self.n_trials)

    def _find_candidates(self, points: Points) -> Array:
        """Return the points at which a further center may start."""
        n_rows, n_features = points.rows.shape
        if not isinstance(self.candidates, str):
            candidates = np.array(self.candidates, dtype=points.rows.dtype, order="C")
            if candidates.ndim != 2 or len(candidates) < 1 or candidates.shape[1] != n_features:
                raise ValueError(
                    f"candidates must be points with {n_features} features each, got an array of "
                    f"shape {candidates.shape}."
                )
            if not np.all(np.isfinite(candidates)):
                raise ValueError("candidates holds NaN or infinity; give finite points.")
        elif self.candidates == "kd-tree":
            candidates = kd_means(points, self.n_candidates or 2 * self.n_clusters)
        else:
            present = points.weights > 0
            candidates = points.rows if present.all() else points.rows[present]
        if self.n_clusters > 1 and n_rows * len(candidates) > MAX_PAIRS[self.method]:
            raise SidelightError(
                f"method={self.method!r} would compare {n_rows:,} rows with {len(candidates):,} "
                "candidates for every further cluster; use candidates='kd-tree'"
                + (" or method='fast'." if self.method == "full" else ".")
            )
        return candidates


class _Interruptible(FitProgress):
    """Catches Ctrl-C wherever it comes; the searches and runs show their progress themselves."""

    def __init__(self) -> None:
        super().__init__("GlobalKMeans", None, verbose=0)
        self._show = False


class _Solutions:
    """Centers and errors of the solutions so far, and the step to one more cluster."""

    def __init__(
        self, model: GlobalKMeans, points: Points, candidates: Array, n_trials: int
    ) -> None:
        self.model = model
        self.points = points
        self.candidates = candidates
        self.trials: Trials | None = None
        if n_trials > 1:
            self.trials = Trials(
                points,
                candidates,
                n_trials,
                spread=isinstance(model.candidates, str) and model.candidates == "all",
                max_iter=model.max_iter,
                verbose=model.verbose,
            )
        self.centers: list[Array] = []
        self.errors: list[float] = []
        self.mean = np.average(points.rows, axis=0, weights=points.weights.astype(np.float64))
        self.largest_move = 0.0
        if model.tol > 0:
            variance = moments(points.source, points.weights).mean_variance
            self.largest_move = model.tol * variance

    def find(self, n_clusters: int) -> LloydResult:
        """Find the solutions for up to ``n_clusters`` clusters; return the last run."""
        result: LloydResult | None = None
        with _Interruptible() as progress:
            result = self._find(n_clusters, progress)
        if result is None:  # an interruption leaves the solution before it
            result = replace(self._run(self.centers[-1]), converged=False, interrupted=True)
        return replace(result, history=np.append(self.errors[:-1], result.history))

    def _find(self, n_clusters: int, progress: FitProgress) -> LloydResult | None:
        """Return the last run, or ``None`` where a search was interrupted."""
        start: Array | None = self.mean[None].astype(self.points.rows.dtype)
        while start is not None:
            k = len(start)
            if k < n_clusters and self.points.rows.size * k < WORTH_BLOCKS:
                self._add(
                    *run_lloyd(self.points, start, self.model.max_iter, self.largest_move)[:2]
                )
            else:
                result = self._run(start)
                self._add(result.centers, result.inertia)
                if k == n_clusters or result.interrupted:
                    return result
            progress.step()
            start = self._insert()
        return None

    def _add(self, centers: Array, error: float) -> None:
        self.centers.append(centers)
        self.errors.append(error)

    def _run(self, start: Array) -> LloydResult:
        return lloyd(
            self.points.source,
            start,
            sample_weight=self.points.weights,
            max_iter=self.model.max_iter,
            tol=self.model.tol,
            description=f"GlobalKMeans, {len(start)} clusters",
            verbose=self.model.verbose,
        )

    def _insert(self) -> Array | None:
        """Return centers to start from, one more; ``None`` if the search was interrupted."""
        if self.trials is not None:
            return self.trials.insert(self.centers[-1])
        centers, candidates, model = self.centers[-1], self.candidates, self.model
        show: dict[str, Any] = {
            "description": f"GlobalKMeans, start of cluster {len(centers) + 1}",
            "verbose": model.verbose,
        }
        if model.method == "fast":
            gains = candidate_gains(self.points, centers, candidates, **show)
            return self._with(centers, None if gains is None else -gains)
        errors = trial_errors(
            self.points,
            centers,
            candidates,
            max_iter=model.max_iter,
            largest_move=self.largest_move,
            **show,
        )
        return self._with(centers, errors)

    def _with(self, centers: Array, values: Array | None) -> Array | None:
        """Add the candidate of the lowest value; ``None`` where there are no values."""
        if values is None:
            return None
        return np.vstack([centers, self.candidates[lowest(values, "candidates")]])


def _merge_equal(
    rows: Array, weights: Array | None, component: Array
) -> tuple[Array, Array, Array]:
    """Make equal rows one point: one row of weight 2 and two rows are the same to every step.

    The points are in an order of their own, whatever that of the rows was.
    """
    points, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.ravel()
    mass = np.bincount(place, weights, minlength=len(points)).astype(rows.dtype)
    return points, mass, place[component]


def _array_of(items: list[Array]) -> Array:
    """An array whose entries are arrays of different shapes."""
    entries = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        entries[number] = item
    return entries


def _check_no_cannot_links(known: Constraints) -> None:
    """Raise if any two rows have to be apart."""
    if len(known.closure().conflicts) == 0:
        return
    if len(known.cannot_link):
        first, second = known.name_rows(known.cannot_link[0])
        why = f"{first} and {second} must be apart"
    else:
        why = "rows of different classes must be apart"
    raise SidelightError(
        f"GlobalKMeans keeps must-links and groups, but {why}; use COPKMeans, which keeps "
        "cannot-links too, or leave them out."
    )
