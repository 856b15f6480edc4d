"""Models of the features of a row given its cluster: counts, Gaussians with one variance.

All are Bregman divergences: the cost of a row ``t`` in a cluster of mean ``μ`` is, up to a constant
of the row, ``b(μ) - t·w(μ)``, and clusters of masses ``M`` at their own means cost ``-Σ M φ(μ)``:

==========  ===============  ===========  ========================
features    φ(μ)             w(μ)         b(μ)
==========  ===============  ===========  ========================
gaussian    ``Σ μ²``         ``2 μ``      ``Σ μ²``
counts      ``Σ μ log μ-μ``  ``log μ``    ``Σ μ``
==========  ===============  ===========  ========================

Rows of counts that sum to 1 make the second one the multinomial: the cost is the cross entropy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from sidelight._typing import Array, FloatArray
from sidelight._words import setting, worded
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError

Features: TypeAlias = Literal["gaussian", "multinomial", "poisson"]
ItemWeight: TypeAlias = Literal["uniform", "length"]

#: A count that a cluster never had is possible with this share of its overall mean.
FLOOR = 1e-12

#: Below the floor of any feature that occurs.
NEVER = 1e-300


@dataclass(frozen=True)
class Gaussian:
    """Squared distances to the mean."""

    counts = False

    def generator(self, means: FloatArray) -> FloatArray:
        """``φ``, summed over the features in the first axis but one."""
        value: FloatArray = np.sum(means * means, axis=-2)
        return value

    def natural(self, means: FloatArray) -> FloatArray:
        """``w``: factors of the features of a row."""
        return 2.0 * means

    def offset(self, means: FloatArray) -> FloatArray:
        """``b``, summed over the features."""
        return self.generator(means)


@dataclass(frozen=True)
class CountEntropy:
    """Cross entropy of counts, ``Σ_f μ_f - t_f log μ_f``.

    Attributes
    ----------
    floor : ndarray of shape (n_features, 1)
        Smallest means.
    """

    floor: FloatArray
    counts = True

    def generator(self, means: FloatArray) -> FloatArray:
        """``φ``, summed over the features in the first axis but one."""
        value: FloatArray = np.sum(xlogy(means, means) - means, axis=-2)
        return value

    def natural(self, means: FloatArray) -> FloatArray:
        """``w``: factors of the features of a row."""
        return np.log(np.maximum(means, self.floor))

    def offset(self, means: FloatArray) -> FloatArray:
        """``b``, summed over the features."""
        value: FloatArray = np.sum(means, axis=-2)
        return value


Family: TypeAlias = Gaussian | CountEntropy


@dataclass(frozen=True)
class Items:
    """Rows as the models take them.

    Attributes
    ----------
    rows : ndarray or CSR matrix of float64, shape (n_samples, n_features)
        Centered rows, rows that sum to 1, or counts.
    masses : ndarray of shape (n_samples,)
        ``p(x)``; they sum to 1.
    family : Gaussian or CountEntropy
        Cost of a row in a cluster.
    center : ndarray of shape (n_features,)
        What was subtracted from the rows.
    """

    rows: Any
    masses: FloatArray
    family: Family
    center: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.masses)


def prepare_items(
    rows: Any, features: Features, item_weight: ItemWeight, known: Constraints
) -> Items:
    """Bring the rows of a fit to the form of their model, in float64."""
    n = rows.shape[0]
    if features == "gaussian":
        _check_lengths(features, item_weight)
        center = np.zeros(rows.shape[1])
        values = rows.astype(np.float64)
        if not sparse.issparse(rows):  # sparse ones have most of their values at 0 already
            center = np.mean(values, axis=0)
            values -= center
        return Items(values, np.full(n, 1.0 / n), Gaussian(), center)
    check_counts(rows, features, known)
    lengths = row_sums(rows)
    masses = np.full(n, 1.0 / n)
    if features == "multinomial":
        values = shares_of_rows(rows, lengths, known)
        if item_weight == "length":
            masses = lengths / lengths.sum()
    else:
        _check_lengths(features, item_weight)
        values = rows.astype(np.float64)
    overall = np.asarray(values.T @ masses)
    family = CountEntropy(np.maximum(FLOOR * overall, NEVER)[:, None])
    return Items(values, masses, family, np.zeros(rows.shape[1]))


def _check_lengths(features: str, item_weight: str) -> None:
    if item_weight == "length":
        raise SidelightError(
            f"{setting('item_weight', 'length')} weighs rows of counts by their sums, and "
            f"{setting('features', features)} compares rows as they are; leave item_weight at "
            "'uniform' or take features='multinomial'."
        )


def row_sums(rows: Any) -> FloatArray:
    """Sum of every row."""
    return np.asarray(rows.sum(axis=1, dtype=np.float64), dtype=np.float64).reshape(-1)


def shares_of_rows(rows: Any, lengths: FloatArray, known: Constraints | None) -> Any:
    """Divide rows of counts by their sums, and refuse rows of zeros by name."""
    empty = np.flatnonzero(lengths <= 0)
    if len(empty):
        name = _named(empty[0], known)
        more = f", and {len(empty) - 1:,} more rows are empty" if len(empty) > 1 else ""
        raise SidelightError(
            f"{name[0].upper()}{name[1:]} holds zeros only{more}: a row without counts has no "
            f"distribution. Leave such rows out, or take {setting('features', 'poisson')}, for "
            "which zeros are counts."
        )
    values = rows.astype(np.float64)
    if sparse.issparse(values):
        values.data /= np.repeat(lengths, np.diff(values.indptr))
        return values
    values /= lengths[:, None]
    return values


def check_counts(rows: Any, features: str, known: Constraints | None) -> None:
    """Raise if there are negative numbers, with the place of the first one."""
    values: Array = rows.data if sparse.issparse(rows) else rows
    if not values.size or values.min() >= 0:
        return
    if sparse.issparse(rows):
        entry = int(np.flatnonzero(values < 0)[0])
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        value = values[entry]
    else:
        row, column = (int(found[0]) for found in np.nonzero(values < 0))
        value = values[row, column]
    raise SidelightError(
        f"Negative values in data passed to {setting('features', features)}: "
        f"{_named(row, known)} holds {value:g}, and counts are not negative. "
        f"Take {setting('features', 'gaussian')} for measurements"
        + worded(".", "; counts come with --raw, which scales no column.")
    )


def _named(row: int, known: Constraints | None) -> str:
    return f"row {row}" if known is None else known.name_rows(np.array([row]))[0]
