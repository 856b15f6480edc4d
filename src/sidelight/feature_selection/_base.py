"""Shared parts of selectors: how many features are kept, their ranking, its picture."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Count, Interval, estimator
from sidelight._in_memory import check_in_memory
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Transformer
from sidelight.exceptions import ConstraintWarning
from sidelight.tags import SOFT_TAGS

#: A number of features, a share of them, or half of them.
NumberOfFeatures: TypeAlias = Count | Annotated[float, Interval(0, 1, open_low=True)] | None

#: Parameters of every selector.
SELECTOR_PARAMETERS = {
    "n_features_to_select": "Number of features to keep, or their share; half of them by default.",
}

#: Attributes of every fitted selector.
SELECTOR_ATTRIBUTES = {
    "ranking_ : ndarray of int, shape (n_features,)": "Rank of every feature, 1 for the best.",
    "support_ : ndarray of bool, shape (n_features,)": "Whether each feature is kept.",
    "larger_is_better_ : bool": "Whether a larger score is the better one.",
}


@estimator
class _ScoreSelector(Transformer, SelectorMixin):
    """Keeps the features with the best scores.

    Subclasses pass their scores to :meth:`_set_scores`.
    """

    _common_parameters = SELECTOR_PARAMETERS
    _common_attributes = SELECTOR_ATTRIBUTES
    _family_tags = SOFT_TAGS | {"kind": "selector", "sparse": True}

    n_features_to_select: NumberOfFeatures = None

    #: Whether ``fit`` needs ``y`` or constraints.
    _needs_knowledge = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_knowledge
        return tags

    def inverse_transform(self, X: Any) -> Array:
        """Return rows with all features: the kept ones, and zeros in place of the others.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_selected)
            Rows, as :meth:`transform` returns them.

        Returns
        -------
        rows : array or CSC matrix of shape (n_samples, n_features)
            Rows.
        """
        check_in_memory(X)
        found: Array = super().inverse_transform(X)
        return found

    def _set_scores(self, scores: Array, *, larger_is_better: bool) -> None:
        """Rank the features; of equal scores the first wins, and NaN comes last."""
        if np.isnan(scores).all():
            warn(
                f"{type(self).__name__} has no score for any feature: none varies, or occurs, "
                "where it looks. The first ones are kept.",
                ConstraintWarning,
            )
        worth = scores if larger_is_better else -scores
        order = np.argsort(-np.where(np.isnan(worth), -np.inf, worth), kind="stable")
        self._set_ranking(
            order, scores, self._n_kept(len(scores)), larger_is_better=larger_is_better
        )

    def _set_ranking(
        self, order: Array, scores: Array, n_kept: int, *, larger_is_better: bool
    ) -> None:
        """Set scores and ranking; the first ``n_kept`` features of the order are kept."""
        self.larger_is_better_ = larger_is_better
        self.scores_ = np.asarray(scores, dtype=np.float64)
        self.ranking_ = np.empty(len(order), dtype=np.int64)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.support_ = self.ranking_ <= n_kept

    def _n_kept(self, n_features: int) -> int:
        """Number of features to keep."""
        wanted = self.n_features_to_select
        if wanted is None:
            return max(1, n_features // 2)
        if isinstance(wanted, float):
            return max(1, round(float(wanted) * n_features))
        if wanted > n_features:
            raise ValueError(
                f"{setting('n_features_to_select', wanted)} must be between 1 and the number of "
                f"features, {n_features}."
            )
        return int(wanted)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def _transform(self, rows: Any) -> Any:
        kept = rows[:, np.flatnonzero(self.support_)]
        # Sparse rows come as a table where the fit was to one.
        return kept.toarray() if sparse.issparse(kept) and self._fitted_dense else kept

    def plot_ranking(self, ax: Any = None, n: int = 30) -> Any:
        """Draw the scores of the best features as bars; those kept are filled.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new picture by default.
        n : int, default=30
            Largest number of features to draw.

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
            'Pictures need Matplotlib: pip install "sidelight[plots]", or draw scores_ yourself.'
        ) from error
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]
