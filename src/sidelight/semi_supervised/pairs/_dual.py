"""The dual of a pairwise support vector machine.

Every term of the objective is ``max_{l_r <= t <= h_r} t (e_r - z_r)`` with ``z_r = <f, ψ_r>``:

    label y            max(0, 1 - y f_i)          t between 0 and y,      e = y
    pair (and group)   μ w |f_i - c f_j|          t between -μw and μw,   e = 0
    not both           μ w max(0, 1 + f_i + f_j)  t between -μw and 0,    e = -1

so that ``f = Σ_r t_r ψ_r / 2λ`` and the dual is a quadratic program over a box,

    max_t  e't - ½ t'Qt,   Q_rs = <ψ_r, ψ_s> / 2λ,   z = Qt,   λ‖f‖² = ½ t'Qt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.semi_supervised.pair_dual import sweep
from sidelight._typing import FloatArray
from sidelight.semi_supervised.pairs._terms import Terms

#: Share of an objective that is not worth mentioning.
NEGLIGIBLE = 1e-6

#: A gap of this share of the objective may be within the accuracy of floating-point numbers.
ROUNDING = 1e-8

#: Sweeps of coordinate ascent between two looks at the duality gap.
SWEEPS_PER_LOOK = 5


@dataclass(frozen=True)
class Box:
    """Limits of the dual variables, and the values that the terms want.

    Attributes
    ----------
    low, high, wanted : ndarray of float64, shape (n_terms,)
        ``l``, ``h`` and ``e``.
    """

    low: FloatArray
    high: FloatArray
    wanted: FloatArray

    def loss(self, z: FloatArray) -> float:
        """Sum of the losses at the values ``z`` of the terms."""
        slack = self.wanted - z
        return float(np.maximum(self.low * slack, self.high * slack).sum())

    def bounds(self, dual: FloatArray, z: FloatArray) -> tuple[float, float]:
        """Primal and dual objective: an upper and a lower bound of the optimum."""
        norm = 0.5 * float(dual @ z)
        return self.loss(z) + norm, float(self.wanted @ dual) - norm

    def is_held(self, dual: FloatArray, slack: FloatArray, margin: float) -> Any:
        """Whether variables sit at a limit that the slack ``e - z`` presses them against."""
        return ((dual <= self.low) & (slack < -margin)) | ((dual >= self.high) & (slack > margin))


def make_box(terms: Terms, code: int, against_rest: bool, penalty: float) -> Box:
    """Limits for the machine of a class."""
    signs = terms.signs(code)
    same, apart = penalty * terms.same_weight, penalty * terms.apart_weight
    nothing = np.zeros(len(apart))
    return Box(
        low=np.concatenate([np.minimum(signs, 0.0), -same, -apart]),
        high=np.concatenate([np.maximum(signs, 0.0), same, nothing if against_rest else apart]),
        wanted=np.concatenate([signs, np.zeros(len(same)), nothing - against_rest]),
    )


@dataclass
class DualSearch:
    """Course of a search for the dual variables.

    Attributes
    ----------
    box : Box
        Limits of the variables.
    best : ndarray of float64, shape (n_terms,)
        Variables with the least primal objective.
    history : list of float
        Least primal objective after every look.
    lower : float
        Largest dual objective.
    n_iter : int
        Number of steps or sweeps.
    is_stuck : bool
        Whether rounding ended the search.
    """

    box: Box
    best: FloatArray
    history: list[float] = field(default_factory=list)
    lower: float = -np.inf
    n_iter: int = 0
    is_stuck: bool = False

    def look(self, dual: FloatArray, z: FloatArray) -> None:
        """Evaluate variables, with the values ``z`` that follow from them; keep the best."""
        primal, least = self.box.bounds(dual, z)
        if not self.history or primal < self.history[-1]:
            self.best = dual.copy()
        self.history.append(min([primal, *self.history[-1:]]))
        self.lower = max(self.lower, least)

    @property
    def gap(self) -> float:
        """Bound on the distance of the least primal objective to the optimum."""
        return max(self.history[-1] - self.lower, 0.0)

    def loses_nothing_at_zero(self) -> bool:
        """Whether ``f = 0`` is as good as what was found."""
        at_zero = self.box.loss(np.zeros(len(self.best)))
        return self.history[-1] >= (1 - NEGLIGIBLE) * at_zero

    def is_within(self, tol: float) -> bool:
        """Whether the gap is below this share of the objective."""
        return self.gap <= tol * self.history[-1]

    def is_optimal(self, tol: float) -> bool:
        """Whether the gap is below the tolerance, or as small as rounding allows."""
        return self.is_within(max(tol, ROUNDING) if self.is_stuck else tol)


def coordinate_ascent(
    features: sparse.csr_array,
    design: sparse.csr_array,
    box: Box,
    regularization: float,
    random_state: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
) -> DualSearch:
    """Sweep over the variables in random order until the duality gap is small.

    Variables that are pressed against their limits by more than any other is away from its best
    value take no part until the next look.

    Parameters
    ----------
    features : CSR array of shape (n_points, n_features)
        Features of the points.
    design : CSR array of shape (n_terms, n_points)
        The functionals ``ψ`` as combinations of points.
    box : Box
        Limits of the variables.
    regularization : float
        ``λ``.
    random_state : RandomState
        Draws the orders.
    max_iter : int
        Largest number of sweeps.
    tol : float
        Stop when the gap is below this share of the primal objective.
    """
    twice = 2 * regularization
    functionals = sparse.csr_array(design @ features)
    squares = np.asarray(functionals.multiply(functionals).sum(axis=1)).ravel()
    matters = squares > 0
    dual = np.zeros(len(squares))
    search = DualSearch(box, dual)
    while True:
        weights = features.T @ (design.T @ dual) / twice  # without the rounding of the sweeps
        z = design @ (features @ weights)
        search.look(dual, z)
        if search.is_within(tol) or search.n_iter >= max_iter:
            return search
        slack = box.wanted - z
        margin = float(np.abs(slack[matters & ~box.is_held(dual, slack, 0.0)]).max(initial=0.0))
        active = np.flatnonzero(matters & ~box.is_held(dual, slack, margin))
        for _ in range(min(SWEEPS_PER_LOOK, max_iter - search.n_iter)):
            sweep(
                random_state.permutation(active),
                design.indptr,
                design.indices,
                design.data,
                features.indptr,
                features.indices,
                features.data,
                squares,
                box.low,
                box.high,
                box.wanted,
                twice,
                dual,
                weights,
            )
            search.n_iter += 1
