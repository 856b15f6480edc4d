"""Constrained locality preserving projections (Hamad, part 4; Cevikalp et al. 2008)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import linalg, sparse

from sidelight._fit.parameters import Auto, Count, FiniteNonNegative, estimator
from sidelight._fit.scatter import pair_scatter
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import degrees, neighbor_graph
from sidelight.manifold.linear._base import Centered, _LinearProjection
from sidelight.tags import own_tags


@estimator
class ConstrainedLPP(_LinearProjection):
    """Locality preserving projection under must-links and cannot-links.

    Takes the directions of smallest ``λ`` in ``X'(L + a L^M - b L^C)X w = λ X'DX w``: neighbors
    (of the graph with Laplacian ``L``) and must-linked rows stay close, cannot-linked rows move
    apart (Hamad, part 4). The three terms are brought to the same trace, and ``penalty`` weighs
    the pairs against the neighbors; with 0 it is LPP, the linear version of Laplacian eigenmaps.
    Read more in the :doc:`user guide </manifold/index>`.

    It keeps what is near together rather than what varies: k-means on the projected rows is mostly
    worse than on the rows themselves
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_neighbors : int >= 1, default=10
        Number of neighbors of a row in the graph.
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

    _own_tags = own_tags(
        summary="projection that keeps neighbors and must-linked rows close",
        source="Hamad, part 4; Cevikalp et al. 2008",
        complexity="O(n log n d + n d² + d³) time, O(n m + d²) memory for m neighbors",
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        self.penalty_ = 1.0 if self.penalty == "auto" else float(self.penalty)
        centered, W = self._joined_rows(rows)
        kept = self._n_kept(centered)
        left, right = self._matrices(centered.coordinates, W, centered.project(rows), known)
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

    def _matrices(
        self, Z: Array, W: sparse.csr_array, every: Array, known: Constraints
    ) -> tuple[Array, Array]:
        """Both sides of the eigenproblem, in coordinates of full rank.

        ``Z`` are the rows of the graph, ``every`` all rows, which pairs may name.
        """
        right = (Z * degrees(W)[:, None]).T @ Z
        left = right - np.asarray(Z.T @ (W @ Z))
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
