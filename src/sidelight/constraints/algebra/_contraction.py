"""Must-link components as weighted points.

For a component :math:`J` with weight :math:`w_J`, mean :math:`m_J` and any center :math:`μ`

.. math::
    \\sum_{i \\in J} w_i \\|x_i - \\mu\\|^2 = w_J \\|m_J - \\mu\\|^2 + s_J ,

so that clustering by squared distances with must-links satisfied is weighted clustering of means.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.constraints.unionfind import add_by_component, add_scatter_by_component
from sidelight._typing import FloatArray, IntArray
from sidelight.constraints.algebra._closure import Closure
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError

#: Rows gathered at a time.
ROWS_AT_ONCE = 65536


@dataclass(frozen=True, eq=False)
class Contraction:
    """Rows contracted to their must-link components.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
        Positions of the contracted rows, ascending.
    component : ndarray of int, shape (r,)
        Component of each of these rows, 0..m-1.
    means : ndarray or CSR of shape (m, n_features)
        Weighted mean of each component.
    weights : ndarray of shape (m,)
        Total weight of each component; the number of its rows by default.
    conflicts : ndarray of int, shape (e, 2)
        Pairs of components that must be apart.
    labels : ndarray of int, shape (m,)
        Code of the class that a component is known to be in, or -1.
    """

    rows: IntArray
    component: IntArray
    means: Any
    weights: FloatArray
    conflicts: IntArray
    labels: IntArray
    _source: RowSource = field(repr=False)
    _row_weights: FloatArray = field(repr=False)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.weights)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each component."""
        return np.bincount(self.component, minlength=self.n_components)

    @cached_property
    def scatter(self) -> FloatArray:
        """Weighted sum of squared distances of the rows of each component to its mean."""
        if self._source.is_sparse:
            return self._sparse_scatter()
        scatter = np.zeros(self.n_components)
        for piece in _pieces(len(self.rows)):
            add_scatter_by_component(
                self._source.take(self.rows[piece]),
                self._row_weights[piece],
                self.component[piece],
                self.means,
                scatter,
            )
        return scatter

    def _sparse_scatter(self) -> FloatArray:
        rows = self._source.take(self.rows).astype(np.float64)
        norms = self._row_weights * np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        mean_norms = np.asarray(self.means.multiply(self.means).sum(axis=1)).ravel()
        sums = np.bincount(self.component, norms, minlength=self.n_components)
        return np.maximum(sums - self.weights * mean_norms, 0.0)


def contract(
    source: RowSource,
    closure: Closure,
    sample_weight: Any = None,
    *,
    only_constrained: bool = False,
) -> Contraction:
    """Contract the rows to their components.

    Parameters
    ----------
    source : RowSource
        The rows.
    closure : Closure
        Their components.
    sample_weight : array of shape (n_rows,), default=None
        Weights of the rows; 1 by default.
    only_constrained : bool, default=False
        Whether to leave out components of a single row without a label or a conflict.
    """
    n_samples = len(closure.component)
    if source.n_rows != n_samples:
        raise SidelightError(
            f"The constraints are about {n_samples} rows but X has shape {source.shape}."
        )
    chosen = np.arange(closure.n_components)
    if only_constrained:
        chosen = np.union1d(
            closure.constrained_components(), np.flatnonzero(closure.component_label >= 0)
        )
    number = np.full(closure.n_components, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    of_row = number[closure.component]
    rows = np.flatnonzero(of_row >= 0)
    row_weights = _row_weights(sample_weight, n_samples)[rows]
    component = of_row[rows]
    means, weights = _means(source, rows, component, row_weights, len(chosen))
    return Contraction(
        rows=rows,
        component=component,
        means=means,
        weights=weights,
        conflicts=number[closure.conflicts],
        labels=closure.component_label[chosen],
        _source=source,
        _row_weights=row_weights,
    )


def contract_array(X: Any, closure: Closure, sample_weight: Any) -> Contraction:
    """Contract all rows of an array or a CSR matrix; the means have its element type."""
    if len(np.shape(X)) != 2:
        n_samples = len(closure.component)
        raise SidelightError(
            f"The constraints are about {n_samples} rows but X has shape {np.shape(X)}."
        )
    source = as_rows(X)
    found = contract(source, closure, sample_weight)
    return replace(found, means=found.means.astype(source.dtype, copy=False))


def _row_weights(sample_weight: Any, n: int) -> FloatArray:
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise SidelightError(
            f"sample_weight must hold {n} numbers that are finite and not negative."
        )
    return weights


def _means(
    source: RowSource, rows: IntArray, component: IntArray, row_weights: FloatArray, m: int
) -> tuple[Any, FloatArray]:
    """Means, dense or CSR in float64, and weights of the components."""
    total: FloatArray = np.bincount(component, row_weights, minlength=m).astype(np.float64)
    # A component that weighs nothing still needs a place: the plain mean of its rows.
    empty = total == 0
    counted = np.where(empty[component], 1.0, row_weights)
    mass = np.where(empty, np.bincount(component, minlength=m), total)
    if source.is_sparse:
        entries = (counted / mass[component], (component, np.arange(len(rows))))
        averager = sparse.csr_matrix(entries, shape=(m, len(rows)))
        return averager @ source.take(rows).astype(np.float64), total
    sums = np.zeros((m, source.n_features))
    for piece in _pieces(len(rows)):
        add_by_component(source.take(rows[piece]), counted[piece], component[piece], sums)
    return sums / mass[:, None], total


def _pieces(n: int) -> list[slice]:
    return [slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE)]
