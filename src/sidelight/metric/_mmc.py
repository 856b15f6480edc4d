"""Distance metric learning of Xing, Ng, Jordan, Russell 2002 (MMC)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np

from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._base import _MetricBase, pair_differences
from sidelight.metric._mmc_solvers import Progress, solve_diagonal, solve_full
from sidelight.tags import MethodTags

#: Directions in which no must-linked rows differ would be unbounded without any.
SMALLEST_RIDGE = 1e-6


class MMC(_MetricBase):
    """The metric in which must-links are short and cannot-links long (Xing et al. 2002).

    Maximises ``Σ_CL ‖x_i - x_j‖_A`` subject to ``Σ_ML ‖x_i - x_j‖²_A ≤ 1`` over positive
    semi-definite ``A``, or over diagonal ones. Full matrices: with the scatter ``S = LL'`` of the
    must-links and ``B = L'AL`` the constraint becomes ``tr B ≤ 1``, whose projection is exact, and
    ``λ_max(G) - ⟨G, B⟩`` bounds what is still to be gained. Diagonal ones: Newton's method on
    ``s·a - log Σ_CL sqrt(D² a)``, ``a ≥ 0``. The published optimum may keep very few directions;
    ``ridge`` pulls it back to the Euclidean distance.

    Parameters
    ----------
    diagonal : bool, default=False
        Only weigh the features.
    ridge : float, default=0.1
        ``S`` is replaced by ``(1 - r) S + r tr(S)/d I``; 0 gives the published problem.
    max_iter : int, default=500
        At most this many iterations.
    tol : float, default=1e-4
        Stop when at most this share of the objective is still to be gained.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``; directions without weight are left out.
    objective_ : float
        ``Σ_CL ‖x_i - x_j‖_A``, negative: what is minimised.
    history_ : ndarray
        The same at every iteration; never rises.
    gap_ : float
        Bound on what is still to be gained (0 for diagonal ones: Newton's method converged).
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
    >>> model = MMC(ridge=0.01).fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < far)
    True
    """

    def __init__(
        self,
        *,
        diagonal: bool = False,
        ridge: float = 0.1,
        max_iter: int = 500,
        tol: float = 1e-4,
        verbose: int = 0,
    ) -> None:
        self.diagonal = diagonal
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="distance in which must-links are short and cannot-links long",
            knowledge=("must-link", "cannot-link", "labels"),
            enforcement="soft",
            source="Xing, Ng, Jordan, Russell 2002; Book 2009, section 1.2.2",
            complexity="O(m d² + d³) per iteration, O(m d + d²) memory for m pairs",
            needs_n_clusters=False,
            monotone=True,
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
            What is known: pairs of both kinds, or labels of two classes.

        Returns
        -------
        self : MMC
            The fitted metric.
        """
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number above 0, got {self.max_iter!r}.")
        if not 0 <= self.ridge < 1:
            raise ValueError(f"ridge must be in [0, 1), got {self.ridge!r}.")
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        together, apart = pairs_of_both_kinds(known, type(self).__name__)
        if apart is None:
            self._euclidean(rows.shape[1], rows.dtype)
            return self
        values = np.asarray(rows, dtype=np.float64)
        scatter = self._scatter(values, together)
        far = pair_differences(values, apart)
        differs = np.any(far != 0, axis=1)
        self._tell_of_equal_rows(known, apart, differs, needed=True)
        far = far[differs]
        solve = solve_diagonal if self.diagonal else solve_full
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            found: Progress = solve(scatter, far, self.max_iter, self.tol, progress.step)
        self._finish(found, rows.dtype)
        return self

    def _scatter(self, rows: Array, together: Array) -> Array:
        """Scatter of the must-links, pulled towards a multiple of the identity."""
        d = rows.shape[1]
        gaps = pair_differences(rows, together)
        scatter = gaps.T @ gaps
        scale = float(np.trace(scatter)) / d
        if scale <= 0:
            warnings.warn(
                "No must-linked rows differ, so nothing bounds the distance: all directions are "
                "bounded alike.",
                ConstraintWarning,
                stacklevel=3,
            )
            return np.eye(d)
        ridge = max(self.ridge, SMALLEST_RIDGE)
        if self.ridge < ridge:
            spanned = int(np.count_nonzero(np.linalg.eigvalsh(scatter) > 1e-12 * scale))
            if spanned < d:
                warnings.warn(
                    f"The must-links span {spanned} of {d} directions, and nothing bounds the "
                    f"distance in the others; ridge={ridge} does. Give more must-links or a "
                    "larger ridge.",
                    ConstraintWarning,
                    stacklevel=3,
                )
        return (1 - ridge) * scatter + ridge * scale * np.eye(d)

    def _euclidean(self, d: int, dtype: np.dtype[Any]) -> None:
        warnings.warn(
            "Nothing is known about the rows: the distance is the Euclidean one.",
            ConstraintWarning,
            stacklevel=3,
        )
        self._finish(Progress(np.eye(d), [0.0], 0.0, True), dtype)

    def _finish(self, found: Progress, dtype: np.dtype[Any]) -> None:
        self.history_ = np.array(found.history)
        self.objective_ = float(self.history_[-1])
        self.gap_ = found.gap
        self.n_iter_ = len(found.history) - 1
        self.converged_ = found.converged
        self._keep(found.components, dtype)


def pairs_of_both_kinds(known: Constraints, name: str) -> tuple[Array, Array | None]:
    """Pairs that belong together and pairs that do not; no pairs apart where nothing is known."""
    pairs = known_pairs(known)
    if pairs.n_apart:
        return pairs.together, pairs.apart
    if known.is_empty:
        return pairs.together, None
    raise SidelightError(
        f"{name} needs rows that are known to be apart; give cannot-links, or labels of more than "
        "1 class. RCA learns from must-links alone."
    )
