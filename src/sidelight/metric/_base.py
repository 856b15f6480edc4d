"""Shared parts of learned distances: a linear map, its distances, and pairs to be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.named_rows import named_rows, taken
from sidelight._fit.scatter import pair_differences
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import LinearTransformer
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._threshold import (
    Strategy,
    best_threshold,
    check_pair_labels,
    check_strategy,
    is_number,
    rows_of_pairs,
)

#: Differences below this share of the largest have no part in the directions that count.
ROUNDING = 1e-9


def advice_on_steps(n_iter: int, max_iter: int) -> str:
    """Advice after a search that ended before ``tol``: more steps help only where all were used."""
    if n_iter >= max_iter:
        return "Allow more steps, or a larger tol."
    return "No step gains more than rounding, so more of them do not help; ask for a larger tol."


class Metric(Protocol):
    """A distance of two vectors."""

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float: ...


def vector_metric(square: Callable[[Array, Array], float], d: int) -> Metric:
    """The distance of two checked vectors whose squared distance this is."""

    def distance(u: Any, v: Any, squared: bool = False) -> float:
        found = square(_vector(u, "u", d), _vector(v, "v", d))
        return found if squared else float(np.sqrt(found))

    return distance


def _vector(given: Any, name: str, d: int) -> Array:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one vector, got an array of shape {values.shape}: this is the "
            "distance of two rows. Many at once: pair_distance(pairs, X)."
        )
    if len(values) != d:
        raise ValueError(f"{name} has {len(values)} numbers, but the rows of fit had {d}.")
    return values


#: Kinds of knowledge, by the arguments of constraints.
_KINDS = {
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "labels": "labels",
    "groups": "groups",
}


class _MetricBase(LinearTransformer):
    """A distance ``‖W (x - z)‖``, that of a linear map ``W`` of the rows.

    Subclasses find ``components_ = W`` of shape (n_components, n_features) in
    ``_learn(source, known)`` and pass it to :meth:`_set_map`. Rows may live on disk or in
    partitions: those that constraints name are gathered, of the others only sums are needed.
    """

    _family_tags = LinearTransformer._family_tags | {"out_of_core": True}
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "threshold_ : float": "Largest distance of two rows that are taken to belong together: "
        "right for most pairs of the fit; only set where it knows pairs of both kinds."
    }

    threshold_: float

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        self._learn(source, known)
        self._learn_threshold(source, known)
        return self

    def _set_euclidean_map(self, reason: str, d: int, dtype: np.dtype[Any]) -> None:
        """Set the identity and warn that nothing else was learned, for this reason."""
        warn(f"{reason}: the distance is the Euclidean one.", ConstraintWarning)
        self._set_map(np.eye(d)[: getattr(self, "n_components", None)], dtype)

    def _check_n_components(self, d: int) -> int:
        """Return the number of dimensions to keep, which is at most that of the features."""
        n_components: int | None = getattr(self, "n_components", None)
        if n_components is not None and n_components > d:
            raise ValueError(
                f"{setting('n_components', n_components)} must be between 1 and the number of "
                f"features, {d}."
            )
        return d if n_components is None else int(n_components)

    def _warn_of_rank(self, rank: int, reason: str) -> None:
        """Warn that more directions were requested than the metric has."""
        n_components: int | None = getattr(self, "n_components", None)
        if n_components is not None and n_components > rank:
            warn(
                f"{setting('n_components', n_components)} directions were asked for, but {reason} "
                f"{rank}; ask for {rank} at most.",
                ConstraintWarning,
            )

    def _warn_of_equal_rows(
        self, known: Constraints, apart: Array, differs: Array, *, needed: bool
    ) -> None:
        """Warn of cannot-links of rows that are the same, which are to be left out.

        Where nothing can be learned without any (``needed``) and all are such, that is an error.
        """
        same = apart[~differs]
        if not len(same):
            return
        first, second = known.name_rows(same[0])
        warn(
            f"{len(same)} of {len(apart)} cannot-links join rows that are the same in every "
            f"feature, the first {first} and {second}; no distance can part them, and they are "
            "left out.",
            ConstraintWarning,
        )
        if needed and len(same) == len(apart):
            raise SidelightError(
                "Every cannot-link joins two rows that are the same in every feature, such as "
                f"{first} and {second}; no distance can part them. Give pairs of rows that differ."
            )

    def _signed_differences(
        self, source: RowSource, known: Constraints, base: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """``C'(x_i - x_j)`` of all pairs that differ, 1 for must-links, -1 for others, weights."""
        pairs: Pairs = known_pairs(known)
        rows = named_rows(source, known).astype(np.float64)
        differences = pair_differences(rows, np.concatenate([pairs.together, pairs.apart]))
        if base is not None:
            differences = differences @ base
            if base.shape[1] < base.shape[0] and len(differences):  # what it leaves of others
                length = np.abs(differences).max(axis=1)
                differences[length <= ROUNDING * length.max()] = 0.0
        sign = np.repeat([1.0, -1.0], [pairs.n_together, pairs.n_apart])
        weights = np.concatenate([pairs.together_weight, pairs.apart_weight])
        differs = np.any(differences != 0, axis=1)
        self._warn_of_equal_rows(known, pairs.apart, differs[pairs.n_together :], needed=False)
        return np.ascontiguousarray(differences[differs]), sign[differs], weights[differs]

    def get_mahalanobis_matrix(self) -> Array:
        """Return ``A = WᵀW``: the squared distance is ``(x - z)ᵀ A (x - z)``.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
            Positive semi-definite.
        """
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Metric:
        """Return the distance as a function of two rows, for whatever takes a metric.

        Returns
        -------
        distance : callable
            ``distance(u, v, squared=False) -> float`` of two vectors; the squared distance with
            ``squared=True``.
        """
        check_is_fitted(self)
        components = self.components_.astype(np.float64)

        def square(u: Array, v: Array) -> float:
            return float(np.sum((components @ (u - v)) ** 2))

        return vector_metric(square, self.n_features_in_)

    def pair_distance(self, pairs: Any, X: Any = None) -> Array:
        """Return the learned distance of each pair.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``X``.
        X : array, CSR matrix or RowSource of shape (n_samples, n_features), default=None
            The rows, where ``pairs`` holds positions; only those in pairs are read.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            Distances.
        """
        check_is_fitted(self)
        rows, places = rows_of_pairs(pairs, X)
        return self._distances(self._check_rows(rows, reset=False), places)

    def _distances(self, rows: Any, pairs: Array) -> Array:
        """Distances of pairs of positions in checked rows, wherever these live."""
        used, ends = np.unique(pairs, return_inverse=True)  # often few of very many rows
        return self._distances_among(taken(rows, used), ends.reshape(pairs.shape))

    def _distances_among(self, rows: Any, pairs: Array) -> Array:
        """Distances of pairs of positions in checked rows, all of which are in pairs."""
        mapped = self._transform(rows)
        return np.linalg.norm(mapped[pairs[:, 0]] - mapped[pairs[:, 1]], axis=1)

    def pair_score(self, pairs: Any, X: Any = None) -> Array:
        """Return minus the distance of each pair: the larger, the more alike.

        Parameters
        ----------
        pairs, X : array
            As in :meth:`pair_distance`.

        Returns
        -------
        scores : ndarray of shape (n_pairs,)
            Scores.
        """
        return -self.pair_distance(pairs, X)

    def predict_pairs(self, pairs: Any, X: Any = None) -> Array:
        """Return 1 for pairs whose rows are taken to belong together, and -1 for others.

        Parameters
        ----------
        pairs, X : array
            As in :meth:`pair_distance`.

        Returns
        -------
        labels : ndarray of shape (n_pairs,)
            1 where the distance is at most ``threshold_``.
        """
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise SidelightError(
                f"This {type(self).__name__} has no threshold, since it has not learned from pairs "
                "of both kinds; call calibrate_threshold(pairs, y) with such pairs, or "
                "set_threshold(threshold)."
            )
        return np.where(self.pair_distance(pairs, X) <= self.threshold_, 1, -1)

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which rows are taken to belong together.

        Parameters
        ----------
        threshold : float
            The distance.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        if not is_number(threshold) or np.isnan(threshold):
            raise ValueError(f"threshold must be a number, got {threshold!r}.")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self,
        pairs: Any,
        y: Any,
        X: Any = None,
        *,
        strategy: Strategy = "accuracy",
        beta: float = 1.0,
        min_rate: float | None = None,
    ) -> Self:
        """Choose the threshold by pairs that are known, best by others than those of ``fit``.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``X``.
        y : array of shape (n_pairs,)
            1 where both rows belong together, -1 where they do not.
        X : array or CSR matrix of shape (n_samples, n_features), default=None
            The rows, where ``pairs`` holds positions.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is to be largest: the share of right pairs, the F-score, or one of the rates of
            true positives and true negatives while the other is at least ``min_rate``.
        beta : float, default=1.0
            Weight of recall in ``f_beta``.
        min_rate : float in [0, 1], default=None
            Least value of the other rate with ``max_tpr`` and ``max_tnr``.

        Returns
        -------
        self : object
            The estimator.
        """
        check_strategy(strategy, beta, min_rate)
        distances = self.pair_distance(pairs, X)
        together = check_pair_labels(y, len(distances))
        return self.set_threshold(
            best_threshold(
                distances,
                together,
                np.ones(len(distances)),
                strategy=strategy,
                beta=beta,
                min_rate=min_rate,
            )
        )

    def _forget_threshold(self) -> None:
        """Drop the threshold of another metric."""
        if hasattr(self, "threshold_"):
            del self.threshold_

    def _learn_threshold(self, source: RowSource, known: Constraints) -> None:
        """Set the threshold that is right for most known pairs of the kinds that are used."""
        self._forget_threshold()
        tags = self.__sidelight_tags__()
        kinds = {name: kind for name, kind in _KINDS.items() if kind in tags.knowledge}
        used = {name: getattr(known, name) for name in kinds}
        weights = {
            f"{name}_weight": getattr(known, f"{name}_weight")
            for name, kind in kinds.items()
            if kind in (tags.weights or ())
        }
        pairs = known_pairs(Constraints(**used, **weights, n_samples=known.n_samples))
        if pairs.n_together and pairs.n_apart:
            self.threshold_ = best_threshold(
                self._distances(source, np.concatenate([pairs.together, pairs.apart])),
                np.repeat([True, False], [pairs.n_together, pairs.n_apart]),
                np.concatenate([pairs.together_weight, pairs.apart_weight]),
            )

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """Return the inner products ``(W x)·(W z)`` that the distance belongs to.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.
        Y : array or CSR matrix of shape (n_others, n_features), default=None
            Other rows; ``X`` itself by default. The result has ``n_samples · n_others`` entries.

        Returns
        -------
        K : ndarray of shape (n_samples, n_others)
            The kernel.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        return self._inner(rows, rows if Y is None else self._check_rows(Y, reset=False))

    def _inner(self, rows: Any, others: Any) -> Array:
        """Inner products of checked rows under the metric."""
        left = self._transform(rows)
        return left @ (left if others is rows else self._transform(others)).T
