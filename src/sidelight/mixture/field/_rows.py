"""Rows under constraints as nodes of a field: their e-step, mixing weights and labels.

A node ``j`` is a row, or all rows of a must-link component: these come from one component of the
mixture. Its log-potential is (Book 2009, chapters 3 and 4)

    e_j log π_s + Σ_{i ∈ j} log p(x_i | s) ,

``e_j = 1`` where the component is drawn once per node, ``e_j`` the number of its rows where rows
are drawn first and found to belong together afterwards. Cannot-links, and pairs that only prefer to
agree or to differ, are edges between nodes. The log-likelihood is that of the rows given the
constraints: ``log Z`` of these potentials minus ``log Z`` of the prior, which has no ``p(x | s)``.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from sidelight._kernels.assignment.matching import greedy_matching
from sidelight._kernels.cluster.icm import add_rows
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.assignment.inner import connected_parts
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints, SidelightError
from sidelight.mixture._core import Posterior, known_classes
from sidelight.mixture.field._field import ConstraintField

#: An m-step brings the expected counts this much closer to those seen. Any step that does not lower
#: the bound will do in EM, and the next one begins where this one ends.
MATCHED = 0.1

Sampling: TypeAlias = Literal["points", "chunklets"]


@dataclass(frozen=True)
class FieldNodes:
    """Rows under constraints and the nodes that they are contracted to.

    Attributes
    ----------
    rows : ndarray
        Positions of the rows, ascending.
    of_row : ndarray
        Node of each of these rows.
    fixed : ndarray of shape (n_nodes,)
        Component of nodes that are out of the field, -1 for the others.
    barred : ndarray of bool, shape (n_open, k)
        Components that a node of the field must not be in.
    components : ndarray of shape (n_rows,)
        Component of all rows of the data whose class is known, -1 for the others.
    classes : ndarray
        Known class that each of the first components stands for.
    """

    rows: Array
    of_row: Array
    fixed: Array
    barred: Array
    components: Array
    classes: Array


class FieldRows:
    """Rows under hard or soft constraints, as nodes of a field.

    A node that is fixed to a component is an observation, part of the likelihood. Row weights ``w``
    stand for repetitions of everything: nodes that are tied together count ``w̄`` times, their
    average weight, and a row counts ``w / w̄`` times in each.

    Parameters
    ----------
    nodes : FieldNodes
        The rows and their nodes.
    edges : ndarray of shape (e, 2)
        Pairs of nodes of the field, by their positions among those that are not fixed.
    coupling : ndarray of shape (e,)
        Coupling of each edge, as in :class:`ConstraintField`.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of all rows.
    sampling : {"points", "chunklets"}, default="points"
        Whether rows are drawn and then linked, or nodes are drawn.
    by_marginals : bool, default=False
        Whether labels are the components of highest responsibility, row by row, and not the most
        probable ones together.
    prior_edges : ndarray of bool, shape (e,), default=None
        Edges of the prior, all by default.
    **options : dict
        Further parameters of :class:`ConstraintField`.

    Attributes
    ----------
    rows, components, classes : ndarray
        As in :class:`FieldNodes`.
    n_components : int
        Number of components ``k``.
    field : ConstraintField
        Nodes of unknown class and the edges between them.
    """

    def __init__(
        self,
        nodes: FieldNodes,
        edges: Array,
        coupling: Array,
        sample_weight: Array | None,
        *,
        sampling: Sampling = "points",
        by_marginals: bool = False,
        prior_edges: Array | None = None,
        **options: Any,
    ) -> None:
        self.rows, self.components, self.classes = nodes.rows, nodes.components, nodes.classes
        self.n_components = nodes.barred.shape[1]
        self._node = nodes.of_row
        self._fixed = nodes.fixed
        self._open = np.flatnonzero(nodes.fixed < 0)
        self._barred = nodes.barred if nodes.barred.any() else None
        self._by_marginals = by_marginals
        self._weigh(sample_weight, edges, sampling)
        n, size, weight = len(self._open), self._exponent, self._node_weight
        self.field = ConstraintField(edges, coupling, n, size=size, weight=weight, **options)
        self._prior = self.field
        if prior_edges is not None:
            some = {**options, "length": None}
            self._prior = ConstraintField(
                edges[prior_edges], coupling[prior_edges], n, size=size, weight=weight, **some
            )

    def _weigh(self, sample_weight: Array | None, edges: Array, sampling: Sampling) -> None:
        """Set the weights of rows and nodes, and their shares in the mixing weights."""
        n_nodes, n_open = len(self._fixed), len(self._open)
        row_weight = (
            np.ones(len(self.rows)) if sample_weight is None else sample_weight[self.rows]
        ).astype(np.float64)
        part = np.full(n_nodes, -1)
        n_parts, part[self._open] = connected_parts(n_open, edges)
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

    def prepared(self) -> Self:
        """Make what restarts share before any of them runs."""
        for field in (self.field, self._prior):
            field.prepare(self.n_components)
        return self

    def restarted(self, rng: np.random.RandomState) -> Self:
        """The same rows with inference state of their own, for another run of EM."""
        other = copy.copy(self)
        other.field = self.field.restarted(self.n_components, rng)
        other._prior = other.field
        if self._prior is not self.field:
            other._prior = self._prior.restarted(self.n_components, rng)
        return other

    def e_step(self, log_density: Array, log_weights: Array) -> Posterior:
        """Posterior of the rows, their log-likelihood given the constraints, and the draws."""
        logphi, of_nodes = self._potentials(log_density, log_weights)
        q = np.zeros_like(of_nodes)
        q[self._open], log_likelihood = self.field.marginals(logphi)
        log_likelihood -= self._prior.prior_counts(log_weights)[1]
        fixed = np.flatnonzero(self._fixed >= 0)
        own = self._fixed[fixed]
        q[fixed, own] = 1.0
        log_likelihood += of_nodes[fixed, own].sum() + self._size[fixed] @ log_weights[own]
        counts = (self._node_weight * self._exponent) @ q[self._open]
        counts += np.bincount(own, self._size[fixed], minlength=len(log_weights))
        return Posterior(q[self._node] * self._row_weight[:, None], float(log_likelihood), counts)

    def m_step(self, free: Array, counts: Array, log_weights: Array) -> Array:
        """Mixing weights under which the prior expects the draws that the posterior saw."""
        independent = float(free.sum()) + float(self._size[self._fixed >= 0].sum())
        with one_thread_blas:  # many products of a few numbers, which threads only slow down
            return self._prior.mixing_weights(
                free + counts, log_weights, free=independent, accuracy=MATCHED
            )

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Most probable components of the rows; hard constraints are satisfied."""
        logphi, _ = self._potentials(log_density, log_weights)
        labels = self._fixed.copy()
        if self._by_marginals:
            labels[self._open] = self.field.marginals(logphi)[0].argmax(axis=1)
        else:
            labels[self._open] = self.field.map(logphi)
        return labels[self._node]

    def _potentials(self, log_density: Array, log_weights: Array) -> tuple[Array, Array]:
        """Log-potentials of the nodes of the field, and log-densities of all nodes."""
        of_nodes = np.zeros((len(self._fixed), len(log_weights)))
        add_rows(of_nodes, self._node, log_density * self._share[:, None])
        logphi = of_nodes[self._open] + self._exponent[:, None] * log_weights
        if self._barred is not None:
            logphi[self._barred] = -np.inf
        return logphi, of_nodes


