"""A sweep of dual coordinate ascent over the labels and pairs of a pairwise SVM."""

from __future__ import annotations

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def sweep(
    order: Array,
    starts: Array,
    points: Array,
    factors: Array,
    row_starts: Array,
    columns: Array,
    entries: Array,
    squares: Array,
    low: Array,
    high: Array,
    wanted: Array,
    twice: float,
    dual: Array,
    weights: Array,
) -> None:
    """Set the dual variables in this order, each to its best value with the others fixed.

    ``t_r <- clip(t_r + 2λ (e_r - z_r) / ‖ψ_r‖²)``, ``z_r = w'ψ_r``, ``w = Σ_r t_r ψ_r / 2λ``.

    Parameters
    ----------
    order : ndarray of int64
        Terms in the order of their turns; those with ``‖ψ_r‖ = 0`` must not be among them.
    starts, points, factors : ndarray
        The functionals ``ψ_r`` as combinations of points, in CSR arrays.
    row_starts, columns, entries : ndarray
        Features of the points, in CSR arrays.
    squares, low, high, wanted : ndarray of float64, shape (n_terms,)
        ``‖ψ_r‖²``, the box, and ``e``.
    twice : float
        ``2λ``.
    dual : ndarray of float64, shape (n_terms,)
        The variables ``t``, changed in place.
    weights : ndarray of float64, shape (n_features,)
        ``w``, kept up to date.
    """
    for r in order:
        z = 0.0
        for entry in range(starts[r], starts[r + 1]):
            point, product = points[entry], 0.0
            for place in range(row_starts[point], row_starts[point + 1]):
                product += entries[place] * weights[columns[place]]
            z += factors[entry] * product
        best = dual[r] + twice * (wanted[r] - z) / squares[r]
        best = min(max(best, low[r]), high[r])
        change = (best - dual[r]) / twice
        if change == 0.0:
            continue
        dual[r] = best
        for entry in range(starts[r], starts[r + 1]):
            point, factor = points[entry], change * factors[entry]
            for place in range(row_starts[point], row_starts[point + 1]):
                weights[columns[place]] += factor * entries[place]
