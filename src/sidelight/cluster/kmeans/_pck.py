"""PCK-means: k-means in which violated constraints cost (Basu, Banerjee, Mooney 2004)."""

from __future__ import annotations

import dataclasses
import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sidelight._fit.checks import check_n_clusters
from sidelight._fit.moments import moments
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster._core._refill import lloyd_with_refills
from sidelight.cluster.pairs._contraction import Contraction, Points, contract
from sidelight.cluster.pairs._neighborhoods import (
    FILLS,
    RULES,
    choose_neighbourhoods,
    neighbourhood_centers,
    plan_starts,
    seen_twice,
)
from sidelight.cluster.pairs._penalties import Penalties
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning
from sidelight.tags import MethodTags


class PCKMeans(_KMeansBase):
    """Pairwise constrained k-means: side information is a preference with a price.

    Minimises over labels ``l`` and centres ``μ``::

        J = ½ Σ_i ‖x_i - μ_{l_i}‖²  +  Σ_ML w_ij [l_i ≠ l_j]  +  Σ_CL w_ij [l_i = l_j]

    where ``w_ij`` is the unit weight times the weight of the pair. Rows without constraints go to
    the nearest centre; the labels of constrained rows are improved one by one (iterated conditional
    modes) and must-link component by component (block moves, which free linked rows that none could
    leave alone); centres are means. No step raises ``J``. Known classes and groups add the unit
    weight for every row outside the cluster that stands for its class (a one-to-one match) or its
    group (where most of it is). Contradictory constraints are allowed: some will be violated.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    penalty : float or "auto", default="auto"
        Unit weight, the price of violating a constraint of weight 1 in the units of ``J``.
        ``"auto"`` is the mean squared distance of the rows to their mean, so that the result does
        not depend on the units of the data: it is what moving a row into some other cluster costs
        on average when the clusters lie well apart.
    init : {"auto", "neighbourhoods", "k-means++", "random"} or array of shape \
(n_clusters, n_features), default="auto"
        Where to start: the means of must-link components, greedy D² sampling, random rows, or these
        centres. ``"auto"`` starts once from the neighbourhoods and otherwise with k-means++.
    neighbourhoods : {"farthest-first", "largest", "clique"}, default="farthest-first"
        Which components give the centres when there are more than ``n_clusters``.
    fill : {"k-means++", "perturb"}, default="k-means++"
        Where the other centres come from when there are fewer: conditioned D² sampling, or the
        paper's perturbed global mean.
    n_init : int, default=10
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of the
        features; labels that stand still stop it in any case.
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
    penalty_weight_ : float
        The unit weight that was used.
    inertia_ : float
        Sum of squared distances to the centres of the clusters.
    objective_ : float
        ``J`` at the end.
    history_ : ndarray
        ``J`` at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate; ``constraints.violations(labels_)``
        tells which.

    See Also
    --------
    COPKMeans : Satisfies every constraint.

    Notes
    -----
    Basu, Banerjee, Mooney (2004), Active semi-supervision for pairwise constrained clustering;
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 4.4 and appendix C. The stated
    pairs are penalised; the paper's version on all entailed pairs is
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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: Any = "auto",
        init: Any = "auto",
        neighbourhoods: str = "farthest-first",
        fill: str = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.init = init
        self.neighbourhoods = neighbourhoods
        self.fill = fill
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means in which violated constraints cost",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Basu, Banerjee, Mooney 2004; Constrained Clustering 4.4",
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
        self : PCKMeans
            The fitted clusterer.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._check_choices()
        self._warn_of_contradictions(known)
        self.penalty_weight_ = self._unit_weight(source)
        penalties = Penalties(known, self.penalty_weight_)
        starts = plan_starts(self.init, self.n_init, known)
        contraction = None
        if "neighbourhoods" in starts:
            contraction = contract(source, known.closure(on_contradiction="keep"))
            if self.init == "neighbourhoods":
                self._warn_of_twins(source, contraction, known)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            init = starts[number]
            if init == "neighbourhoods" and contraction is not None:
                centers = neighbourhood_centers(
                    source,
                    contraction,
                    self.n_clusters,
                    random_state,
                    rule=self.neighbourhoods,
                    fill=self.fill,
                )
            else:
                given = self.init if init == "given" else init
                centers = self._start(source, given, random_state, None)
            return lloyd_with_refills(
                source,
                centers,
                _SoftlyHeld(penalties, Points(source.take(penalties.rows)), random_state),
                max_iter=self.max_iter,
                tol=self.tol,
                description="PCKMeans",
                verbose=self.verbose,
            )

        twice = self._best_restart(len(starts), run, source)
        return self._set_fitted_attributes(_half(twice), known)

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        """Set the fitted attributes; the inertia is told in full, as for all of the family."""
        super()._set_fitted_attributes(result, constraints)
        self.inertia_ = 2 * result.inertia
        return self

    def _check_choices(self) -> None:
        if isinstance(self.penalty, str):
            if self.penalty != "auto":
                raise ValueError(f"penalty must be 'auto' or a number, got {self.penalty!r}.")
        elif not isinstance(self.penalty, Real) or not 0 <= float(self.penalty) < np.inf:
            raise ValueError(f"penalty must be finite and not negative, got {self.penalty!r}.")
        if self.neighbourhoods not in RULES:
            raise ValueError(f"neighbourhoods must be one of {RULES}, got {self.neighbourhoods!r}.")
        if self.fill not in FILLS:
            raise ValueError(f"fill must be one of {FILLS}, got {self.fill!r}.")

    def _unit_weight(self, source: RowSource) -> float:
        """Price of violating a constraint of weight 1."""
        if self.penalty != "auto":
            return float(self.penalty)
        scale = moments(source).total_variance
        # Rows that are all the same have no scale; the constraints still count.
        return scale if scale > 0 else 1.0

    def _warn_of_twins(
        self, source: RowSource, contraction: Contraction, known: Constraints
    ) -> None:
        """Tell when two of the neighbourhoods that the fit starts from look like one class."""
        chosen = choose_neighbourhoods(contraction, self.n_clusters, self.neighbourhoods)
        twins = seen_twice(source, contraction, chosen)
        if twins is not None:
            one, other = known.name_rows(twins)
            warnings.warn(
                f"The neighbourhoods of {one} and {other} lie closer than a typical neighbourhood "
                "is wide and no cannot-link separates them, so two clusters probably start in the "
                "same class; init='auto' tries other starts too.",
                ConstraintWarning,
                stacklevel=3,
            )


class _SoftlyHeld:
    """Rows under constraints, labelled by iterated conditional modes.

    They start from the nearest centres, as the centres have moved, and from where they were only if
    that ends no better: from there alone linked rows would hardly ever follow the centres. The
    better of both is never worse than the labels before. Lloyd's loop minimises
    ``Σ ‖x - μ‖² + penalty``, that is ``2 J``: the penalty counts twice.
    """

    def __init__(
        self, penalties: Penalties, points: Points, random_state: np.random.RandomState
    ) -> None:
        self.rows = penalties.rows
        self._penalties = penalties
        self._points = points
        self._random_state = random_state
        self._half = np.full(len(self.rows), 0.5)
        self._labels: npt.NDArray[np.int64] | None = None

    def assign(self, centers: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], float]:
        """Return the labels of the rows and twice their penalty."""
        cost, nearest = self._points.costs(centers, self._half)
        objective = self._penalties.objective
        labels = self._penalties.start(nearest, len(centers))
        self._penalties.improve(cost, nearest, labels, self._random_state)
        if self._labels is None or objective(cost, labels) < objective(cost, self._labels):
            self._labels = labels
        elif not np.array_equal(labels, self._labels):
            self._penalties.improve(cost, nearest, self._labels, self._random_state)
        return self._labels[: len(self.rows)].copy(), 2 * self._penalties.value(self._labels)

    def costliest(self, centers: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
        """Return at most ``n`` rows that are far from the centres of their clusters."""
        if self._labels is None:
            return centers[:0]
        return self._points.costliest(centers, self._labels[: len(self.rows)], 1.0, n)


def _half(result: LloydResult) -> LloydResult:
    """Turn ``2 J`` of Lloyd's loop into ``J``."""
    return dataclasses.replace(
        result,
        inertia=result.inertia / 2,
        penalty=result.penalty / 2,
        history=result.history / 2,
    )
