r"""Informativeness of a set of constraints, and its agreement with itself on the data.

Informativeness is the share of the statements that a clustering made without them violates. For
coherence every pair is the segment between its two rows; a must-link and a cannot-link cohere if
neither, projected onto the line of the other, overlaps it,

.. math::

    \mathrm{over}_b(a) = \max\bigl(0, \min(\max(t_1, t_2), |b|) - \max(\min(t_1, t_2), 0)\bigr),
    \qquad t_r = (a_r - b_1) \cdot (b_2 - b_1) / |b| ,

and coherence is the share of such pairs of pairs (Davidson, Wagstaff and Basu, Measuring constraint
set utility, 2006). Sets of high informativeness and low coherence are the ones that can hurt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._in_memory import check_in_memory
from sidelight._typing import IntArray
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints._constraints import Constraints


# More must-links or cannot-links than this are sampled for the coherence.
_MAX_COMPARED = 10_000
# An overlap up to this share of the segment is none: the projection only touches.
_TOUCH = 1e-12


@dataclass(frozen=True)
class Quality:
    """Properties of a set of constraints that can be measured before clustering with it.

    Attributes
    ----------
    informativeness : float or None
        Share of the statements that the given labels violate; None without labels.
    coherence : float or None
        Share of the pairs (must-link, cannot-link) whose segments do not overlap in either
        projection; None without both kinds. It collapses in high dimension.
    overlap : float or None
        The graded counterpart: mean overlap as a share of the segment that is projected onto.
    n_compared : int
        Pairs (must-link, cannot-link) that these two are based on.
    coverage : float
        Share of the rows that occur in some statement.
    n_components : int
        Must-link components of several rows or with a cannot-link.
    """

    informativeness: float | None
    coherence: float | None
    overlap: float | None
    n_compared: int
    coverage: float
    n_components: int


def measure_quality(
    constraints: Constraints, X: Any, labels: npt.ArrayLike | None = None, *, block: int = 256
) -> Quality:
    """Measure informativeness, coherence and coverage of constraints on data.

    Parameters
    ----------
    constraints : Constraints
        What is known.
    X : array-like or CSR of shape (n_samples, n_features)
        The data; transform it first to measure coherence in another metric.
    labels : array-like of shape (n_samples,) or (n_runs, n_samples), optional
        A clustering made without the constraints, or several to average over.
    block : int
        Must-links compared with all cannot-links at a time.

    Returns
    -------
    Quality

    Notes
    -----
    Coherence takes ``O(|ML| |CL| d)`` time in matrix products and ``O(block |CL|)`` memory. Only
    stated pairs are segments, and of more than 10,000 of a kind a fixed random sample.

    References
    ----------
    Davidson, Wagstaff, Basu, Measuring constraint-set utility for partitional clustering
    algorithms, PKDD 2006.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> known = Constraints([(0, 1)], [(2, 3)], n_samples=4)
    >>> known.quality([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [3.0, 1.0]]).overlap
    0.5
    """
    data = _check_data(X, constraints.n_samples)
    coherence, overlap, n_compared = _compare(
        data, constraints.must_link, constraints.cannot_link, block
    )
    closure = constraints.closure(on_contradiction="keep")
    return Quality(
        informativeness=None if labels is None else _informativeness(constraints, labels),
        coherence=coherence,
        overlap=overlap,
        n_compared=n_compared,
        coverage=len(constraints.mentioned) / max(constraints.n_samples, 1),
        n_components=len(closure.constrained_components()),
    )


def _check_data(X: Any, n_samples: int) -> Any:
    from sklearn.utils import check_array

    check_in_memory(X)
    data = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if data.shape[0] != n_samples:
        raise SidelightError(
            f"The constraints are about {n_samples} rows but X has {data.shape[0]}; "
            "make them with the ids or n_samples of this X."
        )
    return data


def _informativeness(constraints: Constraints, labels: npt.ArrayLike) -> float | None:
    if constraints.is_empty:
        return None
    runs = np.asarray(labels)
    runs = runs[None, :] if runs.ndim == 1 else runs
    return float(np.mean([1.0 - constraints.violations(run).satisfied for run in runs]))


@dataclass(frozen=True)
class _Segments:
    """Ends of segments, their lengths and directions (zero for a segment of length zero)."""

    first: Any
    second: Any
    length: npt.NDArray[np.float64]
    direction: Any

    def onto(self, others: _Segments) -> npt.NDArray[np.float64]:
        """Overlap of each of these with each of the others, as a share of the other's length."""
        origin = np.asarray(_row_dot(others.first, others.direction))
        start = _dot(self.first, others.direction) - origin
        stop = _dot(self.second, others.direction) - origin
        low, high = np.minimum(start, stop), np.maximum(start, stop)
        shared = np.minimum(high, others.length) - np.maximum(low, 0.0)
        share = np.zeros_like(shared)
        np.divide(shared, others.length, out=share, where=others.length > 0)
        return np.maximum(share, 0.0)

    def take(self, rows: slice) -> _Segments:
        """Some of the segments."""
        return _Segments(
            self.first[rows], self.second[rows], self.length[rows], self.direction[rows]
        )


def _compare(
    data: Any, must_link: IntArray, cannot_link: IntArray, block: int
) -> tuple[float | None, float | None, int]:
    """Coherence, mean overlap, and how many pairs of segments were compared."""
    if len(must_link) == 0 or len(cannot_link) == 0:
        return None, None, 0
    together, apart = _segments(data, must_link), _segments(data, cannot_link)
    n_compared = len(together.length) * len(apart.length)
    coherent, overlap = 0, 0.0
    for begin in range(0, len(together.length), block):
        some = together.take(slice(begin, begin + block))
        on_apart, on_together = some.onto(apart), apart.onto(some).T
        coherent += int(np.count_nonzero((on_apart <= _TOUCH) & (on_together <= _TOUCH)))
        overlap += float(on_apart.sum() + on_together.sum()) / 2
    return coherent / n_compared, overlap / n_compared, n_compared


def _segments(data: Any, pairs: IntArray) -> _Segments:
    from scipy.sparse import diags, issparse

    if len(pairs) > _MAX_COMPARED:
        chosen = np.random.RandomState(0).choice(len(pairs), _MAX_COMPARED, replace=False)
        pairs = pairs[np.sort(chosen)]
    first = data[pairs[:, 0]].astype(np.float64)
    second = data[pairs[:, 1]].astype(np.float64)
    if not issparse(data):
        # Overlaps do not depend on the origin, rounding does.
        center = data.mean(axis=0, dtype=np.float64)
        first, second = first - center, second - center
    difference = second - first
    length = np.sqrt(_row_dot(difference, difference))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    direction = diags(scale) @ difference if issparse(data) else difference * scale[:, None]
    return _Segments(first, second, length, direction)


def _dot(left: Any, right: Any) -> npt.NDArray[np.float64]:
    product = left @ right.T
    return product.toarray() if hasattr(product, "toarray") else product


def _row_dot(left: Any, right: Any) -> npt.NDArray[np.float64]:
    if hasattr(left, "toarray"):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)
