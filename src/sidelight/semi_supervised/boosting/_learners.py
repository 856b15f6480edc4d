"""Base learners: their training data and their outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised._core._base_learners import (
    check_takes,
    make_learner,
    takes_weights,
)

#: Rows whose largest value is between 2^-60 and 2^60 are given to learners as they are.
#: scikit-learn's trees compute in float32, where more would overflow or vanish.
LEARNER_BITS = 60


def learner_scale(rows: Any) -> float:
    """Power of two that brings rows into the range of any learner; 1 for nearly all data."""
    largest = float(as_rows(rows).largest().max(initial=0.0))
    if largest == 0 or 2.0**-LEARNER_BITS <= largest <= 2.0**LEARNER_BITS:
        return 1.0
    return float(np.ldexp(1.0, -int(np.frexp(largest)[1])))


def stacked(first: Any, second: Any) -> Any:
    """Rows of one block, then those of another, dense or CSR."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])


class Learner:
    """A base learner that is trained in every round, on codes of classes.

    Parameters
    ----------
    estimator : str or object
        Name of a learner, or a classifier.
    n_classes : int
        Number of classes, whose codes begin with 0.
    rng : RandomState
        Generator of the seeds of learners that draw.
    """

    def __init__(self, estimator: Any, n_classes: int, rng: np.random.RandomState) -> None:
        self._estimator, self._n_classes, self._rng = estimator, n_classes, rng
        self._probe = make_learner(estimator)
        self.name = type(self._probe).__name__
        self.takes_weights = takes_weights(self._probe)

    def check_takes(self, rows: Any) -> None:
        """Raise on sparse rows that the learner does not take."""
        check_takes(self._probe, rows)

    def fit(self, rows: Any, codes: IntArray, weights: Array | None = None) -> Any:
        """Train a copy of the learner."""
        learner = make_learner(self._estimator, self._rng.randint(2**31 - 1))
        if weights is None:
            return learner.fit(rows, codes)
        return learner.fit(rows, codes, sample_weight=weights)

    def predict(self, learner: Any, rows: Any) -> IntArray:
        """Codes that a trained learner predicts."""
        return predicted_codes(learner, rows, self._n_classes)


def predicted_codes(learner: Any, rows: Any, n_classes: int) -> IntArray:
    """Codes of the classes that a trained learner predicts; numbers of regressors are refused."""
    if not rows.shape[0]:
        return np.zeros(0, dtype=np.int64)
    predicted = np.asarray(learner.predict(rows))
    codes = (
        predicted.astype(np.int64)
        if predicted.dtype.kind in "biuf"
        else np.full(predicted.shape, -1)
    )
    if codes.shape != (rows.shape[0],) or np.any(
        (codes != predicted) | (codes < 0) | (codes >= n_classes)
    ):
        raise SidelightError(
            f"estimator must be a classifier, which predicts one of the classes it was trained on; "
            f"{type(learner).__name__} predicts {predicted.ravel()[:1].tolist()}."
        )
    return codes
