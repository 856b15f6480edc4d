"""What selectors share: how many features are kept, their ranking, its picture."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.exceptions import ConstraintWarning


class _ScoreSelector(SelectorMixin, ConstrainedEstimator):
    """Keeps the features with the best scores.

    Subclasses have the parameter ``n_features_to_select`` and hand their scores to :meth:`_keep`.
    """

    n_features_to_select: int | float | None

    def _keep(self, scores: Array, *, larger_is_better: bool) -> None:
        """Rank the features; of equal scores the first wins, and NaN comes last."""
        if np.isnan(scores).all():
            warnings.warn(
                f"{type(self).__name__} has no score for any feature: none varies, or occurs, "
                "where it looks. The first ones are kept.",
                ConstraintWarning,
                stacklevel=3,
            )
        worth = scores if larger_is_better else -scores
        order = np.argsort(-np.where(np.isnan(worth), -np.inf, worth), kind="stable")
        ranking = np.empty(len(scores), dtype=np.int64)
        ranking[order] = np.arange(1, len(scores) + 1)
        self.scores_ = np.asarray(scores, dtype=np.float64)
        self.ranking_ = ranking
        self.support_ = ranking <= n_kept(self.n_features_to_select, len(scores))

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the chosen columns.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : array or CSR matrix of shape (n_samples, n_selected)
            The columns that were chosen, in their order.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        return rows[:, np.flatnonzero(self.support_)]

    def plot_ranking(self, ax: Any = None, n: int = 30) -> Any:
        """Draw the scores of the best features as bars; those kept are filled.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new picture unless told.
        n : int, default=30
            At most this many features.

        Returns
        -------
        ax : matplotlib Axes
            The picture.
        """
        check_is_fitted(self)
        ax = new_axes() if ax is None else ax
        names = getattr(self, "feature_names_in_", None)
        order = np.argsort(self.ranking_)[:n]
        labels = [f"feature {j}" if names is None else str(names[j]) for j in order]
        places = np.arange(len(order))
        kept = self.support_[order]
        shown = np.where(np.isfinite(self.scores_), self.scores_, np.nan)[order]
        bars = ax.barh(places, shown, color=np.where(kept, "#2f6fde", "#c9d3e6"))
        for bar, is_kept in zip(bars, kept, strict=True):
            bar.set_hatch("" if is_kept else "//")
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        ax.set_xlabel(f"{type(self).__name__}\n(filled: kept)")
        return ax


def new_axes() -> Any:
    """A new picture; Matplotlib is not needed for anything else."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Pictures need Matplotlib: pip install matplotlib, or draw scores_ yourself."
        ) from error
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]


def n_kept(wanted: Any, n_features: int) -> int:
    """How many features to keep: a number, a share, or half of them."""
    if wanted is None:
        return max(1, n_features // 2)
    if isinstance(wanted, bool) or not isinstance(wanted, Real):
        raise TypeError(f"n_features_to_select must be a number or None, got {wanted!r}.")
    if isinstance(wanted, Integral):
        if not 1 <= int(wanted) <= n_features:
            raise ValueError(
                f"n_features_to_select={wanted} must be between 1 and the number of features, "
                f"{n_features}."
            )
        return int(wanted)
    if not 0 < float(wanted) <= 1:
        raise ValueError(f"n_features_to_select={wanted} as a share must be in (0, 1].")
    return max(1, round(float(wanted) * n_features))
