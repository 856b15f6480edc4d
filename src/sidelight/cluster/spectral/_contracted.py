"""Normalized cuts of a graph in which must-linked rows are one vertex (Hamad, part 5)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.cluster.spectral._base import SpectralCoordinates
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.cluster.spectral._signed import _PenalizedSpectral
from sidelight.constraints import Constraints, Pairs
from sidelight.graphs import degrees
from sidelight.tags import MethodTags


@estimator
class ContractedSpectralClustering(_PenalizedSpectral):
    """Spectral clustering in which must-linked rows become one vertex of the graph.

    Must-linked rows have the same place in the embedding exactly, so that every must-link holds;
    cannot-links enter as in :class:`SignedSpectralClustering` (Hamad, part 5). The best spectral
    method with constraints in our comparison, if the must-links are right: of wrong ones every one
    holds, too. Read more in the :doc:`user guide </cluster/spectral>`.

    On rows without constraints it was worse with correct constraints than without any on
    wine, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float in [0, 1) or "auto", default="auto"
        Share of the cannot-links in the criterion; the cut has the rest. "auto" is 0.3.
    form : {"separate", "merged", "difference"}, default="separate"
        Form of the cannot-links, see :class:`SignedSpectralClustering`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors; must-linked rows are equal.
    penalty_ : float
        Share of the cannot-links that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import ContractedSpectralClustering
    >>> X, y = make_moons(300, noise=0.12, random_state=0)
    >>> known = Constraints.sample(y, 20, random_state=0)
    >>> model = ContractedSpectralClustering(2, random_state=0).fit(X, constraints=known)
    >>> len(known.violations(model.labels_).must_link)
    0
    """

    _auto_penalty = 0.3

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            weights=("cannot-link",),  # must-links are contracted
            summary="spectral clustering in which must-linked rows are one vertex of the graph",
        )

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        closure = known.closure(on_contradiction="keep")
        small, member = contract(W, closure.component)
        apart = Pairs(
            np.empty((0, 2), np.int64),
            np.empty(0),
            closure.conflicts,
            np.asarray(closure.conflict_weight, np.float64),
        )
        found = self._penalized(small, apart, min(k, small.shape[0]), rng)
        assert found.extension is not None
        # A vertex that stands for several rows looks to new rows like all of them.
        extension = Extension(np.asarray(member @ found.extension.basis))
        # D^{-1/2} z is what is constant on a component; a component without an edge keeps its z.
        degree = degrees(small)
        places = found.vectors / np.sqrt(np.where(degree > 0, degree, 1.0))[:, None]
        return SpectralCoordinates(found.eigenvalues, np.asarray(member @ places), extension)


def contract(W: sparse.csr_array, component: Array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Graph of the must-link components, and the matrix that gives each row its component.

    Weights between two components add up; those inside one become its loop, so that degrees add up
    too. The normalized cut of a partition that keeps components together does not change.
    """
    n, k = len(component), int(component.max()) + 1
    member = sparse.csr_array((np.ones(n), (np.arange(n), component)), shape=(n, k))
    return sparse.csr_array(member.T @ W @ member), member
