"""Shared parts of classifiers on a graph: the graph, parts of it without labels, and new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags

from sidelight._fit.parameters import Auto, Count, FinitePositive, estimator
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import Classifier, ProbabilisticClassifier
from sidelight.base.inner import decided_codes, not_defined
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import Similarity, degrees, similarity_graph
from sidelight.graphs.inner import check_graph, join_both_ways
from sidelight.semi_supervised.graph._parts import (
    comparable_weights,
    hang_parts,
    join_far_parts,
    rows_without_label,
)

#: Similarities of new rows to those of the fit that are held at a time.
SIMILARITIES_AT_A_TIME = 4_000_000

#: Parameters that mean the same in all classifiers on a graph.
GRAPH_PARAMETERS = {
    "n_neighbors": "Number of neighbors of a row in the graph.",
    "graph": "Edges of the graph: between nearest neighbors, or between all rows (at most 15,000, "
    "``8 n²`` bytes). Or ``X`` holds the similarities, for ``fit`` of shape (n_samples, "
    "n_samples), for ``predict`` of shape (n_new, n_samples); or, in the same shapes, distances, "
    "of which nearest neighbors are joined: a sparse matrix stores those of neighbors, such as "
    "that of scikit-learn's ``KNeighborsTransformer``. Edges that a sparse matrix stores one way "
    "only count both ways. Or a function of two blocks of rows that returns their similarities, "
    "dense or sparse.",
    "weights": "Similarity of joined rows, see :func:`sidelight.graphs.neighbor_graph`.",
    "sigma": 'Width of the weights "gaussian"; "auto" is the median distance of the last '
    "neighbor, or, between all rows, the 5th percentile of the distances.",
}


@estimator
class _GraphClassifier(Classifier):
    """A classifier that gives the rows of a graph values, which new rows average.

    Subclasses define ``_spread(W, labels, known)``: a value, or a value per class, of every row of
    a graph in which a path joins all rows to labeled ones; and ``_decision(values)``.
    """

    _common_parameters = GRAPH_PARAMETERS

    n_neighbors: Count = 10
    _: KW_ONLY
    graph: Literal["neighbors", "full", "precomputed", "distances"] | Callable[..., Any] = (
        "neighbors"
    )
    weights: Literal["gaussian", "local", "cosine", "fuzzy", "connectivity"] = "gaussian"
    sigma: FinitePositive | Auto = "auto"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._graph_kind in ("precomputed", "distances")
        return tags

    @property
    def _graph_kind(self) -> str:
        return self.graph if isinstance(self.graph, str) else "function"

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        """Return the values of all rows of a graph with labels."""
        not_defined(self, "_spread")

    def _decision(self, values: Array) -> Array:
        """Return the decision values that the values of rows stand for."""
        not_defined(self, "_decision")

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        W, self._similarity = self._build_graph(rows, known)
        lost, n_parts = rows_without_label(W, labels)
        if not lost.any():
            self._values = self._spread(W, labels, known)
            return
        self._warn_of_lost(np.flatnonzero(lost), n_parts, known)
        if self._graph_kind == "full" and self.weights != "cosine":
            W = join_far_parts(W, self._similarity, labels)
        elif self._graph_kind in ("neighbors", "full"):
            W = hang_parts(W, rows, lost, cosine=self.weights == "cosine")
        else:
            self._values = self._spread_where_joined(W, labels, known, lost)
            return
        self._values = self._spread(W, labels, known)

    def _spread_where_joined(
        self, W: sparse.csr_array, labels: IntArray, known: Constraints, lost: Array
    ) -> Array:
        """Values of rows that a path joins to a label; the mean of the labeled ones elsewhere."""
        found = np.flatnonzero(~lost)
        spread = self._spread(sparse.csr_array(W[found][:, found]), labels[found], known)
        values = np.empty((len(labels), *spread.shape[1:]))
        values[found] = spread
        values[lost] = spread[labels[found] >= 0].mean(axis=0)
        return values

    def _build_graph(self, rows: Any, known: Constraints) -> tuple[sparse.csr_array, Any]:
        """Similarities of the rows, and the way to those of new rows."""
        kind = self._graph_kind
        weighted = kind in ("neighbors", "full", "distances")
        if self.sigma != "auto" and not (weighted and self.weights == "gaussian"):
            warn(
                f"{setting('sigma', self.sigma)} is not used: it is the width of weights "
                f"'gaussian', and not of graph {kind!r} with weights {self.weights!r}.",
                UserWarning,
            )
        names = known.name_rows if known.ids is not None else None
        if kind == "precomputed":
            return comparable_weights(check_graph(join_both_ways(rows), names)), _GivenSimilarity()
        if kind == "function":
            similarity = _GivenSimilarity(self.graph, rows.copy())  # the user may change the rows
            W = join_both_ways(similarity.of(similarity.rows))
            return comparable_weights(check_graph(W, names)), similarity
        W, by_distance = similarity_graph(
            rows,
            None if kind == "full" else self.n_neighbors,
            weights=self.weights,
            sigma=None if self.sigma == "auto" else float(self.sigma),
            metric="precomputed" if kind == "distances" else "euclidean",
            least=0.0,
        )
        return comparable_weights(W), by_distance

    def _warn_of_lost(self, lost: IntArray, n_parts: int, known: Constraints) -> None:
        """Warn about rows without a path to a label, and about how they are classified."""
        number = f"{len(lost):,} of {known.n_samples:,} rows"
        name = f"such as {known.name_rows(lost[:1])[0]}"
        begin = (
            f"No path of the graph joins {number} ({name}, in {counted(n_parts, 'part')}) to a "
            "labeled row"
        )
        nearest = "each part takes the class at the end of the shortest link to the others"
        if self._graph_kind == "full" and self.weights != "cosine":
            begin = (
                f"The similarities of {number} ({name}, in {counted(n_parts, 'part')}) to all "
                "others are lost in rounding"
            )
            done = "each part takes the class of what is nearest to it"
            wider = f" Take a larger {setting('sigma')}," if self.weights == "gaussian" else ""
            advice = f"{wider} or label a row of it." if wider else " Label a row of it."
        elif self._graph_kind == "neighbors":
            done = nearest
            advice = f" Label a row of it, or join them by a larger {setting('n_neighbors')}."
        elif self._graph_kind == "full":
            done, advice = nearest, " Label a row of it."
        else:
            done = "their values are the mean of those of the labeled rows"
            advice = " Store similarities that join them to others, or label one of each part."
            if self._graph_kind == "distances":
                advice = " Store distances to more neighbors, or label a row of each part."
        warn(f"{begin}; {done}.{advice}", ConstraintWarning)

    def _transduced(self, rows: Any) -> IntArray:
        return decided_codes(self._decision(self._values))

    def _decide(self, rows: Any) -> Array:
        return self._decision(self._averaged(rows))

    def _averaged(self, rows: Any) -> Array:
        """Values of new rows: averages over the most similar rows of the fit."""
        parts = [self._average_block(rows[block]) for block in self._blocks(rows.shape[0])]
        return np.concatenate(parts)

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        n_known = len(self._values)
        near = self.n_neighbors if self._graph_kind in ("neighbors", "distances") else n_known
        size = max(SIMILARITIES_AT_A_TIME // max(min(near, n_known), 1), 1)
        return (slice(first, first + size) for first in range(0, max(n_rows, 1), size))

    def _average_block(self, rows: Any) -> Array:
        similarity = self._similarity
        S = similarity.to(rows, relative=True)
        total = degrees(S)
        lost = np.flatnonzero(~(total > 0))
        values = np.asarray(S @ self._values)
        total[lost] = 1.0
        values /= total.reshape(-1, *[1] * (values.ndim - 1))
        if len(lost) and isinstance(similarity, _GivenSimilarity):
            values[lost] = self._values.mean(axis=0)
            warn(
                f"{len(lost):,} of {len(total):,} new rows, row {lost[0]} the first, are similar "
                "to no row of the fit; their values are the mean of all rows.",
                ConstraintWarning,
            )
        elif len(lost):
            values[lost] = self._values[_nearest(similarity, rows[lost])]
        return values


@dataclass(frozen=True)
class _GivenSimilarity:
    """Similarities that are given: as a matrix, or by a function of two blocks of rows."""

    function: Any = None
    rows: Any = None

    def of(self, new: Any) -> Any:
        """What the function returns for new rows, checked for its shape."""
        found = self.function(new, self.rows)
        S = found if sparse.issparse(found) else np.asarray(found, dtype=np.float64)
        shape = (new.shape[0], self.rows.shape[0])
        if S.shape != shape:
            raise SidelightError(
                f"The function for the graph must return similarities of shape {shape}, one per "
                f"pair of rows; it returned shape {S.shape}."
            )
        return S

    def to(self, new: Any, *, relative: bool) -> sparse.csr_array:
        """Similarities of new rows, in units of the largest of each row."""
        S = sparse.csr_array(new if self.function is None else self.of(new), dtype=np.float64)
        if not S.nnz:
            return S
        if not np.all((S.data >= 0) & np.isfinite(S.data)):
            worst = S.data.min() if np.all(np.isfinite(S.data)) else np.nan
            raise SidelightError(
                f"Similarities are finite and not negative; those of the new rows hold {worst:g}."
            )
        largest = np.asarray(S.max(axis=1).todense()).reshape(-1)
        ends = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
        scaled = S.copy()
        scaled.data = np.divide(S.data, largest[ends], where=S.data > 0, out=np.zeros(S.nnz))
        return scaled


@estimator
class _DistributionClassifier(_GraphClassifier, ProbabilisticClassifier):
    """A classifier on a graph whose values are distributions over the classes."""

    def _decision(self, values: Array) -> Array:
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def _probabilities(self, rows: Any) -> Array:
        """Averages of the distributions of the most similar rows of the fit."""
        return self._averaged(rows)


def _nearest(similarity: Similarity, rows: Any) -> IntArray:
    """Nearest row of the graph to each of these rows, or distances."""
    if similarity.rows is None:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        stored = sparse.issparse(rows) and np.asarray((rows != 0).todense())
        return np.asarray(np.where(stored, dense, np.inf).argmin(axis=1))
    metric = "cosine" if similarity.weights == "cosine" else "euclidean"
    search = NearestNeighbors(n_neighbors=1, metric=metric).fit(similarity.rows)
    return np.asarray(search.kneighbors(rows, return_distance=False)[:, 0], dtype=np.int64)
