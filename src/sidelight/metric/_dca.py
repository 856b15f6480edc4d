"""Discriminative component analysis (Hoi, Liu, Lyu, Ma 2006)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import linalg

from sidelight._typing import Array
from sidelight.constraints import Closure, Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._base import _MetricBase, warn_of_rank
from sidelight.metric._rca import check_components
from sidelight.tags import MethodTags


class DCA(_MetricBase):
    """Discriminative component analysis: chunklets known to be apart move apart.

    Maximises ``|F'C_b F| / |F'C_w F|``, with ``C_b = (1/n_b) Σ (m_j - m_i)(m_j - m_i)'`` over the
    ``n_b`` pairs of chunklets that a cannot-link parts, and ``C_w`` the average covariance within
    chunklets (Hoi, Liu, Lyu, Ma 2006). Rows that only cannot-links mention are chunklets of one
    row: they count in ``C_b`` alone.

    Parameters
    ----------
    n_components : int, default=None
        Number of dimensions to keep; as many as the cannot-links span unless told.
    solver : {"generalized", "dca"}, default="generalized"
        The generalised eigenproblem of both matrices, or the published way, which first drops what
        ``C_b`` does not span and then whitens ``C_w`` there. The first finds ratios at least as
        good.
    shrinkage : float, default=0.05
        ``C_w`` is replaced by ``(1 - s) C_w + s tr(C_w)/d I``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``Fᵀ``: ``F'C_w F = I``, ``F'C_b F`` diagonal.
    ratios_ : ndarray of shape (n_components,)
        Spread between over spread within, along each direction.
    n_chunklets_ : int
        Chunklets, those of one row included.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import DCA
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> model = DCA().fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < far)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "generalized",
        shrinkage: float = 0.05,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.shrinkage = shrinkage

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="distance in which chunklets known to be apart lie far from each other",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Hoi, Liu, Lyu, Ma 2006",
            complexity="O(p d² + e d² + d³) time for e parted chunklets, O(d²) memory",
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
            What is known; some rows must be known to be apart.

        Returns
        -------
        self : DCA
            The fitted metric.
        """
        if self.solver not in ("generalized", "dca"):
            raise ValueError(f"solver must be 'generalized' or 'dca', got {self.solver!r}.")
        if not 0 <= self.shrinkage < 1:
            raise ValueError(f"shrinkage must be in [0, 1), got {self.shrinkage!r}.")
        rows: Any = self._check_rows(X, reset=True)
        d = rows.shape[1]
        check_components(self.n_components, d)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        closure = known.closure(on_contradiction="keep")
        if not len(closure.conflicts):
            self._without_cannot_links(known, d, rows.dtype)
            return self
        between, within = self._matrices(np.asarray(rows, np.float64), closure)
        solve = _generalized if self.solver == "generalized" else _published
        ratios, directions = solve(between, within)
        kept = len(ratios) if self.n_components is None else min(self.n_components, len(ratios))
        warn_of_rank(self.n_components or 0, len(ratios), "the cannot-links span only")
        self.ratios_ = ratios[:kept].astype(rows.dtype)
        self._keep(directions[:, :kept].T, rows.dtype)
        return self

    def _without_cannot_links(self, known: Constraints, d: int, dtype: np.dtype[Any]) -> None:
        if not known.is_empty:
            raise SidelightError(
                "No rows are known to be apart (n_samples=1 class at most): DCA needs cannot-links "
                "or labels of two classes; use RCA with must-links alone."
            )
        warnings.warn(
            "Nothing is known about the rows: the distance is the Euclidean one.",
            ConstraintWarning,
            stacklevel=3,
        )
        self.n_chunklets_ = 0
        self.ratios_ = np.ones(d, dtype)
        self._keep(np.eye(d), dtype)

    def _matrices(self, rows: Array, closure: Closure) -> tuple[Array, Array]:
        """``C_b`` and ``C_w``."""
        d = rows.shape[1]
        sizes = np.bincount(closure.component)
        used = np.zeros(len(sizes), dtype=bool)
        used[closure.conflicts.ravel()] = True
        used |= sizes >= 2
        self.n_chunklets_ = int(used.sum())
        sums = np.column_stack(
            [np.bincount(closure.component, weights=column) for column in rows.T]
        )
        means = sums / sizes[:, None]
        gaps = means[closure.conflicts[:, 0]] - means[closure.conflicts[:, 1]]
        between = gaps.T @ gaps / len(gaps)
        # Every chunklet counts alike, whatever its size.
        weight = 1.0 / np.sqrt(sizes[closure.component])
        within_gaps = (rows - means[closure.component]) * weight[:, None]
        n_within = int(np.count_nonzero(sizes >= 2))
        within = within_gaps.T @ within_gaps / max(n_within, 1)
        scale = float(np.trace(within)) / d
        if scale <= 0:
            return between, np.eye(d)
        shrunk = max(self.shrinkage, 1e-9)
        return between, (1 - shrunk) * within + shrunk * scale * np.eye(d)


def _generalized(between: Array, within: Array) -> tuple[Array, Array]:
    """Directions of largest ratio."""
    ratios, directions = linalg.eigh(between, within)
    kept = ratios > 1e-10 * max(float(ratios.max()), 1e-300)
    return ratios[kept][::-1], directions[:, kept][:, ::-1]


def _published(between: Array, within: Array) -> tuple[Array, Array]:
    """Whiten what ``C_b`` spans, then take the directions of smallest ``C_w`` there."""
    values, vectors = np.linalg.eigh(between)
    kept = values > 1e-10 * max(float(values.max()), 1e-300)
    Z = vectors[:, kept] / np.sqrt(values[kept])
    spread, turned = np.linalg.eigh(Z.T @ within @ Z)
    return 1.0 / spread, Z @ turned / np.sqrt(spread)
