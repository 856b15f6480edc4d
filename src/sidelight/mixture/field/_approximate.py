"""Inference on parts of a constraint field that are too wide for exact sums."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment import assign
from sidelight.mixture.field._exact import Inference, Region

# Mean field has no zeros: two ends that must differ repel each other this much.
_HARD = 1e4
_CHAINS = 4
_MEAN_FIELD_SWEEPS = 50
_MEAN_FIELD_TOL = 1e-4
_SMALL_FIELD = 5000


def spanning_forest(n_nodes: int, edges: IntArray, length: FloatArray) -> IntArray:
    """Numbers of the edges of a spanning forest of least total length, ascending."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    order = np.argsort(length, kind="stable")
    rank = np.empty(len(edges))
    rank[order] = np.arange(1, len(edges) + 1)
    # Not all versions of SciPy take 64-bit places here.
    ends = edges.astype(np.int32)
    links = csr_array((rank, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    return np.sort(order[minimum_spanning_tree(links).data.astype(np.int64) - 1])


class _Neighbors:
    """Couplings as neighbor lists, with the number of the edge for each."""

    def __init__(self, region: Region) -> None:
        edges, n = region.graph.edges, region.graph.n_nodes
        ends = np.concatenate([edges[:, 0], edges[:, 1]])
        order = np.argsort(ends, kind="stable")
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
        self.neighbors = np.concatenate([edges[:, 1], edges[:, 0]])[order]
        self.edge = np.tile(np.arange(len(edges)), 2)[order]
        self.coupling = region.coupling[self.edge]

    def lists(self) -> tuple[IntArray, IntArray, FloatArray]:
        return self.indptr, self.neighbors, self.coupling


class _Approximation:
    """Shared by all approximations: labels of high weight, drawn ones, a fresh mean field."""

    exact = False

    def __init__(self, region: Region, n_sweeps: int, random_state: np.random.RandomState) -> None:
        self.nodes = region.nodes
        self.edges = region.edges
        self._region = region
        self._links = _Neighbors(region)
        self._n_sweeps = n_sweeps
        self._random_state = random_state
        self._order = random_state.permutation(len(region.nodes))

    def restarted(self, rng: np.random.RandomState) -> Self:
        """The same inference with a generator of its own, and nothing kept from earlier calls."""
        other = copy.copy(self)
        other._random_state = rng
        other._forget()
        return other

    def _forget(self) -> None:
        """Forget what earlier calls kept."""

    def _hard_edges(self) -> IntArray:
        return self._region.graph.edges[np.isneginf(self._region.coupling)]

    def best(self, logphi: FloatArray) -> IntArray:
        """Labels that no change of a single node improves; hard edges are satisfied.

        With hard edges only, the best ones (unless the solver runs out of time).
        """
        from sidelight._kernels.cluster.icm import icm_sweep

        cost = -logphi
        hard = self._hard_edges()
        if len(hard):
            labels = assign(cost, hard).labels
            if len(hard) == len(self._region.coupling):
                return labels
        else:
            labels = self._ramp(logphi).argmax(axis=1)
        nearest, order = cost.argmin(axis=1), np.arange(len(labels))
        links = (self._links.indptr, self._links.neighbors, -self._links.coupling)
        while icm_sweep(cost, nearest, *links, labels, order):
            pass
        return labels

    def _ramp(self, logphi: FloatArray) -> FloatArray:
        """Increase the couplings in steps: a strong one would freeze the first labels it meets."""
        top = logphi.max(axis=1, keepdims=True)
        q = np.exp(logphi - top)
        q /= q.sum(axis=1, keepdims=True)
        strongest = min(np.abs(self._region.coupling).max(initial=0.0), _HARD)
        limit = 1.0
        while limit < strongest:
            self._mean_field(logphi, q, limit, 2)
            limit *= 2.0
        self._mean_field(logphi, q, _HARD, _MEAN_FIELD_SWEEPS)
        return q

    def _mean_field(self, logphi: FloatArray, q: FloatArray, limit: float, sweeps: int) -> None:
        from sidelight._kernels.mixture.field_sweeps import mean_field_sweeps

        mean_field_sweeps(
            logphi, *self._links.lists(), limit, self._order, q, _MEAN_FIELD_TOL, sweeps
        )

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """Labels at the end of a fresh chain."""
        return self._run(logphi, self._start(logphi, 1, rng), rng)[0][0]

    def _start(self, logphi: FloatArray, n_chains: int, rng: np.random.RandomState) -> IntArray:
        """Labels to begin chains with, shape (chains, nodes)."""
        hard = self._hard_edges()
        if len(hard):
            return np.tile(assign(-logphi, hard).labels, (n_chains, 1))
        noise = rng.gumbel(size=(n_chains, *logphi.shape))
        return (logphi + noise).argmax(axis=2)

    def _run(
        self, logphi: FloatArray, labels: IntArray, rng: np.random.RandomState
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Chains after some sweeps, average conditionals, and agreements of the edges.

        A node hardly moves alone against strong couplings: every sweep also moves clusters of them.
        """
        from sidelight._kernels.mixture.field_sweeps import gibbs_sweep, swap_clusters

        edges, coupling = self._region.graph.edges, self._region.coupling
        q, agree = np.zeros_like(logphi), np.zeros(len(self._links.neighbors))
        share = 1.0 / (self._n_sweeps * len(labels))
        for _ in range(self._n_sweeps):
            partner = _partners(logphi.shape[1], len(labels), rng)
            bonds = rng.random_sample((len(labels), len(coupling)))
            uniform = rng.random_sample(labels.shape)
            swap_clusters(logphi, edges, coupling, labels, partner, bonds, uniform, share, q)
            uniform = rng.random_sample(labels.shape)
            gibbs_sweep(logphi, *self._links.lists(), labels, uniform, share, q, agree)
        by_edge = np.bincount(self._links.edge, agree, minlength=len(self._region.edges)) / 2
        return labels, q / 2, by_edge  # as many probabilities of clusters as of single nodes


def _partners(k: int, n_chains: int, rng: np.random.RandomState) -> IntArray:
    """Labels paired up at random in every chain; of an odd number one is its own partner."""
    order = rng.random_sample((n_chains, k)).argsort(axis=1)
    even = k - k % 2
    partner = np.tile(np.arange(k), (n_chains, 1))
    one, two = order[:, :even:2], order[:, 1:even:2]
    np.put_along_axis(partner, one, two, axis=1)
    np.put_along_axis(partner, two, one, axis=1)
    return partner


class SpanningForest(_Approximation):
    """Exact inference with the edges of a spanning forest only (3.2.3).

    The other edges are ignored, but labels satisfy all hard ones.
    """

    name = "spanning forest"
    exact = True  # in the sums over the edges that are kept

    def __init__(
        self,
        region: Region,
        forest: Inference,
        n_sweeps: int,
        random_state: np.random.RandomState,
    ) -> None:
        super().__init__(region, n_sweeps, random_state)
        self.edges = forest.edges
        self._forest = forest
        where = np.empty(region.nodes.max(initial=-1) + 1, np.int64)
        where[region.nodes] = np.arange(len(region.nodes))
        self._at = where[forest.nodes]

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z and agreements of the forest."""
        q, log_z = np.empty_like(logphi), np.empty(len(logphi))
        q[self._at], log_z[self._at], agree = self._forest.infer(logphi[self._at])
        return q, log_z, agree


class GibbsChains(_Approximation):
    """Gibbs sampling (4.3.2): averages of conditional distributions over persistent chains.

    Single nodes by turns with clusters of them; narrow parts do not come here.

    Chains go on where they were at the last call, so that few sweeps suffice while the parameters
    move little; the first call runs as many again to forget where they began.
    """

    name = "gibbs"

    def __init__(self, region: Region, n_sweeps: int, random_state: np.random.RandomState) -> None:
        super().__init__(region, n_sweeps, random_state)
        self._forget()

    def _forget(self) -> None:
        self._labels: IntArray | None = None

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals; expected log-weight plus the entropy of independent labels; agreements."""
        rng = self._random_state
        if self._labels is None:
            start = self._start(logphi, _CHAINS, rng)
            self._labels = self._run(logphi, start, rng)[0]
        self._labels, q, agree = self._run(logphi, self._labels, rng)
        return q, self._log_z(logphi, q, agree), agree

    def _log_z(self, logphi: FloatArray, q: FloatArray, agree: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(q > 0, q * (logphi - np.log(q)), 0.0).sum(axis=1)
        coupling = self._region.coupling
        expected = np.where(np.isfinite(coupling), coupling, 0.0) * agree
        first = self._region.graph.edges[:, 0]
        return terms + np.bincount(first, expected, minlength=len(terms))


class MeanField(_Approximation):
    """Mean field (4.3.3, 5.3.4): the factorized distribution of highest bound, one node at a time.

    Started from where the last call ended, so that the bound never falls while EM goes on, and from
    the uncoupled posterior under slowly growing couplings; the better one is kept in every
    connected part. The latter takes many times as long: beyond some thousand nodes and edges it is
    done at calls 1, 4, 16, ... only.
    """

    name = "mean-field"

    def __init__(self, region: Region, n_sweeps: int, random_state: np.random.RandomState) -> None:
        super().__init__(region, n_sweeps, random_state)
        self._forget()

    def _forget(self) -> None:
        self._q: FloatArray | None = None
        self._n_calls, self._next_ramp = 0, 1

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, terms of the bound, agreements of independent ends."""
        self._n_calls += 1
        is_small = len(self.nodes) + len(self.edges) <= _SMALL_FIELD
        found = self._go_on(logphi)
        if found is None or is_small or self._n_calls == self._next_ramp:
            self._next_ramp = 4 * self._n_calls
            fresh = self._ramp(logphi)
            found = self._better((fresh, self._bound(logphi, fresh)), found)
        q, bound = found
        self._q = q
        ends = self._region.graph.edges
        return q, bound, np.einsum("el,el->e", q[ends[:, 0]], q[ends[:, 1]])

    def _go_on(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Marginals and bound from where the last call ended, if there was one."""
        if self._q is None or self._q.shape != logphi.shape:
            return None
        q = np.where(np.isneginf(logphi), 0.0, self._q)
        self._mean_field(logphi, q, _HARD, _MEAN_FIELD_SWEEPS)
        return q, self._bound(logphi, q)

    def _better(
        self, one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray] | None
    ) -> tuple[FloatArray, FloatArray]:
        """Of every connected part the marginals of the higher bound."""
        if other is None:
            return one
        part = self._region.part
        gain = np.bincount(part, other[1]) - np.bincount(part, one[1])
        keep = (gain > 0)[part]
        for mine, theirs in zip(one, other, strict=True):
            mine[keep] = theirs[keep]
        return one

    def _bound(self, logphi: FloatArray, q: FloatArray) -> FloatArray:
        from sidelight._kernels.mixture.field_sweeps import mean_field_bound

        terms: FloatArray = mean_field_bound(logphi, *self._links.lists(), _HARD, q)
        return terms
