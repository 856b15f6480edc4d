"""Violated pairs whose price depends on the rows and on the clusters they are in.

    P(l) = Σ_ML [l_i ≠ l_j] (f_e(l_i) + g_e(l_j))  +  Σ_CL [l_i = l_j] t_e(l_i)
         + what labels and groups cost (:class:`sidelight.cluster._penalties.Penalties`)

Prices are tables over pairs and clusters that a method makes anew whenever its centres or metrics
move: f = g = ½ w ‖x_i - x_j‖²_A and t = w (max-distance - ‖x_i - x_j‖²_A) for MPCK-means,
distances to centres for LCVQE. A price for being apart is a cost of the two rows and a reward for
being together::

    [l_i ≠ l_j] (f(l_i) + g(l_j))  =  f(l_i) + g(l_j) - [l_i = l_j] (f + g)(l_i)

so that iterated conditional modes look up tables and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.pair_icm import block_sweep, conditional_costs, icm_sweep
from sidelight.cluster._penalties import Penalties
from sidelight.constraints import Constraints

Array = npt.NDArray[Any]


class PricedPairs(Penalties):
    """The rows under constraints, with a price for every pair and cluster.

    Parameters
    ----------
    constraints : Constraints
        What is known.
    penalty : float
        Factor on the weights of the pairs.
    unit : float
        Cost of a labelled or grouped row elsewhere than the others of its class or group.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Positions of the rows that anything is known about, ascending.
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs, as places in ``rows``.
    must_link_weight, cannot_link_weight : ndarray of shape (m,)
        ``penalty`` times the weights of the pairs.
    """

    _sweep = staticmethod(icm_sweep)
    _block_sweep = staticmethod(block_sweep)
    _conditional_costs = staticmethod(conditional_costs)

    def __init__(self, constraints: Constraints, penalty: float, unit: float) -> None:
        super().__init__(constraints, unit)
        self.must_link_weight = penalty * constraints.must_link_weight
        self.cannot_link_weight = penalty * constraints.cannot_link_weight
        self._first = self._collector(self.must_link[:, 0])
        self._second = self._collector(self.must_link[:, 1])
        self._extra = np.empty((0, 0))
        self._apart: tuple[Array, Array] = (self._extra, self._extra)
        self._together = self._extra

    def _build_graph(self) -> None:
        """Both directions of every statement (pairs, then anchors), sorted by where they leave."""
        ends = [self.must_link, self.cannot_link]
        for kind, first in zip(self.anchored, self.first_anchor, strict=True):
            ends.append(np.column_stack([kind.nodes, first + kind.anchor]))
        stated = np.concatenate(ends).astype(np.int64)
        self._n_anchorings = len(stated) - len(self.must_link) - len(self.cannot_link)
        leaving = np.concatenate([stated[:, 0], stated[:, 1]])
        order = np.argsort(leaving, kind="stable")
        self._starts = np.searchsorted(leaving[order], np.arange(self.n_nodes + 1))
        self._neighbours = np.concatenate([stated[:, 1], stated[:, 0]])[order]
        self._statement = np.concatenate([np.arange(len(stated))] * 2)[order]

    def _collector(self, nodes: Array) -> sparse.csr_array:
        """Return the matrix that adds entries of pairs to one of their rows."""
        entries = (np.ones(len(nodes)), (nodes, np.arange(len(nodes))))
        return sparse.csr_array(entries, shape=(len(self.rows), len(nodes)))

    def set_prices(self, first: Array, second: Array, together: Array) -> None:
        """Set ``f`` and ``g`` (must-links) and ``t`` (cannot-links), each of shape (pairs, k)."""
        self._extra = self._first @ first + self._second @ second
        self._apart, self._together = (first, second), together
        anchoring = np.full((self._n_anchorings, together.shape[1]), -self.unit)
        couplings = np.concatenate([-(first + second), together, anchoring])
        self.graph = (self._starts, self._neighbours, couplings[self._statement])

    def relabel(self, cost: Array, labels: Array | None, rng: np.random.RandomState) -> Array:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` to a local optimum; return the labels of all nodes.

        ``labels`` is what the last call returned, ``None`` to begin with the cheapest clusters.
        """
        full = cost + self._extra
        start = self.start(cost.argmin(axis=1), cost.shape[1]) if labels is None else labels.copy()
        self.improve(full, full.argmin(axis=1), start, rng)
        return start

    def violated(self, labels: Array) -> tuple[Array, Array]:
        """Which must-links and which cannot-links these labels violate (boolean)."""
        ends, others = labels[self.must_link], labels[self.cannot_link]
        return ends[:, 0] != ends[:, 1], others[:, 0] == others[:, 1]

    def total(self, labels: Array) -> float:
        """P at these labels of rows and anchors."""
        apart, together = (np.flatnonzero(kind) for kind in self.violated(labels))
        first, second = self._apart
        ends = labels[self.must_link[apart]]
        price = first[apart, ends[:, 0]].sum() + second[apart, ends[:, 1]].sum()
        price += self._together[together, labels[self.cannot_link[together, 0]]].sum()
        return float(price) + self.anchor_total(labels)

    def anchor_total(self, labels: Array) -> float:
        """The part of P that labels and groups pay."""
        elsewhere = sum(
            int(np.count_nonzero(labels[kind.nodes] != labels[first + kind.anchor]))
            for kind, first in zip(self.anchored, self.first_anchor, strict=True)
        )
        return self.unit * elsewhere

    def value(self, labels: Array) -> float:
        """P less what the rows pay in advance: the energy beyond ``cost`` inside ``improve``."""
        n = len(self.rows)
        return self.total(labels) - float(self._extra[np.arange(n), labels[:n]].sum())
