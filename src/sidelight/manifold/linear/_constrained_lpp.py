"""Constrained locality preserving projections (Hamad, part 4; Cevikalp et al. 2008)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from sidelight._fit.named_rows import named_rows
from sidelight._fit.parameters import Auto, Count, FiniteNonNegative, Seed, estimator
from sidelight._fit.scatter import pair_scatter
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints, known_pairs
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import degrees, neighbor_graph, percentile_distance
from sidelight.manifold.linear._base import Centered, _LinearProjection
from sidelight.manifold.linear._landmark_graph import LandmarkGraph
from sidelight.tags import MethodTags

#: Landmarks that stand for all rows by default.
MANY_LANDMARKS = 500


@estimator
class ConstrainedLPP(_LinearProjection):
    """Locality preserving projection under must-links and cannot-links.

    Takes the directions of smallest ``λ`` in ``X'(L + a L^M - b L^C)X w = λ X'DX w``: neighbors
    (of the graph with Laplacian ``L``) and must-linked rows stay close, cannot-linked rows move
    apart (Hamad, part 4). The three terms are brought to the same trace, and ``penalty`` weighs
    the pairs against the neighbors; with 0 it is LPP, the linear version of Laplacian eigenmaps.
    Of very many rows, also on disk or in partitions, ``graph="landmarks"`` joins all by way of
    some (Nyström): ``W ≈ B A⁺ B'`` with Gaussian similarities ``B`` of the rows to the landmarks
    and ``A`` between these. That is another graph than that of the neighbors, exact where all rows
    are landmarks; the pairs count exactly. Read more in the :doc:`user guide </manifold/index>`.

    It keeps what is near together rather than what varies: k-means on the projected rows is mostly
    worse than on the rows themselves
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_neighbors : int >= 1, default=10
        Number of neighbors of a row in the graph.
    graph : {"neighbors", "landmarks"}, default="neighbors"
        Edges of the graph: between nearest neighbors, or between all rows by way of some landmarks,
        with the 5th percentile of the distances between landmarks as width.
    n_landmarks : int >= 1 or "auto", default="auto"
        Number of rows that stand for all in "landmarks"; "auto" is 500, or all rows of fewer.
    random_state : int or RandomState or None, default=None
        Seed or generator for the landmarks; pass an int for reproducible results.
    penalty : float >= 0, finite or "auto", default="auto"
        Weight of the pairs against the neighbors, both scaled to the same trace. "auto" is 1.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, the best first; ``w'X'DXw = 1``.
    eigenvalues_ : ndarray of shape (n_components,)
        ``λ`` of each direction.
    penalty_ : float
        Weight of the pairs that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.manifold import ConstrainedLPP
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 40)
    >>> X = np.column_stack([rng.normal(0, 1, 80), rng.normal(2.0 * y, 0.3)])
    >>> model = ConstrainedLPP(1).fit(X, constraints=Constraints.sample(y, 60, random_state=0))
    >>> int(np.argmax(np.abs(model.components_)))
    1
    """

    _: KW_ONLY
    n_neighbors: Count = 10
    penalty: FiniteNonNegative | Auto = "auto"
    graph: Literal["neighbors", "landmarks"] = "neighbors"
    n_landmarks: Count | Auto = "auto"
    random_state: Seed = None

    _elsewhere = (
        "ConstrainedLPP with graph='landmarks' reads rows block by block, and so does "
        "ConstrainedPCA."
    )

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="projection that keeps neighbors and must-linked rows close",
            source="Hamad, part 4; Cevikalp et al. 2008",
            complexity="O(n log n d + n d² + d³) time, O(n m + d²) memory for m neighbors",
            out_of_core=self.graph == "landmarks",
        )

    def _learn(self, rows: Any, known: Constraints) -> None:
        self.penalty_ = 1.0 if self.penalty == "auto" else float(self.penalty)
        if self.graph == "landmarks":
            source = as_rows(rows)
            centered = Centered(source)
            right, similar = self._landmark_graph(source).sums(source, centered.project)
            sides = (right - similar, right)
            every: Any = named_rows(source, known).map(centered.project)
        else:
            centered, W = self._joined_rows(rows)
            sides, every = _sides(centered.coordinates, W), centered.project(rows)
        kept = self._n_kept(centered)
        left, right = self._with_pairs(*sides, every, known)
        values, directions = linalg.eigh(left, right)
        self._set_directions(values[:kept], directions[:, :kept], centered, rows.dtype)

    def _joined_rows(self, rows: Array) -> tuple[Centered, sparse.csr_array]:
        """Rows that have neighbors, and their graph.

        A row so far away that its similarities vanish would lend the best ``λ``, 0, to any
        direction in which it alone differs.
        """
        centered = Centered(rows)
        W = neighbor_graph(centered.coordinates, self.n_neighbors)
        alone = np.flatnonzero(degrees(W) == 0)
        if not len(alone):
            return centered, W
        warn(
            f"{len(alone)} of {len(rows)} rows (the first is row {alone[0]}) are so far from all "
            "others that they have no neighbors; only pairs that name them make them count.",
            ConstraintWarning,
        )
        joined = np.setdiff1d(np.arange(len(rows)), alone)
        return Centered(rows[joined]), sparse.csr_array(W[joined][:, joined])

    def _landmark_graph(self, source: RowSource) -> LandmarkGraph:
        """Some rows, and the width of the similarities to them."""
        n = source.n_rows
        m = min(n, MANY_LANDMARKS if self.n_landmarks == "auto" else int(self.n_landmarks))
        chosen = check_random_state(self.random_state).choice(n, m, replace=False)
        landmarks = np.asarray(source.take(np.sort(chosen)), dtype=np.float64)
        return LandmarkGraph(landmarks, percentile_distance(landmarks) or 1.0)

    def _with_pairs(
        self, left: Array, right: Array, every: Any, known: Constraints
    ) -> tuple[Array, Array]:
        """Both sides of the eigenproblem; ``every`` are the rows that pairs may name."""
        scale = float(np.trace(left)) or float(np.trace(right))
        pairs = known_pairs(known)
        for sign, places, weights in (
            (1.0, pairs.together, pairs.together_weight),
            (-1.0, pairs.apart, pairs.apart_weight),
        ):
            scatter = pair_scatter(every, places, weights)
            trace = float(np.trace(scatter))
            if trace > 0:
                left = left + sign * self.penalty_ * scale / trace * scatter
        # Rows with hardly any similarity hardly count in the right side: keep it invertible.
        right = right + 1e-9 * float(np.trace(right)) / len(right) * np.eye(len(right))
        return (left + left.T) / 2, (right + right.T) / 2


def _sides(Z: Array, W: sparse.csr_array) -> tuple[Array, Array]:
    """``Z'LZ`` and ``Z'DZ`` of a graph, in coordinates of full rank."""
    right = (Z * degrees(W)[:, None]).T @ Z
    return right - np.asarray(Z.T @ (W @ Z)), right
