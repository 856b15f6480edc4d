"""What spectral methods share: the graph, the embedding, its labels, and new rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.cluster.kmeans._kmeans import KMeans
from sidelight.cluster.spectral._labels import discretize, unit_rows
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.graphs import Similarity, check_graph, cut_values, degrees, similarity_graph

GRAPHS = ("neighbors", "full", "precomputed")

#: Accuracy of eigenvalues that is enough for labels.
EIGEN_TOL = 1e-4

#: Rows of the embedding shorter than this share of the longest have no place in it.
NO_PLACE = 1e-12


class _SpectralBase(ClusterMixin, ConstrainedEstimator):
    """Clusters of the rows of eigenvectors of a similarity graph."""

    fit: Callable[..., Any]
    graph: str
    weights: str
    n_neighbors: int
    mutual: bool
    sigma: Any
    assign: str
    n_init: int
    random_state: Any

    #: Criterion that ``objective_`` reports, a name of :class:`sidelight.graphs.Cuts`.
    _criterion = "normalized_cut"

    #: Whether rows of the embedding are brought to length 1; those of a ratio cut are not.
    _unit = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.graph == "precomputed"
        return tags

    def _build_graph(
        self, rows: Any, known: Constraints, sigma: float | None
    ) -> tuple[sparse.csr_array, Similarity | None]:
        """Similarities of the rows, as the parameters ask for, and what compares new rows."""
        if self.graph == "precomputed":
            return check_graph(rows, known.name_rows if known.ids is not None else None), None
        if self.graph not in GRAPHS:
            raise ValueError(f"graph must be one of {', '.join(GRAPHS)}, got {self.graph!r}.")
        return similarity_graph(
            rows,
            self.n_neighbors if self.graph == "neighbors" else None,
            weights=self.weights,  # type: ignore[arg-type]
            mutual=self.mutual,
            sigma=None if sigma is None else float(sigma),
        )

    def _check_spectral(self) -> np.random.RandomState:
        if self.assign not in ("kmeans", "rotation"):
            raise ValueError(f"assign must be 'kmeans' or 'rotation', got {self.assign!r}.")
        return check_random_state(self.random_state)

    def _warn_of_parts(self, W: sparse.csr_array, k: int, known: Constraints) -> None:
        """Say when the graph falls into parts that decide the clusters by themselves."""
        n_parts, part = connected_components(W, directed=False)
        alone = np.flatnonzero(degrees(W) <= 0)
        if len(alone):
            names = ", ".join(known.name_rows(alone[:3])) + (", ..." if len(alone) > 3 else "")
            goes = "its nearest row" if self.graph != "precomputed" else "the largest cluster"
            warnings.warn(
                f"{len(alone)} of {len(part)} rows have no edge in the graph ({names}); each goes "
                f"with {goes} unless a constraint says more. More neighbours, or a larger sigma, "
                "join them.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if n_parts - len(alone) > k:
            warnings.warn(
                f"The graph has {n_parts - len(alone)} parts without an edge between them, more "
                f"than {k} clusters; the {k} largest decide, and rows of the others join them. "
                "More neighbours connect the graph.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _label(
        self, vectors: Array, rng: np.random.RandomState, n_clusters: int | None = None
    ) -> Array:
        """Labels of the rows of the embedding; -1 for rows without a place in it."""
        k = vectors.shape[1] if n_clusters is None else n_clusters
        lengths = np.linalg.norm(vectors, axis=1)
        placed = np.flatnonzero(lengths > NO_PLACE * lengths.max(initial=0.0))
        labels = np.full(len(vectors), -1, dtype=np.int32)
        if not len(placed):
            self._centers = np.zeros((1, vectors.shape[1]))
            return np.zeros_like(labels)
        rows = unit_rows(vectors[placed]) if self._unit else vectors[placed]
        if self.assign == "rotation":
            found = discretize(rows, rng, self.n_init)
            sums = np.zeros((k, k))
            np.add.at(sums, found, rows)
            self._centers = sums / np.maximum(np.bincount(found, minlength=k), 1)[:, None]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # said in the end, of the rows
                model = KMeans(min(k, len(rows)), n_init=self.n_init, random_state=rng).fit(rows)
            found, self._centers = model.labels_, model.cluster_centers_
        labels[placed] = found
        return labels

    def _attach(self, labels: Array, similarity: Similarity | None) -> Array:
        """Give rows without a place the cluster of the nearest row that has one.

        Where similarities were given there is no nearest one, and they join the largest cluster.
        """
        lost = np.flatnonzero(labels < 0)
        if not len(lost):
            return labels
        labels = labels.copy()
        placed = np.flatnonzero(labels >= 0)
        if similarity is None:
            labels[lost] = np.bincount(labels[placed]).argmax()
            return labels
        metric = "cosine" if similarity.weights == "cosine" else "euclidean"
        search = NearestNeighbors(n_neighbors=1, metric=metric).fit(similarity.rows[placed])
        near = search.kneighbors(similarity.rows[lost], return_distance=False)[:, 0]
        labels[lost] = labels[placed[near]]
        return labels

    def _set_fitted_attributes(
        self,
        W: Any,
        labels: Array,
        known: Constraints,
        n_clusters: int,
        measured: Array | None = None,
    ) -> Self:
        """Set what every clusterer has; the objective is a cut value.

        ``measured`` are the labels of the vertices of ``W`` where these are not all rows.
        """
        self.labels_ = labels.astype(np.int32)
        self.cuts_ = cut_values(W, labels if measured is None else measured)
        self.objective_ = float(getattr(self.cuts_, self._criterion))
        self.history_ = np.array([self.objective_])
        self.n_iter_ = 1
        self.converged_ = True
        self.n_violations_ = known.violations(labels).n
        n_found = len(np.unique(labels))
        if n_found < n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Cluster the rows and return their clusters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows, or their similarities.
        y : array of shape (n_samples,), default=None
            As in ``fit``.
        **fit_params : dict
            What else ``fit`` takes, such as ``constraints``.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            ``labels_``.
        """
        # scikit-learn's own mixin would drop y, which holds the labels here.
        labels: Array = self.fit(X, y, **fit_params).labels_
        return labels

    def predict(self, X: Any) -> Array:
        """Assign new rows by the Nyström extension of the embedding.

        ``u_c(x) = (1/μ_c) Σ_j w(x, x_j) / sqrt(d(x) d_j) u_c(j)`` with ``μ = 1 - λ``, then the
        nearest centre (Hamad, part 1). A row that is similar to no row of the graph joins the
        cluster of the nearest one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Clusters.
        """
        check_is_fitted(self)
        similarity: Similarity | None = self._similarity
        if similarity is None:
            raise SidelightError(
                "New rows cannot be compared with the old ones when the similarities were given; "
                "fit on rows (graph='neighbors')."
            )
        rows: Any = self._check_rows(X, reset=False)
        labels = self._assign_new(similarity.to(rows))
        lost = np.flatnonzero(labels < 0)
        if len(lost):
            metric = "cosine" if similarity.weights == "cosine" else "euclidean"
            search = NearestNeighbors(n_neighbors=1, metric=metric).fit(similarity.rows)
            near = search.kneighbors(rows[lost], return_distance=False)[:, 0]
            labels[lost] = self.labels_[near]
        return labels

    def _assign_new(self, b: sparse.csr_array) -> Array:
        """Labels of new rows by their similarities to the old ones; -1 where there are none."""
        extension: Extension = self._extension
        places = extension.place(b)
        lengths = np.linalg.norm(places, axis=1)
        labels = nearest(unit_rows(places) if self._unit else places, self._centers)
        labels[~(lengths > 0)] = -1
        return labels


def n_distinct(rows: Any, most: int) -> int:
    """Number of different rows, counted no further than ``most``; the first ones mostly do."""
    for some in (rows[: 10 * most + 100], rows):
        dense = some.toarray() if sparse.issparse(some) else some
        found = len(np.unique(dense, axis=0))
        if found >= most:
            return most
    return found


def nearest(rows: Array, centers: Array) -> Array:
    """Nearest centre of every row."""
    distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.argmin(distances, axis=1).astype(np.int32)
