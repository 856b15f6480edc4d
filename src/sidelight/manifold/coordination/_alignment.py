"""Charts glued into one map by an eigenproblem of their number, whatever the number of rows.

Coordinates ``G = U L`` with mean 0 and covariance I minimize a quadratic form: that of the
reconstruction weights (locally linear coordination), or the disagreement of the charts (charting).
The constant function is in the span of ``U``, since responsibilities sum to 1, and has no cost in
either; it is taken out by centering ``U``, so that no eigenvector has to be separated from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import SidelightError

#: Directions whose squared length falls below this share of the largest are no directions.
RANK_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Alignment:
    """Solution of an alignment.

    Attributes
    ----------
    coefficients : ndarray of shape (K (h + 1), d)
        ``L``: global coordinates are ``u(x) L``.
    eigenvalues : ndarray of shape (d,)
        Cost of every coordinate of variance 1, per row.
    """

    coefficients: Array
    eigenvalues: Array


def align_by_reconstruction(
    design: Array, weights: sparse.csr_array, n_components: int, constant: Array
) -> Alignment:
    """Minimize ``‖(I - W) U L‖²``: locally linear coordination (Law 2006, section 2.9.3).

    Parameters
    ----------
    design : ndarray of shape (n, K (h + 1))
        ``U``; changed in place.
    weights : csr_array of shape (n, n)
        Reconstruction weights ``W``, rows that sum to 1.
    n_components : int
        Number of coordinates.
    constant : ndarray of bool, shape (K (h + 1),)
        Entries of ``u`` that are responsibilities.
    """
    n = len(design)
    with one_thread_blas:
        mean = design.mean(axis=0)
        design -= mean
        basis = range_basis(design.T @ design, n_components)
        functions = design @ basis
        errors = functions - weights @ functions
        # The basis is orthonormal but for rounding, which the right-hand side corrects.
        values, vectors = linalg.eigh(
            errors.T @ errors,
            functions.T @ functions,
            subset_by_index=(0, n_components - 1),
        )
        coefficients = basis @ vectors * np.sqrt(n)
    return Alignment(_centered(coefficients, mean, constant), np.maximum(values, 0.0))


@dataclass(frozen=True)
class Agreement:
    """Sums over the rows that charting needs.

    Attributes
    ----------
    n : int
        Number of rows.
    mean : ndarray of shape (m,)
        Mean of ``u``.
    gram : ndarray of shape (m, m)
        ``U'U``.
    moments : ndarray of shape (m, m)
        ``D``, and the penalty of links where there is one.
    """

    n: int
    mean: Array
    gram: Array
    moments: Array


def align_by_agreement(sums: Agreement, n_components: int, constant: Array) -> Alignment:
    """Minimize ``tr L'(D - U'U)L``: charting (Law 2006, section 2.9.2; Verbeek 2004, 5.2.4).

    The eigenproblem ``U'U v = θ D v`` has the largest ``θ = 1/(1 + λ)`` where
    ``(D - U'U) v = λ U'U v`` has the smallest ``λ``, and its right-hand side is easily inverted.

    Parameters
    ----------
    sums : Agreement
        Sums over the rows.
    n_components : int
        Number of coordinates.
    constant : ndarray of bool, shape (m,)
        Entries of ``u`` that are responsibilities.
    """
    n = sums.n
    with one_thread_blas:
        flat = n * np.outer(sums.mean, sums.mean)
        basis = range_basis(sums.moments - flat, n_components)
        projected = basis.T @ (sums.gram - flat) @ basis
        first = max(len(projected) - n_components, 0)
        values, vectors = linalg.eigh(
            (projected + projected.T) / 2, subset_by_index=(first, len(projected) - 1)
        )
        values, vectors = np.clip(values[::-1], 1e-300, 1.0), vectors[:, ::-1]
        coefficients = basis @ vectors * np.sqrt(n / values)
    return Alignment(_centered(coefficients, sums.mean, constant), (1.0 - values) / values)


def range_basis(gram: Array, n_components: int) -> Array:
    """Columns ``T`` with ``T' gram T = I`` that span the range of a matrix of inner products.

    Charts without rows, and local coordinates that hardly vary, make it singular.
    """
    lengths = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    largest = lengths.max(initial=0.0)
    used = np.flatnonzero(lengths > 1e-150 + 1e-12 * largest)
    scale = 1.0 / lengths[used]
    values, vectors = np.linalg.eigh(gram[np.ix_(used, used)] * scale[:, None] * scale)
    kept = values > RANK_TOLERANCE * values.max(initial=0.0)
    if int(kept.sum()) < n_components:
        raise SidelightError(
            f"The charts span {counted(int(kept.sum()), 'dimension')} only; use more charts or a "
            f"smaller {setting('n_components')}."
        )
    basis = np.zeros((len(gram), int(kept.sum())))
    basis[used] = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    return basis


def constant_slots(n_charts: int, size: int) -> Array:
    """Entries of ``u`` that are responsibilities, as a mask."""
    slots = np.zeros((n_charts, size), dtype=bool)
    slots[:, 0] = True
    return slots.ravel()


def _centered(coefficients: Array, mean: Array, constant: Array) -> Array:
    """Move the origin to the mean of the coordinates, and make the largest entries positive."""
    largest = np.argmax(np.abs(coefficients), axis=0)
    signs = np.sign(coefficients[largest, np.arange(coefficients.shape[1])])
    turned = coefficients * np.where(signs < 0, -1.0, 1.0)
    turned[constant] -= mean @ turned  # responsibilities sum to 1
    return turned
