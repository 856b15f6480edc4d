"""Exact inference where the nodes of a part all differ from each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.mixture.field._exact import Region


def fewer_sets(size: IntArray, k: int, budget: float) -> npt.NDArray[np.bool_]:
    """Whether sets of labels are fewer than the entries of the tables of a clique."""
    fewer: npt.NDArray[np.bool_] = (size > 2) & ((size - 1) * np.log(k) > k * np.log(2))
    return fewer if 2.0**k <= budget else np.zeros_like(fewer)


class Cliques:
    """Parts in which every two nodes must differ: sums over sets of labels. O(k 2^k) per part."""

    name = "cliques"
    exact = True

    def __init__(self, region: Region) -> None:
        self._order = np.argsort(region.part, kind="stable")
        self.nodes = region.nodes[self._order]
        self.edges = region.edges
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(region.part))])

    def forget(self) -> None:
        """Nothing is kept."""

    def infer(self, logphi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Marginals, log Z at the first node of each part, agreements (none)."""
        from sidelight._kernels.mixture.cliques import clique_marginals

        q, log_z = np.empty_like(logphi), np.empty(len(logphi))
        clique_marginals(logphi, self._starts, q, log_z)
        return q, log_z, np.zeros(len(self.edges))

    def best(self, logphi: FloatArray) -> IntArray:
        """The best labels."""
        from sidelight._kernels.mixture.cliques import clique_labels

        labels: IntArray = clique_labels(logphi, self._starts, True, np.full(len(logphi), -1.0))
        return labels

    def draw(self, logphi: FloatArray, rng: np.random.RandomState) -> IntArray:
        """Labels in turn, each given those before it."""
        from sidelight._kernels.mixture.cliques import clique_labels

        uniform = rng.random_sample(len(logphi))
        labels: IntArray = clique_labels(logphi, self._starts, False, uniform)
        return labels
