"""Spectral clustering (Ng, Jordan, Weiss 2001; Shi, Malik 2000; Hamad, parts 1 and 2)."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.cluster.spectral._base import EIGEN_TOL, _SpectralBase, n_distinct, nearest
from sidelight.cluster.spectral._bipartition import (
    CRITERIA,
    OBJECTIVES,
    UNNORMALIZED,
    labels_of_new,
    recursive_labels,
)
from sidelight.cluster.spectral._labels import aligned_number, eigengap, unit_rows
from sidelight.cluster.spectral._nystroem import Extension, Landmarks
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.graphs import Similarity, degrees, percentile_distance, smooth_eigenvectors
from sidelight.tags import MethodTags

#: Percentiles of the distances that are tried as σ.
SIGMA_PERCENTILES = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)

#: A gap of the eigenvalues that is less than this times the next largest is not marked.
MARKED_GAP = 1.5


class SpectralClustering(_SpectralBase):
    """Clusters of a similarity graph by the eigenvectors of its Laplacian.

    The relaxed normalised cut ``Σ_g Cut(A_g, rest)/Vol(A_g)``: the eigenvectors of the ``k``
    smallest eigenvalues of ``I - D^{-1/2} W D^{-1/2}``, their rows brought to length 1, and k-means
    or a rotation for the labels (Ng, Jordan, Weiss 2001; Hamad, part 1). The graph is sparse
    throughout. What is known about the rows is not used, only counted; see
    :class:`ConstrainedSpectralClustering`.

    Parameters
    ----------
    n_clusters : int or {"eigengap", "alignment"}, default=8
        Number of clusters; or as many as there are eigenvalues before their largest gap, or as many
        eigenvectors as can be turned onto the axes best (Zelnik-Manor, Perona 2004).
    graph : {"neighbors", "full", "landmarks", "precomputed"}, default="neighbors"
        Join nearest neighbours, all rows (few of them), all rows by way of some landmarks (Nyström,
        for very many), or take ``X`` for the similarities.
    weights : {"gaussian", "local", "cosine", "fuzzy", "connectivity"}, default="local"
        Similarity of joined rows, see :func:`sidelight.graphs.neighbor_graph`.
    n_neighbors : int, default=10
        Neighbours of a row.
    n_landmarks : int, default=None
        Rows that stand for all in "landmarks"; ``max(100, 10 k)`` unless told.
    mutual : bool, default=False
        Join rows only if each is a neighbour of the other.
    sigma : float, sequence of float or "distortion", default=None
        Width of "gaussian"; of several widths, or of some percentiles of the distances for
        "distortion", the one under which the embedding is tightest around its clusters. Unless
        told it is the median distance of the last neighbour, or the 5th percentile of the distances
        for "full" and "landmarks" (which are Gaussian whatever ``weights`` says).
    objective : {"normalized-cut", "ratio-cut", "min-max-cut", "cut"}, default="normalized-cut"
        What is to be small. The first and the third are relaxed by the normalised Laplacian, the
        others by ``D - W``; a recursive partition also chooses its thresholds by it.
    partition : {"direct", "recursive"}, default="direct"
        All clusters at once from ``k`` eigenvectors, or one split after the other at the best
        threshold of the second eigenvector.
    max_cost : float, default=None
        Splits of a recursive partition that would cost more are not made, so that there may be
        fewer clusters.
    assign : {"kmeans", "rotation"}, default="kmeans"
        How rows of the embedding become labels.
    max_clusters : int, default=10
        Most clusters that "eigengap" and "alignment" may find.
    n_init : int, default=10
        Starts of k-means or of the rotation.
    random_state : int, RandomState or None, default=None
        Source of chance.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    embedding_ : ndarray of shape (n_samples, k)
        Eigenvectors.
    eigenvalues_ : ndarray of shape (k,)
        Their eigenvalues, ascending; those that were looked at to choose the number are in
        ``spectrum_``.
    cuts_ : Cuts
        Cut values of the labels, see :func:`sidelight.graphs.cut_values`.
    objective_ : float
        The cut value that ``objective`` names.
    sigma_ : float
        Width of "gaussian".
    sigma_path_ : list of tuple
        Widths that were tried and their distortion; NaN for those that leave rows without an edge.
    qualities_ : ndarray
        Quality of the alignment of 2, 3, ... eigenvectors, for ``n_clusters="alignment"``.
    splits_ : list of Split
        Splits of a recursive partition in their order: ``part``, ``new`` (labels of the rows that
        stay and leave) and ``cost``.
    n_violations_ : int
        Number of stated constraints that the labels violate.
    n_iter_, converged_, history_ : int, bool, ndarray
        1, True and the objective: nothing is iterated here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from sidelight.cluster import SpectralClustering
    >>> X, y = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    >>> labels = SpectralClustering(n_clusters=2, random_state=0).fit(X).labels_
    >>> bool(abs(np.corrcoef(labels, y)[0, 1]) > 0.99)
    True
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        graph: str = "neighbors",
        weights: str = "local",
        n_neighbors: int = 10,
        n_landmarks: int | None = None,
        mutual: bool = False,
        sigma: Any = None,
        objective: str = "normalized-cut",
        partition: str = "direct",
        max_cost: float | None = None,
        assign: str = "kmeans",
        max_clusters: int = 10,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph = graph
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.mutual = mutual
        self.sigma = sigma
        self.objective = objective
        self.partition = partition
        self.max_cost = max_cost
        self.assign = assign
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.random_state = random_state

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of a similarity graph by the eigenvectors of its Laplacian",
            knowledge=(),
            enforcement="none",
            source="Ng, Jordan, Weiss 2001; Shi, Malik 2000; Hamad, parts 1 and 2",
            complexity="O(n log n d) for the graph, O(n m k) per Lanczos step, O(n (m + k)) memory",
            sparse=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows; similarities of shape (n_samples, n_samples) for ``graph="precomputed"``.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Only counted in ``n_violations_``.

        Returns
        -------
        self : SpectralClustering
            The fitted clusterer.
        """
        rows: Any = self._check_rows(X, reset=True)
        n = rows.shape[0]
        fixed = not isinstance(self.n_clusters, str)
        if fixed:
            check_n_clusters(self.n_clusters, n)
        elif self.n_clusters not in ("eigengap", "alignment"):
            raise TypeError(
                f"n_clusters must be a whole number, 'eigengap' or 'alignment', got "
                f"{self.n_clusters!r}."
            )
        if self.partition not in ("direct", "recursive"):
            raise ValueError(f"partition must be 'direct' or 'recursive', got {self.partition!r}.")
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"objective must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}."
            )
        self._criterion = CRITERIA[self.objective]
        normalized = self.objective not in UNNORMALIZED
        self._unit = normalized
        rng = self._check_spectral()
        known = self._check_constraints(constraints, None, n)
        if self.graph == "landmarks":
            return self._fit_landmarks(rows, known, rng)
        W, self._similarity = self._with_sigma(rows, known, rng)
        self.sigma_ = np.nan if self._similarity is None else self._similarity.sigma
        most = int(self.n_clusters) if fixed else min(int(self.max_clusters) + 1, n)
        self.spectrum_, vectors = smooth_eigenvectors(
            W, most, random_state=rng, tol=EIGEN_TOL, normalized=normalized
        )
        asked = k = most if fixed else self._number(vectors)
        self._warn_of_parts(W, k, known)
        if self._similarity is not None:
            k = n_distinct(rows, k)
        self.eigenvalues_, vectors = self.spectrum_[:k], vectors[:, :k]
        self.embedding_ = vectors.astype(rows.dtype, copy=False)
        if self.partition == "recursive":
            limit = np.inf if self.max_cost is None else float(self.max_cost)
            labels, self.splits_ = recursive_labels(W, k, self.objective, rng, limit)
            asked = asked if self.max_cost is None else min(asked, len(self.splits_) + 1)
        else:
            labels = self._attach(self._label(vectors, rng), self._similarity)
            if normalized:
                self._extension = Extension.normalized(vectors, 1 - self.eigenvalues_, degrees(W))
            else:
                self._extension = Extension(vectors, self.eigenvalues_)
        return self._set_fitted_attributes(W, labels, known, asked)

    def _fit_landmarks(self, rows: Any, known: Constraints, rng: np.random.RandomState) -> Self:
        """Embed all rows by their similarities to some of them."""
        n = rows.shape[0]
        if isinstance(self.n_clusters, str) or self.partition == "recursive":
            raise ValueError(
                "graph='landmarks' needs a number of clusters, and a direct partition."
            )
        if not self._unit:
            raise ValueError(
                f"graph='landmarks' approximates the normalised Laplacian; objective="
                f"{self.objective!r} needs graph='neighbors'."
            )
        if self.sigma is not None and not isinstance(self.sigma, Real):
            raise ValueError(f"graph='landmarks' needs one sigma, got {self.sigma!r}.")
        k = int(self.n_clusters)
        m = min(n, max(100, 10 * k) if self.n_landmarks is None else int(self.n_landmarks))
        if m < k:
            raise ValueError(f"n_landmarks={m} must be at least n_clusters={k}.")
        chosen = np.sort(rng.choice(n, m, replace=False))
        landmarks = rows[chosen]
        landmarks = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
        self.sigma_ = percentile_distance(landmarks) if self.sigma is None else float(self.sigma)
        self.sigma_ = self.sigma_ or 1.0
        self._landmarks = Landmarks(np.asarray(landmarks, np.float64), self.sigma_)
        self.spectrum_, self.embedding_ = self._landmarks.fit(as_rows(rows), k)
        self.eigenvalues_ = self.spectrum_
        labels = self._label(self.embedding_, rng)
        labels[labels < 0] = nearest(self.embedding_[labels < 0], self._centers)
        # The graph is never formed; cuts are those between the landmarks.
        graph = self._landmarks.graph()
        return self._set_fitted_attributes(graph, labels, known, k, measured=labels[chosen])

    def predict(self, X: Any) -> Array:
        """Assign new rows by the Nyström extension of the embedding.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Clusters.
        """
        if self.graph != "landmarks":
            return super().predict(X)
        check_is_fitted(self)
        placed = unit_rows(self._landmarks.embed(self._check_rows(X, reset=False)))
        return nearest(placed, self._centers)

    def _assign_new(self, b: sparse.csr_array) -> Array:
        if self.partition == "recursive":
            return labels_of_new(b, self.splits_)
        return super()._assign_new(b)

    def _number(self, vectors: Array) -> int:
        """Number of clusters that the eigenvalues or eigenvectors speak for."""
        if self.n_clusters != "eigengap":
            k, self.qualities_, _ = aligned_number(vectors[:, : int(self.max_clusters)])
            return k
        gaps = np.sort(np.diff(self.spectrum_))[::-1]
        if len(gaps) > 1 and gaps[0] < MARKED_GAP * gaps[1]:
            warnings.warn(
                f"No gap between the eigenvalues is marked: the largest is {gaps[0]:.2g}, the next "
                f"{gaps[1]:.2g}. Look at spectrum_ before you trust the number of clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return eigengap(self.spectrum_)

    def _with_sigma(
        self, rows: Any, known: Constraints, rng: np.random.RandomState
    ) -> tuple[sparse.csr_array, Similarity | None]:
        """The graph; with several widths, that whose embedding is tightest around its clusters."""
        if self.sigma is None or isinstance(self.sigma, Real):
            width = None if self.sigma is None else float(self.sigma)
            return self._build_graph(rows, known, width)
        if self.graph == "precomputed" or self.weights != "gaussian":
            raise ValueError(
                f"sigma={self.sigma!r} chooses a width, which only weights='gaussian' has; got "
                f"graph={self.graph!r}, weights={self.weights!r}."
            )
        k = int(self.n_clusters) if not isinstance(self.n_clusters, str) else 2
        best, seed, self.sigma_path_ = None, rng.randint(2**31), []
        for width in self._widths(rows):
            graph = self._build_graph(rows, known, width)
            distortion = self._distortion(graph[0], k, np.random.RandomState(seed))
            self.sigma_path_.append((width, distortion))
            if best is None or not best[0] <= distortion:
                best = (distortion, graph)
        if best is None or np.isnan(best[0]):
            warnings.warn(
                "Every width that was tried leaves rows without an edge; the usual one is taken.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return self._build_graph(rows, known, None)
        return best[1]

    def _widths(self, rows: Any) -> list[float]:
        if isinstance(self.sigma, str):
            if self.sigma != "distortion":
                raise ValueError(f"sigma must be numbers or 'distortion', got {self.sigma!r}.")
            tried = [percentile_distance(rows, percent) for percent in SIGMA_PERCENTILES]
            return sorted({width for width in tried if width > 0})
        return [float(width) for width in self.sigma]

    def _distortion(self, W: sparse.csr_array, k: int, chance: np.random.RandomState) -> float:
        """Mean squared distance of embedded rows to their centres; NaN with lonely rows.

        A graph with rows that are joined to nothing would be tight for a trivial reason.
        """
        if np.any(degrees(W) <= 0):
            return np.nan
        vectors = smooth_eigenvectors(W, k, random_state=chance, tol=EIGEN_TOL)[1]
        labels = self._label(vectors, chance)
        placed = labels >= 0
        gaps = unit_rows(vectors[placed]) - self._centers[labels[placed]]
        return float(np.mean(np.sum(gaps**2, axis=1)))
