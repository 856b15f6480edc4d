"""Spectral learning: similarities of constrained rows are set (Kamvar, Klein, Manning 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import estimator
from sidelight.cluster.spectral._base import EIGEN_TOL, SpectralCoordinates
from sidelight.cluster.spectral._constrained import _ConstrainedSpectral, plain_embedding
from sidelight.cluster.spectral._constraint_graph import constraint_graph
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.graphs import smooth_eigenvectors
from sidelight.tags import MethodTags

#: Entailed pairs are written out up to this many.
MAX_ENTAILED = 50_000


@estimator
class SpectralLearning(_ConstrainedSpectral):
    """Spectral clustering of a graph in which the similarities of constrained rows are set.

    Must-linked rows have similarity 1, cannot-linked ones 0 (Kamvar, Klein, Manning 2003); entailed
    pairs count like stated ones. With few pairs the changes are weak, and can mislead where the
    graph says little: on ionosphere 50 pairs gave an agreement of .00 on rows that none of them
    mentions, where no knowledge has .08 and 200 pairs .61. Read more in the :doc:`user guide
    </cluster/spectral>`.

    On rows without constraints it was worse with correct constraints than without any on
    wine, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    normalization : {"divisive", "additive"}, default="divisive"
        Matrix of the eigenvectors: ``D^{-1/2} W D^{-1/2}``, that of the normalized cut, or
        ``(W + d_max I - D) / d_max``, as in the paper. The latter cuts off small groups of rows
        that have few edges, and the more must-links the more: on ionosphere its agreement fell
        from .21 with 50 pairs to .02 with 200, where "divisive" rose to .61.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    """

    _: KW_ONLY
    normalization: Literal["divisive", "additive"] = "divisive"

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            weights=(),
            summary="spectral clustering with similarity 1 for must-links and 0 for cannot-links",
            source="Kamvar, Klein, Manning 2003",
        )

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        edited = edit(W, entailed_pairs(known))
        if self.normalization == "divisive":
            return plain_embedding(edited, k, rng)
        # ``(W + d_max I - D) / d_max`` has the eigenvectors of ``D - W``, in reverse.
        values, vectors = smooth_eigenvectors(
            edited, k, random_state=rng, tol=EIGEN_TOL, normalized=False
        )
        return SpectralCoordinates(values, vectors, Extension(vectors, values))


def entailed_pairs(known: Constraints) -> Pairs:
    """All pairs that follow from stated ones, where they are few and do not contradict."""
    closure = known.closure(on_contradiction="keep")
    n_pairs = closure.n_entailed_must_link + closure.n_entailed_cannot_link
    if len(closure.contradictions) or n_pairs > MAX_ENTAILED:
        return known_pairs(known)
    together, apart = closure.must_link_pairs(), closure.cannot_link_pairs()
    return Pairs(together, np.ones(len(together)), apart, np.ones(len(apart)))


def edit(W: sparse.csr_array, pairs: Pairs) -> sparse.csr_array:
    """Similarity 1 for must-linked rows and 0 for cannot-linked ones (Kamvar, Klein, Manning)."""
    Q = constraint_graph(pairs, W.shape[0])
    mentioned = sparse.csr_array((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    kept = W - W.multiply(mentioned)
    edited = sparse.csr_array(kept + (Q > 0).astype(np.float64))
    edited.eliminate_zeros()
    return edited
