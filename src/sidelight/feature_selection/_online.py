"""Online selection of features from pairs (Mallapragada 2010, sections 5.3-5.4)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._kernels.online_selection import refresh_groups, show_pairs
from sidelight.base import MethodTags
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.feature_selection._base import _ScoreSelector

Array = npt.NDArray[Any]

#: Rows whose differences are taken at a time to find the scale.
BLOCK = 4096


class OnlineConstraintSelector(_ScoreSelector):
    """Weights of features learned from a stream of pairs, most of them (or whole groups) zero.

    A pair has the squared differences ``δ_j = (x_j - x'_j)²`` and the distance ``w·δ``; it is a
    mistake if must-linked rows are farther than ``b`` or cannot-linked ones nearer. Mirror descent
    on ``min_{w≥0} ‖w‖²_{1,2} + λ Σ_t max(0, 1 - y_t (b - w·δ_t))`` keeps a dual vector ``θ``: after
    a mistake ``θ <- max(0, θ - λ y δ)``, and ``w^g = r_g θ^g`` with
    ``r = softmax(‖θ^g‖² / 2μ)`` over the groups (Mallapragada 2010, Algorithm 4, with ``θ`` as the
    state, which makes the projection exact). Groups of one feature give the LASSO, one group the
    2-norm. A feature is chosen while its ``θ`` is positive.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many to keep at most, by weight, or which share; all that have one unless told.
    norm : {"l1", "l2", "group"}, default="l1"
        Every feature a group of its own, all features one group, or ``groups``.
    groups : array of int, shape (n_features,), default=None
        Group of every feature, for "group".
    mu : float, default=1.0
        Smoothness: with 0 only the heaviest group would count, with much all count alike.
    step : float, default=None
        ``λ``; a hundred times what the theory asks for unless told, which learns much faster.
    threshold : float, default=None
        ``b``; half way between the average distances of both kinds of pairs with equal weights of
        norm 1 unless told. The larger, the more pairs have a say in which features matter.
    margin : float, default=0.0
        Pairs count as mistakes up to this far on the right side.
    n_epochs : int, default=10
        How often ``fit`` shows all pairs, in random order.
    random_state : int, RandomState or None, default=None
        Source of chance: the order of the pairs.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Weights ``w``, of squared differences divided by ``scale_``; the larger the better.
    ranking_ : ndarray of int, shape (n_features,)
        1 for the best feature.
    support_ : ndarray of bool, shape (n_features,)
        Which features are kept.
    scale_ : float
        Largest 2-norm of ``δ`` among the first pairs: ``δ`` is divided by it.
    threshold_ : float
        ``b``, in these units.
    n_mistakes_ : int
        Pairs on the wrong side when they were shown.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.feature_selection import OnlineConstraintSelector
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.normal(size=(200, 20))
    >>> X[:, 3] += 4 * y
    >>> known = Constraints.sample(y, 200, random_state=0)
    >>> model = OnlineConstraintSelector(1, random_state=0).fit(X, constraints=known)
    >>> int(np.flatnonzero(model.get_support())[0])
    3
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        norm: str = "l1",
        groups: Any = None,
        mu: float = 1.0,
        step: float | None = None,
        threshold: float | None = None,
        margin: float = 0.0,
        n_epochs: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.norm = norm
        self.groups = groups
        self.mu = mu
        self.step = step
        self.threshold = threshold
        self.margin = margin
        self.n_epochs = n_epochs
        self.random_state = random_state

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            name="online-constraint-selector",
            family="feature_selection",
            summary="sparse weights of features, or groups of them, from a stream of pairs",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Mallapragada 2010, sections 5.3-5.4",
            complexity="O(nnz of a pair) per pair, O(d) memory",
            needs_n_clusters=False,
            sparse=True,
            kind="transformer",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn from all pairs, several times over.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known.

        Returns
        -------
        self : OnlineConstraintSelector
            The fitted selector.
        """
        if not isinstance(self.n_epochs, Integral) or self.n_epochs < 1:
            raise ValueError(f"n_epochs must be a whole number above 0, got {self.n_epochs!r}.")
        rows: Any = self._check_rows(X, reset=True)
        pairs = self._pairs(rows, y, constraints)
        self._begin(rows, pairs)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_epochs):
            self._show(rows, pairs, rng.permutation(pairs.n_together + pairs.n_apart))
        return self._finish(pairs)

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn from more pairs, each shown once in the order in which it is stated.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows that the pairs are about.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about these rows.

        Returns
        -------
        self : OnlineConstraintSelector
            The selector so far.
        """
        first = not hasattr(self, "_dual")
        rows: Any = self._check_rows(X, reset=first)
        pairs = self._pairs(rows, y, constraints)
        if first:
            self._begin(rows, pairs)
        self._show(rows, pairs, np.arange(pairs.n_together + pairs.n_apart))
        return self._finish(pairs)

    def _pairs(self, rows: Any, y: Any, constraints: Constraints | None) -> Pairs:
        known = self._check_constraints(constraints, y, rows.shape[0])
        return known_pairs(known)

    def _begin(self, rows: Any, pairs: Pairs) -> None:
        """Start without any weight; find the units of the differences from the first pairs."""
        d = rows.shape[1]
        if not self.mu > 0:
            raise ValueError(f"mu must be above 0, got {self.mu!r}.")
        self._group = self._group_of_features(d)
        n_groups = int(self._group.max()) + 1
        self._dual = np.zeros(d)
        self._norms, self._powers = np.zeros(n_groups), np.zeros(n_groups + 1)
        self.n_mistakes_ = 0
        largest, near = _differences(rows, pairs.together)
        largest_apart, far = _differences(rows, pairs.apart)
        self.scale_ = max(largest, largest_apart) or 1.0
        middle = (near + far) / 2 if pairs.n_together and pairs.n_apart else max(near, far)
        self.threshold_ = float(self.threshold or (middle / self.scale_ / np.sqrt(d)) or 1.0)
        # With differences of at most 1 the theory asks for ε / (1 + R²/μ), ε = ½, R = 1.
        self.step_ = float(self.step if self.step is not None else 50.0 / (1 + 1 / self.mu) / d)

    def _group_of_features(self, d: int) -> Array:
        if self.norm == "l1":
            return np.arange(d)
        if self.norm == "l2":
            return np.zeros(d, dtype=np.int64)
        if self.norm != "group":
            raise ValueError(f"norm must be 'l1', 'l2' or 'group', got {self.norm!r}.")
        groups = np.asarray(self.groups)
        if self.groups is None or groups.shape != (d,):
            raise ValueError(f"norm='group' needs groups, one number for each of {d} features.")
        return np.unique(groups, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def _show(self, rows: Any, pairs: Pairs, order: Array) -> None:
        if not len(order):
            return
        table = sparse.csr_array(rows)
        table.sort_indices()
        sign = np.repeat([1.0, -1.0], [pairs.n_together, pairs.n_apart])
        self.n_mistakes_ += int(
            show_pairs(
                table.data,
                table.indices,
                table.indptr,
                np.concatenate([pairs.together, pairs.apart]),
                sign,
                order,
                1.0 / self.scale_,
                self._group,
                self._dual,
                self._norms,
                self._powers,
                float(self.mu),
                self.step_,
                self.threshold_,
                float(self.margin),
            )
        )

    def _finish(self, pairs: Pairs) -> Self:
        total = refresh_groups(self._dual, self._group, float(self.mu), self._norms, self._powers)
        weights = self._powers[self._group] / total * self._dual
        # Weights may be too small for a number where θ says which features are in.
        chosen = self._dual > 0
        if not chosen.any():
            missing = "no two rows are known to be apart" if not pairs.n_apart else "no mistake"
            warnings.warn(
                f"No feature has a weight ({missing}): all are kept, in the order of the table.",
                ConstraintWarning,
                stacklevel=3,
            )
            chosen = np.ones(len(weights), dtype=bool)
        self._keep(np.where(weights > 0, weights, self._dual * 1e-300), larger_is_better=True)
        if self.n_features_to_select is None:
            self.support_ = chosen
        else:
            self.support_ = self.support_ & chosen
        self.scores_ = weights
        return self

    def weighted(self, X: Any) -> Any:
        """Return the rows times the square roots of the weights: their distance is the learned one.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : array or CSR matrix of shape (n_samples, n_features)
            Weighted rows.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        roots = np.sqrt(self.scores_ / self.scale_).astype(rows.dtype)
        if sparse.issparse(rows):
            return sparse.csr_array(rows @ sparse.diags_array(roots))
        return rows * roots


def _differences(rows: Any, pairs: Array) -> tuple[float, float]:
    """Largest 2-norm and average sum of the squared differences of pairs."""
    largest = total = 0.0
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        gaps = (rows[block[:, 0]] - rows[block[:, 1]]).astype(np.float64)
        squares = gaps.multiply(gaps) if sparse.issparse(gaps) else gaps * gaps
        fourth = squares.multiply(squares) if sparse.issparse(squares) else squares * squares
        largest = max(largest, float(np.sqrt(np.asarray(fourth.sum(axis=1)).max())))
        total += float(squares.sum())
    return largest, total / max(len(pairs), 1)