def coupled_rows(
    known: Constraints,
    n_components: int,
    sample_weight: Array | None,
    *,
    strength: float,
    certainties: bool = False,
    **options: Any,
) -> FieldRows:
    """Rows under pairs that prefer to agree or to differ; labels and groups are certain.

    Rows that certainly belong together (infinite couplings, groups) are contracted to one node.
    Known classes only bar the other components: their rows stay nodes of the field.

    Parameters
    ----------
    known : Constraints
        Pairs, labels and groups.
    n_components : int
        Number of components.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    strength : float
        Coupling of a pair of weight 1; ``inf`` makes pairs hard.
    certainties : bool, default=False
        Whether the weights of pairs are probabilities ``γ`` that they are right; the coupling of a
        pair is then ``strength log(γ / (1 - γ)) / 2``.
    **options : dict
        Further parameters of :class:`FieldRows`.
    """
    pairs, coupling = _couplings(known, strength, certainties)
    certain = _certain(pairs, coupling, known)
    certain.check_feasible(n_components)
    components, classes = known_classes(certain, n_components)

    linked = np.isposinf(coupling)
    joined = Constraints(pairs[linked], n_samples=known.n_samples, groups=known.groups)
    node, size = joined.components(), joined.closure().sizes
    ends = node[pairs[~linked]]
    is_node = size > 1
    is_node[ends.ravel()] = True
    rows = np.flatnonzero(is_node[node] | (components >= 0))
    chosen, of_row = np.unique(node[rows], return_inverse=True)
    number = np.full(len(size), -1, np.int64)
    number[chosen] = np.arange(len(chosen))

    component = np.full(len(chosen), -1, np.int64)
    component[of_row] = components[rows]
    labelled = np.flatnonzero(component >= 0)
    barred = np.zeros((len(chosen), n_components), dtype=bool)
    barred[labelled] = True
    barred[labelled, component[labelled]] = False
    nodes = FieldNodes(rows, of_row, np.full(len(chosen), -1), barred, components, classes)
    found = FieldRows(nodes, number[ends], coupling[~linked], sample_weight, **options)
    return found.prepared()


