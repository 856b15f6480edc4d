"""Mean, variances, scatter and ranges of the rows of a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.buffers import Buffers, buffers
from sidelight._fit.tiles import tiles
from sidelight._typing import Array, FloatArray
from sidelight._warn import warn
from sidelight.engine import Maximum, Minimum, RowSource

#: Rows whose mean is the point that values are taken relative to.
FIRST_ROWS = 1000


@dataclass(frozen=True)
class Moments:
    """First and second moments of weighted rows, in float64.

    Attributes
    ----------
    mass : float
        Sum of the weights: the number of rows by default.
    mean : ndarray of shape (d,)
        Weighted mean.
    scatter : ndarray of shape (d,) or (d, d)
        ``Σ_i w_i (x_i - m)²`` by feature, or the matrix ``Σ_i w_i (x_i - m)(x_i - m)'``. The sum
        of a constant feature is 0 and not rounding.
    """

    mass: float
    mean: FloatArray
    scatter: FloatArray

    @property
    def variances(self) -> FloatArray:
        """Variance of every feature (divided by the mass), never negative."""
        return (np.diag(self.scatter) if self.scatter.ndim == 2 else self.scatter) / self.mass

    @property
    def covariance(self) -> FloatArray:
        """Scatter divided by the mass."""
        return self.scatter / self.mass

    @property
    def mean_variance(self) -> float:
        """Mean over the features of their variance."""
        return float(np.mean(self.variances))

    @property
    def total_variance(self) -> float:
        """Mean squared distance of the rows to their mean."""
        return float(np.sum(self.variances))


def moments(
    source: RowSource,
    sample_weight: Array | None = None,
    *,
    full: bool = False,
    near: Array | None = None,
) -> Moments:
    """Return the moments of the rows.

    Values are taken relative to a point among the rows, so that data far from the origin loses no
    digits; of a share ``p`` of the rows around this point, at most ``1/p`` is lost.

    Parameters
    ----------
    source : RowSource
        The rows, dense or CSR.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 by default.
    full : bool, default=False
        Whether to return the scatter as a matrix.
    near : ndarray of shape (d,), default=None
        A point among the rows; the mean of the first rows by default.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.moments import moments
    >>> from sidelight.engine import as_rows
    >>> found = moments(as_rows(np.array([[1e9, 0.0], [1e9 + 2.0, 0.0]])))
    >>> found.mean, found.variances
    (array([1.e+09, 0.e+00]), array([1., 0.]))
    """
    from sidelight._kernels.engine.moments import add_moments

    d = source.n_features
    point = point_among(source, near)

    def add(block: Any, *weights: Array) -> tuple[tuple[Array, Array], tuple[()]]:
        first, second = np.zeros(d), np.zeros((d, d) if full else d)
        with buffers() as memory:
            for tile in tiles(block.shape[0]):
                w = weights[0][tile].astype(np.float64) if weights else None
                if not full and not sparse.issparse(block):
                    rows = block[tile]
                    add_moments(rows, np.ones(len(rows)) if w is None else w, point, first, second)
                    continue
                rows = relative_to(block[tile], point, memory)
                first += _flat(rows.sum(axis=0)) if w is None else rows.T @ w
                second += _products(rows, w, memory) if full else _squares(rows, w)
        return (first, second), ()

    aligned = [] if sample_weight is None else [np.asarray(sample_weight)]
    (first, second), _ = source.map_reduce(add, aligned=aligned)
    mass = float(np.sum(aligned[0], dtype=np.float64)) if aligned else float(source.n_rows)
    shift = first / mass
    outer = np.outer(shift, shift) if full else shift**2
    return Moments(mass, point + shift, _without_rounding(second, mass, outer, point + shift))


def covariance(source: RowSource) -> FloatArray:
    """Return the covariance of all rows, divided by their number.

    One pass for the mean and another one around it: directions of little variance keep their
    digits, however far from the first rows the mean is.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight._fit.moments import covariance
    >>> from sidelight.engine import as_rows
    >>> covariance(as_rows(np.array([[0.0], [2.0]])))
    array([[1.]])
    """
    return moments(source, full=True, near=moments(source).mean).covariance


def feature_ranges(source: RowSource) -> tuple[Array, Array]:
    """Return the least and the largest value of every feature, in the element type of the rows."""

    def extremes(block: Any) -> tuple[tuple[Minimum, Maximum], tuple[()]]:
        low, high = block.min(axis=0), block.max(axis=0)
        if sparse.issparse(block):
            low, high = low.toarray().ravel(), high.toarray().ravel()
        return (Minimum(low), Maximum(high)), ()

    (low, high), _ = source.map_reduce(extremes)
    return low, high


def point_among(source: RowSource, near: Array | None = None) -> FloatArray:
    """Return a point among the rows: ``near``, or the mean of the first rows.

    Of CSR rows only features without a single zero are taken relative to anything: a zero that is
    not stored is one of the values already, and has to stay 0.
    """
    if not source.is_sparse:
        return _mean_of_first(source) if near is None else np.asarray(near, np.float64)
    first = source.take(np.arange(min(source.n_rows, FIRST_ROWS)))
    if not np.any(_n_stored(first) == first.shape[0]):
        return np.zeros(source.n_features)
    (stored,), _ = source.map_reduce(lambda block: ((_n_stored(block),), ()))
    return np.where(stored == source.n_rows, _flat(first.mean(axis=0, dtype=np.float64)), 0.0)


def relative_to(rows: Any, point: Array, memory: Buffers | None = None) -> Any:
    """Return ``x - point`` in float64; of CSR rows the entries that are stored."""
    if not sparse.issparse(rows):
        if memory is None:
            return rows - point
        return np.subtract(rows, point, out=memory.array("relative", rows.shape))
    data = rows.data - point[rows.indices]
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _n_stored(rows: Any) -> Array:
    return np.bincount(rows.indices, minlength=rows.shape[1])


def _mean_of_first(source: RowSource) -> FloatArray:
    first = source.take(np.arange(min(source.n_rows, FIRST_ROWS)))
    return np.asarray(first, dtype=np.float64).mean(axis=0)


def _squares(rows: Any, weights: Array | None) -> Array:
    squares = rows.multiply(rows)
    return _flat(squares.sum(axis=0)) if weights is None else squares.T @ weights


def _products(rows: Any, weights: Array | None, memory: Buffers) -> Array:
    if sparse.issparse(rows):
        weighted = rows if weights is None else sparse.csr_array(rows.multiply(weights[:, None]))
        return (rows.T @ weighted).toarray()
    if weights is None:
        return rows.T @ rows
    return rows.T @ np.multiply(weights[:, None], rows, out=memory.array("weighted", rows.shape))


def _without_rounding(second: Array, mass: float, outer: Array, mean: Array) -> Array:
    """Return ``second - mass outer``, with zeros for features that are constant."""
    scatter = second - mass * outer
    is_full = scatter.ndim == 2
    squares = np.diag(second) if is_full else second
    rounding = 1e-12 * squares + mass * (4e-15 * mean) ** 2
    constant = (np.diag(scatter) if is_full else scatter) <= rounding
    scatter[constant] = 0.0
    if is_full:
        scatter[:, constant] = 0.0
    return scatter


def _flat(sums: Any) -> Array:
    return np.asarray(sums).ravel()


def data_moments(
    source: RowSource,
    sample_weight: Array | None = None,
    *,
    full: bool = True,
    reg_covar: float = 0.0,
) -> tuple[Array, Array, float]:
    """Mean and covariance of dense rows, and the largest squared distance to the mean.

    The covariance is a matrix, or the variances where it is not ``full``; ``reg_covar`` is what
    will be added to variances.
    """
    found = moments(source, sample_weight, full=full)
    warn_of_large_reg_covar(reg_covar, found.variances)

    work = _LargestSquare(found.mean)
    return found.mean, found.covariance, float(source.map_reduce(work)[0][0])


class _LargestSquare:
    """Largest squared distance of the rows of a block to a point."""

    def __init__(self, point: Array) -> None:
        self._point = point

    def __call__(self, block: Any) -> tuple[tuple[Maximum], tuple[()]]:
        largest = []
        with buffers() as memory:
            for tile in tiles(len(block)):
                offsets = relative_to(block[tile], self._point, memory)
                largest.append(np.einsum("nd,nd->n", offsets, offsets).max())
        return (Maximum(np.max(largest)),), ()


def warn_of_large_reg_covar(reg_covar: float, variances: Array) -> None:
    """Warn when what is added to variances is larger than all of them."""
    if 0 < variances.max() < reg_covar:
        warn(
            f"reg_covar={reg_covar:g} is larger than the variance of every column (at most "
            f"{variances.max():.2g}) and hides the clusters: multiply the columns by the same "
            "number, or give a smaller reg_covar.",
            ConvergenceWarning,
        )
