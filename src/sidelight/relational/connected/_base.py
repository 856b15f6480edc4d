"""Shared parts of the estimators of connected clusters: fit, choice of their number, predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.lowest import lowest
from sidelight._fit.parameters import Auto, Count, Interval
from sidelight._fit.restarts import Run, best_restart
from sidelight._fit.views import UnitRows
from sidelight._kernels.relational.connected.neighbors import nearest_of_neighbors
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.base.inner import not_defined
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.relational.connected._graph import connection_graph
from sidelight.relational.connected._nodes import Clusters, Nodes
from sidelight.relational.connected._restart import Restart, iterate
from sidelight.relational.connected._silhouette import joint_silhouette

#: Number of clusters, or a range to choose it from.
NClusters: TypeAlias = Count | Auto | tuple[Count, Count]
Metric: TypeAlias = Literal["euclidean", "cosine"]
#: A share that cannot be 0.
PositiveShare: TypeAlias = Annotated[float, Interval(0, 1, open_low=True)]

#: Number of values that ``n_clusters="auto"`` tries, where there are enough rows.
MAX_CLUSTERS = 10

CONNECTED_ATTRIBUTES: dict[str, str] = {
    **CLUSTERER_ATTRIBUTES,
    "cluster_centers_ : ndarray of shape (n_clusters, n_features)": "Center of every cluster, of "
    'unit length with ``metric="cosine"``.',
    "center_nodes_ : ndarray of int64, shape (n_clusters,)": "Row of every cluster at which its "
    "growth begins: its center, or the member that is nearest to it.",
    "radii_ : ndarray of shape (n_clusters,)": "Largest distance of a member to the center of its "
    "cluster.",
    "radius_ : float": "Largest of the radii.",
    "absorbed_at_ : ndarray of shape (n_samples,)": "Threshold at which a row joins when its "
    "cluster grows: the largest distance to the center on the best path inside of the cluster; "
    "infinity for rows in no cluster. Sorted, it shows outliers as a sudden rise.",
    "search_ : dict of str to ndarray": "Only where the number of clusters was chosen: "
    "``n_clusters``, ``silhouette`` and ``objective`` of every number that was tried.",
}

COMMON_PARAMETERS: dict[str, str] = {
    "n_clusters": "Number of clusters, at least that of the components of the graph. A pair "
    "``(low, high)`` is a range from which the number with the highest joint silhouette is "
    f'chosen; "auto" tries {MAX_CLUSTERS} numbers, from 2 or the number of components on.',
    "metric": 'Distances of rows: "euclidean", or "cosine" for 1 minus the cosine.',
}


@dataclass(frozen=True)
class _Choice:
    """Result for one number of clusters."""

    n_clusters: int
    restart: Restart
    silhouette: float


class ConnectedClusterer(Clusterer):
    """A clusterer every cluster of which is connected in a graph of the rows."""

    _common_attributes: ClassVar[Mapping[str, str]] = CONNECTED_ATTRIBUTES
    _common_parameters: ClassVar[Mapping[str, str]] = COMMON_PARAMETERS
    _family_tags: ClassVar[dict[str, Any]] = {
        "kind": "regionalizer",
        "knowledge": ("relations",),
        "enforcement": "hard",
    }
    _uses_pairs = "PCKMeans and COPKMeans use them, without a graph."

    n_clusters: NClusters
    metric: Metric
    n_init: Any
    max_iter: Count
    cluster_centers_: Array
    center_nodes_: Array
    search_: dict[str, Array]

    @property
    def _takes_directions(self) -> bool:
        return self.metric == "cosine"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        relations: Any = None,
    ) -> Self:
        """Fit to the attributes of the rows and to the graph between them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Attributes of the rows.
        y : array of shape (n_samples,), default=None
            Not used; known classes, which only the result is compared with.
        constraints : Constraints, default=None
            Not used; ``n_violations_`` counts those that the clusters violate.
        relations : Relations, sparse or dense matrix, networkx graph or pairs, default=None
            Which rows are next to each other; edges of any positive score count the same, and
            members of a hyper-edge are all next to each other. By default every row is next to
            every other, which is never written down: rows then go to the nearest center.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        self._check_options()
        graph = connection_graph(relations, len(rows), X)
        directions = self.metric == "cosine"
        if directions:
            rows = UnitRows(as_rows(rows), known.name_rows).take(np.arange(len(rows)))
        nodes = Nodes(np.ascontiguousarray(rows), graph, directions)
        if isinstance(self.n_clusters, Integral):
            restart = self._search(nodes, int(self.n_clusters))
        else:
            restart = self._choose(nodes, *self._range(nodes))
        self._set_fitted_attributes(nodes, restart, known)
        return self

    def _check_options(self) -> None:
        """Raise on options that contradict each other."""

    def _solve(self, nodes: Nodes, n_clusters: int) -> Restart:
        """The best of the restarts with ``n_clusters`` clusters, which the graph allows."""
        not_defined(self, "_solve")

    def _search(self, nodes: Nodes, n_clusters: int) -> Restart:
        if nodes.graph is not None:
            nodes.graph.check_n_clusters(n_clusters)
        return self._solve(nodes, n_clusters)

    def _best(self, nodes: Nodes, run: Run[Restart], n_init: int) -> Restart:
        """The best restart, with the thresholds at which rows join."""
        found = best_restart(
            run,
            n_init,
            self.random_state,
            nodes.rows.size,  # the kernels of a restart are not threaded themselves
            description=type(self).__name__,
            verbose=self.verbose,
        )
        return replace(found, best=self._with_thresholds(nodes, found.best))

    def _iterate(
        self,
        start: Clusters,
        step: Callable[[Clusters], Clusters],
        state: Callable[[Clusters], bytes],
        tol: float | None = None,
    ) -> Restart:
        """One restart from the first clusters."""
        return iterate(
            start,
            step,
            state,
            max_iter=self.max_iter,
            tol=tol,
            description=type(self).__name__,
            verbose=self.verbose,
        )

    def _with_thresholds(self, nodes: Nodes, found: Clusters) -> Clusters:
        """Clusters with the thresholds at which their rows join."""
        return nodes.reabsorbed(found)

    def _range(self, nodes: Nodes) -> tuple[int, int]:
        """Smallest and largest number of clusters to try."""
        least = 1 if nodes.graph is None else nodes.graph.n_components
        if self.n_clusters == "auto":
            low = min(max(2, least), nodes.n)
            return low, min(low + MAX_CLUSTERS - 1, nodes.n)
        assert isinstance(self.n_clusters, tuple)
        low, high = (int(end) for end in self.n_clusters)
        if low > high or high > nodes.n:
            raise InvalidParameter(
                f"{setting('n_clusters')} must be a range (low, high) of numbers of clusters up to "
                f"the {nodes.n} rows, got ({low}, {high})."
            )
        if high < least:
            assert nodes.graph is not None
            nodes.graph.check_n_clusters(high)
        return max(low, least), high

    def _choose(self, nodes: Nodes, low: int, high: int) -> Restart:
        """The number of clusters with the highest joint silhouette, the first of several."""
        tried = []
        for k in range(low, high + 1):
            restart = self._search(nodes, k)
            tried.append(_Choice(k, restart, joint_silhouette(nodes, restart.best)))
            if restart.interrupted:
                break
        self.search_ = {
            "n_clusters": np.array([one.n_clusters for one in tried]),
            "silhouette": np.array([one.silhouette for one in tried]),
            "objective": np.array([one.restart.objective for one in tried]),
        }
        return tried[lowest(-self.search_["silhouette"], "numbers of clusters")].restart

    def _set_fitted_attributes(self, nodes: Nodes, restart: Restart, known: Constraints) -> None:
        best = restart.best.ordered()
        if nodes.graph is not None and not nodes.graph.are_connected(best.labels):
            raise SidelightError(
                "A cluster is not connected, which is a mistake of this program: please report it "
                "with the data."
            )
        k = len(best.centers)
        self.labels_ = best.labels.astype(np.int32)
        self.cluster_centers_ = best.centers.astype(nodes.rows.dtype)
        self.center_nodes_ = best.seeds.astype(np.int64)
        distances = nodes.lengths(nodes.squares(best.labels, best.centers))
        self.radii_ = np.zeros(k)
        placed = best.labels >= 0
        np.maximum.at(self.radii_, best.labels[placed], distances[placed])
        self.radius_ = float(self.radii_.max())
        self.absorbed_at_ = nodes.lengths(best.absorbed)
        self.objective_ = float(restart.objective)
        self.history_ = restart.history
        self.n_iter_ = restart.n_iter
        self.converged_ = restart.converged
        self._compare_with(known)

    def predict(self, X: Any, *, neighbors: Any = None) -> Array:
        """Return the cluster of new rows.

        A row with neighbors among the rows of the fit goes to the nearest center of their clusters,
        so that it is connected to its cluster; a row without goes to the nearest center of all.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            New rows.
        neighbors : sparse or dense matrix of shape (n_new, n_samples), or list of lists, optional
            Neighbors of each new row among the rows of the fit: entries above 0 of a matrix, or
            positions.

        Returns
        -------
        labels : ndarray of int32, shape (n_new,)
            Cluster of every row.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        if self.metric == "cosine":
            rows = UnitRows(as_rows(rows)).take(np.arange(len(rows)))
        matrix = _neighbor_matrix(neighbors, len(rows), len(self.labels_))
        labels = np.empty(len(rows), np.int32)
        nearest_of_neighbors(
            matrix.indptr,
            matrix.indices,
            np.ascontiguousarray(rows),
            self.cluster_centers_,
            self.labels_,
            labels,
        )
        return labels


def _neighbor_matrix(given: Any, n_new: int, n_fit: int) -> sparse.csr_array:
    """Neighbors of new rows as CSR of shape (n_new, n_fit)."""
    if given is None:
        return sparse.csr_array((n_new, n_fit), dtype=np.int8)
    if sparse.issparse(given) or isinstance(given, np.ndarray):
        matrix = sparse.csr_array(given)
    else:
        matrix = _listed_neighbors(given, n_fit)
    if matrix.shape != (n_new, n_fit):
        raise SidelightError(
            f"neighbors must have a row for each of the {n_new} new rows and a column for each of "
            f"the {n_fit} rows of the fit, got shape {matrix.shape}."
        )
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise SidelightError("neighbors must hold numbers of at least 0; above 0 joins two rows.")
    kept = matrix.copy()
    kept.eliminate_zeros()
    return kept


def _listed_neighbors(given: Any, n_fit: int) -> sparse.csr_array:
    lists = [np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in given]
    flat = np.concatenate([np.empty(0), *lists])
    if len(flat) and not (np.all(flat == np.floor(flat)) and 0 <= flat.min() <= flat.max() < n_fit):
        raise SidelightError(
            f"neighbors must hold positions of rows of the fit, whole numbers from 0 to "
            f"{n_fit - 1}."
        )
    indptr = np.append(0, np.cumsum([len(one) for one in lists]))
    return sparse.csr_array(
        (np.ones(len(flat)), flat.astype(np.int64), indptr), shape=(len(lists), n_fit)
    )
