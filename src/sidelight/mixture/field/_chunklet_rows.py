"""Rows of chunklets and cannot-links between these: their E-step, mixing weights and labels.

A chunklet is a must-link component. All its rows come from one component of the mixture, so that
it is one node ``j`` with the log-potential (Book 2009, chapter 3)

    e_j log π_s + Σ_{i ∈ j} log p(x_i | s) ,

``e_j = 1`` where the component is drawn once per chunklet, ``e_j`` the number of its rows where
rows are drawn first and found to belong together afterwards. Cannot-links are edges between nodes,
whose two ends differ. The log-likelihood is that of the rows given that everything holds:
``log Z`` of these potentials minus ``log Z`` of the prior, which has no ``p(x | s)`` in it.
"""

from __future__ import annotations

import warnings

import numpy as np

from sidelight._kernels.assignment.matching import greedy_matching
from sidelight._kernels.cluster.icm import add_rows
from sidelight._typing import Array
from sidelight.assignment import assign
from sidelight.assignment._graph import connected_parts
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine._threads import one_thread_blas
from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints, SidelightError
from sidelight.mixture._core import Posterior, known_classes
from sidelight.mixture.field._field import ConstraintField

SAMPLING = ("points", "chunklets")
INFERENCE = ("auto", "exact", "forest")
NORMALIZER = ("exact", "pseudo")


