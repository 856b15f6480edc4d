"""Labels of rows that are tied to each other by constraints: one engine for all mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._graph import connected_parts
from sidelight.exceptions import InfeasibleConstraints, SidelightError
from sidelight.mixture.field._exact import Inference
from sidelight.mixture.field._plan import (
    INFERENCE,
    Choice,
    canonical_links,
    check_feasible,
    exact_edges,
    make_plan,
)
from sidelight.mixture.field._prior import PriorModel


class ConstraintField:
    r"""Labels ``y`` of nodes that prefer to agree or to differ with their neighbours.

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
        Number of rows of every node, 1 by default: how often its mixing weight counts in the
        prior, unless an ``exponent`` is given.
    weight : array-like of shape (n_nodes,), optional
        How often a node counts in ``log_z`` and in the prior, 1 by default: a connected part
        counts as the average of its nodes. The marginals do not depend on it.
    inference : {"auto", "exact", "forest", "gibbs", "mean-field"}
        ``"auto"``: exact where possible, otherwise a spanning forest for parts with hard edges and
        mean field for the others, with a warning. ``"exact"``: an error there. The others apply
        to every part that they change: ``"forest"`` to parts with cycles, ``"gibbs"`` and
        ``"mean-field"`` to all parts with edges.
    budget : float
        Most entries of a table.
    length : array-like of shape (e,), optional
        The spanning forest keeps the shortest edges; the strongest couplings by default.
    n_sweeps : int
        Sweeps of a call of Gibbs sampling, after as many to forget the start at the first call.
    random_state : int, RandomState or None
        Source of chance of Gibbs sampling and of the order of mean-field updates.

    Attributes
    ----------
    n_nodes, size
        As given.

    Notes
    -----
    Methods, all for ``logphi`` of shape (n_nodes, k), -inf where a label is not allowed:

    - ``marginals(logphi) -> (q, log_z)``;
    - ``pair_marginals(logphi) -> (e,)`` probability that both ends agree;
    - ``sample(logphi, rng) -> labels`` and ``map(logphi) -> labels``;
    - ``prior_counts(log_pi, exponent) -> (counts, log_z_prior)``;
    - ``mixing_weights(totals, log_pi, exponent, free=0) -> log_pi`` by matching moments;
    - ``reset()`` before another start of EM.

    The approximations keep their state (chains, marginals) for the next call, which begins there;
    ``log_z`` is then a lower bound (mean field) or an estimate from above (Gibbs: the entropy of
    independent labels). In the prior, parts without exact inference count as if uncoupled; where
    that holds for all of them, ``π`` is the share of the responsibilities, as in plain EM.

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
        self._plans: dict[int, list[Inference]] = {}
        self._prior: PriorModel | None = None

    def methods(self, k: int) -> dict[str, int]:
        """How many nodes each method of inference answers for when there are ``k`` labels."""
        count: dict[str, int] = {}
        for inference in self._plan(k):
            count[inference.name] = count.get(inference.name, 0) + len(inference.nodes)
        return count

    def is_exact(self, k: int) -> bool:
        """Whether nothing is approximated when there are ``k`` labels."""
        return self.n_dropped(k) == 0

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
        """Return the labelling of highest weight: exactly where inference is exact.

        Where it is not, hard edges are satisfied all the same.
        """
        values = _check(logphi, self.n_nodes)
        labels = np.empty(self.n_nodes, np.int64)
        for inference in self._plan(values.shape[1]):
            labels[inference.nodes] = inference.best(values[inference.nodes])
        return labels

    def prior_counts(
        self, log_pi: npt.ArrayLike, exponent: npt.ArrayLike | None = None
    ) -> tuple[FloatArray, float]:
        r"""Expected counts of labels without data, and the normaliser of that prior.

        .. math::

            \log Z(\pi) = \log \sum_y \prod_i \pi_{y_i}^{s_i} \prod_{(i,j)} e^{\rho_{ij}
            [y_i = y_j]}, \qquad \frac{\partial \log Z}{\partial \log \pi_l}
            = \mathbb{E} \sum_i s_i [y_i = l]

        Parameters
        ----------
        log_pi : array-like of shape (k,)
            Logarithms of the mixing weights.
        exponent : array-like of shape (n_nodes,), optional
            ``s``: how often the mixing weight counts in a node; the sizes by default (rows are
            drawn, then linked), ones where a component is drawn once per node.

        Returns
        -------
        counts : ndarray of shape (k,)
        log_z_prior : float
        """
        pi = np.asarray(log_pi, dtype=np.float64)
        counts, log_z = self._prior_model(len(pi), exponent).counts(pi)
        return counts, log_z + self._constant

    def mixing_weights(
        self,
        totals: npt.ArrayLike,
        log_pi: npt.ArrayLike,
        exponent: npt.ArrayLike | None = None,
        *,
        free: float = 0.0,
    ) -> FloatArray:
        r"""M-step of the mixing weights: the prior expects the counts that the posterior has.

        Maximises over ``η = log π`` the concave function
        :math:`\sum_l N_l \eta_l - \log Z(\eta) - m \log \sum_l e^{\eta_l}`.

        Parameters
        ----------
        totals : array-like of shape (k,)
            ``N``: responsibilities summed over all rows, times the exponents of their nodes;
            those of free rows included.
        log_pi : array-like of shape (k,)
            Where to begin.
        exponent : array-like of shape (n_nodes,), optional
            See :meth:`prior_counts`.
        free : float
            ``m``: number of rows in no node.

        Returns
        -------
        log_pi : ndarray of shape (k,)
            Logarithms of the new mixing weights.
        """
        wanted = np.asarray(totals, dtype=np.float64)
        start = np.asarray(log_pi, dtype=np.float64)
        return self._prior_model(len(wanted), exponent).match(wanted, start, free)

    def reset(self) -> None:
        """Forget chains and marginals kept from the last call."""
        for plan in self._plans.values():
            for inference in plan:
                inference.forget()

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
                f"No labelling with {logphi.shape[1]} components satisfies the cannot-links with "
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

    def _prior_model(self, k: int, exponent: npt.ArrayLike | None) -> PriorModel:
        powers = self.size if exponent is None else np.asarray(exponent, dtype=np.float64)
        if self._prior is None or not self._prior.fits(k, powers):
            exact = exact_edges(self._links, self._plan(k))
            self._prior = PriorModel(self._links, exact, k, powers, self.weight, self._choice)
        return self._prior


def _check(logphi: npt.ArrayLike, n_nodes: int) -> FloatArray:
    values = np.ascontiguousarray(logphi, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_nodes or values.shape[1] == 0:
        raise SidelightError(
            f"logphi must have shape ({n_nodes}, number of components), got {values.shape}."
        )
    return values
