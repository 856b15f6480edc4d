"""Constrained locality preserving projections (Hamad, part 4; Cevikalp et al. 2008)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse

from sidelight._fit.scatter import pair_scatter
from sidelight._typing import Array
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import degrees, neighbor_graph
from sidelight.manifold._base import Centred, _LinearProjection, n_kept
from sidelight.tags import MethodTags


class ConstrainedLPP(_LinearProjection):
    """Locality preserving projection that listens to pairs.

    Takes the directions of smallest ``λ`` in ``X'(L + a L^M - b L^C)X w = λ X'DX w``: neighbours
    (of the graph with Laplacian ``L``) and must-linked rows stay close, cannot-linked rows move
    apart (Hamad, part 4). The three terms are brought to the same trace, and ``strength`` weighs
    the pairs against the neighbours; with 0 it is LPP, the linear version of Laplacian eigenmaps.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions.
    n_neighbors : int, default=10
        Neighbours of a row in the graph.
    strength : float, default=1.0
        Weight of the pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, the best first; ``w'X'DXw = 1``.
    eigenvalues_ : ndarray of shape (n_components,)
        ``λ`` of each.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.

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

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 10, strength: float = 1.0
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.strength = strength

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="projection that keeps neighbours and must-linked rows close",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Hamad, part 4; Cevikalp et al. 2008",
            complexity="O(n log n d + n d² + d³) time, O(n m + d²) memory for m neighbours",
            needs_n_clusters=False,
            kind="transformer",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known.

        Returns
        -------
        self : ConstrainedLPP
            The fitted projection.
        """
        if not self.strength >= 0:
            raise ValueError(f"strength must not be negative, got {self.strength!r}.")
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        centred, W = self._joined_rows(rows)
        kept = n_kept(self.n_components, centred.rank)
        left, right = self._matrices(centred.coordinates, W, centred.project(rows), known)
        values, directions = linalg.eigh(left, right)
        self.eigenvalues_ = values[:kept].astype(rows.dtype)
        self._keep(centred.to_features(directions[:, :kept]), centred.mean, rows.dtype)
        return self

    def _joined_rows(self, rows: Array) -> tuple[Centred, sparse.csr_array]:
        """Rows that have neighbours, and their graph.

        A row so far away that its similarities vanish would lend the best ``λ``, 0, to any
        direction in which it alone differs.
        """
        centred = Centred(rows)
        W = neighbor_graph(centred.coordinates, self.n_neighbors)
        alone = np.flatnonzero(degrees(W) == 0)
        if not len(alone):
            return centred, W
        warnings.warn(
            f"{len(alone)} of {len(rows)} rows (the first is row {alone[0]}) are so far from all "
            "others that they have no neighbours; only pairs that name them make them count.",
            ConstraintWarning,
            stacklevel=3,
        )
        joined = np.setdiff1d(np.arange(len(rows)), alone)
        return Centred(rows[joined]), sparse.csr_array(W[joined][:, joined])

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
                left = left + sign * self.strength * scale / trace * scatter
        # Rows with hardly any similarity hardly count in the right side: keep it invertible.
        right = right + 1e-9 * float(np.trace(right)) / len(right) * np.eye(len(right))
        return (left + left.T) / 2, (right + right.T) / 2
