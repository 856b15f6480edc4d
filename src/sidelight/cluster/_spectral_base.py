"""What spectral methods share: the graph, the embedding, its labels, and new rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight.base import ConstrainedEstimator
from sidelight.cluster._kmeans import KMeans
from sidelight.cluster._spectral_labels import discretize, unit_rows
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.graphs import check_graph, cut_values, degrees, full_graph, neighbor_graph

Array = npt.NDArray[Any]

GRAPHS = ("neighbors", "full", "precomputed")


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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.graph == "precomputed"
        return tags

    def _build_graph(self, rows: Any) -> sparse.csr_array:
        """Similarities of the rows, as the parameters ask for."""
        if self.graph == "precomputed":
            return check_graph(rows)
        sigma = None if self.sigma is None else float(self.sigma)
        if self.graph == "neighbors":
            return neighbor_graph(
                rows,
                self.n_neighbors,
                weights=self.weights,  # type: ignore[arg-type]
                mutual=self.mutual,
                sigma=sigma,
            )
        if self.graph == "full":
            return sparse.csr_array(
                full_graph(rows, weights=self.weights, sigma=sigma)  # type: ignore[arg-type]
            )
        raise ValueError(f"graph must be one of {', '.join(GRAPHS)}, got {self.graph!r}.")

    def _check_spectral(self) -> np.random.RandomState:
        if self.assign not in ("kmeans", "rotation"):
            raise ValueError(f"assign must be 'kmeans' or 'rotation', got {self.assign!r}.")
        return check_random_state(self.random_state)

    def _warn_of_parts(self, W: sparse.csr_array, k: int) -> None:
        """Say when the graph falls into parts that decide the clusters by themselves."""
        n_parts, part = connected_components(W, directed=False)
        if n_parts > k:
            alone = int(np.count_nonzero(np.bincount(part) == 1))
            warnings.warn(
                f"The graph has {n_parts} parts without an edge between them ({alone} of them "
                f"single rows), more than {k} clusters; parts are joined where there is no better "
                "reason. More neighbours connect the graph.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _label(self, vectors: Array, rng: np.random.RandomState) -> Array:
        """Labels of the rows of the embedding."""
        rows = unit_rows(vectors)
        k = rows.shape[1]
        self.embedding_ = vectors
        if self.assign == "rotation":
            labels = discretize(vectors, rng, self.n_init)
            sums = np.zeros((k, k))
            np.add.at(sums, labels, rows)
            self._centers = sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None]
            return labels
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said below, of the rows
            model = KMeans(k, n_init=self.n_init, random_state=rng).fit(rows)
        self._centers = model.cluster_centers_
        return model.labels_

    def _keep(
        self, W: Any, labels: Array, known: Constraints, measured: Array | None = None
    ) -> Self:
        """Set what every clusterer has; the objective is the normalised cut.

        ``measured`` are the labels of the vertices of ``W`` where these are not all rows.
        """
        self.labels_ = labels.astype(np.int32)
        self.cuts_ = cut_values(W, labels if measured is None else measured)
        self.objective_ = self.cuts_.normalized_cut
        self.history_ = np.array([self.objective_])
        self.n_iter_ = 1
        self.converged_ = True
        self.n_violations_ = known.violations(labels).n
        n_found = len(np.unique(labels))
        if n_found < len(self._centers):
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({len(self._centers)}). Possibly due to duplicate points in X.",
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
        nearest centre (Hamad, part 1).

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
        if self.graph == "precomputed":
            raise SidelightError(
                "New rows cannot be compared with the old ones when the similarities were given; "
                "fit on rows (graph='neighbors')."
            )
        rows: Any = self._check_rows(X, reset=False)
        b = self._similarities_to_fitted(rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(degrees(b))
            roots = np.where(self._degrees > 0, 1.0 / np.sqrt(self._degrees), 0.0)
        weighted = sparse.diags_array(np.where(np.isfinite(scale), scale, 0.0)) @ b
        extended = weighted @ (roots[:, None] * self.embedding_)
        mu = np.maximum(1.0 - self.eigenvalues_, 1e-6)
        placed = unit_rows(np.asarray(extended) / mu)
        return nearest(placed, self._centers)

    def _similarities_to_fitted(self, rows: Any) -> sparse.csr_array:
        """Similarities of new rows to the nearest of the old ones, as the graph has them."""
        n = self._rows.shape[0]
        wanted = min(n, self.n_neighbors) if self.graph == "neighbors" else n
        metric = "cosine" if self.weights == "cosine" else "euclidean"
        search = NearestNeighbors(n_neighbors=wanted, metric=metric).fit(self._rows)
        distances, neighbors = search.kneighbors(rows)
        if self.weights == "cosine":
            values = np.clip(1.0 - distances, 0.0, 1.0)
        elif self.weights == "connectivity":
            values = np.ones_like(distances)
        else:
            width = distances[:, -1:] if wanted > 1 else distances + 1.0
            values = np.exp(-(distances**2) / (2 * np.where(width > 0, width, 1.0) ** 2))
        indptr = np.arange(0, values.size + 1, wanted)
        return sparse.csr_array(
            (values.ravel(), neighbors.ravel(), indptr), shape=(rows.shape[0], n)
        )


def nearest(rows: Array, centers: Array) -> Array:
    """Nearest centre of every row."""
    distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.argmin(distances, axis=1).astype(np.int32)
