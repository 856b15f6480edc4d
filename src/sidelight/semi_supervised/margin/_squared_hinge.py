"""Linear SVM with squared hinge loss, a cost per row and a free bias, by Newton's method.

``J(w, b) = ½‖w‖² + Σ_i c_i max(0, 1 - y_i(w'x_i + b))²`` is convex and piecewise quadratic:
Newton's steps with an exact search along each end at the minimum after finitely many (Keerthi,
DeCoste 2005; Sindhwani, Keerthi 2006). The bias is not penalized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from sidelight._kernels.semi_supervised.margin import normal_diagonal, normal_product
from sidelight._typing import Array

Solver = Literal["direct", "cg"]

#: Most steps of one fit; few dozens are usual even from a cold start.
MAX_STEPS = 200

#: Steps of the search along a direction.
SEARCH_STEPS = 60


@dataclass(frozen=True)
class Plane:
    """A separating hyperplane.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        ``w``.
    bias : float
        ``b``.
    values : ndarray of shape (n,)
        ``w'x + b`` of the rows.
    objective : float
        ``J``.
    converged : bool
        Whether the gradient is small.
    """

    normal: Array
    bias: float
    values: Array
    objective: float
    converged: bool = True

    def slacks(self, signs: Array) -> Array:
        """``max(0, 1 - y f)``."""
        return np.maximum(1.0 - signs * self.values, 0.0)


def objective(plane: Plane, signs: Array, costs: Array) -> float:
    """``J`` of a plane for other signs or costs."""
    slacks = plane.slacks(signs)
    return float(0.5 * plane.normal @ plane.normal + costs @ slacks**2)


def gradient(rows: Any, plane: Plane, signs: Array, costs: Array) -> tuple[Array, float]:
    """Derivatives of ``J`` by ``w`` and ``b``."""
    pull = 2.0 * costs * signs * plane.slacks(signs)
    return plane.normal - rows.T @ pull, -float(pull.sum())


def at_origin(rows: Any) -> Plane:
    """The plane ``w = 0, b = 0``, from which a fit begins."""
    return Plane(np.zeros(rows.shape[1]), 0.0, np.zeros(rows.shape[0]), np.inf)


def fit_squared_hinge(
    rows: Any, signs: Array, costs: Array, start: Plane, solver: Solver, tol: float
) -> Plane:
    """Minimize ``J``, beginning from a plane.

    Parameters
    ----------
    rows : ndarray or CSR matrix of float64, shape (n, d)
        The rows.
    signs : ndarray of shape (n,)
        ``y``, -1 or 1.
    costs : ndarray of shape (n,)
        ``c``, not negative; rows of cost 0 count nothing.
    start : Plane
        Where to begin.
    solver : {"direct", "cg"}
        How each step is found: by factoring the Hessian, or by conjugate gradients.
    tol : float
        Stop when the gradient is at most this share of that at the origin.
    """
    pull = 2.0 * costs * signs
    zero = float(np.hypot(np.linalg.norm(rows.T @ pull), pull.sum()))
    plane = _moved(start, start.normal, start.bias, start.values, signs, costs)
    for _ in range(MAX_STEPS):
        slope, bias_slope = gradient(rows, plane, signs, costs)
        length = float(np.hypot(np.linalg.norm(slope), bias_slope))
        if length <= tol * zero:
            return plane
        active = 2.0 * costs * (signs * plane.values < 1.0)
        if solver == "direct":
            step, bias_step = _direct_step(rows, active, slope, bias_slope)
        else:
            # Far from the end a rough direction does; near it the step has to be exact.
            accuracy = min(0.1, length / max(zero, 1e-300))
            step, bias_step = _cg_step(rows, active, slope, bias_slope, max(accuracy, 1e-10))
        along = rows @ step + bias_step
        part = _search(plane, step, along, signs, costs)
        if part <= 0.0:  # rounding: no descent is left along the step
            break
        new = _moved(
            plane,
            plane.normal + part * step,
            plane.bias + part * bias_step,
            plane.values + part * along,
            signs,
            costs,
        )
        if new.objective >= plane.objective:
            break
        plane = new
    slope, bias_slope = gradient(rows, plane, signs, costs)
    small = np.hypot(np.linalg.norm(slope), bias_slope) <= max(1e-6, tol) * zero
    return Plane(plane.normal, plane.bias, plane.values, plane.objective, bool(small))


def _moved(
    plane: Plane, normal: Array, bias: float, values: Array, signs: Array, costs: Array
) -> Plane:
    slacks = np.maximum(1.0 - signs * values, 0.0)
    value = float(0.5 * normal @ normal + costs @ slacks**2)
    return Plane(normal, bias, values, value)


def _direct_step(rows: Any, active: Array, slope: Array, bias_slope: float) -> tuple[Array, float]:
    """Newton's step by a Cholesky factor of the Hessian by ``w``; the bias is eliminated."""
    taken = np.flatnonzero(active)
    part, weight = rows[taken], active[taken]
    d = rows.shape[1]
    if sparse.issparse(part):
        hessian = (part.T @ part.multiply(weight[:, None]).tocsr()).toarray()
    else:
        root = part * np.sqrt(weight)[:, None]
        hessian = root.T @ root
    hessian[np.diag_indices(d)] += 1.0
    mixed = np.asarray(part.T @ weight).reshape(-1)
    factor = linalg.cho_factor(hessian, lower=True, check_finite=False)
    solved = linalg.cho_solve(factor, np.column_stack([slope, mixed]), check_finite=False)
    curvature = float(weight.sum() - mixed @ solved[:, 1])
    if curvature <= 1e-14 * max(float(weight.sum()), 1e-300):
        return -solved[:, 0], 0.0
    bias_step = (float(mixed @ solved[:, 0]) - bias_slope) / curvature
    return -solved[:, 0] - bias_step * solved[:, 1], bias_step


