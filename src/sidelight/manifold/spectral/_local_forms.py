"""Quadratic forms of neighborhoods: what a map costs by how each of them lies on it.

Every neighborhood ``i`` of ``k`` rows adds ``tr(Z_iᵀ F_i Z_i)``, with ``Z_i`` the places of its
rows and a positive semidefinite ``F_i`` that takes constants to 0: how far ``Z_i`` is from a turned
and sheared image of the neighborhood (Zhang and Zha 2005: tangent spaces), how far its coordinates
are from linear functions on it (Donoho and Grimes 2003: Hessians), or the errors of several weights
at once that rebuild the row (Zhang and Wang 2007: modified locally linear embedding).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.exceptions import SidelightError
from sidelight.manifold._reconstruction import BLOCK_NUMBERS, weights_of_lists

Method = Literal["standard", "modified", "hessian", "ltsa"]

#: Vectors shorter than this are 0: their Householder reflection is none.
NO_LENGTH = 1e-12


def least_neighbors(method: Method, n_components: int) -> int:
    """Neighbors of a row that a form needs, so that it is not 0 on every map."""
    if method == "hessian":
        return 1 + n_components * (n_components + 3) // 2
    return {"standard": 1, "modified": n_components + 1, "ltsa": n_components + 2}[method]


def check_form(method: Method, n_neighbors: int, n_components: int, n_features: int) -> None:
    """Raise where neighborhoods have too few rows or columns for a form."""
    least = least_neighbors(method, n_components)
    if n_neighbors < least:
        raise SidelightError(
            f"{setting('method', method)} needs {counted(least, 'neighbor')} of a row for a map of "
            f"{counted(n_components, 'coordinate')}, and there are {n_neighbors}; raise "
            f"{setting('n_neighbors')}, or give more rows."
        )
    if method != "standard" and n_features < n_components:
        raise SidelightError(
            f"{setting('method', method)} finds the directions of a map of "
            f"{counted(n_components, 'coordinate')} in those of the rows, which have "
            f"{counted(n_features, 'column')} only; lower {setting('n_components')}."
        )


def local_forms(
    rows: Array, lists: sparse.csr_array, method: Method, n_components: int, reg: float
) -> sparse.csr_array:
    """Sum of the forms of all neighborhoods.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features), float64
        The rows.
    lists : csr_array of shape (n, n)
        Neighbors of every row: its stored entries. Rows that have too few of them for the form, as
        cannot-links may leave them, add the error of their weights as "standard" does.
    method : {"modified", "hessian", "ltsa"}
        Which forms.
    n_components : int
        Dimension of the map.
    reg : float
        Regularization of weights, as a share of the trace of a Gram matrix.

    Returns
    -------
    form : csr_array of shape (n, n)
        Symmetric, positive semidefinite, 0 on constants.
    """
    n = len(rows)
    counts = np.diff(lists.indptr)
    total = sparse.csr_array((n, n))
    enough = counts >= least_neighbors(method, n_components)
    widths = _median_width(rows, lists, enough, n_components) if method == "modified" else 0.0
    for own, near in _blocks(lists, enough, rows.shape[1]):
        if method == "modified":
            members = np.column_stack([own, near])
            forms = _modified_forms(rows, own, near, n_components, reg, widths)
        else:
            members = near
            make = _hessian_forms if method == "hessian" else _tangent_forms
            forms = make(
                _axes_of(rows[near] - rows[near].mean(axis=1, keepdims=True)), n_components
            )
        ends = np.broadcast_to(members[:, :, None], forms.shape)
        others = np.broadcast_to(members[:, None, :], forms.shape)
        places = ends.ravel(), others.ravel()
        total = total + sparse.csr_array((forms.ravel(), places), shape=(n, n))
    short = np.flatnonzero(~enough & (counts > 0))
    if len(short):
        weights = weights_of_lists(rows, lists, reg)
        apart = sparse.csr_array(sparse.eye_array(n) - weights)[short]
        total = total + apart.T @ apart
    return sparse.csr_array((total + total.T) / 2)


def _blocks(
    lists: sparse.csr_array, chosen: Array, n_features: int
) -> Iterator[tuple[Array, Array]]:
    """Blocks of rows with as many neighbors each, and these neighbors."""
    counts = np.diff(lists.indptr)
    for count in np.unique(counts[chosen]).tolist():
        alike = np.flatnonzero(chosen & (counts == count))
        step = max(BLOCK_NUMBERS // (count * (count + n_features)), 1)
        for first in range(0, len(alike), step):
            own = alike[first : first + step]
            yield own, lists.indices[lists.indptr[own][:, None] + np.arange(count)].astype(np.int64)


def _axes_of(offsets: Array) -> Array:
    """Left singular vectors of matrices of shape (n, k, D), all ``k`` of them, in columns."""
    return _decomposed(offsets)[0]


def _decomposed(offsets: Array) -> tuple[Array, Array]:
    """Left singular vectors, and the squared singular values, descending."""
    k, width = offsets.shape[1:]
    if k > width:
        vectors, singular, _ = np.linalg.svd(offsets, full_matrices=True)
        return vectors, np.pad(singular**2, ((0, 0), (0, k - width)))
    values, vectors = np.linalg.eigh(offsets @ np.swapaxes(offsets, 1, 2))
    return vectors[:, :, ::-1], np.maximum(values[:, ::-1], 0.0)


def _tangent_forms(axes: Array, d: int) -> Array:
    """``I - G Gᵀ``, with ``G`` the constant and the ``d`` principal directions."""
    n, k, _ = axes.shape
    basis = np.concatenate([np.full((n, k, 1), k**-0.5), axes[:, :, :d]], axis=2)
    return np.asarray(np.eye(k) - basis @ np.swapaxes(basis, 1, 2))


def _hessian_forms(axes: Array, d: int) -> Array:
    """``H Hᵀ``, with ``H`` what is left of products of directions beside linear functions."""
    n, k, _ = axes.shape
    tangent = axes[:, :, :d]
    first, second = np.triu_indices(d)
    products = tangent[:, :, first] * tangent[:, :, second]
    functions = np.concatenate([np.ones((n, k, 1)), tangent, products], axis=2)
    left = np.linalg.qr(functions)[0][:, :, d + 1 :]
    return np.asarray(left @ np.swapaxes(left, 1, 2))


def _median_width(rows: Array, lists: sparse.csr_array, chosen: Array, d: int) -> float:
    """Median over the neighborhoods of the variance off ``d`` directions over that along them."""
    found = [np.empty(0)]
    for own, near in _blocks(lists, chosen, rows.shape[1]):
        values = _decomposed(rows[near] - rows[own][:, None])[1]
        along = values[:, :d].sum(axis=1)
        found.append(values[:, d:].sum(axis=1) / np.where(along > 0, along, 1.0))
    shares = np.concatenate(found)
    return float(np.median(shares)) if len(shares) else 0.0


def _modified_forms(
    rows: Array, own: Array, near: Array, d: int, reg: float, width: float
) -> Array:
    """Errors of all weights that rebuild a row nearly as well, the row itself first.

    Each row has ``s`` weights: those of the regularized problem plus each vector of an orthonormal
    basis of the directions in which the neighborhood has hardly any variance, turned by a
    reflection so that all sum to 1.
    """
    n, k = near.shape
    vectors, values = _decomposed(rows[near] - rows[own][:, None])
    trace = values.sum(axis=1)
    added = reg * np.where(trace > 0, trace, 1.0)
    parts = vectors.sum(axis=1) / (values + added[:, None])
    plain = np.einsum("nij,nj->ni", vectors, parts)
    plain /= plain.sum(axis=1, keepdims=True)
    # The largest number of last directions whose variance is a smaller share than usual.
    behind = np.cumsum(values[:, ::-1], axis=1)[:, : k - 1]  # of the last 1, 2, ... directions
    before = trace[:, None] - behind
    narrow = behind < width * before
    number = np.clip(narrow.sum(axis=1), max(k - rows.shape[1], 1), k - d)
    forms = np.zeros((n, k + 1, k + 1))
    for s in np.unique(number).tolist():
        those = np.flatnonzero(number == s)
        basis = vectors[those][:, :, k - s :]
        sums = basis.sum(axis=1)
        lengths = np.linalg.norm(sums, axis=1) / np.sqrt(s)
        mirror = lengths[:, None] - sums
        norm = np.linalg.norm(mirror, axis=1, keepdims=True)
        mirror = np.where(norm > NO_LENGTH, mirror / np.maximum(norm, NO_LENGTH), 0.0)
        along = np.einsum("nks,ns->nk", basis, mirror)
        weights = basis - 2 * along[:, :, None] * mirror[:, None, :]
        weights += ((1 - lengths)[:, None] * plain[those])[:, :, None]
        errors = np.concatenate([-np.ones((len(those), 1, s)), weights], axis=1)
        forms[those] = errors @ np.swapaxes(errors, 1, 2)
    return forms
