"""Rows whose components are tied to each other by pairs: their E-step and mixing weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels.cluster.icm import add_rows
from sidelight._typing import Array
from sidelight.assignment._graph import connected_parts
from sidelight.constraints import Constraints
from sidelight.mixture._core import Posterior, known_classes
from sidelight.mixture.field._field import ConstraintField


class CoupledRows:
    """Rows with couplings between them, rows that are one, and rows of known components.

    Rows that certainly belong together (infinite couplings, groups) are contracted to one node of
    the field; the mixing weight counts once for each of its rows.

    Parameters
    ----------
    pairs : ndarray of shape (e, 2)
        Rows that are coupled.
    coupling : ndarray of shape (e,)
        ``ρ`` of each pair; ``+inf`` and ``-inf`` are hard.
    known : Constraints
        Labels and groups, which are certain; its pairs do not count.
    n_components : int
        Number of components.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    inference, n_sweeps, random_state
        As in :class:`ConstraintField`.

    Attributes
    ----------
    rows : ndarray
        Positions of the rows that are not independent, or of a known component; ascending.
    field : ConstraintField
        Their nodes and couplings.
    components : ndarray of shape (n_rows,)
        Component of all rows whose class is known, -1 for the others.
    classes : ndarray
        Known class that each of the first components stands for.
    """

    def __init__(
        self,
        pairs: Array,
        coupling: Array,
        known: Constraints,
        n_components: int,
        sample_weight: Array | None,
        *,
        inference: str,
        n_sweeps: int,
        random_state: Any,
    ) -> None:
        certain = _certain(pairs, coupling, known)
        certain.check_feasible(n_components)
        self.components, self.classes = known_classes(certain, n_components)

        linked = np.isposinf(coupling)
        joined = Constraints(pairs[linked], n_samples=known.n_samples, groups=known.groups)
        node, size = joined.components(), joined.closure().sizes
        ends = node[pairs[~linked]]
        held = (size > 1)[node] | (self.components >= 0)
        is_node = np.zeros(len(size), dtype=bool)
        is_node[ends.ravel()] = True
        self.rows = np.flatnonzero(held | is_node[node])
        nodes, self._node = np.unique(node[self.rows], return_inverse=True)
        number = np.full(len(size), -1, np.int64)
        number[nodes] = np.arange(len(nodes))

        self._known = np.full(len(nodes), -1, np.int64)
        self._known[self._node] = self.components[self.rows]
        node_weight = self._weigh(sample_weight, number[ends])
        self.field = ConstraintField(
            number[ends],
            coupling[~linked],
            len(nodes),
            size=np.bincount(self._node, self._share, minlength=len(nodes)),
            weight=node_weight,
            inference=inference,
            n_sweeps=n_sweeps,
            random_state=random_state,
        )

    def _weigh(self, sample_weight: Array | None, edges: Array) -> Array | None:
        """How often rows and nodes count: a connected part as often as its rows on average.

        Inside a part every row has its share of that, so that the likelihood of the part and the
        responsibilities of its rows belong together.
        """
        self._share = np.ones(len(self.rows))
        self._weight = None
        if sample_weight is None:
            return None
        self._weight = sample_weight[self.rows].astype(np.float64)
        n_parts, part = connected_parts(len(self._known), edges)
        part_of_row = part[self._node]
        sizes = np.bincount(part_of_row, minlength=n_parts)
        average = np.bincount(part_of_row, self._weight, minlength=n_parts) / sizes
        # Where nothing counts, it does not matter how often.
        of_row = average[part_of_row]
        self._share = np.divide(self._weight, of_row, out=np.ones(len(of_row)), where=of_row > 0)
        return np.asarray(average[part])

    def _potentials(self, log_density: Array, log_weights: Array) -> Array:
        """Log-weight of every node in every component."""
        logphi = self.field.size[:, None] * log_weights
        add_rows(logphi, self._node, log_density * self._share[:, None])
        labelled = np.flatnonzero(self._known >= 0)
        own = logphi[labelled, self._known[labelled]]
        logphi[labelled] = -np.inf
        logphi[labelled, self._known[labelled]] = own
        return logphi

    def e_step(self, log_density: Array, log_weights: Array) -> Posterior:
        """Responsibilities of the rows, times their weights, and their log-likelihood."""
        q, log_z = self.field.marginals(self._potentials(log_density, log_weights))
        resp = q[self._node]
        if self._weight is not None:
            resp *= self._weight[:, None]
        log_likelihood = log_z - self.field.prior_counts(log_weights)[1]
        return Posterior(resp, log_likelihood, resp.sum(axis=0))

    def m_step(self, free: Array, counts: Array, log_weights: Array) -> Array:
        """Mixing weights under which the prior expects as many rows as there are."""
        return self.field.mixing_weights(free + counts, log_weights, free=float(free.sum()))

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Most probable components of the rows together."""
        return self.field.map(self._potentials(log_density, log_weights))[self._node]


def _certain(pairs: Array, coupling: Array, known: Constraints) -> Constraints:
    """What must hold: hard pairs, labels, groups; with the names of rows and classes."""
    named = pairs if known.ids is None else known.ids[pairs]
    labels = None
    if known.labels is not None:
        labels = np.full(known.n_samples, None, dtype=object)
        labels[known.labels >= 0] = known.label_names[known.labels[known.labels >= 0]]
    return Constraints(
        named[np.isposinf(coupling)],
        named[np.isneginf(coupling)],
        n_samples=known.n_samples,
        labels=labels,
        groups=known.groups,
        ids=known.ids,
    )
