"""The prior of tied labels: its normalizer, and mixing weights that match counts.

The normalizer ``log Z(η)`` has the gradient ``E[n_l]`` in ``η = log π``, so that the m-step
``max_η Σ_l N_l η_l - log Z(η)``, which is concave, asks for ``E[n_l] = N_l``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._graph import connected_parts
from sidelight.mixture.field._exact import Inference
from sidelight.mixture.field._plan import Choice, Links, make_plan

# Moments match when they differ by no more than this share of the number of rows.
_TOL = 1e-8
_MAX_STEPS = 100

# A step multiplies no weight by more than e to this, and is halved twice, so often, if it fails.
_LONGEST_STEP = 3.0
_HALVINGS = 12

# So few nodes cost nothing: there is no need to stop early.
_FEW_NODES = 1000

# Normalizers of the prior that are remembered: an m-step ends with the one that an e-step needs.
_REMEMBERED = 64

# A mixing weight never falls below this, so that its logarithm is a number.
_LEAST_WEIGHT = 1e-300


class PriorModel:
    """Prior of the labels under edges that are summed over, and a bound for others.

    Without data, single nodes of one exponent are all alike, and so are pairs: each kind is kept
    once with its number. Larger parts are kept as they are.
    """

    def __init__(
        self,
        links: Links,
        summed: npt.NDArray[np.bool_],
        bounded: npt.NDArray[np.bool_],
        k: int,
        exponent: FloatArray,
        weight: FloatArray,
        choice: Choice,
    ) -> None:
        self.k = k
        edges, coupling = links.edges[summed], links.coupling[summed]
        n_parts, part = connected_parts(links.n_nodes, edges)
        sizes = np.bincount(part, minlength=n_parts)[part]
        power, rest = bound_by_pairs(links.n_nodes, links.edges[bounded])
        alone = (sizes == 1) & (rest > 0)
        single = _kinds(exponent[alone][:, None], (weight * rest)[alone])
        inside = sizes[edges[:, 0]]
        of_pair = np.concatenate([edges[inside == 2], links.edges[bounded]])
        strength = np.concatenate([coupling[inside == 2], power * links.coupling[bounded]])
        number = np.concatenate([np.ones(int(np.sum(inside == 2))), 1.0 / power])
        pair = _kinds(_signatures(exponent[of_pair], strength), weight[of_pair[:, 0]] * number)
        larger = np.flatnonzero(sizes > 2)

        n_single, n_pairs = len(single[1]), len(pair[1])
        self.exponent = np.concatenate([single[0][:, 0], pair[0][:, :2].ravel(), exponent[larger]])
        self.number = np.concatenate([single[1], np.repeat(pair[1], 2), weight[larger]])
        where = np.full(links.n_nodes, -1, np.int64)
        where[larger] = n_single + 2 * n_pairs + np.arange(len(larger))
        pairs = n_single + np.arange(2 * n_pairs).reshape(-1, 2)
        self.edges = np.concatenate([pairs, where[edges[inside > 2]]]).astype(np.int64)
        all_coupling = np.concatenate([pair[0][:, 2], coupling[inside > 2]])
        kept = Links(len(self.exponent), self.edges, all_coupling, np.zeros(len(self.edges)))
        exactly = dataclasses.replace(choice, inference="exact")
        self._plan: list[Inference] = make_plan(kept, k, exactly)
        self._remembered: dict[bytes, tuple[FloatArray, float]] = {}

    def counts(self, log_pi: FloatArray) -> tuple[FloatArray, float]:
        """Return ``E[Σ_i s_i [y_i = l]]`` and ``log Z``."""
        key = log_pi.tobytes()
        found = self._remembered.get(key)
        if found is None:
            found = self._counts(log_pi)
            if len(self._remembered) >= _REMEMBERED:  # restarts may be here at the same time
                self._remembered = {}
            self._remembered[key] = found
        return found

    def _counts(self, log_pi: FloatArray) -> tuple[FloatArray, float]:
        logphi = self.exponent[:, None] * log_pi
        counts, log_z = np.zeros(self.k), 0.0
        for inference in self._plan:
            nodes = inference.nodes
            q, terms, _ = inference.infer(logphi[nodes])
            counts += (self.number * self.exponent)[nodes] @ q
            log_z += float(self.number[nodes] @ terms)
        return counts, log_z

    def match(
        self, totals: FloatArray, log_pi: FloatArray, free: float, accuracy: float
    ) -> FloatArray:
        """Mixing weights (logarithms) under which the prior expects the totals."""
        share = np.maximum(totals / totals.sum(), _LEAST_WEIGHT)
        powers = np.unique(np.append(self.exponent, 1.0) if free > 0 else self.exponent)
        if len(self.edges) == 0 and len(powers) <= 1:
            # Independent draws, all of one exponent: pi^s is the share.
            return _normalized(np.log(share) / (powers[0] if len(powers) else 1.0))
        n = totals.sum()

        def loss(eta: FloatArray) -> tuple[float, FloatArray]:
            counts, log_z = self.counts(eta)
            pi = np.exp(eta)
            slope = counts + free * pi - totals
            # The weights are normalized on the way: only what keeps their sum matters.
            return (log_z - totals @ eta) / n, (slope - pi * slope.sum()) / n

        # Counts of independent draws vary by Σ s² where there are Σ s of them.
        drawn = self.number * self.exponent
        spread = (drawn @ self.exponent + free) / max(drawn.sum() + free, _LEAST_WEIGHT)
        exactly = len(self.exponent) <= _FEW_NODES
        found = _descend(
            loss, _normalized(log_pi), 1.0 / (spread * share), 0.0 if exactly else accuracy
        )
        return np.maximum(found, np.log(_LEAST_WEIGHT))


def _descend(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    eta: FloatArray,
    scale: FloatArray,
    accuracy: float,
) -> FloatArray:
    """Minimize a convex function of normalized log-weights, by quasi-Newton steps (BFGS).

    An evaluation is a pass over the field, and the start is nearly right: steps begin with the
    curvature of independent draws, of which ``scale`` is the inverse. It ends when the slope has
    fallen to ``accuracy`` of what it was, or to rounding; no step makes the value larger.
    """
    value, slope = loss(eta)
    enough = max(_TOL, accuracy * float(np.abs(slope).max()))
    inverse = np.diag(np.minimum(scale, 1.0 / _TOL))
    for _ in range(_MAX_STEPS):
        if np.abs(slope).max() <= enough:
            break
        step = -inverse @ slope
        step -= step.mean()
        step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), _TOL))
        expected = float(slope @ step)
        for _ in range(_HALVINGS):
            ahead = _normalized(eta + step)
            new_value, new_slope = loss(ahead)
            if new_value <= value + 1e-4 * expected:
                break
            step, expected = 0.25 * step, 0.25 * expected
        else:
            break
        moved, bent = ahead - eta, new_slope - slope
        if moved @ bent > 0:
            # Broyden, Fletcher, Goldfarb, Shanno: the inverse curvature that explains the step.
            turn = np.eye(len(eta)) - np.outer(moved, bent) / (moved @ bent)
            inverse = turn @ inverse @ turn.T + np.outer(moved, moved) / (moved @ bent)
        eta, value, slope = ahead, new_value, new_slope
    return eta


def bound_by_pairs(n_nodes: int, edges: IntArray) -> tuple[FloatArray, FloatArray]:
    r"""Powers ``c`` of the edges for which ``log Z`` is at most that of independent pairs.

    .. math::

        \log Z \le \sum_{(i, j)} \frac{1}{c_{ij}} \log Z_{ij}(c_{ij} \rho_{ij})
            + \sum_i r_i \log Z_i , \qquad r_i = 1 - \sum_j \frac{1}{c_{ij}} \ge 0 ,

    Hölder's inequality for functions of overlapping sets of independent variables (Finner 1992),
    here with ``c`` the larger degree of the two ends. Also returns ``r``.
    """
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    power = degree[edges].max(axis=1).astype(np.float64)
    shares = np.bincount(edges.ravel(), np.repeat(1.0 / power, 2), minlength=n_nodes)
    rest: FloatArray = np.asarray(1.0 - shares, dtype=np.float64)
    rest[rest < 1e-12] = 0.0
    return power, rest


def _normalized(eta: FloatArray) -> FloatArray:
    # Hundreds of times per step on a handful of numbers: SciPy's function is mostly overhead there.
    largest = eta.max()
    normalized: FloatArray = eta - (largest + np.log(np.exp(eta - largest).sum()))
    return normalized


def _signatures(exponents: FloatArray, coupling: FloatArray) -> FloatArray:
    """What a pair looks like without data: its exponents, the smaller first, and its coupling."""
    return np.column_stack([np.sort(exponents.reshape(-1, 2), axis=1), coupling])


def _kinds(rows: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows, and the total weight of each."""
    if len(rows) == 0:
        return rows, np.empty(0)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    totals: FloatArray = np.asarray(np.bincount(which.reshape(-1), weight), dtype=np.float64)
    return kinds, totals
