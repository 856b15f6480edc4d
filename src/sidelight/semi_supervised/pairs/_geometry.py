"""The points of a fit in the space of the kernel, and the classifier as an expansion in it.

Kernels are divided by the mean ``κ`` of ``K(x, x)`` over all rows, and ``λ`` with them: the same
problem, in numbers that have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import FloatArray, IntArray
from sidelight._words import setting
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised._core._kernel import Kernel
from sidelight.semi_supervised.pairs._space import (
    MAX_DENSE,
    FeatureSpace,
    KernelSpace,
    Space,
    not_semidefinite,
)
from sidelight.semi_supervised.pairs._terms import Terms

#: Rows that may be named where the kernel between all of them is needed: 8 bytes per pair.
MAX_NAMED = 10_000

#: Kernel values of new rows that are held at a time.
VALUES_AT_A_TIME = 4_000_000

#: Sparse features of the points are made dense up to this many values.
MAX_VALUES = 20_000_000

#: Directions of landmarks with less than this share of the largest eigenvalue are left out.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Expansion:
    """Decision values as sums of kernels with some rows, or as linear functions.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    weights : ndarray of shape (n_machines, n_support) or (n_machines, n_features)
        Weights of the kernels, or of the features of a linear kernel.
    support : ndarray of int64 or None
        Rows of the fit whose kernels are added up; None for a linear function.
    rows : array or CSR matrix or None
        These rows; None where the kernel is precomputed or linear.
    """

    kernel: Kernel
    weights: FloatArray
    support: IntArray | None = None
    rows: Any = None

    def values(self, rows: Any) -> FloatArray:
        """Values of all machines, shape (n_rows, n_machines)."""
        if self.support is None:
            return np.asarray(wide(rows) @ self.weights.T, dtype=np.float64)
        values = np.empty((rows.shape[0], len(self.weights)))
        size = max(1, VALUES_AT_A_TIME // max(1, len(self.support)))
        for start in range(0, len(values), size):
            block = rows[start : start + size]
            values[start : start + size] = self._kernels(block) @ self.weights.T
        return values

    def _kernels(self, block: Any) -> FloatArray:
        if self.kernel.is_precomputed:
            return np.asarray(block[:, self.support], dtype=np.float64)
        return self.kernel(block, self.rows)


class Geometry:
    """Kernel between the points, or their features where these are explicit.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows : array or CSR matrix of shape (n_samples, n_features)
        All rows.
    terms : Terms
        Terms of the loss at these points.
    landmarks : ndarray of int64 or None
        Rows whose kernels make the features of Nyström's method; None for the kernel itself.
    """

    def __init__(
        self, kernel: Kernel, rows: Any, terms: Terms, landmarks: IntArray | None = None
    ) -> None:
        self.kernel, self._rows, self.terms = kernel, rows, terms
        self.scale = mean_square(kernel, rows)
        self.gram: FloatArray | None = None
        self.features: Any = None
        self._landmarks = landmarks
        if is_linear(kernel):
            points = self._average(wide(rows[terms.support])) / np.sqrt(self.scale)
            self.features = _dense_if_small(points)
        elif landmarks is not None:
            self._set_landmark_features(landmarks)
        else:
            self._check_size(len(terms.support))
            mixed = self._average(self._kernel(terms.support, terms.support))
            gram = np.ascontiguousarray(self._average(mixed.T).T)
            self.gram = gram if self.scale == 1 else gram / self.scale
            if np.diag(self.gram).min() < 0:
                raise not_semidefinite()
        if self.features is not None and terms.n_points <= min(self.features.shape[1], MAX_DENSE):
            product = self.features @ self.features.T
            self.gram = product.toarray() if sparse.issparse(product) else product

    @property
    def size(self) -> int:
        """Number of rows of the matrices that are factored at every step."""
        return len(self.gram) if self.gram is not None else int(self.features.shape[1])

    def _kernel(self, one: IntArray, other: IntArray) -> FloatArray:
        if self.kernel.is_precomputed:
            return np.asarray(self._rows[np.ix_(one, other)], dtype=np.float64)
        return self.kernel(self._rows[one], self._rows[other])

    def _average(self, values: Any) -> Any:
        """Values of the points from those of the named rows."""
        averages = self.terms.averages
        return values if averages.shape[0] == averages.shape[1] else averages @ values

    def _set_landmark_features(self, landmarks: IntArray) -> None:
        """Features ``K(x, Z) V S^-½`` with ``K(Z, Z) = V S V'``, whose products are near ``K``."""
        values, vectors = np.linalg.eigh(self._kernel(landmarks, landmarks) / self.scale)
        kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
        self._whitening = vectors[:, kept] / np.sqrt(values[kept])
        size = max(1, VALUES_AT_A_TIME // len(landmarks))
        named = self.terms.support
        blocks = [
            self._kernel(named[start : start + size], landmarks) @ self._whitening
            for start in range(0, len(named), size)
        ]
        self.features = self._average(np.concatenate(blocks) / self.scale)

    def convex_space(self, n_terms: int) -> tuple[Space, sparse.csr_array | None]:
        """Functions with the first terms of the design, and the way from coefficients to points.

        The kernel is taken between terms where these are fewer than the points, which makes the
        smaller system, and a symmetric one.
        """
        design = self.terms.design[:n_terms]
        if self.gram is None:
            return FeatureSpace(self.features, design), None
        if n_terms <= self.terms.n_points:
            between = design @ np.ascontiguousarray((design @ self.gram).T)
            return KernelSpace((between + between.T) / 2), design
        return KernelSpace(self.gram, design), None

    def point_space(self) -> Space:
        """Functions whose terms are the points."""
        if self.gram is None:
            return FeatureSpace(self.features)
        return KernelSpace(self.gram)

    def expansion(self, coefs: FloatArray) -> Expansion:
        """The classifier, from coefficients of the points or of explicit features per machine."""
        if self.features is not None:
            if self.gram is not None:
                coefs = np.asarray((self.features.T @ coefs.T).T)
            if is_linear(self.kernel):
                return Expansion(self.kernel, coefs / np.sqrt(self.scale))
            assert self._landmarks is not None
            support, weights = self._landmarks, coefs @ self._whitening.T / self.scale
        else:
            support = self.terms.support
            weights = np.asarray((self.terms.averages.T @ coefs.T).T) / self.scale
        rows = None if self.kernel.is_precomputed else wide(self._rows[support])
        return Expansion(self.kernel, weights, support, rows)

    def _check_size(self, n_named: int) -> None:
        if n_named > MAX_NAMED:
            raise SidelightError(
                f"Labels, pairs and groups name {n_named:,} rows, and the kernel between all of "
                f"them would take {8e-9 * n_named**2:.1f} GB; up to {MAX_NAMED:,} are allowed. "
                f"Use {setting('n_components', 500)}, which computes with 500 landmarks, or the "
                "linear kernel."
            )


def _dense_if_small(points: Any) -> Any:
    """Sparse features as a dense matrix where that is small, and faster to compute with."""
    small = points.shape[0] * points.shape[1] <= MAX_VALUES
    return points.toarray() if small and sparse.issparse(points) else points


def is_linear(kernel: Kernel) -> bool:
    """Whether the rows are their own features."""
    return isinstance(kernel.name, str) and kernel.name == "linear"


def mean_square(kernel: Kernel, rows: Any) -> float:
    """Mean of ``K(x, x)`` over the rows; 1 where it is 0."""
    if isinstance(kernel.name, str):
        if kernel.name == "rbf":
            return 1.0
        if kernel.is_precomputed:
            mean = float(np.mean(np.diag(rows), dtype=np.float64))
        else:
            values = wide(rows.data if sparse.issparse(rows) else rows).ravel()
            mean = float(values @ values) / rows.shape[0]
    else:
        starts = range(0, rows.shape[0], 64)
        blocks = (rows[start : start + 64] for start in starts)
        mean = float(np.mean(np.concatenate([np.diag(kernel(b, b)) for b in blocks])))
    return mean if mean > 0 else 1.0


def wide(rows: Any) -> Any:
    """Rows in float64."""
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)
