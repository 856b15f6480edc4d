"""Spectral clustering (Ng, Jordan, Weiss 2001; Shi, Malik 2000; Hamad, parts 1 and 2)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.lowest import is_lower
from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FinitePositive,
    NonNegative,
    estimator,
    n_restarts,
)
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.cluster.spectral._base import (
    EIGEN_TOL,
    SpectralCoordinates,
    _SpectralBase,
    n_distinct,
    nearest,
)
from sidelight.cluster.spectral._bipartition import (
    CRITERIA,
    UNNORMALIZED,
    labels_of_new,
    recursive_labels,
)
from sidelight.cluster.spectral._labels import unit_rows
from sidelight.cluster.spectral._landmark_labels import PlaceLabels, label_places
from sidelight.cluster.spectral._number import MARKED_GAP, aligned_number, eigengap
from sidelight.cluster.spectral._nystroem import Extension, Landmarks
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.graphs import Similarity, degrees, percentile_distance, smooth_eigenvectors
from sidelight.tags import PLAIN_TAGS, MethodTags

#: Percentiles of the distances that are tried as σ.
SIGMA_PERCENTILES = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)

#: Accuracy of eigenvalues whose ratios are looked at: the smallest are a small share of 1.
GAP_TOL = 1e-8


@estimator
class SpectralClustering(_SpectralBase):
    """Clusters of a similarity graph by the eigenvectors of its Laplacian.

    The relaxed normalized cut ``Σ_g Cut(A_g, rest)/Vol(A_g)``: the eigenvectors of the ``k``
    smallest eigenvalues of ``I - D^{-1/2} W D^{-1/2}``, k-means or a rotation of their rows for the
    labels (Ng, Jordan, Weiss 2001; Hamad, part 1), and an exchange of single rows while the cut
    falls. The graph is sparse throughout. Constraints are not used, only counted; see
    :class:`ContractedSpectralClustering`. Read more in the :doc:`user guide </cluster/spectral>`.

    Parameters
    ----------
    n_clusters : int >= 1 or {"eigengap", "alignment"}, default=8
        Number of clusters; or as many as there are eigenvalues before their largest relative gap,
        those of zero, one for each connected part of the graph, first ("eigengap"); or as many
        eigenvectors as can be turned onto the axes best (Zelnik-Manor, Perona 2004).
    graph : {"neighbors", "full", "landmarks", "precomputed", "distances"}, default="neighbors"
        Edges of the graph: between nearest neighbors, between all rows (for few of them), or
        between all rows by way of some landmarks (Nyström, for very many, which may live on disk
        or in partitions). Or ``X`` holds the
        similarities; or distances, of which nearest neighbors are joined, and ``predict`` takes
        those of new rows to the rows of the fit: a sparse matrix stores those of neighbors, such as
        that of scikit-learn's ``KNeighborsTransformer``. Edges that a sparse matrix stores one way
        only count both ways.
    n_landmarks : int >= 1 or "auto", default="auto"
        Number of rows that stand for all in "landmarks"; "auto" is ``max(100, 10 k)``.
    mutual : bool, default=False
        Whether to join rows only if each is a neighbor of the other.
    sigma : float > 0, finite or {"auto", "distortion"} or array, default="auto"
        Width of "gaussian"; of several widths, or of some percentiles of the distances for
        "distortion", the one under which the embedding is tightest around its clusters. "auto"
        is the median distance of the last neighbor, or the 5th percentile of the distances for
        "full" and "landmarks" (which are Gaussian whatever ``weights`` says).
    objective : {"normalized-cut", "ratio-cut", "min-max-cut", "cut"}, default="normalized-cut"
        Criterion to minimize. The normalized and the min-max cut are relaxed by the normalized
        Laplacian, the others by ``D - W``; a recursive partition also chooses its thresholds by it.
    partition : {"direct", "recursive"}, default="direct"
        All clusters at once from ``k`` eigenvectors, or one split after the other at the best
        threshold of the second eigenvector.
    max_cost : float >= 0 or None, default=None
        Largest cost of a split of a recursive partition, so that there may be fewer clusters;
        unbounded by default.
    assign_labels : {"kmeans", "rotation"}, default="kmeans"
        Way from the embedding to labels: k-means, or the rotation that brings rows to the axes.
    rounding : {"best", "unit", "plain"}, default="best"
        Rows of the embedding are brought to length 1 before they are clustered, as Ng, Jordan and
        Weiss do, or are those of the relaxed cut, ``D^{-1/2} u``; or both, and what has the lower
        cost is kept. Landmarks have no graph to measure it in, and "best" is "unit".
    refine : bool, default=True
        Whether single rows then go to clusters of their neighbors while the cost falls. A plain
        cut, which would end with clusters of one row, a recursive partition and that by landmarks
        stay as they are.
    max_clusters : int >= 1, default=10
        Largest number of clusters that "eigengap" and "alignment" may find.
    n_init : int >= 1 or "auto", default=10
        Number of restarts of k-means or of the rotation. ``"auto"`` takes 10.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, k)
        Eigenvectors.
    eigenvalues_ : ndarray of shape (k,)
        Eigenvalues of the eigenvectors, ascending.
    spectrum_ : ndarray
        All eigenvalues that were found, also those that only served to choose the number of
        clusters.
    cuts_ : Cuts
        Cut values of the labels, see :func:`sidelight.graphs.cut_values`.
    objective_ : float
        Cut value that ``objective`` names.
    sigma_ : float
        Width of "gaussian" that was used.
    search_ : dict of str to ndarray
        Candidates that were tried: ``sigma`` with its ``distortion`` (NaN for widths that leave
        rows without an edge), or ``n_clusters`` with the ``quality`` of its alignment.
    splits_ : list of Split
        Splits of a recursive partition in their order: ``part``, ``new`` (labels of the rows that
        stay and leave) and ``cost``.

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

    n_clusters: Count | Literal["eigengap", "alignment"] = 8
    _: KW_ONLY
    graph: Literal["neighbors", "full", "landmarks", "precomputed", "distances"] = "neighbors"
    n_landmarks: Count | Auto = "auto"
    mutual: bool = False
    sigma: FinitePositive | Literal["auto", "distortion"] | ArrayLike = "auto"
    objective: Literal["normalized-cut", "ratio-cut", "min-max-cut", "cut"] = "normalized-cut"
    partition: Literal["direct", "recursive"] = "direct"
    max_cost: NonNegative | None = None
    assign_labels: Literal["kmeans", "rotation"] = "kmeans"
    rounding: Literal["best", "unit", "plain"] = "best"
    refine: bool = True
    max_clusters: Count = 10

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of a similarity graph by the eigenvectors of its Laplacian",
            **PLAIN_TAGS,
            source="Ng, Jordan, Weiss 2001; Shi, Malik 2000; Hamad, parts 1 and 2",
            complexity="O(n log n d) for the graph, O(n m k) per Lanczos step, O(n (m + k)) memory",
            sparse=True,
            out_of_core=self.graph == "landmarks",
        )

    @property
    def _criterion(self) -> str:  # type: ignore[override]
        return CRITERIA[self.objective]

    @property
    def _normalized(self) -> bool:
        """Whether eigenvectors are those of the normalized Laplacian."""
        return self.objective not in UNNORMALIZED

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        self._check_y_holds_labels(y)
        rows, known = self._validate_fit_in_memory(X, None, constraints)
        rng = check_random_state(self.random_state)
        self.search_: dict[str, Array] = {}
        with shown(self.verbose):
            if self.graph == "landmarks":
                return self._fit_landmarks(as_rows(rows), known, rng)
            W, self._similarity = self._with_sigma(rows, known, rng)
            self.sigma_ = np.nan if self._similarity is None else self._similarity.sigma
            fixed = not isinstance(self.n_clusters, str)
            most = int(self.n_clusters) if fixed else min(int(self.max_clusters) + 1, rows.shape[0])
            tol = GAP_TOL if self.n_clusters == "eigengap" else EIGEN_TOL
            self.spectrum_, vectors = smooth_eigenvectors(
                W, most, random_state=rng, tol=tol, normalized=self._normalized
            )
            asked = k = most if fixed else self._number(W, vectors)
            self._warn_of_parts(W, k, known)
            if not self._gives_pairs:
                k = n_distinct(rows, k)
            self.eigenvalues_, vectors = self.spectrum_[:k], vectors[:, :k]
            self.embedding_ = vectors.astype(rows.dtype, copy=False)
            if self.partition == "recursive":
                limit = np.inf if self.max_cost is None else float(self.max_cost)
                labels, self.splits_ = recursive_labels(W, k, self.objective, rng, limit)
                asked = asked if self.max_cost is None else min(asked, len(self.splits_) + 1)
            else:
                found = self._embedding(W, self.eigenvalues_, vectors)
                labels = self._label_by_cut(found, k, rng)
            return self._set_fitted_attributes(W, labels, known, asked)

    def _embedding(self, W: sparse.csr_array, values: Array, vectors: Array) -> SpectralCoordinates:
        if not self._normalized:
            return SpectralCoordinates(
                values, vectors, Extension(vectors, values), unit=False, graph=W
            )
        extension = Extension.normalized(vectors, 1 - values, degrees(W))
        return SpectralCoordinates(values, vectors, extension, graph=W)

    def _fit_landmarks(
        self, source: RowSource, known: Constraints, rng: np.random.RandomState
    ) -> Self:
        """Embed all rows by their similarities to some of them, in passes over the rows."""
        n = source.n_rows
        if isinstance(self.n_clusters, str) or self.partition == "recursive":
            raise ValueError(
                "graph='landmarks' needs a number of clusters, and a direct partition."
            )
        if not self._normalized:
            raise ValueError(
                f"graph='landmarks' approximates the normalized Laplacian; objective="
                f"{self.objective!r} needs graph='neighbors'."
            )
        if self.rounding == "plain":
            raise ValueError("graph='landmarks' needs rounding='unit' or 'best'.")
        if not self._is_auto and not isinstance(self.sigma, Real):
            raise ValueError(f"graph='landmarks' needs one sigma, got {self.sigma!r}.")
        k = int(self.n_clusters)
        m = min(n, max(100, 10 * k) if self.n_landmarks == "auto" else int(self.n_landmarks))
        if m < k:
            few, clusters = setting("n_landmarks", m), setting("n_clusters", k)
            raise ValueError(f"{few} must be at least {clusters}.")
        chosen = np.sort(rng.choice(n, m, replace=False))
        landmarks = source.take(chosen)
        landmarks = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
        self.sigma_ = percentile_distance(landmarks) if self._is_auto else float(self.sigma)
        self.sigma_ = self.sigma_ or 1.0
        self._landmarks = Landmarks(np.asarray(landmarks, np.float64), self.sigma_)
        self.spectrum_, self.embedding_ = self._landmarks.fit(source, k)
        self.eigenvalues_ = self.spectrum_
        labels, self._centers = self._label_places(source, k, rng)
        # The graph is never formed; cuts are those between the landmarks.
        graph = self._landmarks.graph()
        return self._set_fitted_attributes(graph, labels, known, k, measured=labels[chosen])

    def _label_places(
        self, source: RowSource, k: int, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Labels of rows that are embedded, and the centers; rows without a place do not count."""
        if self.assign_labels == "rotation":  # turns all rows at once, here
            places = np.asarray(self.embedding_)
            labels, centers = self._label(SpectralCoordinates(self.spectrum_, places, None), k, rng)
            labels[labels < 0] = nearest(places[labels < 0], centers)
            return labels, centers
        return label_places(source, self.embedding_, k, n_restarts(self), rng)

    def _predict_rows(self, rows: Any) -> Array:
        if self.graph != "landmarks":
            return super()._predict_rows(rows)
        place = PlaceLabels(self._landmarks, self._centers)
        labels: Array = as_rows(rows).map_reduce(place)[1][0]
        return labels

    def _assign_new(self, b: sparse.csr_array) -> Array:
        if self.partition == "recursive":
            return labels_of_new(b, self.splits_)
        return super()._assign_new(b)

    def _number(self, W: sparse.csr_array, vectors: Array) -> int:
        """Number of clusters that the eigenvalues or eigenvectors speak for."""
        if self.n_clusters != "eigengap":
            k, quality, _ = aligned_number(vectors[:, : int(self.max_clusters)])
            self.search_ = {"n_clusters": np.arange(2, len(quality) + 2), "quality": quality}
            return k
        k, gap = eigengap(self.spectrum_, 1.0 if self._normalized else float(degrees(W).max()))
        if gap < MARKED_GAP:
            warn(
                f"No gap between the eigenvalues is marked: none is more than {gap:.2g} times the "
                f"one before, and even a ring without clusters has one of 4. {k} clusters are a "
                "guess; look at spectrum_ before you trust it.",
                ConvergenceWarning,
            )
        return k

    @property
    def _is_auto(self) -> bool:
        """Whether one width follows from the rows."""
        return isinstance(self.sigma, str) and self.sigma == "auto"

    def _with_sigma(
        self, rows: Any, known: Constraints, rng: np.random.RandomState
    ) -> tuple[sparse.csr_array, Similarity | None]:
        """The graph; with several widths, that whose embedding is tightest around its clusters."""
        if self._is_auto or isinstance(self.sigma, Real):
            width = None if self._is_auto else float(self.sigma)
            return self._build_graph(rows, known, width)
        if self.graph == "precomputed" or self.weights != "gaussian":
            raise ValueError(
                f"sigma={self.sigma!r} chooses a width, which only weights='gaussian' has; got "
                f"graph={self.graph!r}, weights={self.weights!r}."
            )
        if self.graph == "distances" and isinstance(self.sigma, str):
            raise SidelightError(
                f"{setting('sigma', self.sigma)} takes widths from the distances of all rows, of "
                f"which {setting('graph', 'distances')} need not have all; give some widths."
            )
        k = 2 if isinstance(self.n_clusters, str) else int(self.n_clusters)
        seed, widths = rng.randint(2**31), self._widths(rows)
        best, distortions = None, []
        for width in widths:
            graph = self._build_graph(rows, known, width)
            distortions.append(self._distortion(graph[0], k, np.random.RandomState(seed)))
            if best is None or is_lower(distortions[-1], best[0]):
                best = (distortions[-1], graph)
        self.search_ = {"sigma": np.array(widths), "distortion": np.array(distortions)}
        if best is None or np.isnan(best[0]):
            warn(
                "Every width that was tried leaves rows without an edge; the usual one is taken.",
                ConvergenceWarning,
            )
            return self._build_graph(rows, known, None)
        return best[1]

    def _widths(self, rows: Any) -> list[float]:
        if isinstance(self.sigma, str):
            tried = [percentile_distance(rows, percent) for percent in SIGMA_PERCENTILES]
            return sorted({width for width in tried if width > 0})
        return [float(width) for width in np.asarray(self.sigma)]

    def _distortion(self, W: sparse.csr_array, k: int, rng: np.random.RandomState) -> float:
        """Mean squared distance of embedded rows to their centers; NaN with rows without an edge.

        A graph with rows that are joined to nothing would be tight for a trivial reason.
        """
        if np.any(degrees(W) <= 0):
            return np.nan
        values, vectors = smooth_eigenvectors(W, k, random_state=rng, tol=EIGEN_TOL)
        labels, centers = self._label(self._embedding(W, values, vectors), k, rng)
        placed = labels >= 0
        offsets = unit_rows(vectors[placed]) - centers[labels[placed]]
        return float(np.mean(np.sum(offsets**2, axis=1)))
