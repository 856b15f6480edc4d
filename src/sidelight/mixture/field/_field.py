"""Labels of rows that are tied to each other by constraints: one engine for all mixtures.

Every connected part of the field has its inference (:func:`make_plan`); mixing weights follow from
the prior of all parts (:class:`PriorModel`).
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._graph import connected_parts
from sidelight.exceptions import InfeasibleConstraints, SidelightError
from sidelight.mixture.field._exact import (
    Inference,
    wide_parts,
)
from sidelight.mixture.field._plan import (
    SMALL_TABLE,
    Choice,
    canonical_links,
    check_feasible,
    exact_edges,
    make_plan,
)
from sidelight.mixture.field._prior import PriorModel

INFERENCE = ("auto", "exact", "forest", "gibbs", "mean-field")


class ConstraintField:
    r"""Labels ``y`` of nodes that prefer to agree or to differ with their neighbors.

    A node is a row, or a must-link component contracted to one. For unary log-potentials ``phi``
    (normally ``log π + log p(x | θ)``, summed over the rows of a node) the field is

    .. math::

        \log p(y) = \sum_i \phi_{i y_i} + \sum_{(i,j)} \rho_{ij} [y_i = y_j] - \log Z .

    Every connected part is solved by the cheapest method that is exact: single nodes, pairs and
    trees by sum-product; two labels and hard edges only, by comparing the two labelings; cliques
    of hard edges by sets of labels; anything else by variable elimination in order of least fill,
    if its largest table of ``k^(width + 1)`` entries fits the budget. What is wider is
    approximated, if that is allowed.

    Parameters
    ----------
    edges : array-like of shape (e, 2)
        Unordered pairs of nodes. Repeated pairs add up; a node paired with itself adds a constant.
    coupling : array-like of shape (e,)
        ``ρ``: positive draws together, negative pushes apart, ``-inf`` is a hard cannot-link.
        ``+inf`` is not allowed: contract hard must-links into one node.
    n_nodes : int
        Number of nodes.
    size : array-like of shape (n_nodes,), optional
        How often the mixing weight counts in a node, 1 by default: the number of its rows where
        rows are drawn and then linked, 1 where a component is drawn once per node.
    weight : array-like of shape (n_nodes,), optional
        How often a node counts in ``log_z`` and in the prior, 1 by default: a connected part
        counts as the average of its nodes. The marginals do not depend on it.
    inference : {"auto", "exact", "forest", "gibbs", "mean-field"}
        ``"auto"``: exact where possible, otherwise a spanning forest for parts with hard edges and
        mean field for the others, with a warning. ``"exact"``: an error there. The others apply
        to every part that they change: ``"forest"`` to parts with cycles, ``"mean-field"`` to all
        parts with edges, and ``"gibbs"`` to parts that need tables of more than 10,000 entries:
        smaller ones are drawn as one block, of which the average is known exactly.
    coupled_prior : bool
        Whether the prior knows edges that the posterior does not sum over exactly. Without, they
        do not count in it.
    budget : float
        Most entries of a table.
    length : array-like of shape (e,), optional
        The spanning forest keeps the shortest edges; the strongest couplings by default.
    n_sweeps : int
        Sweeps of a call of Gibbs sampling, after as many to forget the start at the first call.
    random_state : int, RandomState or None
        Seed or generator for Gibbs sampling and for the order of mean-field updates.

    Attributes
    ----------
    n_nodes, size
        As given.

    Notes
    -----
    The approximations keep their state (chains, marginals) for the next call, which begins there;
    ``log_z`` is then a lower bound (mean field) or an estimate from above (Gibbs: the entropy of
    independent labels). The normalizer of the prior is never below its true value, so that
    ``log Z`` of mean field minus it is a lower bound of the log-likelihood: parts with tables of
    up to 10,000 entries are summed over, the edges of wider ones are bounded pair by pair
    (:func:`bound_by_pairs`). A spanning forest has the prior of the edges that it keeps.

    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, chapters 3 to 5; the matching of
    moments replaces their grid (4.2) and gradient networks (3.7).

    Examples
    --------
    A row without a preference that is kept apart from one that has:

    >>> import numpy as np
    >>> from sidelight.mixture.field._field import ConstraintField
    >>> field = ConstraintField([(0, 1)], [-np.inf], n_nodes=2)
    >>> q, log_z = field.marginals(np.log([[0.9, 0.1], [0.5, 0.5]]))
    >>> q.round(2)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    >>> round(float(np.exp(log_z)), 2)
    0.5
    """

    def __init__(
        self,
        edges: npt.ArrayLike,
        coupling: npt.ArrayLike,
        n_nodes: int,
        *,
        size: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        inference: str = "auto",
        coupled_prior: bool = True,
        budget: float = 1e6,
        length: npt.ArrayLike | None = None,
        n_sweeps: int = 50,
        random_state: Any = None,
    ) -> None:
        if inference not in INFERENCE:
            raise ValueError(f"inference must be one of {INFERENCE}, got {inference!r}.")
        self.n_nodes = n_nodes
        self.size = np.ones(n_nodes) if size is None else np.asarray(size, dtype=np.float64)
        self.weight = np.ones(n_nodes) if weight is None else np.asarray(weight, dtype=np.float64)
        self._links, self._number, self._constant = canonical_links(
            n_nodes,
            np.asarray(edges, dtype=np.int64).reshape(-1, 2),
            np.asarray(coupling, dtype=np.float64).reshape(-1),
            None if length is None else np.asarray(length, dtype=np.float64),
        )
        if weight is not None:
            part = connected_parts(n_nodes, self._links.edges)[1]
            of_part = np.bincount(part, self.weight * self.size) / np.bincount(part, self.size)
            self.weight = of_part[part]
        self._choice = Choice(inference, budget, n_sweeps, check_random_state(random_state))
        self._coupled_prior = coupled_prior
        self._plans: dict[int, list[Inference]] = {}
        self._priors: dict[int, PriorModel] = {}

    def methods(self, k: int) -> dict[str, int]:
        """How many nodes each method of inference answers for when there are ``k`` labels."""
        count: dict[str, int] = {}
        for inference in self._plan(k):
            count[inference.name] = count.get(inference.name, 0) + len(inference.nodes)
        return count

    def n_dropped(self, k: int) -> int:
        """Edges that are not summed over exactly when there are ``k`` labels."""
        return int((~exact_edges(self._links, self._plan(k))).sum())

    def marginals(self, logphi: npt.ArrayLike) -> tuple[FloatArray, float]:
        """Return ``p(y_i = l)`` of shape (n_nodes, k), and ``log Z``."""
        q, log_z, _ = self._infer(_check(logphi, self.n_nodes))
        return q, float(self.weight @ log_z) + self._constant

    def pair_marginals(self, logphi: npt.ArrayLike) -> FloatArray:
        """Probability that both ends of every edge, as given, have the same label."""
        agree = self._infer(_check(logphi, self.n_nodes))[2]
        return np.where(self._number >= 0, np.append(agree, 1.0)[self._number], 1.0)

    def sample(self, logphi: npt.ArrayLike, rng: Any = None) -> IntArray:
        """Draw labels of all nodes together."""
        values = _check(logphi, self.n_nodes)
        random_state = self._choice.random_state if rng is None else check_random_state(rng)
        labels = np.empty(self.n_nodes, np.int64)
        for inference in self._plan(values.shape[1]):
            labels[inference.nodes] = inference.draw(values[inference.nodes], random_state)
        return labels

    def map(self, logphi: npt.ArrayLike) -> IntArray:
        """Return the labeling of highest weight: exactly where inference is exact.

        Where it is not, hard edges are satisfied all the same.
        """
        values = _check(logphi, self.n_nodes)
        labels = np.empty(self.n_nodes, np.int64)
        for inference in self._plan(values.shape[1]):
            labels[inference.nodes] = inference.best(values[inference.nodes])
        return labels

    def prior_counts(self, log_pi: npt.ArrayLike) -> tuple[FloatArray, float]:
        r"""Return expected counts of labels without data, and the normalizer of that prior.

        .. math::

            \log Z(\pi) = \log \sum_y \prod_i \pi_{y_i}^{s_i} \prod_{(i,j)} e^{\rho_{ij}
            [y_i = y_j]}, \qquad \frac{\partial \log Z}{\partial \log \pi_l}
            = \mathbb{E} \sum_i s_i [y_i = l]
        """
        pi = np.asarray(log_pi, dtype=np.float64)
        counts, log_z = self._prior_model(len(pi)).counts(pi)
        return counts, log_z + self._constant

    def mixing_weights(
        self,
        totals: npt.ArrayLike,
        log_pi: npt.ArrayLike,
        *,
        free: float = 0.0,
        accuracy: float = 0.0,
    ) -> FloatArray:
        r"""M-step of the mixing weights: the prior expects the counts that the posterior has.

        Maximizes over ``η = log π`` the concave function
        :math:`\sum_l N_l \eta_l - \log Z(\eta) - m \log \sum_l e^{\eta_l}`.

        Parameters
        ----------
        totals : array-like of shape (k,)
            ``N``: responsibilities summed over all nodes, times their sizes, and over free rows.
        log_pi : array-like of shape (k,)
            Logarithms of the mixing weights to start from.
        free : float
            ``m``: number of rows in no node.
        accuracy : float
            Where there are many nodes, stop when the expected counts are so much closer to the
            totals than at the start. Never below where it started.
        """
        wanted = np.asarray(totals, dtype=np.float64)
        start = np.asarray(log_pi, dtype=np.float64)
        return self._prior_model(len(wanted)).match(wanted, start, free, accuracy)

    def prepare(self, k: int) -> None:
        """Make everything that does not change while EM runs with ``k`` labels."""
        self._prior_model(k)

    def restarted(self, k: int, rng: np.random.RandomState) -> Self:
        """The same field with inference state and a generator of its own, for another run of EM.

        The field has been prepared for ``k`` labels, since restarts may run at the same time.
        """
        other = copy.copy(self)
        other._plans = {k: [inference.restarted(rng) for inference in self._plan(k)]}
        return other

    def _infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, the terms of log Z by node, and the agreement of every canonical edge."""
        q = np.empty_like(logphi)
        log_z = np.zeros(self.n_nodes)
        agree = np.full(len(self._links.edges), np.nan)
        for inference in self._plan(logphi.shape[1]):
            nodes = inference.nodes
            q[nodes], log_z[nodes], agree[inference.edges] = inference.infer(logphi[nodes])
        if np.isneginf(log_z).any():
            raise InfeasibleConstraints(
                f"No labeling with {logphi.shape[1]} components satisfies the cannot-links with "
                "the components that are allowed to each row.",
                k=logphi.shape[1],
                sufficient_k=None,
            )
        lost = np.isnan(agree)
        if lost.any():
            # Edges outside the spanning forest: their ends count as independent.
            ends = self._links.edges[lost]
            agree[lost] = np.einsum("el,el->e", q[ends[:, 0]], q[ends[:, 1]])
        return q, log_z, agree

    def _plan(self, k: int) -> list[Inference]:
        if k not in self._plans:
            check_feasible(self._links, k)
            self._plans[k] = make_plan(self._links, k, self._choice)
        return self._plans[k]

    def _prior_model(self, k: int) -> PriorModel:
        if k not in self._priors:
            summed = exact_edges(self._links, self._plan(k))
            bounded = np.zeros_like(summed)
            if self._coupled_prior:
                for inference in self._plan(k):
                    if not inference.exact:
                        wide = self._wide_edges(inference, k)
                        summed[np.setdiff1d(inference.edges, wide)] = True
                        bounded[wide] = True
            exponent, weight = self.size, self.weight
            self._priors[k] = PriorModel(
                self._links, summed, bounded, k, exponent, weight, self._choice
            )
        return self._priors[k]

    def _wide_edges(self, inference: Inference, k: int) -> IntArray:
        """Edges of an approximation that small tables cannot sum over either."""
        region = self._links.region(np.sort(inference.nodes), np.sort(inference.edges))
        budget = min(SMALL_TABLE, self._choice.budget)
        wide = np.isin(region.part, wide_parts(region, k, budget))
        return region.edges[wide[region.graph.edges[:, 0]]]


def _check(logphi: npt.ArrayLike, n_nodes: int) -> FloatArray:
    values = np.ascontiguousarray(logphi, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_nodes or values.shape[1] == 0:
        raise SidelightError(
            f"logphi must have shape ({n_nodes}, number of components), got {values.shape}."
        )
    return values
