"""Distance metric learning of Xing, Ng, Jordan, Russell 2002 (MMC)."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.lowest import relative_gap
from sidelight._fit.named_rows import NamedRows, named_rows
from sidelight._fit.parameters import Count, Interval, NonNegative, Verbosity, estimator
from sidelight._fit.scatter import pair_differences, pair_scatter, regularized, scale_free_rank
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._base import _MetricBase, advice_on_steps
from sidelight.metric._mmc_solvers import Diagonals, LengthProblem, Matrices
from sidelight.tags import own_tags

#: Directions in which no must-linked rows differ would be unbounded without any.
SMALLEST_RIDGE = 1e-6


@estimator
class MMC(_MetricBase):
    """The metric in which must-links are short and cannot-links long (Xing et al. 2002).

    Maximizes ``Σ_CL w ‖x_i - x_j‖_A`` subject to ``Σ_ML w ‖x_i - x_j‖²_A ≤ 1`` over positive
    semi-definite ``A``, or over diagonal ones, with the weights ``w`` of the pairs.
    With the scatter ``S = LL'`` of the must-links and ``B = L'AL`` the constraint becomes
    ``tr B ≤ 1``. Newton's steps go through the inside of the cone of all ``B``, or of the diagonal
    ones; with the gradient ``G`` of the lengths no metric is above ``√(2 λ_max(G) Σ_CL w ‖·‖_A)``,
    which bounds the distance of the objective to the optimum. The published optimum may keep very
    few directions; ``shrinkage`` pulls it back to the Euclidean distance.
    Read more in the :doc:`user guide </metric/index>`.

    With few pairs, or many features, it keeps one or two directions, and k-means on the mapped rows
    is often worse than on the rows themselves
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    shape : {"full", "diagonal"}, default="full"
        A matrix ``A``, or weights of the features alone.
    shrinkage : float in [0, 1), default=0.1
        ``S`` is replaced by ``(1 - r) S + r tr(S)/d I``; 0 gives the published problem.
    max_iter : int >= 1, default=500
        Largest number of iterations.
    tol : float >= 0, default=0.0001
        Stop when the objective is within this share of the optimum.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``; directions without weight are left out.
    objective_ : float
        Minus ``Σ_CL w ‖x_i - x_j‖_A``; it was minimized.
    history_ : ndarray
        Objective of the best metric so far at every iteration; it never rises.
    gap_ : float
        Share of ``objective_`` by which it may be above the optimum at most.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the gap fell below ``tol`` before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import MMC
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> model = MMC(shrinkage=0.01).fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < far)
    True
    """

    _: KW_ONLY
    shape: Literal["full", "diagonal"] = "full"
    shrinkage: Annotated[float, Interval(0, 1, open_high=True)] = 0.1
    max_iter: Count = 500
    tol: NonNegative = 1e-4
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="distance in which must-links are short and cannot-links long",
        source="Xing, Ng, Jordan, Russell 2002; Book 2009, section 1.2.2",
        complexity="O(m d² + d³) per iteration, O(m d + d²) memory for m pairs",
        monotone=True,
    )

    def _learn(self, source: RowSource, known: Constraints) -> None:
        d = source.n_features
        pairs = known_pairs(known)
        if not pairs.n_apart:
            if not known.is_empty:
                raise SidelightError(
                    "MMC needs rows that are known to be apart; give cannot-links, or labels of "
                    "more than 1 class. RCA learns from must-links alone."
                )
            self._set_euclidean_map("Nothing is known about the rows", d, source.dtype)
            self.history_, self.objective_, self.gap_ = np.zeros(1), 0.0, 0.0
            self.n_iter_, self.converged_ = 0, True
            return
        values = named_rows(source, known).astype(np.float64)
        scatter = self._scatter(values, pairs)
        far = pair_differences(values, pairs.apart)
        differs = np.any(far != 0, axis=1)
        self._warn_of_equal_rows(known, pairs.apart, differs, needed=True)
        # A weight is a factor of the length.
        self._search(scatter, (pairs.apart_weight[:, None] * far)[differs], source.dtype)

    def _search(self, scatter: Array, far: Array, dtype: np.dtype[Any]) -> None:
        """Search until the gap is small; warn with its meaning if it stays larger."""
        problem, map_back = self._problem(scatter, far)
        search = problem.search(self.tol)
        found = next(search)
        history = [found.objective]
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            for found in itertools.islice(search, self.max_iter):
                history.append(found.objective)
                progress.step(found.objective)
        self.history_ = np.array(history)
        self.objective_ = found.objective
        self.gap_ = relative_gap(found.duality_gap, found.objective)
        self.n_iter_ = len(history) - 1
        self.converged_ = found.is_within(self.tol)
        self._set_map(problem.map_of(found) @ map_back, dtype)
        if not self.converged_ and not progress.interrupted:
            warn(
                f"MMC stopped after {self.n_iter_} steps ({setting('max_iter', self.max_iter)}) "
                "before the optimum: the lengths of the cannot-links sum up to "
                f"{-self.objective_:.6g}, and at most {found.duality_gap:.3g} more is possible "
                f"({self.gap_:.2g} of it, tol={self.tol}). "
                + advice_on_steps(self.n_iter_, self.max_iter),
                ConvergenceWarning,
            )

    def _problem(self, scatter: Array, far: Array) -> tuple[LengthProblem, Array]:
        """The problem in coordinates in which the scatter is the identity, and ``L⁻¹``."""
        if self.shape == "diagonal":
            map_back = np.diag(1.0 / np.sqrt(np.diagonal(scatter)))
            return LengthProblem(far * np.diagonal(map_back), Diagonals()), map_back
        root = np.linalg.cholesky(scatter)
        z = linalg.solve_triangular(root, far.T, lower=True).T
        map_back = linalg.solve_triangular(root, np.eye(len(root)), lower=True)
        return LengthProblem(np.ascontiguousarray(z), Matrices()), map_back

    def _scatter(self, rows: NamedRows, pairs: Pairs) -> Array:
        """Scatter of the must-links, pulled towards a multiple of the identity."""
        d = rows.shape[1]
        scatter = pair_scatter(rows, pairs.together, pairs.together_weight)
        if not scatter.any():
            warn(
                "No must-linked rows differ, so nothing bounds the distance: all directions are "
                "bounded alike.",
                ConstraintWarning,
            )
            return np.eye(d)
        if self.shrinkage < SMALLEST_RIDGE:
            spanned = scale_free_rank(scatter)
            if spanned < d:
                warn(
                    f"The must-links span {spanned} of {d} directions, and nothing bounds the "
                    f"distance in the others; shrinkage={SMALLEST_RIDGE} does. Give more "
                    "must-links or a larger shrinkage.",
                    ConstraintWarning,
                )
        return regularized(scatter, self.shrinkage, SMALLEST_RIDGE)