def _cg_step(
    rows: Any, active: Array, slope: Array, bias_slope: float, accuracy: float
) -> tuple[Array, float]:
    """Newton's step by conjugate gradients, with the diagonal of the Hessian as preconditioner."""
    d = rows.shape[1]
    taken = np.flatnonzero(active)
    part, weight = (rows, active) if sparse.issparse(rows) else (rows[taken], active[taken])
    scale = np.ones(d + 1)
    scale[d] = max(float(weight.sum()), 1e-12)
    if sparse.issparse(part):
        stored = unsigned(part.indptr), unsigned(part.indices), part.data
        normal_diagonal(*stored, weight, scale[:d])
    else:
        scale[:d] += weight @ part**2

    def product(vector: Array) -> Array:
        out = np.empty(d + 1)
        if sparse.issparse(part):
            out[:d] = 0.0
            out[d] = normal_product(*stored, weight, vector[:d], vector[d], out[:d])
        else:
            values = weight * (part @ vector[:d] + vector[d])
            out[:d], out[d] = values @ part, values.sum()
        out[:d] += vector[:d]
        return out

    step = np.zeros(d + 1)
    residual = -np.append(slope, bias_slope)
    goal = accuracy * float(np.sqrt(residual @ (residual / scale)))
    direction = residual / scale
    size = float(residual @ direction)
    for _ in range(2 * (d + 1)):
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            break
        part_of = size / curvature
        step += part_of * direction
        residual -= part_of * image
        conditioned = residual / scale
        new = float(residual @ conditioned)
        if np.sqrt(max(new, 0.0)) <= goal:
            break
        direction = conditioned + (new / size) * direction
        size = new
    return step[:d], float(step[d])


def unsigned(positions: Array) -> Array:
    """The same positions without a sign, so that compiled loops skip the negative-index check."""
    return positions.view(np.uint32 if positions.itemsize == 4 else np.uint64)


def _search(plane: Plane, step: Array, along: Array, signs: Array, costs: Array) -> float:
    """Where ``J`` is least along a step: the root of its derivative, which is piecewise linear."""
    margins = 1.0 - signs * plane.values
    rates = signs * along
    cross, square = float(plane.normal @ step), float(step @ step)
    low, high, part = 0.0, np.inf, 1.0
    for _ in range(SEARCH_STEPS):
        slacks = margins - part * rates
        inside = slacks > 0.0
        weighted = 2.0 * costs[inside] * rates[inside]
        first = cross + part * square - float(weighted @ slacks[inside])
        second = square + float(weighted @ rates[inside])
        if first > 0.0:
            high = part
        else:
            low = part
        if second <= 0.0:
            break
        new = part - first / second
        if not low <= new <= high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2.0 * part
        if abs(new - part) <= 1e-14 * max(part, 1.0):
            return float(new)
        part = new
    return float(part)
