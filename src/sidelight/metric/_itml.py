"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.scatter import total_covariance
from sidelight._kernels.metric.pair_metric import itml_sweep
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.constraints import Constraints, known_pairs
from sidelight.metric._base import _MetricBase, metric_root, pair_differences
from sidelight.tags import MethodTags

#: Rounds over the pairs with a multiplier between two rounds over all pairs.
ACTIVE_ROUNDS = 4

#: Up to this many rows the bounds come from all pairs of them, beyond from random ones.
ALL_PAIRS = 400


class ITML(_MetricBase):
    """The metric nearest to a prior one under which pairs keep within or beyond a distance.

    Minimises ``LogDet(A, A₀) + γ LogDet(diag ξ, diag ξ₀)`` subject to ``v'Av ≤ ξ`` for must-links
    and ``v'Av ≥ ξ`` for cannot-links, where ``ξ₀`` is ``u`` or ``l``; one Bregman projection per
    pair in turn (Davis et al. 2007, with the step ``γ/(γ+1) (1/p - 1/ξ)`` that holds for every
    ``γ``, not only for 1). ``A`` stays positive definite without any projection.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the slack; the larger, the harder the bounds.
    prior : {"identity", "covariance"} or array of shape (n_features, n_features), \
default="identity"
        ``A₀``: the identity, the inverse covariance of the rows, or this matrix.
    bounds : tuple of two floats, default=None
        Squared distances ``u`` for must-links and ``l`` for cannot-links; the 5th and the 95th
        percentile of the squared distances between rows unless told.
    max_iter : int, default=1000
        At most this many rounds over the pairs.
    tol : float, default=1e-3
        Stop when a round moves the multipliers by at most this share.
    random_state : int, RandomState or None, default=None
        Source of chance, for the rows whose distances give the bounds.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The map ``W``, ``A = W'W``.
    bounds_ : tuple of two floats
        ``u`` and ``l``.
    multipliers_ : ndarray of shape (n_pairs,)
        ``λ`` of the must-links, then of the cannot-links; 0 where a pair did not matter.
    objective_ : float
        The value at the end.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the multipliers stood still before ``max_iter``.

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

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        prior: Any = "identity",
        bounds: tuple[float, float] | None = None,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.bounds = bounds
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="metric nearest to a prior one that keeps pairs within or beyond a distance",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Davis, Kulis, Jain, Sra, Dhillon 2007",
            complexity="O(m d²) per round, O(m d + d²) memory for m pairs",
            needs_n_clusters=False,
            kind="transformer",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known.

        Returns
        -------
        self : ITML
            The fitted metric.
        """
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number above 0, got {self.max_iter!r}.")
        if not self.gamma > 0:
            raise ValueError(f"gamma must be above 0, got {self.gamma!r}.")
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        values = np.asarray(rows, dtype=np.float64)
        prior = self._prior(values)
        pairs = known_pairs(known)
        gaps = pair_differences(values, np.concatenate([pairs.together, pairs.apart]))
        sign = np.repeat([1.0, -1.0], [pairs.n_together, pairs.n_apart])
        differs = np.any(gaps != 0, axis=1)
        self._tell_of_equal_rows(known, pairs.apart, differs[pairs.n_together :], needed=False)
        gaps, sign = np.ascontiguousarray(gaps[differs]), sign[differs]
        near, far = self._bounds(values, prior)
        self.bounds_ = (near, far)
        start: Array = np.where(sign > 0, near, far)
        self._keep(metric_root(self._project(prior, gaps, sign, start)), rows.dtype)
        return self

    def _project(self, prior: Array, gaps: Array, sign: Array, start: Array) -> Array:
        """Rounds of projections until the multipliers stand still."""
        A = prior.copy()
        target, dual = start.copy(), np.zeros(len(sign))
        scratch = np.empty(len(A))
        self.converged_ = not len(sign)
        self.n_iter_ = 0
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            while not self.converged_ and self.n_iter_ < self.max_iter:
                full = self.n_iter_ % (ACTIVE_ROUNDS + 1) == 0
                moved = itml_sweep(A, gaps, sign, target, dual, self.gamma, not full, scratch)
                self.n_iter_ += 1
                progress.step()
                if full and moved <= self.tol * max(float(dual.sum()), 1e-300):
                    self.converged_ = True
        if not self.converged_ and not progress.interrupted:
            warnings.warn(
                f"ITML did not converge in max_iter={self.max_iter} rounds; allow more, or a "
                "larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.multipliers_ = dual
        self.objective_ = log_det(A, prior) + self.gamma * float(
            np.sum(target / start - np.log(target / start) - 1.0)
        )
        return A

    def _prior(self, rows: Array) -> Array:
        d = rows.shape[1]
        if isinstance(self.prior, str):
            if self.prior == "identity":
                return np.eye(d)
            if self.prior == "covariance":
                covariance = total_covariance(rows)
                scale = float(np.trace(covariance)) / d or 1.0
                return np.linalg.inv(covariance + 1e-6 * scale * np.eye(d))
            raise ValueError(
                f"prior must be 'identity', 'covariance' or a matrix, got {self.prior!r}."
            )
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
        gaps = pair_differences(rows, pairs[pairs[:, 0] != pairs[:, 1]])
        squares = np.einsum("nd,nd->n", gaps @ prior, gaps)
        squares = squares[squares > 0]
        if not len(squares):
            return 1.0, 2.0
        near, far = np.percentile(squares, [5, 95])
        return float(near), float(max(far, near * (1 + 1e-9)))


def log_det(A: Array, prior: Array) -> float:
    """``tr(A A₀⁻¹) - log det(A A₀⁻¹) - d``: 0 for equal matrices, positive otherwise."""
    product = np.linalg.solve(prior, A)
    return float(np.trace(product) - np.linalg.slogdet(product)[1] - len(A))
