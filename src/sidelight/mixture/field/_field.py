"""Labels of rows that are tied to each other by constraints: one engine for all mixtures.

Every connected part of the field has its inference (:func:`make_plan`); mixing weights follow from
the prior of all parts (:class:`PriorModel`).
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._fit.simplex import descend, normalized
from sidelight._typing import FloatArray, IntArray
from sidelight._warn import warn
from sidelight.assignment.inner import check_coloring, connected_parts, infeasible
from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints, SidelightError
from sidelight.mixture.field._approximate import (
    GibbsChains,
    MeanField,
    SpanningForest,
    spanning_forest,
)
from sidelight.mixture.field._exact import (
    Cliques,
    FieldEdges,
    Inference,
    Region,
    canonical_links,
    eliminate,
    fewer_sets,
    two_labelings,
    wide_parts,
)

INFERENCE = ("auto", "exact", "forest", "gibbs", "mean-field")

# Tables of so few entries are cheap beside sweeps: such parts are one block of Gibbs sampling, and
# the prior sums over them whatever the posterior does.
_SMALL_TABLE = 1e4

# So few nodes cost nothing: there is no need to stop early.
_FEW_NODES = 1000

# Normalizers of the prior that are remembered: an m-step ends with the one that an e-step needs.
_REMEMBERED = 64

# A mixing weight never falls below this, so that its logarithm is a number.
_MIN_WEIGHT = 1e-300


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
        Whether the prior has edges that the posterior does not sum over exactly. Without, they
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
        self._choice = SolverChoice(inference, budget, n_sweeps, check_random_state(random_state))
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
            Where there are many nodes, stop when the expected counts are this much closer to the
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
        budget = min(_SMALL_TABLE, self._choice.budget)
        wide = np.isin(region.part, wide_parts(region, k, budget))
        return region.edges[wide[region.graph.edges[:, 0]]]


def _check(logphi: npt.ArrayLike, n_nodes: int) -> FloatArray:
    values = np.ascontiguousarray(logphi, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_nodes or values.shape[1] == 0:
        raise SidelightError(
            f"logphi must have shape ({n_nodes}, number of components), got {values.shape}."
        )
    return values


@dataclass(frozen=True)
class SolverChoice:
    """How the parts of a field are to be solved."""

    inference: str
    budget: float
    n_sweeps: int
    random_state: np.random.RandomState


def check_feasible(links: FieldEdges, k: int) -> None:
    """Raise where hard edges need more than ``k`` labels."""
    result = check_coloring(links.n_nodes, links.edges[np.isneginf(links.coupling)], k)
    if result.answer == "no":
        raise infeasible(result)


def make_plan(links: FieldEdges, k: int, choice: SolverChoice) -> list[Inference]:
    """Choose a method for every connected part; together they answer for every node once."""
    n_parts, part = connected_parts(links.n_nodes, links.edges)
    part_of_edge = part[links.edges[:, 0]]
    size = np.bincount(part, minlength=n_parts)
    n_edges = np.bincount(part_of_edge, minlength=n_parts)
    all_hard = np.ones(n_parts, dtype=bool)
    all_hard[part_of_edge[np.isfinite(links.coupling)]] = False

    def take(some: npt.NDArray[np.bool_]) -> Region:
        return links.region(np.flatnonzero(some[part]), np.flatnonzero(some[part_of_edge]))

    none = np.zeros(n_parts, dtype=bool)
    two, clique, approximate = none, none, none
    budget = min(_SMALL_TABLE, choice.budget) if choice.inference == "gibbs" else choice.budget
    if choice.inference == "forest":
        approximate = n_edges >= size
    elif choice.inference == "mean-field":
        approximate = n_edges > 0
    elif k == 2:
        two = all_hard & (n_edges >= size)
    else:
        is_clique = all_hard & (2 * n_edges == size * (size - 1))
        clique = is_clique & fewer_sets(size, k, budget)
    rest = take(~(two | clique | approximate))
    plan, wide = eliminate(rest, k, budget)
    if two.any():
        plan.append(two_labelings(take(two)))
    if clique.any():
        plan.append(Cliques(take(clique)))
    if approximate.any():
        plan.append(_approximate(take(approximate), links, k, choice.inference, choice))
    return plan + _approximate_wide_parts(links, rest, wide, k, choice)


def _approximate_wide_parts(
    links: FieldEdges, region: Region, wide: IntArray, k: int, choice: SolverChoice
) -> list[Inference]:
    """Approximate the parts that exact inference cannot handle, or refuse to."""
    if len(wide) == 0:
        return []
    if choice.inference == "gibbs":
        is_wide = np.isin(region.part, wide)
        edges = region.edges[is_wide[region.graph.edges[:, 0]]]
        part = links.region(region.nodes[is_wide], edges)
        return [_approximate(part, links, k, "gibbs", choice)]
    sizes = np.bincount(region.part)[wide]
    trouble = (
        f"{len(wide)} connected part(s) of the constraints, the largest of {sizes.max():,} rows or "
        f"must-link components, cannot be summed over exactly with {k} components: a table would "
        f"have more than {choice.budget:,.0f} entries"
    )
    if choice.inference == "exact":
        raise SidelightError(
            f"{trouble}. Choose inference='mean-field', 'gibbs' or 'forest', or drop constraints."
        )
    of_edge = region.part[region.graph.edges[:, 0]]
    is_hard = np.zeros(int(region.part.max()) + 1, dtype=bool)
    is_hard[of_edge[np.isneginf(region.coupling)]] = True
    too_wide = np.zeros_like(is_hard)
    too_wide[wide] = True
    plan: list[Inference] = []
    for chosen, how in ((too_wide & is_hard, "forest"), (too_wide & ~is_hard, "mean-field")):
        if chosen.any():
            nodes, edges = region.nodes[chosen[region.part]], region.edges[chosen[of_edge]]
            plan.append(_approximate(links.region(nodes, edges), links, k, how, choice))
    used = " and ".join(repr(inference.name) for inference in plan)
    warn(
        f"{trouble}. They were approximated by {used}; choose inference='forest', 'gibbs' "
        "or 'mean-field' to say how, or drop constraints.",
        ConstraintWarning,
    )
    return plan


def _approximate(
    region: Region, links: FieldEdges, k: int, inference: str, choice: SolverChoice
) -> Inference:
    if inference == "forest":
        kept = spanning_forest(region.graph.n_nodes, region.graph.edges, links.length[region.edges])
        tree = links.region(region.nodes, region.edges[kept])
        (forest,), _ = eliminate(tree, k, choice.budget)
        return SpanningForest(region, forest, choice.n_sweeps, choice.random_state)
    kind = GibbsChains if inference == "gibbs" else MeanField
    return kind(region, choice.n_sweeps, choice.random_state)


def exact_edges(links: FieldEdges, plan: list[Inference]) -> npt.NDArray[np.bool_]:
    """Edges that inference sums over exactly."""
    exact = np.zeros(len(links.edges), dtype=bool)
    for inference in plan:
        if inference.exact:
            exact[inference.edges] = True
    return exact


class PriorModel:
    """Prior of the labels under edges that are summed over, and a bound for others.

    Without data, single nodes of one exponent are all alike, and so are pairs: each kind is kept
    once with its number. Larger parts are kept as they are.
    """

    def __init__(
        self,
        links: FieldEdges,
        summed: npt.NDArray[np.bool_],
        bounded: npt.NDArray[np.bool_],
        k: int,
        exponent: FloatArray,
        weight: FloatArray,
        choice: SolverChoice,
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
        kept = FieldEdges(len(self.exponent), self.edges, all_coupling, np.zeros(len(self.edges)))
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
        share = np.maximum(totals / totals.sum(), _MIN_WEIGHT)
        powers = np.unique(np.append(self.exponent, 1.0) if free > 0 else self.exponent)
        if len(self.edges) == 0 and len(powers) <= 1:
            # Independent draws, all of one exponent: pi^s is the share.
            return normalized(np.log(share) / (powers[0] if len(powers) else 1.0))
        n = totals.sum()

        def loss(eta: FloatArray) -> tuple[float, FloatArray]:
            counts, log_z = self.counts(eta)
            pi = np.exp(eta)
            slope = counts + free * pi - totals
            # The weights are normalized on the way: only what keeps their sum matters.
            return (log_z - totals @ eta) / n, (slope - pi * slope.sum()) / n

        # Counts of independent draws vary by Σ s² where there are Σ s of them.
        drawn = self.number * self.exponent
        spread = (drawn @ self.exponent + free) / max(drawn.sum() + free, _MIN_WEIGHT)
        exactly = len(self.exponent) <= _FEW_NODES
        found = descend(
            loss, normalized(log_pi), 1.0 / (spread * share), 0.0 if exactly else accuracy
        )
        return np.maximum(found, np.log(_MIN_WEIGHT))


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


def _signatures(exponents: FloatArray, coupling: FloatArray) -> FloatArray:
    """Signature of a pair without data: its exponents, the smaller first, and its coupling."""
    return np.column_stack([np.sort(exponents.reshape(-1, 2), axis=1), coupling])


def _kinds(rows: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows, and the total weight of each."""
    if len(rows) == 0:
        return rows, np.empty(0)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    totals: FloatArray = np.asarray(np.bincount(which.reshape(-1), weight), dtype=np.float64)
    return kinds, totals
