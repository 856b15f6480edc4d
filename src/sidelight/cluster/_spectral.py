"""Spectral clustering (Ng, Jordan, Weiss 2001; Shi, Malik 2000; Hamad, parts 1 and 2)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight.base import MethodTags, check_n_clusters
from sidelight.cluster._bipartition import recursive_labels
from sidelight.cluster._nystroem import Landmarks
from sidelight.cluster._spectral_base import _SpectralBase, nearest
from sidelight.cluster._spectral_labels import aligned_number, eigengap, unit_rows
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.graphs import degrees, percentile_distance, smooth_eigenvectors

Array = npt.NDArray[Any]

#: Percentiles of the distances that are tried as σ.
SIGMA_PERCENTILES = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)


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
    sigma : float or "distortion", default=None
        Width of "gaussian"; the one of several under which the embedding is tightest; or the median
        distance of the last neighbour.
    objective : {"normalized-cut", "ratio-cut", "min-max-cut", "cut"}, default="normalized-cut"
        What a recursive partition looks at; the direct one relaxes the normalised cut.
    partition : {"direct", "recursive"}, default="direct"
        All clusters at once from ``k`` eigenvectors, or one split after the other at the best
        threshold of the second eigenvector.
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
        The normalised cut.
    sigma_path_ : list of tuple
        Widths that were tried and their distortion, for ``sigma="distortion"``.
    n_violations_ : int
        Number of stated constraints that the labels violate.
    n_iter_, converged_, history_ : int, bool, ndarray
        1, True and the normalised cut: nothing is iterated here.

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
        sigma: float | str | None = None,
        objective: str = "normalized-cut",
        partition: str = "direct",
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
        self.assign = assign
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.random_state = random_state

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            name="spectral",
            family="cluster",
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
        rng = self._check_spectral()
        known = self._check_constraints(constraints, None, n)
        if self.graph == "landmarks":
            return self._fit_landmarks(rows, known, rng)
        W = self._with_sigma(rows, rng)
        self._rows, self._degrees = rows, degrees(W)
        most = int(self.n_clusters) if fixed else min(int(self.max_clusters) + 1, n)
        self.spectrum_, vectors = smooth_eigenvectors(W, most, random_state=rng)
        k = most if fixed else self._number(vectors)
        self._warn_of_parts(W, k)
        self.eigenvalues_ = self.spectrum_[:k]
        labels = self._label(vectors[:, :k], rng)
        if self.partition == "recursive":
            labels = recursive_labels(W, k, self.objective, rng)
        return self._keep(W, labels, known)

    def _fit_landmarks(self, rows: Any, known: Constraints, rng: np.random.RandomState) -> Self:
        """Embed all rows by their similarities to some of them."""
        n = rows.shape[0]
        if isinstance(self.n_clusters, str) or self.partition == "recursive":
            raise ValueError(
                "graph='landmarks' needs a number of clusters, and a direct partition."
            )
        k = int(self.n_clusters)
        m = min(n, max(100, 10 * k) if self.n_landmarks is None else int(self.n_landmarks))
        if m < k:
            raise ValueError(f"n_landmarks={m} must be at least n_clusters={k}.")
        chosen = np.sort(rng.choice(n, m, replace=False))
        landmarks = rows[chosen]
        landmarks = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
        sigma = percentile_distance(landmarks) if self.sigma is None else float(self.sigma)
        self._landmarks = Landmarks(np.asarray(landmarks, np.float64), sigma or 1.0)
        self.spectrum_, vectors = self._landmarks.fit(as_rows(rows), k)
        self.eigenvalues_ = self.spectrum_
        labels = self._label(vectors, rng)
        # The graph is never formed; cuts are those between the landmarks.
        return self._keep(self._landmarks.graph(), labels, known, measured=labels[chosen])

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

    def _number(self, vectors: Array) -> int:
        """Number of clusters that the eigenvalues or eigenvectors speak for."""
        if self.n_clusters == "eigengap":
            return eigengap(self.spectrum_)
        k, self.qualities_, _ = aligned_number(vectors[:, : int(self.max_clusters)])
        return k

    def _with_sigma(self, rows: Any, rng: np.random.RandomState) -> Any:
        """The graph; with several widths, that whose embedding is tightest around its clusters."""
        if self.sigma != "distortion":
            return self._build_graph(rows)
        k = int(self.n_clusters) if not isinstance(self.n_clusters, str) else 2
        asked, best, path = self.sigma, None, []
        seed = rng.randint(2**31)
        try:
            for percent in SIGMA_PERCENTILES:
                self.sigma = percentile_distance(rows, percent) or None
                W = self._build_graph(rows)
                chance = np.random.RandomState(seed)
                if np.any(degrees(W) <= 1e-12):  # falls apart for a trivial reason
                    continue
                embedding = smooth_eigenvectors(W, k, random_state=chance)[1]
                labels = self._label(embedding, chance)
                gaps = unit_rows(embedding) - self._centers[labels]
                path.append((self.sigma, float(np.mean(np.sum(gaps**2, axis=1)))))
                if best is None or path[-1][1] < best[0]:
                    best = (path[-1][1], W)
        finally:
            self.sigma = asked
        self.sigma_path_ = path
        if best is None:
            self.sigma = None
            W = self._build_graph(rows)
            self.sigma = asked
            return W
        return best[1]
