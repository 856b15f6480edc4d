"""COP-KMeans: k-means that satisfies every constraint (Wagstaff, Cardie, Rogers, Schroedl 2001)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from sidelight._fit.parameters import ArrayLike, Positive, Restarts, estimator, n_restarts
from sidelight.cluster._core._lloyd import LloydResult, _CentersBase, lloyd
from sidelight.cluster._core._starts import Starts
from sidelight.cluster.kmeans._hard_assignment import DeadEnd, hard_constrained_rows
from sidelight.constraints import Constraints
from sidelight.constraints.inner import contract
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags


@estimator
class COPKMeans(_CentersBase):
    """Constrained k-means: every must-link, cannot-link, label and group holds, or the fit raises.

    Minimizes over labels ``l`` and centers ``μ``::

        V = Σ_i ‖x_i - μ_{l_i}‖²   subject to   l_i = l_j on must-links,  l_i ≠ l_j on cannot-links

    Must-link components are contracted first: as a whole, a component of size ``s`` and mean ``m``
    costs ``s ‖m - μ‖²`` (up to a constant). Components without cannot-links go to the nearest
    center, the others are assigned jointly, and centers are means. Whether ``n_clusters`` suffice
    is checked before anything else. Read more in the :doc:`user guide </cluster/kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    satellite and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    variant : {"default", "exact", "published"}, default="default"
        Assignment of components with cannot-links at given centers.

        - ``"default"``: one by one to the nearest admissible center, in several orders, and
          improved one by one; solved exactly when every order ends in a dead end, so that the fit
          fails only when it must. An assignment is only taken if it is no worse than the last one,
          so that ``V`` never rises.
        - ``"exact"``: the cheapest admissible assignment, at every iteration.
        - ``"published"``: rows in random order, each to the nearest center that violates nothing so
          far; a dead end raises. ``V`` may rise.
    init : {"auto", "neighborhoods", "k-means++", "k-means||", "random"} or array, default="auto"
        Initial centers: the means of must-link components that are known to be apart, greedy D²
        sampling, D² sampling of many rows a pass, random rows, or an array of shape (n_clusters,
        n_features). ``"auto"`` starts once from the neighborhoods and otherwise with k-means++, or
        k-means|| from 1,000,000 rows on.
    time_limit : float > 0, default=60.0
        Seconds for one exact assignment.

    Attributes
    ----------
    history_ : ndarray
        ``V`` at every iteration; never rises, except with ``variant="published"``.
    n_violations_ : int
        Number of stated constraints that the labels violate: 0.

    See Also
    --------
    PCKMeans : Lets constraints be violated at a price.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 1.2.1, table 1.1. The exact
    assignment follows Baumann and Hochbaum (2022). New rows go to the nearest center.

    Examples
    --------
    The published greedy assignment puts rows 0 and 1 first and has no cluster left for row 2; there
    is an assignment all the same.

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import COPKMeans
    >>> X = np.array([[0.0], [10.0], [5.0]])
    >>> known = Constraints(cannot_link=[(0, 2), (1, 2)], n_samples=3)
    >>> labels = COPKMeans(n_clusters=2, init=[[0.0], [10.0]]).fit_predict(X, constraints=known)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """

    _: KW_ONLY
    variant: Literal["default", "exact", "published"] = "default"
    init: Literal["auto", "neighborhoods", "k-means++", "k-means||", "random"] | ArrayLike = "auto"
    n_init: Restarts = 10
    time_limit: Positive = 60.0

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means that satisfies every constraint",
            enforcement="hard",
            source="Wagstaff et al. 2001; Constrained Clustering 1.2.1; Baumann, Hochbaum 2022",
            complexity="O(n k d + m k) per iteration with m constraints, O(n + m k) memory",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        closure = known.closure()
        known.check_feasible(self.n_clusters)
        contraction = contract(source, closure, only_constrained=True)
        starts = Starts(
            source,
            self.n_clusters,
            self.init,
            n_restarts(self),
            known,
            contraction=contraction,
            rule="clique",
        )

        def run(number: int, random_state: np.random.RandomState) -> LloydResult | _Blocked:
            centers = starts.centers(number, random_state)
            try:
                return lloyd(
                    source,
                    centers,
                    constrained=hard_constrained_rows(
                        source, contraction, self.variant, random_state, self.time_limit
                    ),
                    max_iter=self.max_iter,
                    tol=self.tol,
                    description="COPKMeans",
                    verbose=self.verbose,
                )
            except DeadEnd as dead_end:
                return _Blocked(dead_end)

        best = self._best_restart(starts.n_starts, run, source)
        if isinstance(best, _Blocked):
            raise _explain(best.dead_end, known, starts.n_starts)
        return self._set_fitted_attributes(best, known)


@dataclass(frozen=True)
class _Blocked:
    """A restart that ended in a dead end: any other is better."""

    dead_end: DeadEnd
    objective: float = float(np.finfo(np.float64).max)
    interrupted: bool = False


def _explain(dead_end: DeadEnd, known: Constraints, n_starts: int) -> SidelightError:
    """Raise with the row that had no admissible cluster, and with a remedy."""
    blocked, *others = known.name_rows([dead_end.row, *dead_end.others])
    tried = "the only restart" if n_starts == 1 else f"all {n_starts} restarts"
    return SidelightError(
        f"The published assignment ended in a dead end, in {tried}: every cluster already "
        f"held a row that {blocked} must be apart from ({', '.join(others)}). This does not mean "
        "that the constraints cannot be satisfied: use variant='default', which tries other orders "
        "and then solves the assignment exactly; or more clusters; or PCKMeans, which may violate "
        "constraints at a price."
    )
