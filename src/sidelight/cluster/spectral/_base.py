"""Shared parts of spectral methods: the graph, the embedding, its labels, and new rows."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Count, Restarts, Seed, Verbosity, estimator, n_restarts
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting, worded
from sidelight.base import Clusterer
from sidelight.cluster.kmeans._kmeans import KMeans
from sidelight.cluster.spectral._labels import discretize, unit_rows
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.cluster.spectral._rounding import mean_places, refine_cut
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.graphs import Similarity, cut_values, degrees, similarity_graph
from sidelight.graphs.inner import (
    check_graph,
    inverse_root,
    join_both_ways,
    read_neighbors,
)

#: Accuracy of eigenvalues that is enough for labels.
EIGEN_TOL = 1e-4

#: Rows of the embedding shorter than this share of the longest have no place in it.
NO_PLACE = 1e-12

#: Parameters that mean the same in all spectral methods.
SPECTRAL_PARAMETERS = {
    "graph": "Edges of the graph: between nearest neighbors, or between all rows (for few of "
    "them). Or ``X`` holds the similarities; or distances, of which nearest neighbors are joined, "
    "and ``predict`` takes those of new rows to the rows of the fit: a sparse matrix stores those "
    "of neighbors, such as that of scikit-learn's ``KNeighborsTransformer``. Edges that a sparse "
    "matrix stores one way only count both ways.",
    "weights": "Similarity of joined rows, see :func:`sidelight.graphs.neighbor_graph`.",
    "n_neighbors": "Number of neighbors of a row.",
    "sigma": 'Width of Gaussian weights; "auto" is the median distance of the last neighbor.',
    "n_init": "Number of restarts of k-means in the embedding.",
}


@dataclass(frozen=True)
class SpectralCoordinates:
    """Rows placed by eigenvectors.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Eigenvalues.
    vectors : ndarray of shape (n, k)
        Eigenvectors; their rows are the places.
    extension : Extension or None
        Gives new rows their places.
    unit : bool
        Whether places are brought to length 1 before they are clustered.
    graph : csr_array or None
        Graph whose cut the vectors relax, if its cut is all that is asked for.
    """

    eigenvalues: Array
    vectors: Array
    extension: Extension | None
    unit: bool = True
    graph: sparse.csr_array | None = None

    @property
    def places(self) -> Array:
        """Coordinates of the rows that k-means clusters."""
        return unit_rows(self.vectors) if self.unit else self.vectors

    @property
    def placed(self) -> Array:
        """Rows that have a place."""
        lengths = np.linalg.norm(self.vectors, axis=1)
        return np.flatnonzero(lengths > NO_PLACE * lengths.max(initial=0.0))

    def roundings(self, which: str) -> list[SpectralCoordinates]:
        """Variants of the coordinates to cluster: rows of length 1, and those of the relaxed cut.

        These are ``D^{-1/2} u`` for eigenvectors ``u`` of the normalized Laplacian.
        """
        assert self.extension is not None
        found = []
        if which != "plain":
            found.append(replace(self, unit=True))
        if which != "unit":
            vectors, extension = self.vectors, self.extension
            if extension.eigenvalues is None:
                vectors = inverse_root(degrees(self.graph))[:, None] * vectors
                extension = replace(extension, walk=True)
            found.append(replace(self, vectors=vectors, extension=extension, unit=False))
        return found


@estimator
class _SpectralBase(Clusterer):
    """Clusters of the rows of eigenvectors of a similarity graph.

    Subclasses declare the types of ``n_clusters``, ``graph`` and ``sigma``.
    """

    _common_parameters = SPECTRAL_PARAMETERS

    n_clusters: Any = 8
    _: KW_ONLY
    graph: Any = "neighbors"
    weights: Literal["gaussian", "local", "cosine", "fuzzy", "connectivity"] = "local"
    n_neighbors: Count = 10
    sigma: Any = "auto"
    n_init: Restarts = 10
    verbose: Verbosity = 0
    random_state: Seed = None

    mutual = False
    assign_labels = "kmeans"
    rounding = "best"
    refine = True
    objective = "normalized-cut"

    _elsewhere = (
        "SpectralClustering with graph='landmarks' reads rows block by block, and so does "
        "MPCKMeans, with pairs."
    )

    #: Criterion that ``objective_`` reports, a name of :class:`sidelight.graphs.Cuts`.
    _criterion = "normalized_cut"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._gives_pairs
        return tags

    @property
    def _gives_pairs(self) -> bool:
        """Whether similarities or distances of pairs are given, instead of rows."""
        return self.graph in ("precomputed", "distances")

    def _build_graph(
        self, rows: Any, known: Constraints, sigma: float | None
    ) -> tuple[sparse.csr_array, Similarity | None]:
        """Similarities of the rows, as the parameters ask for, and the way to those of new rows."""
        if sigma is not None and (self.graph == "precomputed" or self.weights != "gaussian"):
            warn(
                f"sigma={sigma} is not used: it is the width of weights='gaussian', and not of "
                f"graph={self.graph!r}, weights={self.weights!r}.",
                UserWarning,
            )
        if self.graph == "precomputed":
            names = known.name_rows if known.ids is not None else None
            return check_graph(join_both_ways(rows), names), None
        return similarity_graph(
            rows,
            None if self.graph == "full" else self.n_neighbors,
            weights=self.weights,
            mutual=self.mutual,
            sigma=None if sigma is None else float(sigma),
            metric="precomputed" if self.graph == "distances" else "euclidean",
        )

    def _warn_of_parts(self, W: sparse.csr_array, k: int, known: Constraints) -> None:
        """Warn when the graph falls into parts that decide the clusters by themselves."""
        n_parts, part = connected_components(W, directed=False)
        alone = np.flatnonzero(degrees(W) <= 0)
        if len(alone):
            names = ", ".join(known.name_rows(alone[:3])) + (", ..." if len(alone) > 3 else "")
            goes = "the largest cluster" if self._gives_pairs else "its nearest row"
            warn(
                f"{len(alone)} of {len(part)} rows have no edge in the graph ({names}); each goes "
                f"with {goes} unless a constraint says more. More neighbors, or a larger sigma, "
                "join them.",
                ConvergenceWarning,
            )
        if n_parts - len(alone) > k:
            warn(
                f"The graph has {n_parts - len(alone)} parts without an edge between them, more "
                f"than {k} clusters; the {k} largest decide, and rows of the others join them. "
                "More neighbors connect the graph.",
                ConvergenceWarning,
            )

    def _label(
        self, found: SpectralCoordinates, k: int, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Labels of embedded rows, -1 for rows without a place, and the centers."""
        labels = np.full(len(found.vectors), -1, dtype=np.int32)
        placed = found.placed
        if not len(placed):
            return np.zeros_like(labels), np.zeros((1, found.vectors.shape[1]))
        rows = found.places[placed]
        if self.assign_labels == "rotation":
            labels[placed], centers = discretize(rows, rng, n_restarts(self))
            return labels, centers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # given in the end, for the rows
            model = KMeans(min(k, len(rows)), n_init=n_restarts(self), random_state=rng).fit(rows)
        labels[placed] = model.labels_
        return labels, model.cluster_centers_

    def _label_by_cut(
        self, found: SpectralCoordinates, k: int, rng: np.random.RandomState
    ) -> Array:
        """Labels of least cost in the graph of both roundings, refined; what ``predict`` needs."""
        graph = found.graph
        assert graph is not None
        best = (0, np.inf)
        for rounded in found.roundings(self.rounding):
            labels = self._attach(self._label(rounded, k, rng)[0], self._similarity)
            if self.refine:
                labels = refine_cut(graph, labels, self.objective)
            cost = float(getattr(cut_values(graph, labels), self._criterion))
            value = (-len(np.unique(labels)), cost)
            if value < best:
                best, kept, chosen = value, labels, rounded
        placed = chosen.placed
        if len(placed):
            self._centers = mean_places(chosen.places[placed], kept[placed])
        else:
            self._centers = np.zeros((1, chosen.vectors.shape[1]))
        assert chosen.extension is not None
        self._extension, self._unit = chosen.extension, chosen.unit
        return kept

    def _attach(self, labels: Array, similarity: Similarity | None) -> Array:
        """Give rows without a place the cluster of the nearest row that has one.

        Where pairs were given there is no nearest one, and they join the largest cluster.
        """
        lost = np.flatnonzero(labels < 0)
        if not len(lost):
            return labels
        labels = labels.copy()
        placed = np.flatnonzero(labels >= 0)
        if similarity is None or similarity.rows is None:
            labels[lost] = np.bincount(labels[placed]).argmax()
        else:
            labels[lost] = labels[placed[_nearest_rows(similarity, placed, similarity.rows[lost])]]
        return labels

    def _set_fitted_attributes(
        self, W: Any, labels: Array, known: Constraints, k: int, measured: Array | None = None
    ) -> Self:
        """Set what every clusterer has; the objective is a cut value.

        ``measured`` are the labels of the vertices of ``W`` where these are not all rows.
        """
        self.labels_ = labels if labels.dtype == np.int32 else labels.astype(np.int32)
        self.cuts_ = cut_values(W, labels if measured is None else measured)
        self.objective_ = float(getattr(self.cuts_, self._criterion))
        self.history_ = np.array([self.objective_])
        self.n_iter_ = 1
        self.converged_ = True
        self._compare_with(known)
        n_found = len(np.unique(labels))
        if n_found < k:
            warn(
                f"Number of distinct clusters ({n_found}) found smaller than "
                f"{setting('n_clusters')} "
                f"({k}). Possibly due to duplicate points in {worded('X', 'the data')}.",
                ConvergenceWarning,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Assign new rows by the Nyström extension of the embedding.

        ``u_c(x) = (1/μ_c) Σ_j w(x, x_j) / sqrt(d(x) d_j) u_c(j)`` with ``μ = 1 - λ``, then the
        nearest center (Hamad, part 1). A row that is similar to no row of the graph joins the
        cluster of the nearest one.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            New rows; with ``graph="distances"`` their distances to the rows of the fit.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Clusters.
        """
        check_is_fitted(self)
        if self.graph == "precomputed":
            raise SidelightError(
                "New rows cannot be compared with the old ones when the similarities were given; "
                "fit on rows (graph='neighbors')."
            )
        return self._predict_rows(self._check_rows(X, reset=False))

    def _predict_rows(self, rows: Any) -> Array:
        similarity: Similarity = self._similarity
        labels = self._assign_new(similarity.to(rows))
        lost = np.flatnonzero(labels < 0)
        if len(lost):
            every = np.arange(len(self.labels_))
            labels[lost] = self.labels_[_nearest_rows(similarity, every, rows[lost])]
        return labels

    def _assign_new(self, b: sparse.csr_array) -> Array:
        """Labels of new rows by their similarities to the old ones; -1 where there are none."""
        places = self._extension.place(b)
        lengths = np.linalg.norm(places, axis=1)
        labels = nearest(unit_rows(places) if self._unit else places, self._centers)
        labels[~(lengths > 0)] = -1
        return labels


def _nearest_rows(similarity: Similarity, among: Array, rows: Any) -> Array:
    """Which of some rows of a graph is nearest to each of these rows, or distances."""
    if similarity.rows is None:
        if not sparse.issparse(rows):
            return np.asarray(rows[:, among].argmin(axis=1))
        return read_neighbors(sparse.csr_array(rows)[:, among], 1, square=False)[1][:, 0]
    metric = "cosine" if similarity.weights == "cosine" else "euclidean"
    search = NearestNeighbors(n_neighbors=1, metric=metric).fit(similarity.rows[among])
    return np.asarray(search.kneighbors(rows, return_distance=False)[:, 0])


def n_distinct(rows: Any, most: int) -> int:
    """Number of different rows, counted no further than ``most``; the first ones mostly do."""
    for some in (rows[: 10 * most + 100], rows):
        dense = some.toarray() if sparse.issparse(some) else some
        found = len(np.unique(dense, axis=0))
        if found >= most:
            return most
    return found


def nearest(rows: Array, centers: Array) -> Array:
    """Nearest center of every row."""
    distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.argmin(distances, axis=1).astype(np.int32)
