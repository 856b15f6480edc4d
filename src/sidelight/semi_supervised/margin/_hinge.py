"""The dual of an SVM with hinge loss: coordinate descent, then the linear system of its end.

Primal ``½‖w‖² + c Σ max(0, 1 - y_i(w'z_i + b))``; dual ``max Σ β_i - ½‖Σ β_i y_i z_i‖²`` over
``0 ≤ β ≤ c`` and, where there is a bias, ``Σ β_i y_i = 0``. The bias is free: descent penalizes
``(b - b₀)²/2ρ`` and moves ``b₀`` until the penalty is 0. Between passes the variables inside the
bounds are solved for, while bounds are met one by one: an active-set method that ends exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._kernels.semi_supervised.margin import descend_hinge
from sidelight._typing import Array

#: Up to this many variables between the bounds their linear system is solved.
MAX_FREE = 400

#: Most such systems in a row, and passes of descent before the next.
FACE_STEPS = 200
PASSES = 50

#: Share of a bound within which a variable is at it.
AT_BOUND = 1e-10


@dataclass(frozen=True)
class HingeSolution:
    """A trained machine.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        Dual variables.
    bias : float
        ``b``.
    objective : float
        Value of the primal.
    gap : float
        Primal minus dual: bound on the distance to the optimum.
    n_passes : int
        Passes of coordinate descent.
    converged : bool
        Whether no condition of the optimum is violated by more than the tolerance.
    history : list of float
        Value of the primal after every round of passes.
    """

    beta: Array
    bias: float
    objective: float
    gap: float
    n_passes: int
    converged: bool
    history: list[float]


def solve_hinge(
    rows: Array, signs: Array, bound: float, *, intercept: bool, tol: float, max_iter: int
) -> HingeSolution:
    """Solve the dual.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
        ``z``.
    signs : ndarray of shape (n,)
        ``y``, -1 or 1.
    bound : float
        ``c``.
    intercept : bool
        Whether there is a bias.
    tol : float
        Largest violation ``|y f - 1|`` of a condition of the optimum.
    max_iter : int
        Most passes of coordinate descent.
    """
    # Moving all rows moves the bias only; it parts the two and makes descent fast.
    center = rows.mean(axis=0) if intercept else np.zeros(rows.shape[1])
    moved = rows - center
    squares = np.einsum("ij,ij->i", moved, moved)
    size = float(squares.mean()) or 1.0
    moved, squares, cost = moved / np.sqrt(size), squares / size, bound * size
    state = _Descent(moved, signs, squares, cost, intercept)
    violation, n_passes = np.inf, 0
    history: list[float] = []
    while n_passes < max_iter:
        n_now = min(PASSES, max_iter - n_passes)
        state.descend(n_now, tol)
        n_passes += n_now
        state.solve_free()
        violation = state.violation()
        history.append(state.primal() / size)
        if violation <= tol:
            break
    beta, normal = state.beta / size, state.normal / np.sqrt(size)
    dual = float(beta.sum()) - 0.5 * float(normal @ normal)
    bias = state.bias() - float(normal @ center)
    gap = max(history[-1] - dual, 0.0)
    return HingeSolution(beta, bias, history[-1], gap, n_passes, violation <= tol, history)


class _Descent:
    """Dual variables on their way, for rows of mean square 1."""

    def __init__(
        self, moved: Array, signs: Array, squares: Array, cost: float, intercept: bool
    ) -> None:
        self.moved = np.ascontiguousarray(moved)
        self.signs, self.squares, self.cost = signs, squares, cost
        self.intercept = intercept
        self.rng = np.random.RandomState(0)
        self.beta = np.zeros(len(signs))
        self.normal = np.zeros(moved.shape[1])
        self.anchor, self.mass = 0.0, 0.0

    def descend(self, n_passes: int, tol: float) -> None:
        """Run passes; the anchor of the bias moves when the rest is nearly settled."""
        step = 1.0 if self.intercept else 0.0
        for _ in range(n_passes):
            order = self.rng.permutation(len(self.beta))
            self.mass, violation = descend_hinge(
                self.moved,
                self.signs,
                self.squares,
                self.cost,
                self.anchor,
                step,
                order,
                self.beta,
                self.normal,
                self.mass,
            )
            if self.intercept and violation <= max(0.5 * abs(self.mass), 0.1 * tol):
                self.anchor += self.mass
            if violation <= 0.1 * tol and abs(self.mass) <= 0.1 * tol:
                break
        self._refresh()

    def _refresh(self) -> None:
        """Recompute the sums that were updated in many small steps."""
        signed = self.beta * self.signs
        self.normal, self.mass = signed @ self.moved, float(signed.sum())

    def _free(self) -> Array:
        margin = AT_BOUND * self.cost
        return (self.beta > margin) & (self.beta < self.cost - margin)

    def bias(self) -> float:
        """``b``: mean over the variables between the bounds, else the middle of what is allowed."""
        if not self.intercept:
            return 0.0
        wanted = self.signs - self.moved @ self.normal  # the bias that puts a row on its margin
        free = self._free()
        if free.any():
            return float(wanted[free].mean())
        at_zero = self.beta <= AT_BOUND * self.cost
        from_below = at_zero == (self.signs > 0)
        low = wanted[from_below].max(initial=-np.inf)
        high = wanted[~from_below].min(initial=np.inf)
        if np.isfinite(low) and np.isfinite(high):
            return float((low + high) / 2)
        return float(low if np.isfinite(low) else high)

    def primal(self) -> float:
        """``½‖w‖² + c Σ ξ_i``."""
        slacks = np.maximum(1.0 - self.signs * (self.moved @ self.normal + self.bias()), 0.0)
        return float(0.5 * self.normal @ self.normal + self.cost * slacks.sum())

    def violation(self) -> float:
        """Largest violation of the conditions of the optimum."""
        gaps = self.signs * (self.moved @ self.normal + self.bias()) - 1.0
        margin = AT_BOUND * self.cost
        gaps[(self.beta <= margin) & (gaps > 0)] = 0.0
        gaps[(self.beta >= self.cost - margin) & (gaps < 0)] = 0.0
        return max(float(np.abs(gaps).max()), abs(self.mass) if self.intercept else 0.0)

    def solve_free(self) -> None:
        """Move to the optimum over the free variables; those that meet a bound stay there.

        The dual never falls on the way: each step leads to the optimum of the face, or, where rows
        that depend on each other let it rise without end, along that direction to a bound.
        """
        for _ in range(FACE_STEPS):
            free = np.flatnonzero(self._free())
            if not 0 < len(free) <= MAX_FREE:
                return
            direction, bias = self._face_direction(free)
            old = self.beta[free]
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(direction > 0, (self.cost - old) / direction, -old / direction)
            room[direction == 0] = np.inf
            part = float(min(room.min(), np.inf if bias is None else 1.0))
            if not np.isfinite(part):
                return
            new = np.clip(old + part * direction, 0.0, self.cost)
            met = room <= part
            new[met] = np.where(direction[met] > 0, self.cost, 0.0)
            self.beta[free] = new
            self._refresh()
            if bias is not None and part == 1.0:
                self.anchor = bias
                return

    def _face_direction(self, free: Array) -> tuple[Array, float | None]:
        """Way to the optimum of a face and its bias; or a way along which the dual rises."""
        part, signs, k = self.moved[free], self.signs[free], len(free)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = (part @ part.T) * np.outer(signs, signs)
        system[:k, k] = system[k, :k] = signs if self.intercept else 0.0
        wanted = np.append(1.0 - signs * (part @ self.normal), -self.mass if self.intercept else 0)
        change = np.linalg.lstsq(system, wanted, rcond=1e-12)[0]
        missed = wanted - system @ change
        if np.abs(missed).max() > 1e-9 * max(float(np.abs(wanted).max()), 1e-300):
            return missed[:k], None
        return change[:k], float(change[k])
