"""Shares of the classes among the unlabeled rows: given, those of the labels, equal, or estimated.

Where labels are a random sample their shares are those of all rows, but for chance; where somebody
labeled as many rows of every class they say nothing. So by default the rows are asked: methods
estimate the shares from a first prediction, and warn where labels and predictions disagree.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.stats import chi2_contingency

from sidelight._fit.parameters import ArrayLike
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Classifier
from sidelight.exceptions import ConstraintWarning, SidelightError

#: Parameter ``class_shares``.
ClassShares: TypeAlias = Literal["auto", "labels", "equal"] | ArrayLike
FreeClassShares: TypeAlias = Literal["auto", "labels", "equal", "free"] | ArrayLike

#: Labels and predictions disagree where chance has this probability at most, and where at least
#: this share of the rows would have to change its class.
IMPROBABLE, FAR_OFF = 1e-3, 0.1


class BalancedClassifier(Classifier):
    """A classifier with the parameter ``class_shares``."""

    class_shares: Any

    def _given_shares(self, labels: IntArray) -> Array | None:
        """The shares that the parameter asks for; None where they are to be estimated, or free."""
        n_classes = len(self.classes_)
        if isinstance(self.class_shares, str):
            counts = np.bincount(labels[labels >= 0], minlength=n_classes)
            by_name = {"labels": counts / counts.sum(), "equal": np.full(n_classes, 1 / n_classes)}
            return by_name.get(self.class_shares)
        shares = np.asarray(self.class_shares, dtype=np.float64)
        if shares.shape != (n_classes,) or np.any(shares <= 0) or abs(shares.sum() - 1) > 1e-6:
            raise SidelightError(
                f"{setting('class_shares')} as an array holds {n_classes} numbers above 0, one for "
                "every class in sorted order, that add up to 1; got "
                f"{np.array2string(shares, threshold=10)}."
            )
        return shares / shares.sum()

    def _codes_of_fit(self, rows: Any, labels: IntArray) -> IntArray:
        codes = super()._codes_of_fit(rows, labels)
        if isinstance(self.class_shares, str) and self.class_shares in ("auto", "free"):
            self._warn_of_shares(labels[labels >= 0], codes[labels < 0])
        return codes

    def _warn_of_shares(self, stated: IntArray, predicted: IntArray) -> None:
        """Warn where the shares of labeled rows are far from those of the predictions."""
        n_classes = len(self.classes_)
        if not len(predicted):
            return
        counts = np.stack([np.bincount(one, minlength=n_classes) for one in (stated, predicted)])
        if not differ_by_more_than_chance(counts):
            return
        shares = counts / counts.sum(axis=1, keepdims=True)
        worst = int(np.argmax(np.abs(shares[1] - shares[0])))
        warn(
            f"{shares[0, worst]:.0%} of the labeled rows are of class "
            f"{self.classes_.tolist()[worst]!r}, but {shares[1, worst]:.0%} of the others are "
            "predicted to be: more than chance explains. Either as many rows of every class were "
            f"labeled, or the predictions are off: give {setting('class_shares')} where you know "
            f"them, or {setting('class_shares', 'labels')} if the labels were drawn at random.",
            ConstraintWarning,
        )


def differ_by_more_than_chance(counts: Array, level: float = IMPROBABLE) -> bool:
    """Whether labels and predictions, counts of shape (2, n_classes), disagree on the shares."""
    counts = counts[:, counts.sum(axis=0) > 0]
    shares = counts / counts.sum(axis=1, keepdims=True)
    if np.abs(shares[1] - shares[0]).sum() / 2 < FAR_OFF:
        return False
    return bool(chi2_contingency(counts).pvalue < level)
