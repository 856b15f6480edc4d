"""Must-link components as weighted points.

A component J of s_J rows with mean m_J that goes to a cluster as a whole costs::

    Σ_{i in J} ‖x_i - μ‖²  =  s_J ‖m_J - μ‖²  +  Σ_{i in J} ‖x_i - m_J‖²

and the last term does not depend on μ: a weighted point suffices. Only components that say
anything (at least two rows, a label, or a cannot-link) are contracted; all other rows stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.cluster.icm import costs_and_nearest
from sidelight.constraints import Closure
from sidelight.engine import RowSource, as_rows

#: Rows gathered at a time; what they add up to is all that is kept.
ROWS_AT_ONCE = 65536

#: Multiplications above which points are measured in blocks, by threads.
WORTH_BLOCKS = 1_000_000


@dataclass(frozen=True)
class Contraction:
    """The constrained part of the rows, contracted.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Positions of the rows that lie in one of the components, ascending.
    component : ndarray of shape (r,)
        Component of each of these rows, 0..m-1.
    means : ndarray or CSR of shape (m, d)
        Mean of each component, in float64.
    sizes : ndarray of shape (m,)
        Number of its rows.
    conflicts : ndarray of shape (e, 2)
        Pairs of components that must be apart.
    labels : ndarray of shape (m,)
        Code of the class that its rows are known to have, or -1.
    """

    rows: npt.NDArray[np.int64]
    component: npt.NDArray[np.int64]
    means: Any
    sizes: npt.NDArray[np.int64]
    conflicts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.sizes)


def contract(source: RowSource, closure: Closure) -> Contraction:
    """Contract the components that say anything about the clustering."""
    telling = np.union1d(
        closure.constrained_components(), np.flatnonzero(closure.component_label >= 0)
    )
    number = np.full(closure.n_components, -1, dtype=np.int64)
    number[telling] = np.arange(len(telling))
    of_row = number[closure.component]
    rows = np.flatnonzero(of_row >= 0)
    sizes = closure.sizes[telling]
    return Contraction(
        rows=rows,
        component=of_row[rows],
        means=_means(source, rows, of_row[rows], sizes),
        sizes=sizes,
        conflicts=number[closure.conflicts],
        labels=closure.component_label[telling],
    )


def _means(
    source: RowSource,
    rows: npt.NDArray[np.int64],
    component: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> Any:
    if source.is_sparse:
        return _averager(component, sizes) @ source.take(rows).astype(np.float64)
    means = np.zeros((len(sizes), source.n_features))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        order = np.argsort(component[piece], kind="stable")
        present, first = np.unique(component[piece][order], return_index=True)
        block = source.take(rows[piece][order]).astype(np.float64, copy=False)
        means[present] += np.add.reduceat(block, first, axis=0)
    return means / sizes[:, None]


def squared_radii(source: RowSource, contraction: Contraction) -> npt.NDArray[np.float64]:
    """Mean squared distance of the rows of every component to its mean."""
    radii = np.zeros(contraction.n_components)
    for start in range(0, len(contraction.rows), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        component = contraction.component[piece]
        away = source.take(contraction.rows[piece]) - contraction.means[component]
        np.add.at(radii, component, _squared_norms(away))
    return radii / contraction.sizes


def _averager(component: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> sparse.csr_array:
    """Return the matrix that averages rows by component."""
    entries = (1.0 / sizes[component], (component, np.arange(len(component))))
    return sparse.csr_array(entries, shape=(len(sizes), len(component)))


class Points:
    """Points, dense or CSR, whose distances to moving centres are asked for again and again.

    Dense points are held relative to their mean, so that data far from the origin keeps its digits.
    """

    def __init__(self, points: Any) -> None:
        self._shift: Any = 0.0
        if not sparse.issparse(points) and len(points):
            self._shift = points.mean(axis=0, dtype=np.float64)
            points = points - self._shift.astype(points.dtype)
        self._points = points
        self._norms = _squared_norms(points)
        self._cost = np.empty((0, 0))

    def costs(
        self, centers: npt.NDArray[Any], weights: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return ``w_i ‖x_i - μ_h‖²`` of all points and centres, and the cheapest centres.

        The costs are in memory that the next call writes over.
        """
        n, k = len(self._norms), len(centers)
        if self._cost.shape != (n, k):
            # Fresh memory for every call would cost more than the arithmetic.
            self._cost = np.empty((n, k), dtype=self._points.dtype)
        cost, nearest = self._cost, np.empty(n, dtype=np.int64)
        relative = centers - self._shift
        squares = _squared_norms(relative)
        directions = relative.T.astype(self._points.dtype)

        def measure(block: Any, positions: range) -> tuple[tuple[()], tuple[()]]:
            here = slice(positions.start, positions.stop)
            if sparse.issparse(block):
                cost[here] = block @ directions
            else:
                np.matmul(block, directions, out=cost[here])
            costs_and_nearest(cost[here], self._norms[here], squares, weights[here], nearest[here])
            return (), ()

        if n * centers.size < WORTH_BLOCKS:
            measure(self._points, range(n))
        else:
            as_rows(self._points).map_reduce(measure, aligned=(range(n),))
        return cost, nearest

    def squared_distances(self, centers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Squared distances of all points to all centres (written over like :meth:`costs`)."""
        return self.costs(centers, np.ones(len(self._norms)))[0]

    def costliest(
        self,
        centers: npt.NDArray[Any],
        labels: npt.NDArray[np.int64],
        weights: npt.NDArray[Any] | float,
        n: int,
    ) -> npt.NDArray[Any]:
        """Return at most ``n`` points of the largest weight times squared distance to their centre.

        Each is far from those before it too; fewer where no other costs anything.
        """
        chosen: list[npt.NDArray[Any]] = []
        if n > 0:
            squared = self.squared_distances(centers)[np.arange(len(labels)), labels].copy()
        while len(chosen) < n:
            costs = weights * squared
            place = int(np.argmax(costs)) if len(costs) else 0
            if len(costs) == 0 or costs[place] <= 0:
                break
            chosen.append(dense(self._points[[place]])[0] + self._shift)
            squared = np.minimum(squared, self.squared_distances(chosen[-1][None, :])[:, 0])
            squared[place] = 0.0
        return np.array(chosen).reshape(len(chosen), centers.shape[1])


def _squared_norms(points: Any) -> npt.NDArray[np.float64]:
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def dense(points: Any) -> npt.NDArray[Any]:
    """Return points as an array."""
    return np.asarray(points.toarray() if sparse.issparse(points) else points)
