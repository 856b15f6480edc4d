"""Loops of large-margin classifiers: Hessian products over CSR rows, coordinate descent."""

from __future__ import annotations

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array


@kernel
def normal_product(
    indptr: Array,
    indices: Array,
    data: Array,
    weight: Array,
    vector: Array,
    intercept: float,
    out: Array,
) -> float:
    """``Σ_i c_i (x_i'v + b) x_i`` over CSR rows, added to ``out``; returns ``Σ_i c_i (x_i'v + b)``.

    Rows of weight 0 are skipped.
    """
    total = 0.0
    for i in range(len(weight)):
        if weight[i] == 0.0:
            continue
        product = intercept
        for place in range(indptr[i], indptr[i + 1]):
            product += data[place] * vector[indices[place]]
        product *= weight[i]
        total += product
        for place in range(indptr[i], indptr[i + 1]):
            out[indices[place]] += product * data[place]
    return total


@kernel
def normal_diagonal(indptr: Array, indices: Array, data: Array, weight: Array, out: Array) -> None:
    """``Σ_i c_i x_ij²`` over CSR rows, added to ``out``."""
    for i in range(len(weight)):
        if weight[i] == 0.0:
            continue
        for place in range(indptr[i], indptr[i + 1]):
            out[indices[place]] += weight[i] * data[place] * data[place]


@sum_kernel
def descend_hinge(
    rows: Array,
    signs: Array,
    squares: Array,
    bound: float,
    anchor: float,
    bias_step: float,
    order: Array,
    beta: Array,
    normal: Array,
    mass: float,
) -> tuple[float, float]:
    """One pass of dual coordinate descent for the hinge loss, with a proximal bias.

    Minimizes ``½‖w‖² - Σ β_i + ρ/2 (Σ β_i y_i)² + b₀ Σ β_i y_i`` over ``0 ≤ β_i ≤ bound``, one
    coordinate at a time; ``w = Σ β_i y_i z_i`` and the bias is ``b₀ + ρ Σ β_i y_i``.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
        Features ``z``.
    signs : ndarray of shape (n,)
        ``y``, -1 or 1.
    squares : ndarray of shape (n,)
        ``‖z_i‖²``.
    bound : float
        Largest ``β``.
    anchor : float
        ``b₀``.
    bias_step : float
        ``ρ``; 0 keeps the bias at ``b₀``.
    order : ndarray of shape (n,)
        Order of the coordinates.
    beta, normal : ndarray
        ``β`` and ``w``, changed in place.
    mass : float
        ``Σ β_i y_i``.

    Returns
    -------
    mass : float
        ``Σ β_i y_i`` after the pass.
    violation : float
        Largest projected gradient that was met.
    """
    violation = 0.0
    for i in order:
        curvature = squares[i] + bias_step
        value = anchor + bias_step * mass
        row = rows[i]
        for j in range(row.shape[0]):
            value += row[j] * normal[j]
        gradient = signs[i] * value - 1.0
        projected = gradient
        if (beta[i] <= 0.0 and gradient > 0.0) or (beta[i] >= bound and gradient < 0.0):
            projected = 0.0
        if projected == 0.0:
            continue
        violation = max(violation, abs(projected))
        if curvature > 0.0:
            new = min(max(beta[i] - gradient / curvature, 0.0), bound)
        else:
            new = bound if gradient < 0.0 else 0.0
        change = (new - beta[i]) * signs[i]
        beta[i] = new
        mass += change
        for j in range(row.shape[0]):
            normal[j] += change * row[j]
    return mass, violation
