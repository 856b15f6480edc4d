"""Pairs to be measured, and the distance up to which their rows are taken to belong together."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from sidelight._in_memory import check_in_memory
from sidelight._typing import Array

Strategy: TypeAlias = Literal["accuracy", "f_beta", "max_tpr", "max_tnr"]
STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def best_threshold(
    distances: Array,
    together: Array,
    weight: Array,
    *,
    strategy: str = "accuracy",
    beta: float = 1.0,
    min_rate: float | None = None,
) -> float:
    """Return the best threshold for these pairs.

    Parameters
    ----------
    distances : ndarray of shape (n_pairs,)
        Distances.
    together : ndarray of bool, shape (n_pairs,)
        Which pairs belong together; there are pairs of both kinds.
    weight : ndarray of shape (n_pairs,)
        Weights of the pairs.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
        What is to be largest.
    beta : float, default=1.0
        Weight of recall in ``f_beta``.
    min_rate : float in [0, 1], default=None
        Least value of the other rate with ``max_tpr`` and ``max_tnr``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.metric._threshold import best_threshold
    >>> best_threshold(np.array([1.0, 2.0, 4.0]), np.array([True, True, False]), np.ones(3))
    3.0
    """
    order = np.argsort(distances, kind="stable")
    ordered = np.asarray(distances, dtype=np.float64)[order]
    # Equal distances are on one side. The first n of the order are accepted, n one of the cuts.
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1, [len(ordered)]])
    hits = np.concatenate([[0.0], np.cumsum((weight * together)[order])])[cuts]
    false_hits = np.concatenate([[0.0], np.cumsum((weight * ~together)[order])])[cuts]
    recall = hits / hits[-1]
    specificity = 1.0 - false_hits / false_hits[-1]
    if strategy == "accuracy":
        score = hits - false_hits
    elif strategy == "f_beta":
        score = (1 + beta**2) * hits / (hits + false_hits + beta**2 * hits[-1])
    else:
        wanted, least = (recall, specificity) if strategy == "max_tpr" else (specificity, recall)
        score = np.where(least >= (min_rate or 0.0) - 1e-12, wanted, -1.0)
    best = np.flatnonzero(score >= score.max() - 1e-12 * max(float(score.max()), 1.0))
    return _between(ordered, int(cuts[best[np.argmax((recall + specificity)[best])]]))


def _between(ordered: Array, n_accepted: int) -> float:
    """Half-way between the last distance that is accepted and the first that is not."""
    if n_accepted == len(ordered):
        return float(ordered[-1])
    last = float(ordered[n_accepted - 1]) if n_accepted else 0.0
    first = float(ordered[n_accepted])
    if first == last:  # rows at distance 0 that are known to be apart
        return float(np.nextafter(0.0, -1.0))
    middle = last + (first - last) / 2
    return middle if middle < first else last


def check_strategy(strategy: Any, beta: Any, min_rate: Any) -> None:
    """Check the arguments of a calibration."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}.")
    if strategy == "f_beta" and not (is_number(beta) and 0 < beta < np.inf):
        raise ValueError(f"beta must be a number above 0, got {beta!r}.")
    if strategy in ("max_tpr", "max_tnr") and not (is_number(min_rate) and 0 <= min_rate <= 1):
        other = "true negatives" if strategy == "max_tpr" else "true positives"
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, the least rate of {other}, a number from 0 to "
            f"1; got {min_rate!r}."
        )


def check_pair_labels(y: Any, n_pairs: int) -> Array:
    """Return which pairs belong together: ``y`` is 1 for them and -1 for others."""
    values = np.asarray(y)
    if values.shape != (n_pairs,):
        raise ValueError(
            f"y must hold one label per pair, shape ({n_pairs},), got shape {values.shape}."
        )
    if values.dtype == bool or not np.all(np.isin(values, (-1, 1))):
        raise ValueError(
            "y must be 1 for pairs that belong together and -1 for pairs that do not; got "
            f"{np.unique(values)[:5].tolist()}."
        )
    together = values == 1
    if together.all() or not together.any():
        raise ValueError(
            "A threshold needs pairs of both kinds, and all of these "
            f"{'belong together' if together.all() else 'are apart'}."
        )
    return np.asarray(together)


def is_number(value: Any) -> bool:
    """Whether this is a number, and no truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def rows_of_pairs(pairs: Any, X: Any) -> tuple[Any, Array]:
    """Return rows, and pairs of positions in them, of pairs of rows or of positions in ``X``."""
    check_in_memory(pairs, "pairs")
    places = np.asarray(pairs)
    if X is None:
        if places.ndim != 3 or places.shape[1] != 2:
            raise ValueError(
                "pairs must have the shape (n_pairs, 2, n_features), or hold positions of rows "
                f"that are given too, got shape {places.shape}."
            )
        n = len(places)
        stacked = places.transpose(1, 0, 2).reshape(2 * n, places.shape[2])
        return stacked, np.column_stack([np.arange(n), np.arange(n) + n])
    if places.ndim != 2 or places.shape[1] != 2:
        raise ValueError(
            f"pairs must have the shape (n_pairs, 2), positions of rows, got {places.shape}."
        )
    check_in_memory(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if not np.can_cast(places.dtype, np.int64, casting="same_kind") and len(places):
        raise ValueError(f"pairs must hold positions, whole numbers, got {places.dtype}.")
    if len(places) and not (places.min() >= 0 and places.max() < n_rows):
        raise ValueError(
            f"pairs hold the positions {places.min()} to {places.max()}, but the rows are 0 to "
            f"{n_rows - 1}."
        )
    return X, places.astype(np.int64)
