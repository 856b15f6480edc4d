"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007)."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.lowest import relative_gap
from sidelight._fit.moments import covariance
from sidelight._fit.named_rows import NamedRows
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
from sidelight._fit.scatter import (
    RANK_TOLERANCE,
    pair_differences,
    spanned_directions,
)
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning
from sidelight.io.inner import quoted
from sidelight.metric._base import _MetricBase, advice_on_steps
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
        ``A₀``: the identity, the inverse covariance of the rows, or this matrix, which has to be
        positive definite. Where columns can be computed from others the covariance is inverted in
        the directions in which the rows vary, with a warning that names the columns.
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
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``, the symmetric root; with ``prior="covariance"`` and columns that
        depend on each other only the directions in which the rows vary.
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

    def _learn(self, source: RowSource, known: Constraints) -> None:
        self.penalty_ = 1.0 if self.penalty == "auto" else float(self.penalty)
        base = self._prior_root(source)
        differences, sign, weights = self._signed_differences(source, known, base)
        self.bounds_ = self._bounds(source, base)
        slack: Array = np.where(sign > 0, *self.bounds_)
        found = self._search((differences, sign, slack, self.penalty_ * weights))
        self.objective_, self.gap_ = found.value, relative_gap(found.gap, found.value)
        self.dual_variables_ = np.abs(found.pull)
        # The symmetric root of A, from its factor: with all digits whatever the units of features.
        _, scale, axes = np.linalg.svd(found.root.T @ base.T, full_matrices=False)
        W = scale[:, None] * axes
        self._set_map(axes.T @ W if len(W) == len(base) else W, source.dtype)

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
                f"they need to be. {advice_on_steps(self.n_iter_, self.max_iter)}",
                ConvergenceWarning,
            )
        return found

    def _prior_root(self, source: RowSource) -> Array:
        """``C`` with ``CC' = A₀``, one column for every direction in which distances can differ."""
        d = source.n_features
        if isinstance(self.prior, str):
            return np.eye(d) if self.prior == "identity" else self._covariance_root(source)
        given = np.asarray(self.prior, dtype=np.float64)
        if given.shape != (d, d) or not np.allclose(given, given.T):
            raise ValueError(f"prior must be a symmetric matrix of shape ({d}, {d}).")
        spanned = spanned_directions((given + given.T) / 2)
        if len(spanned.values) < d:
            raise ValueError(
                f"prior must be positive definite, and only {len(spanned.values)} of the {d} "
                "eigenvalues of this matrix, scaled to a diagonal of ones, are above 0 (more than "
                f"{RANK_TOLERANCE:.0e} of the largest): add a small multiple of the identity, or "
                "leave out columns that depend on others."
            )
        return np.asarray(spanned.unit[:, None] * spanned.vectors * np.sqrt(spanned.values))

    def _covariance_root(self, source: RowSource) -> Array:
        """Root of the inverse covariance, in the directions in which the rows vary."""
        # Entries carry the rounding of their element type, sums of them some more.
        tolerance = max(RANK_TOLERANCE, (100 * float(np.finfo(source.dtype).eps)) ** 2)
        spanned = spanned_directions(covariance(source), tolerance)
        rank, d = len(spanned.values), source.n_features
        if not rank:
            warn(
                'All rows are the same, and have no covariance: prior="covariance" is the identity '
                "here.",
                ConstraintWarning,
            )
            return np.eye(d)
        if rank < d:
            why = [
                f"{counted(len(names), 'column')} that {meaning}: {quoted(names)}"
                for meaning, names in (
                    ("can be computed from others", self._column_names(spanned.depends)),
                    ("never changed", self._column_names(spanned.unit == 0)),
                )
                if names
            ]
            warn(
                f"The rows vary in only {rank} of {d} directions ({'; '.join(why)}), so that their "
                'covariance has no inverse: with prior="covariance" the metric is learned in these '
                "directions, and no difference in another one counts. Leave out columns that say "
                'nothing of their own, or use prior="identity".',
                ConstraintWarning,
            )
        return spanned.inverse_root

    def _column_names(self, chosen: Array) -> list[Any]:
        """Names of these features, or their positions."""
        names = getattr(self, "feature_names_in_", np.arange(len(chosen)))
        return np.asarray(names)[chosen].tolist()

    def _bounds(self, source: RowSource, base: Array) -> tuple[float, float]:
        if self.bounds is not None:
            near, far = map(float, self.bounds)
            if not 0 < near < far:
                raise ValueError(f"bounds must be 0 < u < l, got {self.bounds!r}.")
            return near, far
        n = source.n_rows
        if n <= ALL_PAIRS:
            pairs = np.column_stack(np.triu_indices(n, 1))
        else:
            pairs = check_random_state(self.random_state).randint(n, size=(100_000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        rows = NamedRows.of(source, pairs).astype(np.float64)
        differences = pair_differences(rows, pairs)
        squares = np.sum((differences @ base) ** 2, axis=1)
        squares = squares[squares > 0]
        if not len(squares):
            return 1.0, 2.0
        near, far = np.percentile(squares, [5, 95])
        return float(near), float(max(far, near * (1 + 1e-9)))


def log_det(A: Array, prior: Array) -> float:
    """``tr(A A₀⁻¹) - log det(A A₀⁻¹) - d``: 0 for equal matrices, positive otherwise."""
    product = np.linalg.solve(prior, A)
    return float(np.trace(product) - np.linalg.slogdet(product)[1] - len(A))
