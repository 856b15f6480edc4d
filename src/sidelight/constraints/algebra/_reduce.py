"""The contracted problem: one weighted point per must-link component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.constraints.unionfind import component_moments
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.exceptions import SidelightError


@dataclass(frozen=True, eq=False)
class Reduced:
    r"""Rows contracted to their must-link components.

    For a component :math:`J` with weight :math:`w_J`, mean :math:`m_J` and any center
    :math:`\mu`,

    .. math::
        \sum_{i \in J} w_i \|x_i - \mu\|^2 = w_J \|m_J - \mu\|^2 + s_J ,

    so squared-distance clustering of the rows with their must-links kept is weighted clustering
    of the means.

    Attributes
    ----------
    means : ndarray or CSR of shape (n_components, n_features)
        Weighted mean of each component, in the dtype of the rows.
    weights : ndarray of shape (n_components,)
        Total weight of each component.
    component : ndarray of shape (n_samples,)
        Component of each row.
    scatter : ndarray of shape (n_components,)
        The constant :math:`s_J` of each component.
    """

    means: Any
    weights: FloatArray
    component: IntArray
    scatter: FloatArray


def reduce_rows(X: Any, component: IntArray, n_components: int, sample_weight: Any) -> Reduced:
    """Contract the rows of X to their components."""
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.shape[0] != len(component):
        raise SidelightError(
            f"The constraints are about {len(component)} rows but X has shape {rows.shape}."
        )
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    weight, total, share = _row_weights(sample_weight, component, n_components)
    if sparse.issparse(rows):
        means, scatter = _sparse_moments(rows, weight, total, share, component)
    else:
        means, scatter = component_moments(rows, weight, share, component, n_components)
    return Reduced(means.astype(rows.dtype, copy=False), total, component, scatter)


def _row_weights(
    sample_weight: Any, component: IntArray, n_components: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights of rows and components, and the share of each row in its component's mean."""
    n = len(component)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise SidelightError(
            f"sample_weight must hold {n} numbers that are finite and not negative."
        )
    total: FloatArray = np.bincount(component, weight, minlength=n_components).astype(np.float64)
    # A component that weighs nothing still needs a place: the plain mean of its rows.
    empty = total == 0
    share = np.where(empty[component], 1.0, weight)
    mass = np.where(empty, np.bincount(component, minlength=n_components), total)
    return weight, total, share / mass[component]


def _sparse_moments(
    X: Any, weight: FloatArray, total: FloatArray, share: FloatArray, component: IntArray
) -> tuple[Any, Array]:
    """Means and scatter of CSR rows by component."""
    n, c = len(component), len(total)
    means = sparse.csr_matrix((share, (component, np.arange(n))), shape=(c, n)) @ X
    row_norm = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    mean_norm = np.asarray(means.multiply(means).sum(axis=1), dtype=np.float64).ravel()
    scatter = np.bincount(component, weight * row_norm, minlength=c) - total * mean_norm
    return means, np.maximum(scatter, 0.0)
