"""Kernel PCA (Law 2006, section 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_coordinates
from sidelight._fit.parameters import Auto, Count, FinitePositive, estimator
from sidelight._typing import Array
from sidelight.base import Embedding
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.graphs.inner import ASYMMETRY
from sidelight.manifold._rows import check_several
from sidelight.manifold.spectral._frame import (
    centered_frame,
    check_pairs_fit,
    warn_of_missing_dimensions,
)
from sidelight.tags import own_tags


@estimator
class KernelPCA(Embedding):
    r"""Principal components of the rows in the feature space of a kernel.

    .. math:: \tilde K = H K H, \quad \tilde K v_c = \lambda_c v_c, \quad
              z_c(y) = \lambda_c^{-1/2} \, v_c^T \tilde k_y

    with ``k̃_y`` the centered similarities of a row ``y`` to the rows of the fit (Law 2006, section
    2.5). The linear kernel gives PCA. Read more in the :doc:`user guide </manifold/spectral>`.

    Parameters
    ----------
    n_components : int >= 1, default=2
        Number of coordinates; there may be more than features.
    kernel : {"linear", "polynomial", "rbf", "cosine", "precomputed"} or callable, default="rbf"
        ``x·y``; ``(γ x·y + 1)^degree``; ``exp(-γ |x - y|²)``; the cosine; a matrix of similarities
        between all rows (``transform`` takes those of new rows to the rows of the fit); or a
        function of two rows.
    gamma : float > 0, finite or "auto", default="auto"
        ``γ``; "auto" is one over the number of features.
    degree : int >= 1, default=2
        Degree of the polynomial.
    alpha : float > 0, finite, default=1.0
        Ridge penalty of ``inverse_transform``.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of ``K̃``; 0, with a warning, where it has fewer above 0. That of the
        covariance in the feature space is one n-th of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import KernelPCA
    >>> t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> rings = np.vstack([np.column_stack([np.cos(t), np.sin(t)]) * r for r in (1, 3)])
    >>> Z = KernelPCA(3, kernel="polynomial", gamma=1.0).fit_transform(rings)
    >>> radius = np.repeat([1.0, 3.0], 40)
    >>> float(max(abs(np.corrcoef(z, radius)[0, 1]) for z in Z.T).round(6))
    1.0
    """

    n_components: Count = 2
    _: KW_ONLY
    kernel: Literal["linear", "polynomial", "rbf", "cosine", "precomputed"] | Callable[..., Any] = (
        "rbf"
    )
    gamma: FinitePositive | Auto = "auto"
    degree: Count = 2
    alpha: FinitePositive = 1.0

    _own_tags = own_tags(
        summary="principal components in the feature space of a kernel",
        source="Schölkopf, Smola, Müller 1998; Law 2006, section 2.5",
        complexity="O(n² (D + d)) time, O(n²) memory",
        sparse=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _learn(self, rows: Any, known: Constraints) -> None:
        n = rows.shape[0]
        check_several(n)
        check_pairs_fit(n, type(self).__name__, "Take fewer rows; transform places the others.")
        self._rows = None if self._is_precomputed else rows.copy()
        self._gamma = 1.0 / rows.shape[1] if self.gamma == "auto" else float(self.gamma)
        matrix = self._similarities(rows)
        if self._is_precomputed:
            _check_symmetric(matrix)
        self._frame = centered_frame(matrix, self.n_components)
        warn_of_missing_dimensions(self._frame.values, self.n_components)
        self.eigenvalues_ = self._frame.values
        self.embedding_ = self._frame.coordinates.astype(rows.dtype)

    def _transform(self, rows: Any) -> Array:
        return self._frame.extend(self._similarities(rows)).astype(rows.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Array:
        """Rows whose places on the map are near given ones: kernel ridge regression on the map.

        Parameters
        ----------
        Z : array of shape (n, n_components)
            Coordinates.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            Rows ``k(Z, Z_fit) (k(Z_fit, Z_fit) + α I)⁻¹ X_fit``, with the kernel on coordinates.
        """
        check_is_fitted(self)
        if self._rows is None:
            raise SidelightError("Rows cannot be recovered from a precomputed kernel.")
        mapped = self.embedding_.astype(np.float64)
        places = check_coordinates(Z, mapped.shape[1])
        rows = self._rows.toarray() if sparse.issparse(self._rows) else self._rows
        with one_thread_blas:
            matrix = self._compare(mapped, mapped)
            matrix[np.diag_indices_from(matrix)] += self.alpha
            weights = _solve_positive(matrix, rows.astype(np.float64))
            found = self._compare(places.astype(np.float64), mapped) @ weights
        return np.asarray(found.astype(self.embedding_.dtype))

    def _similarities(self, rows: Any) -> Array:
        """Similarities of rows to those of the fit."""
        if self._rows is None:
            dense = rows.toarray() if sparse.issparse(rows) else rows
            return np.asarray(dense, dtype=np.float64)
        with one_thread_blas:
            matrix = self._compare(rows.astype(np.float64), self._rows.astype(np.float64))
        if not np.isfinite(matrix).all():
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise SidelightError(
                f"The kernel between rows {i} and {j} is {matrix[i, j]}; divide all rows by a "
                "power of ten, or choose another kernel."
            )
        return matrix

    def _compare(self, rows: Any, others: Any) -> Array:
        if callable(self.kernel):
            return np.asarray(pairwise_kernels(rows, others, metric=self.kernel), dtype=np.float64)
        options: dict[str, Any] = {"gamma": self._gamma} if self.kernel == "rbf" else {}
        if self.kernel == "polynomial":
            options = {"gamma": self._gamma, "degree": int(self.degree), "coef0": 1.0}
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = pairwise_kernels(rows, others, metric=self.kernel, **options)
        return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _solve_positive(matrix: Array, right: Array) -> Array:
    """Solve with a positive definite matrix, or one that is so but for rounding."""
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(matrix), right))
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(matrix)
        least = values[-1] * len(values) * np.finfo(np.float64).eps
        inverse = 1.0 / np.maximum(values, least)
        return np.asarray(vectors @ (inverse[:, None] * (vectors.T @ right)))


def _check_symmetric(matrix: Array) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise SidelightError(
            "A precomputed kernel is a square matrix, a row and a column for every row of the "
            f"data; got {matrix.shape[0]} x {matrix.shape[1]}."
        )
    skew = np.abs(matrix - matrix.T)
    if skew.max() > ASYMMETRY * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
        raise SidelightError(
            f"The kernel between rows {i} and {j} is {matrix[i, j]:.6g} one way and "
            f"{matrix[j, i]:.6g} the other; it has to be the same."
        )
