"""Kernels between rows: linear, Gaussian, given as a matrix, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import Tags

from sidelight._fit.moments import point_among
from sidelight._fit.parameters import FinitePositive
from sidelight._typing import Array
from sidelight.base import Classifier
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError

#: Parameters ``kernel`` and ``gamma`` of the classifiers that have one.
KernelName: TypeAlias = Literal["linear", "rbf", "precomputed"] | Callable[..., Any]
Gamma: TypeAlias = FinitePositive | Literal["scale"]

#: Entries of the docstrings of these parameters.
KERNEL_PARAMETERS = {
    "kernel": 'Kernel between rows: ``x\'z``; ``exp(-gamma ‖x - z‖²)``; "precomputed", where '
    "``fit`` takes the matrix of shape (n_samples, n_samples) and ``predict`` one of shape "
    "(n_new, n_samples); or a function of two blocks of rows that returns their matrix.",
    "gamma": 'Width of the Gaussian kernel; "scale" is ``1 / (n_features Var[X])``.',
}


@dataclass(frozen=True)
class Kernel:
    """A kernel with its width.

    Attributes
    ----------
    name : {"linear", "rbf", "precomputed"} or callable
        Which one.
    gamma : float
        Width of the Gaussian kernel.
    origin : ndarray of shape (n_features,) or None
        Point among the rows of the fit, from which the Gaussian kernel of dense rows is computed:
        squared lengths of rows that are far from 0 would hide the distances between them.
    """

    name: Any
    gamma: float = 1.0
    origin: Array | None = None

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel between the rows of X and those of Z, float64, shape (len(X), len(Z))."""
        if self.name == "linear":
            product = X @ Z.T
            dense = product.toarray() if sparse.issparse(product) else product
            return np.asarray(dense, dtype=np.float64)
        if self.name == "rbf":
            return np.asarray(rbf_kernel(self._moved(X), self._moved(Z), gamma=self.gamma))
        values = np.asarray(self.name(X, Z), dtype=np.float64)
        shape = (X.shape[0], Z.shape[0])
        if values.shape != shape or not np.all(np.isfinite(values)):
            raise SidelightError(
                f"The kernel function must return finite numbers of shape {shape}, one per pair "
                f"of rows; it returned shape {values.shape}."
            )
        return values

    def _moved(self, rows: Any) -> Any:
        """Rows in float64, relative to the origin."""
        if self.origin is None or sparse.issparse(rows):
            return rows.astype(np.float64, copy=False)
        return rows - self.origin

    @property
    def is_precomputed(self) -> bool:
        """Whether rows are given as their kernel with the rows of the fit."""
        return isinstance(self.name, str) and self.name == "precomputed"


class KernelClassifier(Classifier):
    """A classifier with the parameters ``kernel`` and ``gamma``.

    It has ``coef_`` for a linear kernel, ``support_`` and ``dual_coef_`` for others.
    """

    _common_parameters: ClassVar[Mapping[str, str]] = KERNEL_PARAMETERS

    kernel: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _forget_coefficients(self) -> None:
        """Delete the coefficients of another fit, which may have had another kernel."""
        for name in ("coef_", "dual_coef_", "support_"):
            if hasattr(self, name):
                delattr(self, name)


def make_kernel(name: Any, gamma: Any, rows: Any) -> Kernel:
    """Make the kernel that the parameters ask for, its width fitted to the rows."""
    if name != "rbf":
        return Kernel(name)
    if sparse.issparse(rows):
        variance = float(rows.multiply(rows).mean()) - float(rows.mean()) ** 2
        origin = None
    else:
        variance = float(np.var(rows, dtype=np.float64))
        origin = point_among(as_rows(rows))
    if gamma != "scale":
        return Kernel(name, float(gamma), origin)
    return Kernel(name, 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0, origin)


def check_precomputed(rows: Array) -> Array:
    """Check a kernel matrix that was given for the rows of a fit: square and symmetric."""
    if rows.shape[0] != rows.shape[1]:
        raise SidelightError(
            "A precomputed kernel is a square matrix with a row and a column for every row of the "
            f"data, got shape {rows.shape}."
        )
    largest = float(np.abs(rows).max(initial=0.0))
    where = np.argwhere(np.abs(rows - rows.T) > 1e-6 * max(largest, 1e-300))
    if len(where):
        i, j = where[0]
        raise SidelightError(
            f"A precomputed kernel is symmetric, but row {i}, column {j} holds {rows[i, j]:g} and "
            f"row {j}, column {i} holds {rows[j, i]:g}."
        )
    return (rows + rows.T) / 2
