"""Normalized cuts with a price for violated pairs (Wacquet et al. 2013; Hamad, part 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from sidelight._fit.parameters import Auto, Interval, estimator
from sidelight._typing import Array
from sidelight.cluster.spectral._base import EIGEN_TOL, SpectralCoordinates
from sidelight.cluster.spectral._constrained import _ConstrainedSpectral, plain_embedding
from sidelight.cluster.spectral._constraint_graph import constraint_graph, signed_laplacian
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.graphs import degrees, laplacian, normalized_graph, smallest_eigenvectors
from sidelight.graphs.inner import inverse_root
from sidelight.tags import MethodTags


@estimator
class _PenalizedSpectral(_ConstrainedSpectral):
    """Smoothest vectors of the cut and the price of pairs."""

    #: Share of the pairs by default; ``experiments.cluster.spectral_comparison`` tries others.
    _auto_penalty = 0.5

    _family_tags = _ConstrainedSpectral._family_tags | {
        "source": "Wacquet, Poisson Caillault, Hamad, Hebert 2013"
    }

    _: KW_ONLY
    penalty: Annotated[float, Interval(0, 1, open_high=True)] | Auto = "auto"
    form: Literal["separate", "merged", "difference"] = "separate"

    def _penalized(
        self, W: sparse.csr_array, pairs: Pairs, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        share = self.penalty_ = (
            self._auto_penalty if self.penalty == "auto" else float(self.penalty)
        )
        Q = constraint_graph(pairs, W.shape[0])
        Q.eliminate_zeros()
        if not Q.nnz or share == 0:
            return plain_embedding(W, k, rng)
        kept = largest_parts(W, Q, k)
        mixed = penalized_laplacian(W, Q, share, self.form, kept)
        flat = np.sqrt(degrees(W))
        values, vectors = smallest_eigenvectors(
            mixed, k, random_state=rng, tol=EIGEN_TOL, flat=flat if np.all(flat > 0) else None
        )
        vectors[~kept] = 0.0
        if self.form == "merged":
            # At a row without constraints: (1 - λ) u_i = Σ_j s_ij u_j / sqrt(g_i g_j), up to 1 - γ.
            signed_degree = degrees(abs(merged_graph(W, Q, share)))
            scaled, factors = inverse_root(signed_degree)[:, None] * vectors, 1 - values
        else:
            # At a row without constraints: (1 - γ)(u_i - Σ_j s_ij u_j) = λ u_i.
            scaled, factors = vectors, 1.0 - values / (1 - share)
        return SpectralCoordinates(
            values, vectors, Extension.normalized(scaled, factors, degrees(W))
        )


@estimator
class SignedSpectralClustering(_PenalizedSpectral):
    """Spectral clustering in which must-linked rows attract and cannot-linked rows repel.

    The ``k`` smoothest vectors of ``(1 - γ) L_sym + γ L̄_Q``, where the signed Laplacian ``L̄_Q``
    of the constraints has ``u'L̄u = Σ_ML (u_i - u_j)² + Σ_CL (u_i + u_j)²``: one sparse
    eigenproblem for the normalized cut and the price of violated pairs (Wacquet et al. 2013,
    reconstructed in Hamad, part 5). With many pairs of several clusters a good part of the
    must-links stays broken (vehicle, 800 pairs: 27 %), and :class:`ContractedSpectralClustering`,
    which keeps all of them, agrees better with the classes of rows that no pair mentions (.42
    against .38; digits .88 against .77). Read more in the :doc:`user guide </cluster/spectral>`.

    On rows without constraints it was worse with correct constraints than without any on
    satellite and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float in [0, 1) or "auto", default="auto"
        Share ``γ`` of the constraints in the criterion; the cut has ``1 - γ``. "auto" is 0.5.
    form : {"separate", "merged", "difference"}, default="separate"
        Form of the constraints: two Laplacians are added; or two graphs, each scaled by its
        degrees, whose signed Laplacian is taken; or ``Σ_ML (u_i - u_j)² - Σ_CL (u_i - u_j)²``,
        scaled to norm 1, is added.

    Attributes
    ----------
    penalty_ : float
        Share of the constraints that was used.
    """

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="spectral clustering in which pairs attract and repel in the embedding",
        )

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        return self._penalized(W, known_pairs(known), k, rng)


def largest_parts(W: sparse.csr_array, Q: sparse.csr_array, most: int) -> Array:
    """Which rows lie in the largest parts that edges and constraints join, and have either."""
    both = W + abs(Q)
    n_parts, part = connected_components(both, directed=False)
    volumes = np.bincount(part, weights=degrees(both), minlength=n_parts)
    kept = np.zeros(n_parts, dtype=bool)
    kept[np.argsort(-volumes, kind="stable")[:most]] = True
    return np.asarray((kept & (volumes > 0))[part])


def penalized_laplacian(
    W: sparse.csr_array, Q: sparse.csr_array, share: float, form: str, kept: Array
) -> sparse.csr_array:
    """Matrix of the cut and the price of pairs; rows that are not kept stand at 1 alone.

    - "separate": ``(1 - γ) L_sym + γ L̄_Q``.
    - "merged": the signed Laplacian of ``(1 - γ) D^{-1/2} W D^{-1/2} + γ Q̄``, ``Q̄`` the
    constraints
      divided by the roots of their degrees.
    - "difference": ``(1 - γ) L_sym + γ (L_ML - L_CL) / ‖L_ML - L_CL‖``, which is not definite.
    """
    if form == "separate":
        mixed = (1 - share) * laplacian(W) + share * signed_laplacian(Q)
    elif form == "merged":
        mixed = signed_laplacian(merged_graph(W, Q, share))
    else:
        plain = laplacian(Q, "unnormalized")  # negative weights push apart
        mixed = (1 - share) * laplacian(W) + share / _spectral_norm(plain) * plain
    inside = sparse.diags_array(kept.astype(np.float64))
    outside = sparse.diags_array((~kept).astype(np.float64))
    return sparse.csr_array(inside @ mixed @ inside + outside)


def _spectral_norm(matrix: sparse.csr_array) -> float:
    """Largest absolute eigenvalue."""
    n = matrix.shape[0]
    if n <= 100:
        return float(np.linalg.norm(matrix.toarray(), 2))
    start = np.random.RandomState(0).standard_normal(n)
    return float(np.abs(eigsh(matrix, 1, which="LM", v0=start, return_eigenvectors=False)[0]))


def merged_graph(W: sparse.csr_array, Q: sparse.csr_array, share: float) -> sparse.csr_array:
    """``(1 - γ) D^{-1/2} W D^{-1/2} + γ D_Q^{-1/2} Q D_Q^{-1/2}``."""
    scale = sparse.diags_array(inverse_root(degrees(abs(Q))))
    return sparse.csr_array((1 - share) * normalized_graph(W) + share * (scale @ Q @ scale))
