"""Online selection of features from pairs (Mallapragada 2010, sections 5.3-5.4)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    NamesLike,
    Seed,
    estimator,
)
from sidelight._kernels.feature_selection.online import (
    difference_sizes,
    refresh_groups,
    update_as_published,
    update_by_pairs,
)
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.base import PairStream
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.exceptions import ConstraintWarning, InvalidParameter
from sidelight.feature_selection._base import _ScoreSelector
from sidelight.feature_selection._groups import hierarchical_groups
from sidelight.tags import own_tags

#: Cannot-links in a row that lift the weights to the threshold from nothing: with fewer each of
#: them has too much of a say, with many more must-links are never mistakes and have none.
TO_THRESHOLD = 100
#: With more pairs of one kind than this for each of the other, the selection suffers.
WORST_IMBALANCE = 10


@estimator
class OnlineConstraintSelector(PairStream, _ScoreSelector):
    """Weights of features learned from a stream of pairs, most of them (or whole groups) zero.

    A pair has the squared differences ``δ_j = (x_j - x'_j)²`` and the distance ``w·δ``; it is a
    mistake if must-linked rows are farther than ``b`` or cannot-linked ones nearer. Mirror descent
    on ``min_{w≥0} ‖w‖²_{1,2} + λ Σ_t max(0, 1 - y_t (b - w·δ_t))`` keeps a dual vector ``θ``: after
    a mistake ``θ <- max(0, θ - λ c y δ)`` with the weight ``c`` of the pair, and
    ``w^g = r_g θ^g`` with ``r = softmax(‖θ^g‖² / 2μ)`` over the groups (Mallapragada 2010,
    Algorithm 4, with ``θ`` as the state, which makes the projection exact). Groups of one feature
    give the LASSO, one group the 2-norm, a diagonal POLA.
    A feature is chosen while its ``θ`` is positive. :meth:`partial_fit` takes pairs once, both
    kinds evenly mixed.

    ``variant="published"`` is the approximation that the thesis ran (equations 5.19-5.22): before
    each step every group is set back to the same norm, ``θ^g = ‖w‖_{1,2} w^g / ‖w^g‖``, so that
    ``‖w‖_{1,2}`` stays below 1 and the weight of a group is forgotten.
    Read more in the :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits, ionosphere, iris, satellite, vehicle, vowel and wine, for some numbers of them
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_features_to_select : int >= 1 or float in (0, 1] or None, default=None
        Largest number of features to keep, by weight, or their share; all that have a weight by
        default.
    norm : {"l1", "l2", "group"}, default="l1"
        Groups of features: each on its own, all in one, or those of ``groups``.
    groups : "hierarchical" or array or None, default=None
        Group of every feature, for "group"; or groups of about 20 features whose values go along
        with each other in the rows that are shown first.
    variant : {"default", "published"}, default="default"
        State of the descent: the dual vector ``θ``, or the weights as the thesis has it, see above.
    mu : float > 0, finite, default=1.0
        Smoothness of the softmax: near 0 only the heaviest group counts, for large values all
        count alike.
    step : float > 0, finite or "auto", default="auto"
        Step ``λ``. "auto" lets a hundred cannot-links lift the weights from 0 to the threshold; for
        ``variant="published"`` it is a hundred times the step of the theory.
    threshold : float > 0, finite or "auto", default="auto"
        Distance ``b`` between both kinds of pairs. "auto" is half way between their average
        distances with equal weights, ``‖w‖_{1,2} = 1``. For ``variant="published"`` it must be
        below 1: no distance is longer.
    margin : float >= 0, finite, default=0.0
        Distance up to which pairs on the right side of the threshold count as mistakes.
    n_epochs : int >= 1, default=10
        Number of passes of ``fit`` over all pairs, each in random order.
    random_state : int or RandomState or None, default=None
        Seed or generator for the order of the pairs; pass an int for reproducible results.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Weights ``w``, of squared differences divided by ``scale_``; the larger the better.
    scale_ : float
        Largest 2-norm of ``δ`` among the first pairs: ``δ`` is divided by it.
    threshold_ : float
        Distance ``b`` between both kinds of pairs, of differences divided by ``scale_``.
    step_ : float
        Step ``λ`` that was used.
    groups_ : ndarray of int, shape (n_features,)
        Group of every feature.
    n_mistakes_ : int
        Number of pairs on the wrong side of the threshold at their turn.
    n_mistakes_history_ : ndarray of int
        Number of mistakes of each pass over the pairs (each call of ``partial_fit``).

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

    _: KW_ONLY
    norm: Literal["l1", "l2", "group"] = "l1"
    groups: Literal["hierarchical"] | NamesLike | None = None
    variant: Literal["default", "published"] = "default"
    mu: FinitePositive = 1.0
    step: FinitePositive | Auto = "auto"
    threshold: FinitePositive | Auto = "auto"
    margin: FiniteNonNegative = 0.0
    n_epochs: Count = 10
    random_state: Seed = None

    _own_tags = own_tags(
        summary="sparse weights of features, or groups of them, from a stream of pairs",
        source="Mallapragada 2010, sections 5.3-5.4",
        complexity="O(nnz of a pair) per pair, O(d) memory",
    )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        rows, pairs = self._pairs(X, y, constraints, reset=True)
        _warn_of_imbalance(pairs)
        self._reset(rows, pairs)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_epochs):
            self._learn_from(rows, pairs, rng.permutation(pairs.n_together + pairs.n_apart))
        return self._set_learned(pairs)

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        first = not hasattr(self, "_dual")
        rows, pairs = self._pairs(X, y, constraints, reset=first)
        if first:
            self._reset(rows, pairs)
        self._learn_from(rows, pairs, _evenly_mixed(pairs.n_together, pairs.n_apart))
        return self._set_learned(pairs)

    def _pairs(
        self, X: Any, y: Any, constraints: Constraints | None, *, reset: bool
    ) -> tuple[Any, Pairs]:
        rows, known = self._validate_fit_in_memory(X, y, constraints, reset=reset)
        if self.variant == "published" and self.threshold != "auto" and float(self.threshold) >= 1:
            raise InvalidParameter(
                f"threshold={self.threshold} must be below 1, the longest distance that "
                "variant='published' can give: no cannot-link could be satisfied."
            )
        return _sparse_rows(rows), known_pairs(known)

    def _reset(self, rows: Any, pairs: Pairs) -> None:
        """Start without any weight; find the units of the differences from the first pairs."""
        self.groups_ = self._group_of_features(rows)
        sizes = np.bincount(self.groups_)
        # Dual vector and its sums over groups; directions and shares of groups for "published".
        self._dual = np.zeros(rows.shape[1])
        self._norms, self._powers = np.zeros(len(sizes)), np.zeros(len(sizes) + 1)
        self.n_mistakes_, self.n_mistakes_history_ = 0, np.empty(0, dtype=np.int64)
        self._find_units(rows, pairs)

    def _find_units(self, rows: Any, pairs: Pairs) -> None:
        """Scale of the differences, threshold and step, as the first pairs suggest them."""
        largest, near = _mean_differences(rows, pairs.together)
        largest_apart, far = _mean_differences(rows, pairs.apart)
        self.scale_ = max(largest, largest_apart) or 1.0
        near, far = near / self.scale_, (far if pairs.n_apart else near) / self.scale_
        middle = float((near if pairs.n_together else far).sum() + far.sum()) / 2
        sizes = np.bincount(self.groups_)
        # Equal weights with ‖w‖₁₂ = 1, for which the exponents of the softmax are moderate.
        automatic = middle / np.sqrt(sizes).sum() or 0.5
        self.threshold_ = float(automatic if self.threshold == "auto" else self.threshold)
        if self.step != "auto":
            self.step_ = float(self.step)
        elif self.variant == "published":
            # With differences of at most 1 the theory asks for ε / (1 + R²/μ), ε = ½, R = 1.
            self.step_ = 50.0 / (1 + 1 / self.mu)
        else:
            # With θ small r = 1/s, so that w·δ after t cannot-links is about t λ ‖δ‖² / s.
            growth = float(far @ far) / len(sizes)
            self.step_ = self.threshold_ / growth / TO_THRESHOLD if growth > 0 else 1.0

    def _group_of_features(self, rows: Any) -> Array:
        d = rows.shape[1]
        if self.norm == "l1":
            return np.arange(d)
        if self.norm == "l2":
            return np.zeros(d, dtype=np.int64)
        if isinstance(self.groups, str) and self.groups == "hierarchical":
            return hierarchical_groups(rows)
        groups = np.asarray(self.groups)
        if self.groups is None or groups.shape != (d,):
            raise ValueError(
                f"norm='group' needs groups, one number for each of {d} features, or "
                "groups='hierarchical'."
            )
        return np.unique(groups, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def _learn_from(self, rows: Any, pairs: Pairs, order: Array) -> None:
        sign = np.repeat([1.0, -1.0], [pairs.n_together, pairs.n_apart])
        places = np.concatenate([pairs.together, pairs.apart])
        weight = np.concatenate([pairs.together_weight, pairs.apart_weight])
        shown: Any = (rows.data, rows.indices, rows.indptr, places, sign, weight)
        stream: Any = (*shown, order, 1.0 / self.scale_)
        settings: Any = (float(self.mu), self.step_, self.threshold_, float(self.margin))
        if self.variant == "default":
            state: Any = (self.groups_, self._dual, self._norms, self._powers)
            mistakes = int(update_by_pairs(*stream, *state, *settings))
        else:
            members = np.argsort(self.groups_, kind="stable")
            starts = np.concatenate([[0], np.cumsum(np.bincount(self.groups_))])
            state = (self.groups_, members, starts, self._dual, self._norms)
            mistakes = int(update_as_published(*stream, *state, *settings))
        self.n_mistakes_ += mistakes
        self.n_mistakes_history_ = np.append(self.n_mistakes_history_, mistakes)

    def _weights(self) -> Array:
        if self.variant == "published":
            return self._norms[self.groups_] * self._dual
        mu = float(self.mu)
        total = refresh_groups(self._dual, self.groups_, mu, self._norms, self._powers)
        return self._powers[self.groups_] / total * self._dual

    def _set_learned(self, pairs: Pairs) -> Self:
        weights = self._weights()
        # Weights may be too small for a number where θ says which features are in.
        chosen = self._dual > 0
        if not chosen.any():
            missing = "no two rows are known to be apart" if not pairs.n_apart else "no mistake"
            warn(
                f"No feature has a weight ({missing}): all are kept, in the order of the table.",
                ConstraintWarning,
            )
            chosen = np.ones(len(weights), dtype=bool)
        self._set_scores(np.where(weights > 0, weights, self._dual * 1e-300), larger_is_better=True)
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


def _sparse_rows(rows: Any) -> Any:
    """CSR matrix without duplicate entries; the user's own matrix is not changed."""
    table = sparse.csr_array(rows)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _mean_differences(rows: Any, pairs: Array) -> tuple[float, Array]:
    """Largest 2-norm and mean of the squared differences of pairs."""
    sums = np.zeros(rows.shape[1])
    largest = difference_sizes(rows.data, rows.indices, rows.indptr, pairs, sums)
    return float(largest), sums / max(len(pairs), 1)


def _evenly_mixed(n_together: int, n_apart: int) -> Array:
    """An order in which both kinds of pairs come at the same pace from first to last."""
    pace = [(np.arange(n) + 0.5) / max(n, 1) for n in (n_together, n_apart)]
    return np.argsort(np.concatenate(pace), kind="stable")


def _warn_of_imbalance(pairs: Pairs) -> None:
    few, many = sorted((pairs.n_together, pairs.n_apart))
    if few and many > WORST_IMBALANCE * few:
        kinds = ("must-links", "cannot-links")
        rare, common = kinds if pairs.n_together < pairs.n_apart else kinds[::-1]
        warn(
            f"There are {many} {common} for {few} {rare}: the rare kind hardly has a say. Give "
            "about as many of both."
            + worded(" Constraints.sample(..., protocol='balanced') draws so.", ""),
            ConstraintWarning,
        )
