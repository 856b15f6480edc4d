"""Violated pairs whose price is not fixed: it moves with the centres, metrics or weights.

    P(l) = Σ_ML [l_i ≠ l_j] f_e  +  Σ_CL [l_i = l_j] t_e
         + what labels and groups cost (:class:`sidelight.cluster.pairs._penalties.Penalties`)

with f = w ‖x_i - x_j‖²_A and t = w (max-distance - ‖x_i - x_j‖²_A) for MPCK-means. Where clusters
have metrics of their own, or the price is a distance to centres (LCVQE), it depends on the clusters
of the rows: ``f_e(l_i) + g_e(l_j)`` and ``t_e(l_i)``. Then a price for being apart is a cost of the
two rows and a reward for being together::

    [l_i ≠ l_j] (f(l_i) + g(l_j))  =  f(l_i) + g(l_j) - [l_i = l_j] (f + g)(l_i)

so that iterated conditional modes look up tables and nothing else.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight._kernels.cluster.pair_icm import block_sweep, conditional_costs, icm_sweep
from sidelight._typing import Array
from sidelight.cluster.pairs._penalties import Penalties
from sidelight.constraints import Constraints


class PricedPairs(Penalties):
    """The rows under constraints, with a price for every pair.

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

    def __init__(self, constraints: Constraints, penalty: float, unit: float) -> None:
        super().__init__(constraints, unit)
        self.must_link_weight = penalty * constraints.must_link_weight
        self.cannot_link_weight = penalty * constraints.cannot_link_weight
        self._prices: tuple[Array, ...] = ()

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

    def set_prices(self, apart: Array, together: Array) -> None:
        """Set the prices of must-links that are apart and of cannot-links that are together."""
        self._prices = apart, together
        self._couple(-apart, together)

    def _couple(self, must_link: Array, cannot_link: Array) -> None:
        """Set what the pairs add to the energy when they are together."""
        anchoring = np.full((self._n_anchorings, *must_link.shape[1:]), -self.unit)
        couplings = np.concatenate([must_link, cannot_link, anchoring])
        self.graph = (self._starts, self._neighbours, couplings[self._statement])

    def relabel(self, cost: Array, labels: Array | None, rng: np.random.RandomState) -> Array:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` to a local optimum; return the labels of all nodes.

        ``labels`` is what the last call returned, ``None`` to begin with the cheapest clusters.
        """
        nearest = cost.argmin(axis=1)
        start = self.start(nearest, cost.shape[1]) if labels is None else labels.copy()
        self.improve(cost, nearest, start, rng)
        return start

    def violated(self, labels: Array) -> tuple[Array, Array]:
        """Which must-links and which cannot-links these labels violate (boolean)."""
        (a, b), (c, d) = self.must_link.T, self.cannot_link.T
        return labels[a] != labels[b], labels[c] == labels[d]

    def value(self, labels: Array) -> float:
        """P at these labels of rows and anchors."""
        return self.pair_total(labels) + self.anchor_total(labels)

    def pair_total(self, labels: Array) -> float:
        """The part of P that pairs pay."""
        apart, together = self._prices
        not_together, not_apart = self.violated(labels)
        return float(apart[not_together].sum() + together[not_apart].sum())

    def anchor_total(self, labels: Array) -> float:
        """The part of P that labels and groups pay."""
        elsewhere = sum(
            int(np.count_nonzero(labels[kind.nodes] != labels[first + kind.anchor]))
            for kind, first in zip(self.anchored, self.first_anchor, strict=True)
        )
        return self.unit * elsewhere


class ClusterPricedPairs(PricedPairs):
    """The rows under constraints, with a price for every pair and cluster."""

    _sweep = staticmethod(icm_sweep)
    _block_sweep = staticmethod(block_sweep)
    _conditional_costs = staticmethod(conditional_costs)

    def __init__(self, constraints: Constraints, penalty: float, unit: float) -> None:
        super().__init__(constraints, penalty, unit)
        self._collect = tuple(self._collector(end) for end in self.must_link.T)
        self._advance = np.empty((0, 0))

    def _collector(self, nodes: Array) -> sparse.csr_array:
        """Return the matrix that adds entries of pairs to one of their rows."""
        entries = (np.ones(len(nodes)), (nodes, np.arange(len(nodes))))
        return sparse.csr_array(entries, shape=(len(self.rows), len(nodes)))

    def set_tables(self, first: Array, second: Array, together: Array) -> None:
        """Set ``f`` and ``g`` (must-links) and ``t`` (cannot-links), each of shape (pairs, k)."""
        self._prices = first, second, together
        self._advance = self._collect[0] @ first + self._collect[1] @ second
        self._couple(-(first + second), together)

    def relabel(self, cost: Array, labels: Array | None, rng: np.random.RandomState) -> Array:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` to a local optimum; return the labels of all nodes."""
        if labels is None:
            labels = self.start(cost.argmin(axis=1), cost.shape[1])
        return super().relabel(cost + self._advance, labels, rng)

    def value(self, labels: Array) -> float:
        """P less what the rows pay in advance: the energy beyond the costs inside ``improve``."""
        n = len(self.rows)
        paid = float(self._advance[np.arange(n), labels[:n]].sum())
        return self.pair_total(labels) + self.anchor_total(labels) - paid

    def pair_total(self, labels: Array) -> float:
        """The part of P that pairs pay."""
        first, second, together = self._prices
        not_together, not_apart = (np.flatnonzero(kind) for kind in self.violated(labels))
        ends = labels[self.must_link[not_together]]
        price = first[not_together, ends[:, 0]].sum() + second[not_together, ends[:, 1]].sum()
        price += together[not_apart, labels[self.cannot_link[not_apart, 0]]].sum()
        return float(price)
