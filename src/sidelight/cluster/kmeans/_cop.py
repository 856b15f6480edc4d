"""COP-KMeans: k-means that satisfies every constraint (Wagstaff, Cardie, Rogers, Schroedl 2001)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster._core._refill import lloyd_with_refills
from sidelight.cluster.kmeans._hard_assignment import ASSIGNMENTS, DeadEnd, hold
from sidelight.cluster.pairs._contraction import contract
from sidelight.cluster.pairs._neighborhoods import neighbourhood_centers, plan_starts
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags


class COPKMeans(_KMeansBase):
    """Constrained k-means: every must-link, cannot-link, label and group holds, or the fit raises.

    Minimises over labels ``l`` and centres ``μ``::

        V = Σ_i ‖x_i - μ_{l_i}‖²   subject to   l_i = l_j on must-links,  l_i ≠ l_j on cannot-links

    Must-link components are contracted first: as a whole, a component of size ``s`` and mean ``m``
    costs ``s ‖m - μ‖²`` (up to a constant). Components without cannot-links go to the nearest
    centre, the others are assigned jointly, and centres are means. Whether ``n_clusters`` suffice
    is checked before anything else.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    assignment : {"auto", "exact", "literature"}, default="auto"
        How components with cannot-links are assigned at given centres.

        - ``"auto"``: one by one to the nearest admissible centre, in several orders, and improved
          one by one; solved exactly when every order ends in a dead end, so that the fit fails only
          when it must. An assignment is only taken if it is no worse than the last one, so that
          ``V`` never rises.
        - ``"exact"``: the cheapest admissible assignment, at every iteration.
        - ``"literature"``: as published. Rows in random order, each to the nearest centre that
          violates nothing so far; a dead end raises. ``V`` may rise.
    init : {"auto", "neighbourhoods", "k-means++", "random"} or array of shape \
(n_clusters, n_features), default="auto"
        Where to start: the means of components that are known to be apart, greedy D² sampling,
        random rows, or these centres. ``"auto"`` starts once from the neighbourhoods and otherwise
        with k-means++.
    n_init : int, default=10
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of the
        features; labels that stand still stop it in any case.
    time_limit : float, default=60.0
        Seconds for one exact assignment.
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
    inertia_ : float
        ``V`` at the end.
    objective_ : float
        The same: what was minimised.
    history_ : ndarray
        ``V`` at every iteration; never rises, except with ``assignment="literature"``.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate: 0.

    See Also
    --------
    PCKMeans : Lets constraints be violated at a price.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 1.2.1, table 1.1. The exact
    assignment follows Baumann and Hochbaum (2022). New rows go to the nearest centre.

    Examples
    --------
    The greedy assignment of the literature puts rows 0 and 1 first and has no cluster left for row
    2; there is an assignment all the same.

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import COPKMeans
    >>> X = np.array([[0.0], [10.0], [5.0]])
    >>> known = Constraints(cannot_link=[(0, 2), (1, 2)], n_samples=3)
    >>> labels = COPKMeans(n_clusters=2, init=[[0.0], [10.0]]).fit_predict(X, constraints=known)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        assignment: str = "auto",
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        time_limit: float = 60.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.assignment = assignment
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means that satisfies every constraint",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="hard",
            source="Wagstaff et al. 2001; Constrained Clustering 1.2.1; Baumann, Hochbaum 2022",
            complexity="O(n k d + m k) per iteration with m constraints, O(n + m k) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows.

        Returns
        -------
        self : COPKMeans
            The fitted clusterer.

        Raises
        ------
        InconsistentConstraints
            If the constraints contradict themselves.
        InfeasibleConstraints
            If ``n_clusters`` are too few for the cannot-links.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        k = check_n_clusters(self.n_clusters, source.n_rows)
        self._check_choices()
        closure = known.closure()
        known.check_feasible(k)
        contraction = contract(source, closure)
        starts = plan_starts(self.init, self.n_init, known)
        dead_ends: dict[int, DeadEnd] = {}

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            init = starts[number]
            if init == "neighbourhoods":
                centers = neighbourhood_centers(source, contraction, k, random_state, rule="clique")
            else:
                given = self.init if init == "given" else init
                centers = self._start(source, given, random_state, None)
            try:
                return lloyd_with_refills(
                    source,
                    centers,
                    hold(source, contraction, self.assignment, random_state, self.time_limit),
                    max_iter=self.max_iter,
                    tol=self.tol,
                    description="COPKMeans",
                    verbose=self.verbose,
                )
            except DeadEnd as dead_end:
                dead_ends[number] = dead_end
                return _no_result(centers)

        best = self._best_restart(len(starts), run, source)
        if len(dead_ends) == len(starts):
            raise _explain(dead_ends[len(starts) - 1], known, len(starts))
        return self._set_fitted_attributes(best, known)

    def _check_choices(self) -> None:
        if self.assignment not in ASSIGNMENTS:
            raise ValueError(f"assignment must be one of {ASSIGNMENTS}, got {self.assignment!r}.")
        if not self.time_limit > 0:
            raise ValueError(f"time_limit must be a number of seconds, got {self.time_limit!r}.")


def _explain(dead_end: DeadEnd, known: Constraints, n_starts: int) -> SidelightError:
    """Say which row had no cluster left, and what to do about it."""
    blocked, *others = known.name_rows([dead_end.row, *dead_end.others])
    tried = "the start" if n_starts == 1 else f"all {n_starts} starts"
    return SidelightError(
        f"The assignment of the literature ended in a dead end, in {tried}: every cluster already "
        f"held a row that {blocked} must be apart from ({', '.join(others)}). This does not mean "
        "that the constraints cannot be satisfied: use assignment='auto', which tries other orders "
        "and then solves the assignment exactly; or more clusters; or PCKMeans, which may violate "
        "constraints at a price."
    )


def _no_result(centers: np.ndarray) -> LloydResult:
    """Stand for a start that ended in a dead end: any other is better."""
    return LloydResult(
        centers=centers,
        labels=np.empty(0, np.int32),
        inertia=float(np.finfo(np.float64).max),
        penalty=0.0,
        history=np.empty(0),
        n_iter=0,
        converged=False,
        interrupted=False,
    )