def _couplings(known: Constraints, strength: float, certainties: bool) -> tuple[Array, Array]:
    """Pairs with an influence, and their couplings."""
    pairs = np.concatenate([known.must_link, known.cannot_link])
    sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    if certainties:
        wrong = np.flatnonzero(weight > 1)
        if len(wrong):
            one, other = known.name_rows(pairs[wrong[0]])
            raise SidelightError(
                f"The pair of {one} and {other} has the weight {weight[wrong[0]]:g}, which is no "
                "probability: with weights_are_probabilities=True weights must be above 0 "
                "and at most 1."
            )
        with np.errstate(divide="ignore"):
            weight = 0.5 * (np.log(weight) - np.log1p(-weight))
    # A certainty of one half, or no strength, is no evidence, also where the other is infinite.
    speaks = (weight != 0) & (strength > 0)
    return pairs[speaks], sign[speaks] * strength * weight[speaks]


def _certain(pairs: Array, coupling: Array, known: Constraints) -> Constraints:
    """Statements that must hold: hard pairs, labels, groups; with the names of rows and classes."""
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


def hard_rows(
    known: Constraints,
    n_components: int,
    source: RowSource,
    sample_weight: Array | None = None,
    *,
    inference: str = "auto",
    match_prior: bool = False,
    **options: Any,
) -> FieldRows:
    """Rows of which every statement must hold.

    A node of known class is fixed, and its neighbors are barred from its component.

    Parameters
    ----------
    known : Constraints
        Must-links, cannot-links, labels and groups.
    n_components : int
        Number of components.
    source : RowSource
        The rows: where sums cannot be exact, the shortest cannot-links are kept.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.
    inference : {"auto", "exact", "forest"}, default="auto"
        As in :class:`ConstraintField`.
    match_prior : bool, default=False
        Whether the prior has only cannot-links that share no node.
    **options : dict
        Further parameters of :class:`FieldRows`.
    """
    closure = known.closure()
    known.check_feasible(n_components)
    components, classes = known_classes(known, n_components)
    component = np.full(closure.n_components, -1)
    component[closure.component] = components

    is_node = component >= 0
    is_node[closure.constrained_components()] = True
    rows = np.flatnonzero(is_node[closure.component])
    chosen, of_row = np.unique(closure.component[rows], return_inverse=True)
    fixed = component[chosen]
    n_open = int(np.sum(fixed < 0))
    position = np.full(closure.n_components, -1)
    position[chosen[fixed < 0]] = np.arange(n_open)

    ends, of_known = position[closure.conflicts], component[closure.conflicts]
    barred = np.zeros((n_open, n_components), dtype=bool)
    for one, other in ((0, 1), (1, 0)):
        some = (ends[:, one] >= 0) & (of_known[:, other] >= 0)
        barred[ends[some, one], of_known[some, other]] = True
    edges = ends[(ends >= 0).all(axis=1)]
    length = None
    if len(edges):
        means = _node_means(source, rows, of_row)[fixed < 0]
        length = np.linalg.norm(means[edges[:, 0]] - means[edges[:, 1]], axis=1)
    found = FieldRows(
        FieldNodes(rows, of_row, fixed, barred, components, classes),
        edges,
        np.full(len(edges), -np.inf),
        sample_weight,
        prior_edges=greedy_matching(edges, n_open) if match_prior and len(edges) else None,
        inference=inference,
        length=length,
        **options,
    )
    _warn_of_dropped_links(found.field, n_components, inference)
    return found.prepared()


def _node_means(source: RowSource, rows: Array, node: Array) -> Array:
    """Means of the rows of every node."""
    counts = np.bincount(node)
    means = np.zeros((len(counts), source.n_features))
    add_rows(means, node, np.asarray(source.take(rows), dtype=np.float64))
    return means / counts[:, None]


def _warn_of_dropped_links(field: ConstraintField, k: int, inference: str) -> None:
    """Choose methods of inference, and warn where sums are not exact."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        try:
            dropped = field.n_dropped(k)
        except SidelightError as error:
            if inference != "exact" or isinstance(error, InfeasibleConstraints):
                raise
            raise SidelightError(
                f"The cannot-links are too entangled to sum over all labelings with {k} "
                "components; use inference='auto' or 'forest', which leaves some of them out of "
                "the sums (the labels satisfy them all the same), or state fewer."
            ) from error
    if dropped and inference == "auto":
        warn(
            f"The cannot-links are too entangled to sum over all labelings with {k} components: "
            f"{dropped} of them were left out of the sums, a spanning forest of the shortest was "
            "kept. The labels satisfy them all; inference='forest' says that this is fine.",
            ConstraintWarning,
        )