class ChunkletRows:
    """Rows that constraints speak about, as nodes of a field.

    A node whose class is known is out of the field: its component is fixed, and its neighbours
    are barred from it. Such statements about single rows are observations, part of the likelihood;
    what pairs say is what the likelihood is conditioned on.

    Row weights ``w`` stand for repetitions of everything: nodes that are tied together count
    ``w̄`` times, their average weight, and a row counts ``w / w̄`` times in each.

    Parameters
    ----------
    known : Constraints
        Everything that must hold.
    n_components : int
        Number of components.
    source : RowSource
        The rows.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    sampling : {"points", "chunklets"}
        Whether rows are drawn and then linked, or chunklets are drawn.
    inference : {"auto", "exact", "forest"}
        As in :class:`ConstraintField`.
    normalizer : {"exact", "pseudo"}
        Whether the prior knows all cannot-links or only some that share no node.

    Attributes
    ----------
    n_components : int
        As given.
    rows : ndarray
        Positions of the rows, ascending.
    field : ConstraintField
        Nodes of unknown class and the cannot-links between them.
    components : ndarray of shape (n_rows,)
        Component of all rows of known class, -1 for the others.
    classes : ndarray
        Known class that each of the first components stands for.
    """

    def __init__(
        self,
        known: Constraints,
        n_components: int,
        source: RowSource,
        sample_weight: Array | None = None,
        *,
        sampling: str = "points",
        inference: str = "auto",
        normalizer: str = "exact",
    ) -> None:
        self.n_components = n_components
        closure = known.closure()
        known.check_feasible(n_components)
        self.components, self.classes = known_classes(known, n_components)
        known_component = np.full(closure.n_components, -1)
        known_component[closure.component] = self.components

        in_node = known_component >= 0
        in_node[closure.constrained_components()] = True
        self.rows = np.flatnonzero(in_node[closure.component])
        nodes, self._node = np.unique(closure.component[self.rows], return_inverse=True)
        self._known = known_component[nodes]
        self._open = np.flatnonzero(self._known < 0)
        position = np.full(closure.n_components, -1)
        position[nodes[self._open]] = np.arange(len(self._open))

        conflicts = closure.conflicts
        self.edges = position[conflicts]
        of_known = known_component[conflicts]
        self._barred = _barred(self.edges, of_known, n_components, len(self._open))
        self.edges = self.edges[(self.edges >= 0).all(axis=1)]

        self._weigh(sample_weight, sampling)
        self._make_fields(source, inference, normalizer, n_components)

    def _weigh(self, sample_weight: Array | None, sampling: str) -> None:
        """How often rows, nodes and mixing weights count."""
        n_nodes, n_open = len(self._known), len(self._open)
        row_weight = (
            np.ones(len(self.rows)) if sample_weight is None else sample_weight[self.rows]
        ).astype(np.float64)
        part = np.full(n_nodes, -1)
        n_parts, part[self._open] = connected_parts(n_open, self.edges)
        part_of_row = part[self._node]
        is_open = part_of_row >= 0
        sizes = np.bincount(part_of_row[is_open], minlength=n_parts)
        average = np.bincount(part_of_row[is_open], row_weight[is_open], minlength=n_parts) / sizes

        self._row_weight = row_weight
        self._share = row_weight.copy()
        of_row = average[part_of_row[is_open]]
        # Where nothing counts, it does not matter how often.
        self._share[is_open] = np.divide(
            row_weight[is_open], of_row, out=np.ones(len(of_row)), where=of_row > 0
        )
        self._node_weight = average[part[self._open]]
        self._size = np.bincount(self._node, self._share, minlength=n_nodes)
        self._exponent = self._size[self._open] if sampling == "points" else np.ones(n_open)

    def _make_fields(
        self, source: RowSource, inference: str, normalizer: str, n_components: int
    ) -> None:
        """The field of the posterior, and that of the prior."""
        length = None
        if len(self.edges):
            means = self._node_means(source)
            length = np.linalg.norm(means[self.edges[:, 0]] - means[self.edges[:, 1]], axis=1)

        def field(edges: Array, length: Array | None) -> ConstraintField:
            return ConstraintField(
                edges,
                np.full(len(edges), -np.inf),
                len(self._open),
                size=self._exponent,
                weight=self._node_weight,
                inference=inference,
                length=length,
            )

        self.field = field(self.edges, length)
        _plan(self.field, n_components, inference)
        self._prior = self.field
        if normalizer == "pseudo" and len(self.edges):
            self._prior = field(self.edges[greedy_matching(self.edges, len(self._open))], None)

    def _node_means(self, source: RowSource) -> Array:
        """Means of the rows of every open node."""
        means = np.zeros((len(self._known), source.n_features))
        add_rows(means, self._node, np.asarray(source.take(self.rows), dtype=np.float64))
        means /= np.bincount(self._node)[:, None]
        return means[self._open]

    def _potentials(self, log_density: Array, log_weights: Array) -> tuple[Array, Array]:
        """Log-potentials of the open nodes, and log-densities of all."""
        of_nodes = np.zeros((len(self._known), len(log_weights)))
        add_rows(of_nodes, self._node, log_density * self._share[:, None])
        logphi = of_nodes[self._open] + self._exponent[:, None] * log_weights
        if self._barred is not None:
            logphi[self._barred] = -np.inf
        return logphi, of_nodes

    def e_step(self, log_density: Array, log_weights: Array) -> Posterior:
        """Responsibilities of the rows, times their weights, and their log-likelihood."""
        logphi, of_nodes = self._potentials(log_density, log_weights)
        q = np.zeros_like(of_nodes)
        q[self._open], log_likelihood = self.field.marginals(logphi)
        log_likelihood -= self._prior.prior_counts(log_weights)[1]
        fixed = np.flatnonzero(self._known >= 0)
        own = self._known[fixed]
        q[fixed, own] = 1.0
        log_likelihood += of_nodes[fixed, own].sum() + self._size[fixed] @ log_weights[own]
        counts = (self._node_weight * self._exponent) @ q[self._open]
        counts += np.bincount(own, self._size[fixed], minlength=len(log_weights))
        resp = q[self._node] * self._row_weight[:, None]
        return Posterior(resp, float(log_likelihood), counts)

    def m_step(self, free: Array, counts: Array, log_weights: Array) -> Array:
        """Mixing weights under which the prior expects the draws that the posterior saw."""
        independent = float(free.sum()) + float(self._size[self._known >= 0].sum())
        with one_thread_blas:  # many products of a few numbers, which threads only slow down
            return self._prior.mixing_weights(free + counts, log_weights, free=independent)

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Most probable components of all rows together; everything that is known holds."""
        logphi, _ = self._potentials(log_density, log_weights)
        labels = self._known.copy()
        labels[self._open] = assign(-logphi, self.edges).labels
        return labels[self._node]


def _barred(edges: Array, known: Array, k: int, n_open: int) -> Array | None:
    """Components (n_open, k) that an open node must not be in, as a neighbour is known to be."""
    barred = np.zeros((n_open, k), dtype=bool)
    for one, other in ((0, 1), (1, 0)):
        chosen = (edges[:, one] >= 0) & (known[:, other] >= 0)
        barred[edges[chosen, one], known[chosen, other]] = True
    return barred if barred.any() else None


def _plan(field: ConstraintField, k: int, inference: str) -> None:
    """Choose methods now, and say in our words where sums are not exact."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        try:
            dropped = field.n_dropped(k)
        except SidelightError as error:
            if inference != "exact" or isinstance(error, InfeasibleConstraints):
                raise
            raise SidelightError(
                f"The cannot-links are too entangled to sum over all labellings with {k} "
                "components; use inference='auto' or 'forest', which leaves some of them out of "
                "the sums (labels_ satisfy them all the same), or state fewer."
            ) from error
    if dropped and inference == "auto":
        warnings.warn(
            f"The cannot-links are too entangled to sum over all labellings with {k} components: "
            f"{dropped} of them were left out of the sums, a spanning forest of the shortest was "
            "kept. labels_ satisfy them all; inference='forest' says that this is fine.",
            ConstraintWarning,
            stacklevel=5,
        )
