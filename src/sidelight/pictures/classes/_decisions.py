"""What a classifier says about rows: a number per class, and how far the best two are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import format_number
from sidelight.constraints.inner import is_unknown, text_of

#: A row is in doubt if its best class is less than this ahead of the second, in probability.
DOUBTFUL = 0.2
#: From here on a row is certain.
CERTAIN = 0.99
#: Where there are no probabilities, this share of the rows, the least decided, is in doubt.
DOUBTFUL_SHARE = 0.05


def _share(n_rows: int) -> int:
    return int(np.ceil(DOUBTFUL_SHARE * n_rows))


@dataclass(frozen=True)
class Decisions:
    """A number for every row and class; the largest is that of the class of the row.

    Attributes
    ----------
    names : tuple of str
        Names of the classes, in the order of ``classes_``.
    values : ndarray of shape (n_rows, n_classes)
        Probabilities, or decision values of methods that have none.
    are_probabilities : bool
        Which of them.
    """

    names: tuple[str, ...]
    values: FloatArray
    are_probabilities: bool

    @property
    def best_two(self) -> IntArray:
        """Codes of the two classes with the largest values, shape (n_rows, 2)."""
        return np.argsort(-self.values, axis=1, kind="stable")[:, :2]

    @property
    def margins(self) -> FloatArray:
        """By how much the best class is ahead of the second; 0 where nothing is known."""
        best = np.take_along_axis(self.values, self.best_two, axis=1)
        return np.nan_to_num(best[:, 0] - best[:, 1], nan=0.0)

    def doubtful(self, free: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which of the ``free`` rows are in doubt: another class is nearly as good.

        With probabilities those whose best class is less than 20% ahead of the second; otherwise
        the least decided twentieth.
        """
        if self.are_probabilities:
            return free & (self.margins < DOUBTFUL)
        rows = np.flatnonzero(free)
        least = np.argsort(self.margins[rows], kind="stable")[: _share(len(rows))]
        chosen = np.zeros(len(free), dtype=bool)
        chosen[rows[least]] = True
        return chosen

    def least_certain(self, rows: IntArray, most: int) -> IntArray:
        """The least decided of some rows; none that has its class for certain."""
        chosen = rows[np.argsort(self.margins[rows], kind="stable")[:most]]
        return chosen[self.margins[chosen] < CERTAIN] if self.are_probabilities else chosen

    def shown(self, row: int, code: int) -> str:
        """A value as tables show it."""
        value = float(self.values[row, code])
        if not np.isfinite(value):
            return ""
        return f"{value:.0%}" if self.are_probabilities else format_number(value, 3)


def decisions_of(estimator: Any, X: Any) -> Decisions:
    """Ask a fitted classifier about rows: probabilities where it has them."""
    names = class_names(estimator)
    if hasattr(estimator, "predict_proba"):
        return Decisions(names, np.asarray(estimator.predict_proba(X), np.float64), True)
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if values.ndim == 1:  # of two classes, positive for the second
        values = np.column_stack([-values, values])
    return Decisions(names, values, False)


def fitted_decisions(estimator: Any, X: Any) -> Decisions:
    """What a classifier says about the rows of its fit.

    Of a graph these are the values of its rows, not those that new rows in their places would have,
    unless they are all 0 or 1 and say nothing about how sure a class is.
    """
    names, n_rows = class_names(estimator), len(estimator.transduction_)
    for attribute, are_probabilities in (
        ("label_distributions_", True),
        ("transduction_values_", False),
    ):
        values = np.asarray(getattr(estimator, attribute, ()), dtype=np.float64)
        if values.shape == (n_rows,) and len(names) == 2:
            values = np.column_stack([-values, values])
        if values.shape == (n_rows, len(names)) and not np.isin(values, (0.0, 1.0)).all():
            return Decisions(names, values, are_probabilities)
    return decisions_of(estimator, X)


def class_names(estimator: Any) -> tuple[str, ...]:
    """Names of the classes that a classifier knows."""
    return tuple(text_of(value) for value in estimator.classes_.tolist())


def class_codes(classes: Any, names: tuple[str, ...]) -> IntArray:
    """Places of classes among the names; -1 for rows that got none."""
    place = {name: code for code, name in enumerate(names)}
    values, where = distinct(classes)
    codes = [-1 if is_unknown(value) else place.get(text_of(value), -1) for value in values]
    return np.array(codes, dtype=np.int64)[where]


def distinct(classes: Any) -> tuple[list[Any], IntArray]:
    """Different values of an array of any type, and the place of every row among them."""
    values: dict[Any, int] = {}
    given: Array = np.asarray(classes)
    where = [values.setdefault(value, len(values)) for value in given.tolist()]
    return list(values), np.array(where, dtype=np.int64)
