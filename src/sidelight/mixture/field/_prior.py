"""The prior of a constraint field: expected counts without data, and the weights that match them.

The normaliser ``log Z(η)`` of the prior has the gradient ``E[n_l]`` in ``η = log π``, so that the
M-step ``max_η Σ_l N_l η_l - log Z(η)``, which is concave, asks for ``E[n_l] = N_l``.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sidelight._typing import FloatArray
from sidelight.assignment._graph import connected_parts
from sidelight.mixture.field._exact import Inference
from sidelight.mixture.field._plan import Choice, Links, make_plan

# Moments match when they differ by no more than this share of the number of rows.
_TOL = 1e-8
_MAX_STEPS = 100

# A mixing weight never falls below this, so that its logarithm is a number.
_LEAST_WEIGHT = 1e-300


class PriorModel:
    """Prior of the labels under the edges that are summed over exactly.

    Without data, single nodes of one exponent are all alike, and so are pairs: each kind is kept
    once with its number. Larger parts are kept as they are.
    """

    def __init__(
        self,
        links: Links,
        exact: npt.NDArray[np.bool_],
        k: int,
        exponent: FloatArray,
        weight: FloatArray,
        choice: Choice,
    ) -> None:
        self.k = k
        self._given = exponent.copy()
        edges, coupling = links.edges[exact], links.coupling[exact]
        n_parts, part = connected_parts(links.n_nodes, edges)
        sizes = np.bincount(part, minlength=n_parts)[part]
        single = _kinds(exponent[sizes == 1][:, None], weight[sizes == 1])
        inside = sizes[edges[:, 0]]
        of_pair = edges[inside == 2]
        pair = _kinds(_signatures(exponent[of_pair], coupling[inside == 2]), weight[of_pair[:, 0]])
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

    def fits(self, k: int, exponent: FloatArray) -> bool:
        """Whether this is the prior of ``k`` labels with these exponents."""
        return self.k == k and np.array_equal(self._given, exponent)

    def counts(self, log_pi: FloatArray) -> tuple[FloatArray, float]:
        """Return ``E[Σ_i s_i [y_i = l]]`` and ``log Z``."""
        logphi = self.exponent[:, None] * log_pi
        counts, log_z = np.zeros(self.k), 0.0
        for inference in self._plan:
            nodes = inference.nodes
            q, terms, _ = inference.infer(logphi[nodes])
            counts += (self.number * self.exponent)[nodes] @ q
            log_z += float(self.number[nodes] @ terms)
        return counts, log_z

    def match(self, totals: FloatArray, log_pi: FloatArray, free: float) -> FloatArray:
        """Mixing weights (logarithms) under which the prior expects the totals."""
        share = np.maximum(totals / totals.sum(), _LEAST_WEIGHT)
        powers = np.unique(np.append(self.exponent, 1.0) if free > 0 else self.exponent)
        if len(self.edges) == 0 and len(powers) <= 1:
            # Independent draws, all of one exponent: pi^s is the share.
            return _normalised(np.log(share) / (powers[0] if len(powers) else 1.0))
        n = totals.sum()

        def loss(eta: FloatArray) -> tuple[float, FloatArray]:
            pi = _normalised(eta)
            counts, log_z = self.counts(pi)
            slope = counts + free * np.exp(pi) - totals
            # The weights are normalised on the way: only what keeps their sum matters.
            return (log_z - totals @ pi) / n, (slope - np.exp(pi) * slope.sum()) / n

        found = minimize(
            loss,
            _normalised(log_pi),
            jac=True,
            method="L-BFGS-B",
            options={"gtol": _TOL, "ftol": 0.0, "maxiter": _MAX_STEPS},
        )
        return np.maximum(_normalised(found.x), np.log(_LEAST_WEIGHT))


def _normalised(eta: FloatArray) -> FloatArray:
    # Hundreds of times per step on a handful of numbers: SciPy's function is mostly overhead there.
    largest = eta.max()
    normalised: FloatArray = eta - (largest + np.log(np.exp(eta - largest).sum()))
    return normalised


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
