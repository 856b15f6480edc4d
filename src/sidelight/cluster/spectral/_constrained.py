"""Spectral clustering that listens (Wacquet et al. 2013; Yu, Shi 2004; Hamad, part 5)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.cluster.spectral._base import EIGEN_TOL, _SpectralBase, n_distinct, nearest
from sidelight.cluster.spectral._flexible import (
    flexible_vectors,
    reachable_level,
    satisfaction_matrix,
)
from sidelight.cluster.spectral._grouping import Grouping
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.cluster.spectral._propagation import propagate
from sidelight.cluster.spectral._signed_graph import (
    constraint_graph,
    contract,
    edit,
    entailed_pairs,
    largest_parts,
    merged_graph,
    penalized_laplacian,
)
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import (
    degrees,
    inverse_root,
    laplacian,
    smallest_eigenvectors,
    smooth_eigenvectors,
)
from sidelight.tags import MethodTags

METHODS = ("signed", "contract", "grouping", "flexible", "propagate", "edit", "spectral-learning")
SIGNS = np.array([[-1.0], [1.0]])
FORMS = ("separate", "merged", "difference")


class ConstrainedSpectralClustering(_SpectralBase):
    """Spectral clustering with must-links and cannot-links.

    - "signed": the ``k`` smoothest vectors of ``(1 - γ) L_sym + γ L̄_Q``, where the signed Laplacian
      ``L̄_Q`` of the constraints has ``u'L̄u = Σ_ML (u_i - u_j)² + Σ_CL (u_i + u_j)²``: one sparse
      eigenproblem for the normalised cut and the price of violated pairs (Wacquet et al. 2013,
      reconstructed in Hamad, part 5).
    - "contract": must-linked rows become one vertex of the graph, so that they have the same place
      in the embedding exactly and every must-link holds; cannot-links enter as above.
    - "grouping": normalised cuts under the equations ``x_i = x_j`` of must-linked rows (Yu, Shi
      2004), the same problem as "contract" without cannot-links; ``smooth=True`` asks instead that
      the averages over the neighbours of ``i`` and ``j`` be equal, so that whole neighbourhoods
      follow. Cannot-links are not used.
    - "flexible": the cheapest vectors of the normalised cut that satisfy the constraints to a
      level, ``v'Q̄v > β v'v``, ``Q̄ = D^{-1/2} Q D^{-1/2}`` (Wang, Davidson 2010); for at most
      20,000 rows.
    - "propagate": constraints spread along the graph and change its weights (Lu, Ip 2010).
    - "edit": must-linked rows have similarity 1, cannot-linked ones 0; weak with few pairs.
    - "spectral-learning": the same with the leading vectors of ``(W + d_max I - D) / d_max``
      (Kamvar, Klein, Manning 2003), which changed degrees do not disturb.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    method : {"signed", "contract", "grouping", "flexible", "propagate", "edit", \
            "spectral-learning"}, default="signed"
        How the constraints enter, see above.
    gamma : float, default=0.3
        Weight of the constraints against the cut, in [0, 1), for "signed" and "contract".
    form : {"separate", "merged", "difference"}, default="separate"
        Form of the constraints in "signed" and "contract": two Laplacians are added; or two graphs,
        each scaled by its degrees, whose signed Laplacian is taken; or ``Σ_ML (u_i - u_j)² - Σ_CL
        (u_i - u_j)²``, scaled to norm 1, is added.
    smooth : bool, default=False
        Whether "grouping" is about neighbourhoods instead of single rows, as the paper has it for
        pictures. With many links on few rows it did harm in our experiments: the equations then
        leave only rough vectors.
    level : float, default=0.1
        Level that "flexible" asks for, in (0, 1), as a share of what ``k - 1`` vectors can reach.
        Large ones leave only vectors that live on the constrained rows.
    alpha : float, default=0.8
        How far constraints spread, in (0, 1), for "propagate".
    rescale : bool, default=True
        Bring the largest spread constraint to 1 for "propagate". The paper does not (and has
        ``alpha=0.2``); few constraints then change little.
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
        form: str = "separate",
        smooth: bool = False,
        level: float = 0.1,
        alpha: float = 0.8,
        rescale: bool = True,
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
        self.form = form
        self.smooth = smooth
        self.level = level
        self.alpha = alpha
        self.rescale = rescale
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
        if self.form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {self.form!r}.")
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma must be in [0, 1), got {self.gamma!r}.")
        for name in ("alpha", "level"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}.")
        if self.sigma is not None and isinstance(self.sigma, str):
            raise ValueError(f"sigma must be a number or None, got {self.sigma!r}.")
        rows: Any = self._check_rows(X, reset=True)
        k = check_n_clusters(self.n_clusters, rows.shape[0])
        rng = self._check_spectral()
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        W, self._similarity = self._build_graph(rows, known, self.sigma)
        self._warn_of_parts(W, k, known)
        distinct = k if self._similarity is None else n_distinct(rows, k)
        self._unit = True
        vectors = self._embed(W, known, distinct, rng)
        self.embedding_ = vectors.astype(rows.dtype, copy=False)
        labels = self._label_embedded(vectors, distinct, known, rng)
        labels = self._attach(labels, self._similarity)
        return self._set_fitted_attributes(W, labels, known, k)

    def _label_embedded(
        self, vectors: Array, k: int, known: Constraints, rng: np.random.RandomState
    ) -> Array:
        """Labels of the rows; the one vector of two "flexible" clusters also by its sign."""
        if self._unit:
            return self._label(vectors, rng)
        labels = self._label(vectors, rng, min(k, len(np.unique(vectors, axis=0))))
        if vectors.shape[1] == 1 and k == 2:
            by_sign = nearest(vectors, SIGNS)
            if known.violations(by_sign).weight < known.violations(labels).weight:
                self._centers = SIGNS
                return by_sign
        return labels

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> Array:
        """Eigenvectors with the constraints in them; sets the eigenvalues and the extension."""
        if self.method == "contract":
            return self._contracted(W, known, k, rng)
        if self.method == "grouping":
            return self._grouped(W, known, k, rng)
        if self.method == "flexible":
            return self._flexible(W, known_pairs(known), k, rng)
        if self.method == "spectral-learning":
            return self._learned(edit(W, entailed_pairs(known)), k, rng)
        if self.method == "edit":
            return self._plain(edit(W, entailed_pairs(known)), k, rng)
        pairs = known_pairs(known)
        if self.method == "propagate":
            return self._plain(propagate(W, pairs, self.alpha, rescale=self.rescale), k, rng)
        return self._signed(W, pairs, k, rng)

    def _plain(self, W: sparse.csr_array, k: int, rng: np.random.RandomState) -> Array:
        """Embed the graph as it is."""
        self.eigenvalues_, vectors = smooth_eigenvectors(W, k, random_state=rng, tol=EIGEN_TOL)
        self._extension = Extension.normalized(vectors, 1.0 - self.eigenvalues_, degrees(W))
        return vectors

    def _learned(self, W: sparse.csr_array, k: int, rng: np.random.RandomState) -> Array:
        """``(W + d_max I - D) / d_max`` has the eigenvectors of ``D - W``, in reverse."""
        self.eigenvalues_, vectors = smooth_eigenvectors(
            W, k, random_state=rng, tol=EIGEN_TOL, normalized=False
        )
        self._extension = Extension(vectors, self.eigenvalues_)
        return vectors

    def _signed(
        self, W: sparse.csr_array, pairs: Pairs, k: int, rng: np.random.RandomState
    ) -> Array:
        """Smoothest vectors of the cut and the price of pairs."""
        Q = constraint_graph(pairs, W.shape[0])
        Q.eliminate_zeros()
        if not Q.nnz or self.gamma == 0:
            return self._plain(W, k, rng)
        kept = largest_parts(W, Q, k)
        mixed = penalized_laplacian(W, Q, self.gamma, self.form, kept)
        self.eigenvalues_, vectors = smallest_eigenvectors(
            mixed, k, random_state=rng, tol=EIGEN_TOL
        )
        vectors[~kept] = 0.0
        if self.form == "merged":
            # At a row without constraints: (1 - λ) u_i = Σ_j s_ij u_j / sqrt(g_i g_j), up to 1 - γ.
            signed_degree = degrees(abs(merged_graph(W, Q, self.gamma)))
            self._extension = Extension.normalized(
                inverse_root(signed_degree)[:, None] * vectors, 1 - self.eigenvalues_, degrees(W)
            )
        else:
            # At a row without constraints: (1 - γ)(u_i - Σ_j s_ij u_j) = λ u_i.
            factors = 1.0 - self.eigenvalues_ / (1 - self.gamma)
            self._extension = Extension.normalized(vectors, factors, degrees(W))
        return vectors

    def _flexible(
        self, W: sparse.csr_array, pairs: Pairs, k: int, rng: np.random.RandomState
    ) -> Array:
        """The cheapest vectors that satisfy the constraints to the level asked for."""
        if self.assign != "kmeans":
            raise ValueError("method='flexible' has k - 1 vectors, which need assign='kmeans'.")
        Q = constraint_graph(pairs, W.shape[0])
        satisfied = satisfaction_matrix(W, Q)
        most = reachable_level(satisfied, k) if satisfied.nnz and W.shape[0] > 3 else 0.0
        if most <= 1e-12 or k < 2:
            if Q.nnz:
                warnings.warn(
                    "There are too few constraints to ask for a level of them; the normalised cut "
                    "alone was used. method='signed' uses any number.",
                    ConstraintWarning,
                    stacklevel=4,
                )
            return self._plain(W, k, rng)
        self._unit = False
        level = self.level * most
        self.eigenvalues_, vectors = flexible_vectors(W, satisfied, k, level)
        self._warn_of_narrow(vectors, Q)
        costs = np.einsum("ij,ij->j", vectors, np.asarray(laplacian(W) @ vectors))
        scaled = np.sqrt(degrees(W).sum()) * vectors * (1.0 - costs)
        # At a row without constraints: v_i - Σ_j s_ij v_j = -λ level v_i.
        basis = Extension.normalized(scaled, 1.0 + self.eigenvalues_ * level, degrees(W)).basis
        self._extension = Extension(basis, walk=True)
        return np.asarray(inverse_root(degrees(W))[:, None] * scaled)

    def _warn_of_narrow(self, vectors: Array, Q: sparse.csr_array) -> None:
        """Say when vectors tell about the constrained rows only."""
        inside = np.sum(vectors[np.diff(Q.indptr) > 0] ** 2, axis=0)
        if np.any(inside > 0.5) and np.count_nonzero(np.diff(Q.indptr)) < 0.5 * Q.shape[0]:
            warnings.warn(
                f"{np.count_nonzero(inside > 0.5)} of {len(inside)} vectors have more than half of "
                "their length on constrained rows and tell little about the others; ask for a "
                "lower level.",
                ConstraintWarning,
                stacklevel=5,
            )

    def _contracted(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> Array:
        """Embed must-link components, then give every row the place of its component."""
        closure = known.closure(on_contradiction="keep")
        small, member = contract(W, closure.component)
        apart = Pairs(
            np.empty((0, 2), np.int64),
            np.empty(0),
            closure.conflicts,
            np.asarray(closure.conflict_weight, np.float64),
        )
        vectors = self._signed(small, apart, min(k, small.shape[0]), rng)
        # A vertex that stands for several rows looks to new rows like all of them.
        self._extension = Extension(np.asarray(member @ self._extension.basis))
        # D^{-1/2} z is what is constant on a component; a component without an edge keeps its z.
        degree = degrees(small)
        return np.asarray(member @ (vectors / np.sqrt(np.where(degree > 0, degree, 1.0))[:, None]))

    def _grouped(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> Array:
        """Embed under the equations of the must-links."""
        closure = known.closure(on_contradiction="keep")
        if len(closure.conflicts):
            warnings.warn(
                "method='grouping' knows must-links only; cannot-links are counted but not used. "
                "method='contract' uses both.",
                ConstraintWarning,
                stacklevel=4,
            )
        grouping = Grouping(W, closure.component, smooth=self.smooth)
        self.eigenvalues_, vectors = grouping.embed(k, rng)
        self._extension = Extension.normalized(
            grouping.extensible(vectors), 1.0 - self.eigenvalues_, degrees(W)
        )
        return grouping.with_lonely_rows(vectors)
