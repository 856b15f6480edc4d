"""Global k-means: one centre at a time, where it pays most (Verbeek 2004, section 3.3)."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._fit.moments import moments
from sidelight._progress import FitProgress
from sidelight._typing import Array
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.global_kmeans._insertion import Points, candidate_gains, settle, trial_errors
from sidelight.cluster.global_kmeans._kd_partition import kd_means
from sidelight.cluster.global_kmeans._trial_runs import Trials, number_of_trials
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Numbers that one iteration goes through, below which one compiled loop beats blocks of rows.
WORTH_BLOCKS = 1e5

#: Pairs of a row and a candidate that a search may compare for every further cluster: minutes.
MOST_PAIRS = {"fast": 4e10, "full": 1e9}


class GlobalKMeans(_KMeansBase):
    """Global k-means: solutions for 1, 2, ... k clusters, each from the one before, without chance.

    Minimises ``E = Σ_i w_i ‖x_i - μ_{l_i}‖²`` as :class:`KMeans` does. The solution for ``k``
    clusters starts from that for ``k - 1`` and one candidate as a further centre (Verbeek 2004,
    section 3.3). With ``search="full"`` Lloyd's algorithm runs from every candidate and the lowest
    error is kept; the published fast version (``search="fast"``, ``n_trials=1``) runs it from the
    candidate ``p`` with the largest

    ``b_p = Σ_i w_i max(d_i - ‖x_i - p‖², 0)``,

    where ``d_i`` is the squared distance of row ``i`` to its nearest centre so far: the drop of the
    error by ``p`` alone, so that the error ends at ``E_{k-1} - b_p`` or below. Of equally good
    candidates the first is kept. With more trials the fast version runs from some candidates that
    promise much and from some that are spread over the data, lets single rows change their cluster
    where that helps (Hartigan 1975), and tries whether one of the earlier centres would do better
    elsewhere. This comes within 0.1 % of the exhaustive search or below it, in most cases, at less
    than a tenth of its time.

    Must-links and groups are kept exactly: rows that belong together become one point, their mean,
    with their weight (what they differ by among themselves is a constant of the error).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k`` at the end of the path.
    search : {"fast", "full"}, default="fast"
        How a candidate is chosen. ``"full"`` is for some thousand rows at most.
    candidates : {"all", "kd-tree"} or array of shape (n_candidates, n_features), default="all"
        Where a further centre may start: at every row, at the means of the buckets of a kd-tree
        along principal directions, or at these points. The kd-tree is for many rows: the time of
        the search grows with rows times candidates.
    n_candidates : int, default=None
        Number of buckets of the kd-tree; ``2 n_clusters`` unless told.
    n_trials : int or "auto", default="auto"
        Trials per further cluster with ``search="fast"``; 1 is the published fast version.
        ``"auto"`` is a trial for every 20 rows, at least 4, and a single one on large
        tables, where several would take long.
    max_iter : int, default=300
        At most this many iterations of Lloyd's algorithm per run.
    tol : float, default=0.0
        End a run when the squared move of the centres is at most ``tol`` times the mean variance
        of the features; labels that stand still end it in any case.
    random_state : object, default=None
        Ignored: nothing is left to chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    path_ : list of ndarray
        Centres of the solutions for 1, 2, ... n_clusters.
    inertia_path_ : ndarray of shape (n_clusters,)
        Their errors.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row: the centre nearest to it, or to the mean of its must-link component.
    inertia_ : float
        ``E`` at the end.
    objective_ : float
        The same: what was minimised.
    history_ : ndarray
        ``E`` of the solutions for fewer clusters, then at every iteration of the last run; never
        rises.
    n_iter_ : int
        Number of iterations of the last run.
    converged_ : bool
        Whether labels or centres of the last run stood still before ``max_iter``. After an
        interruption that keeps the best so far the path ends early.
    n_violations_ : int
        Number of stated constraints that the labels violate: 0.

    See Also
    --------
    KMeans : From random starts.
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
    >>> model.inertia_path_.round(2).tolist()
    [257.2, 26.0, 1.0]
    >>> sorted(model.path_[1].ravel().tolist())
    [3.0, 20.0]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        search: str = "fast",
        candidates: Any = "all",
        n_candidates: int | None = None,
        n_trials: int | str = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.search = search
        self.candidates = candidates
        self.n_candidates = n_candidates
        self.n_trials = n_trials
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means for 1, 2, ... k clusters without chance, centre by centre",
            knowledge=("must-link", "groups"),
            enforcement="hard",
            source="Verbeek 2004, 3.3; Likas, Vlassis, Verbeek 2003; Sproull 1991",
            complexity="O(n c d) per cluster and O(n k d) per iteration with c candidates, "
            "O(n d) memory",
            monotone=True,
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
        X : array of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Must-links and groups.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : GlobalKMeans
            The fitted clusterer.

        Raises
        ------
        SidelightError
            If the constraints keep rows apart, which :class:`COPKMeans` can do.
        """
        rows = np.asarray(self._check_rows(X, reset=True))
        known = self._check_constraints(constraints, None, len(rows))
        weights = check_weights(sample_weight, as_rows(rows))
        k = check_n_clusters(self.n_clusters, len(rows))
        self._check_choices()
        _refuse_apart(known)
        closure = known.closure()
        component, scatter = np.arange(len(rows)), 0.0
        if closure.n_components < len(rows):
            reduced = known.reduce(rows, weights)
            rows, weights = reduced.means, reduced.weights
            component, scatter = reduced.component, float(np.sum(reduced.scatter))
        n_trials = self._number_of_trials(rows)
        if n_trials > 1:
            rows, weights, component = _merge_equal(rows, weights, component)
        points = Points.of(rows, weights)
        path = _Path(self, points, self._find_candidates(points), n_trials)
        result = path.follow(k)
        self.path_ = [centers for centers, _ in path.solutions]
        self.inertia_path_ = np.array(path.errors) + scatter
        whole = replace(
            result,
            labels=result.labels[component],
            inertia=result.inertia + scatter,
            history=result.history + scatter,
        )
        return self._set_fitted_attributes(whole, known)

    def _check_choices(self) -> None:
        if self.search not in MOST_PAIRS:
            raise ValueError(f"search must be 'fast' or 'full', got {self.search!r}.")
        if self.n_trials != "auto":
            if not isinstance(self.n_trials, Integral) or self.n_trials < 1:
                raise ValueError(
                    f"n_trials must be 'auto' or a whole number above 0, got {self.n_trials!r}."
                )
            if self.n_trials > 1 and self.search == "full":
                raise ValueError("search='full' tries every candidate: n_trials is for 'fast'.")
        if self.n_candidates is not None:
            if not isinstance(self.candidates, str) or self.candidates != "kd-tree":
                raise ValueError(
                    "n_candidates is the number of buckets of candidates='kd-tree'; leave it out."
                )
            if not isinstance(self.n_candidates, Integral) or self.n_candidates < 1:
                raise ValueError(
                    f"n_candidates must be a whole number above 0, got {self.n_candidates!r}."
                )

    def _number_of_trials(self, rows: Array) -> int:
        if self.search == "full":
            return 1
        if isinstance(self.n_trials, str):
            return number_of_trials(*rows.shape)
        return int(self.n_trials)

    def _find_candidates(self, points: Points) -> Array:
        """Return the points at which a further centre may start."""
        n_rows, n_features = points.rows.shape
        candidates: Array
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
        elif self.candidates == "all":
            present = points.weights > 0
            candidates = points.rows if present.all() else points.rows[present]
        else:
            raise ValueError(
                "candidates must be 'all', 'kd-tree' or an array of points, got "
                f"{self.candidates!r}."
            )
        if self.n_clusters > 1 and n_rows * len(candidates) > MOST_PAIRS[self.search]:
            raise SidelightError(
                f"search={self.search!r} would compare {n_rows:,} rows with {len(candidates):,} "
                "candidates for every further cluster; use candidates='kd-tree'"
                + (" or search='fast'." if self.search == "full" else ".")
            )
        return candidates


class _Walk(FitProgress):
    """Catches Ctrl-C wherever it comes; the searches and runs show their progress themselves."""

    def __init__(self) -> None:
        super().__init__("GlobalKMeans", None, verbose=0)
        self._show = False


class _Path:
    """The solutions so far, and the step to one more cluster."""

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
        self.solutions: list[tuple[Array, float]] = []
        self.mean = np.average(points.rows, axis=0, weights=points.weights.astype(np.float64))
        self.largest_move = 0.0
        if model.tol > 0:
            variance = moments(points.source, points.weights).mean_variance
            self.largest_move = model.tol * variance

    @property
    def errors(self) -> list[float]:
        """Errors of the solutions."""
        return [error for _, error in self.solutions]

    def follow(self, n_clusters: int) -> LloydResult:
        """Walk to ``n_clusters`` clusters; return the last run."""
        result: LloydResult | None = None
        with _Walk() as walk:
            result = self._walk(n_clusters, walk)
        if result is None:  # an interruption leaves the solution before it
            last = self._run(self.solutions[-1][0])
            result = replace(last, converged=False, interrupted=True)
        return replace(result, history=np.append(self.errors[:-1], result.history))

    def _walk(self, n_clusters: int, walk: FitProgress) -> LloydResult | None:
        """Return the last run, or ``None`` where a search was interrupted."""
        start: Array | None = self.mean[None].astype(self.points.rows.dtype)
        while start is not None:
            k = len(start)
            if k < n_clusters and self.points.rows.size * k < WORTH_BLOCKS:
                centers, error, _ = settle(
                    self.points, start, self.model.max_iter, self.largest_move
                )
                self.solutions.append((centers, error))
            else:
                result = self._run(start)
                self.solutions.append((result.centers, result.inertia))
                if k == n_clusters or result.interrupted:
                    return result
            walk.step()
            start = self._insert()
        return None

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
        """Return centres to start from, one more; ``None`` if the search was interrupted."""
        if self.trials is not None:
            return self.trials.insert(self.solutions[-1][0])
        centers, candidates, model = self.solutions[-1][0], self.candidates, self.model
        words = f"GlobalKMeans, start of cluster {len(centers) + 1}"
        show: dict[str, Any] = {"description": words, "verbose": model.verbose}
        if model.search == "fast":
            gains = candidate_gains(self.points, centers, candidates, **show)
            return None if gains is None else np.vstack([centers, candidates[np.argmax(gains)]])
        errors = trial_errors(
            self.points,
            centers,
            candidates,
            max_iter=model.max_iter,
            largest_move=self.largest_move,
            **show,
        )
        return None if errors is None else np.vstack([centers, candidates[np.argmin(errors)]])


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


def _refuse_apart(known: Constraints) -> None:
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
