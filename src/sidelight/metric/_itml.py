"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007)."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.lowest import relative_gap
from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FinitePositive,
    NonNegative,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._fit.scatter import mean_diagonal, pair_differences, root, total_covariance
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.metric._base import _MetricBase
from sidelight.metric._itml_solver import MetricPoint, Problem, point_at, search_log_det
from sidelight.tags import own_tags

#: Up to this many rows the bounds come from all pairs of them, beyond from random ones.
ALL_PAIRS = 400


@estimator
class ITML(_MetricBase):
    """The metric nearest to a prior one under which pairs keep within or beyond a distance.

    Minimizes ``LogDet(A, A₀) + γ LogDet(diag ξ, diag ξ₀)`` subject to ``v'Av ≤ ξ`` for must-links
    and ``v'Av ≥ ξ`` for cannot-links, where ``ξ₀`` is ``u`` or ``l`` (Davis et al. 2007); the slack
    of a pair of weight ``w`` costs ``w γ``. The problem is convex. The published projections on one
    pair after the other slow down long before its optimum, and their multipliers stand almost
    still there; here Newton's method finds it, and the duality gap tells how near it is. Read more
    in the :doc:`user guide </metric/index>`.

    On rows without constraints, k-means on the mapped rows was worse than on the rows
    themselves with some amounts of correct pairs on glass, wdbc and wine
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float > 0, finite or "auto", default="auto"
        Weight ``γ`` of the slack against the distance to the prior metric, both in LogDet
        divergence; the larger, the harder the bounds. "auto" is 1.
    prior : {"identity", "covariance"} or array, default="identity"
        ``A₀``: the identity, the inverse covariance of the rows, or this matrix.
    bounds : tuple or None, default=None
        Squared distances ``u`` for must-links and ``l`` for cannot-links; the 5th and the 95th
        percentile of the squared distances between rows by default.
    max_iter : int >= 1, default=1000
        Largest number of steps; 5 to 100 are usual, also with thousands of pairs.
    tol : float >= 0, default=1e-06
        Stop when the objective is within this share of the optimum.
    random_state : int or RandomState or None, default=None
        Seed or generator for the rows whose distances give the bounds; pass an int for reproducible
        results.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The map ``W``, ``A = W'W``.
    penalty_ : float
        Weight ``γ`` that was used.
    bounds_ : tuple of two floats
        ``u`` and ``l``.
    dual_variables_ : ndarray of shape (n_pairs,)
        ``λ`` of the must-links, then of the cannot-links; 0 where a pair did not matter.
    objective_ : float
        Objective at the end; it was minimized.
    gap_ : float
        Share of ``objective_`` by which it may be above the optimum at most.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the gap fell below ``tol`` before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import ITML
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> model = ITML(random_state=0).fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < 4.0 and far > 1.0)
    True
    """

    _: KW_ONLY
    penalty: FinitePositive | Auto = "auto"
    prior: Literal["identity", "covariance"] | ArrayLike = "identity"
    bounds: tuple[float, float] | None = None
    max_iter: Count = 1000
    tol: NonNegative = 1e-6
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="metric nearest to a prior one that keeps pairs within or beyond a distance",
        source="Davis, Kulis, Jain, Sra, Dhillon 2007",
        complexity="O(m d² + d³) per step of conjugate gradients, O(m d + d²) memory for m pairs",
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        self.penalty_ = 1.0 if self.penalty == "auto" else float(self.penalty)
        values = np.asarray(rows, dtype=np.float64)
        prior = self._prior(values)
        differences, sign, weights = self._signed_differences(values, known)
        self.bounds_ = self._bounds(values, prior)
        slack: Array = np.where(sign > 0, *self.bounds_)
        base = np.linalg.cholesky(prior)
        found = self._search((differences @ base, sign, slack, self.penalty_ * weights))
        self.objective_, self.gap_ = found.value, relative_gap(found.gap, found.value)
        self.dual_variables_ = np.abs(found.pull)
        map_back = base @ found.root
        self._set_map(root(map_back @ map_back.T), rows.dtype)

    def _search(self, problem: Problem) -> MetricPoint:
        """Search until the gap is small; warn with its meaning if it stays larger."""
        metric = np.eye(problem[0].shape[1])
        self.n_iter_ = 0
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            for point in itertools.islice(search_log_det(problem, self.tol), self.max_iter):
                metric = point.root
                self.n_iter_ += 1
                progress.step(point.value)
        found = point_at(metric, problem)  # at all of the price, which the search may not have met
        self.converged_ = found.is_within(self.tol)
        if not self.converged_ and not progress.interrupted:
            least = max(found.value - found.gap, 0.0)
            warn(
                f"ITML stopped after {self.n_iter_} steps ({setting('max_iter', self.max_iter)}) "
                f"before the optimum: its objective is {found.value:.6g}, and the least possible "
                f"one may be as low as {least:.6g}. Pairs may be farther from their bounds than "
                "they need to be; allow more steps, or a larger tol.",
                ConvergenceWarning,
            )
        return found

    def _prior(self, rows: Array) -> Array:
        d = rows.shape[1]
        if isinstance(self.prior, str):
            if self.prior == "identity":
                return np.eye(d)
            covariance = total_covariance(rows)
            scale = mean_diagonal(covariance) or 1.0
            return np.linalg.inv(covariance + 1e-6 * scale * np.eye(d))
        given = np.asarray(self.prior, dtype=np.float64)
        if given.shape != (d, d) or not np.allclose(given, given.T):
            raise ValueError(f"prior must be a symmetric matrix of shape ({d}, {d}).")
        if np.linalg.eigvalsh(given)[0] <= 0:
            raise ValueError("prior must be positive definite.")
        return given.copy()

    def _bounds(self, rows: Array, prior: Array) -> tuple[float, float]:
        if self.bounds is not None:
            near, far = map(float, self.bounds)
            if not 0 < near < far:
                raise ValueError(f"bounds must be 0 < u < l, got {self.bounds!r}.")
            return near, far
        n = len(rows)
        if n <= ALL_PAIRS:
            pairs = np.column_stack(np.triu_indices(n, 1))
        else:
            pairs = check_random_state(self.random_state).randint(n, size=(100_000, 2))
        differences = pair_differences(rows, pairs[pairs[:, 0] != pairs[:, 1]])
        squares = np.einsum("nd,nd->n", differences @ prior, differences)
        squares = squares[squares > 0]
        if not len(squares):
            return 1.0, 2.0
        near, far = np.percentile(squares, [5, 95])
        return float(near), float(max(far, near * (1 + 1e-9)))


def log_det(A: Array, prior: Array) -> float:
    """``tr(A A₀⁻¹) - log det(A A₀⁻¹) - d``: 0 for equal matrices, positive otherwise."""
    product = np.linalg.solve(prior, A)
    return float(np.trace(product) - np.linalg.slogdet(product)[1] - len(A))
