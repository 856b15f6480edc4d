"""Spectral clustering that listens (Wacquet et al. 2013; Yu, Shi 2004; Hamad, part 5)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight.base import MethodTags, check_n_clusters
from sidelight.cluster._signed_graph import (
    constraint_graph,
    contract,
    edit,
    propagate,
    signed_laplacian,
)
from sidelight.cluster._spectral_base import _SpectralBase
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.graphs import degrees, laplacian, smallest_eigenvectors, smooth_eigenvectors

Array = npt.NDArray[Any]

METHODS = ("signed", "contract", "propagate", "edit")


class ConstrainedSpectralClustering(_SpectralBase):
    """Spectral clustering with must-links and cannot-links.

    - "signed": the ``k`` smoothest vectors of ``(1 - γ) L_sym + γ L̄_Q``, where the signed Laplacian
      ``L̄_Q`` of the constraints has ``u'L̄u = Σ_ML (u_i - u_j)² + Σ_CL (u_i + u_j)²``: one sparse
      eigenproblem for the normalised cut and the price of violated pairs (Wacquet et al. 2013,
      reconstructed in Hamad, part 5).
    - "contract": must-linked rows become one vertex of the graph, so that they have the same place
      in the embedding exactly and every must-link holds (constrained normalised cut; Yu, Shi 2004,
      without smoothing, is the same problem); cannot-links enter as above.
    - "propagate": constraints spread along the graph and change its weights (Lu, Ip 2010).
    - "edit": must-linked rows have similarity 1, cannot-linked ones 0 (Kamvar, Klein, Manning
      2003); weak with few pairs.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    method : {"signed", "contract", "propagate", "edit"}, default="signed"
        How the constraints enter, see above.
    gamma : float, default=0.3
        Weight of the constraints against the cut, in [0, 1), for "signed" and "contract".
    alpha : float, default=0.8
        How far constraints spread, in (0, 1), for "propagate".
    graph : {"neighbors", "full", "precomputed"}, default="neighbors"
        Join nearest neighbours, all rows (few of them), or take ``X`` for the similarities.
    weights : {"gaussian", "local", "cosine", "fuzzy", "connectivity"}, default="local"
        Similarity of joined rows, see :func:`sidelight.graphs.neighbor_graph`.
    n_neighbors : int, default=10
        Neighbours of a row.
    mutual : bool, default=False
        Join rows only if each is a neighbour of the other.
    sigma : float, default=None
        Width of "gaussian"; the median distance of the last neighbour unless told.
    assign : {"kmeans", "rotation"}, default="kmeans"
        How rows of the embedding become labels.
    n_init : int, default=10
        Starts of k-means or of the rotation.
    random_state : int, RandomState or None, default=None
        Source of chance.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors; must-linked rows are equal for "contract".
    eigenvalues_ : ndarray of shape (n_clusters,)
        Their eigenvalues.
    cuts_ : Cuts
        Cut values of the labels in the graph without constraints.
    objective_ : float
        The normalised cut.
    n_violations_ : int
        Number of stated constraints that the labels violate.
    n_iter_, converged_, history_ : int, bool, ndarray
        1, True and the normalised cut: nothing is iterated here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import ConstrainedSpectralClustering
    >>> X, y = make_moons(300, noise=0.12, random_state=0)
    >>> known = Constraints.sample(y, 20, random_state=0)
    >>> model = ConstrainedSpectralClustering(2, random_state=0).fit(X, constraints=known)
    >>> bool(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) > 0.9)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "signed",
        gamma: float = 0.3,
        alpha: float = 0.8,
        graph: str = "neighbors",
        weights: str = "local",
        n_neighbors: int = 10,
        mutual: bool = False,
        sigma: float | None = None,
        assign: str = "kmeans",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.gamma = gamma
        self.alpha = alpha
        self.graph = graph
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.mutual = mutual
        self.sigma = sigma
        self.assign = assign
        self.n_init = n_init
        self.random_state = random_state

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            name="constrained-spectral",
            family="cluster",
            summary="spectral clustering in which pairs pull and push in the embedding",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Wacquet, Poisson Caillault, Hamad, Hebert 2013; Yu, Shi 2004; Lu, Ip 2010",
            complexity="O(n log n d) for the graph, O((n m + e) k) per Lanczos step for e pairs",
            sparse=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows; similarities of shape (n_samples, n_samples) for ``graph="precomputed"``.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known.

        Returns
        -------
        self : ConstrainedSpectralClustering
            The fitted clusterer.
        """
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma must be in [0, 1), got {self.gamma!r}.")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be in (0, 1), got {self.alpha!r}.")
        rows: Any = self._check_rows(X, reset=True)
        k = check_n_clusters(self.n_clusters, rows.shape[0])
        rng = self._check_spectral()
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        W = self._build_graph(rows)
        self._rows, self._degrees = rows, degrees(W)
        self._warn_of_parts(W, k)
        self.eigenvalues_, vectors = self._embed(W, known, k, rng)
        return self._keep(W, self._label(vectors, rng), known)

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors with the constraints in them."""
        pairs = known_pairs(known)
        if self.method == "contract":
            return self._contracted(W, known, pairs, k, rng)
        if self.method == "edit":
            return smooth_eigenvectors(edit(W, pairs), k, random_state=rng)
        if self.method == "propagate":
            return smooth_eigenvectors(propagate(W, pairs, self.alpha), k, random_state=rng)
        if not pairs.n_together + pairs.n_apart or self.gamma == 0:
            return smooth_eigenvectors(W, k, random_state=rng)
        return self._signed(W, constraint_graph(pairs, W.shape[0]), k, rng)

    def _signed(
        self, W: sparse.csr_array, Q: sparse.csr_array, k: int, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        mixed = (1 - self.gamma) * laplacian(W) + self.gamma * signed_laplacian(Q)
        return smallest_eigenvectors(mixed, k, random_state=rng)

    def _contracted(
        self,
        W: sparse.csr_array,
        known: Constraints,
        pairs: Pairs,
        k: int,
        rng: np.random.RandomState,
    ) -> tuple[Array, Array]:
        """Embed must-link components, then give every row the place of its component."""
        closure = known.closure(on_contradiction="keep")
        small, member = contract(W, closure.component)
        k = min(k, small.shape[0])
        if pairs.n_apart and self.gamma > 0 and len(closure.conflicts):
            apart = Pairs(
                np.empty((0, 2), np.int64),
                np.empty(0),
                closure.conflicts,
                np.asarray(closure.conflict_weight, np.float64),
            )
            values, vectors = self._signed(small, constraint_graph(apart, small.shape[0]), k, rng)
        else:
            values, vectors = smooth_eigenvectors(small, k, random_state=rng)
        # D^{-1/2} z is what is constant on a component; rows keep their own degree beside it.
        with np.errstate(divide="ignore"):
            roots = np.where(degrees(small) > 0, 1.0 / np.sqrt(degrees(small)), 0.0)
        return values, np.asarray(member @ (roots[:, None] * vectors))
