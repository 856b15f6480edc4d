"""Constrained PCA: unlabelled rows and pairs (SSDR, Zhang, Zhou, Chen 2007; Hamad, part 4)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from sidelight._fit.scatter import pair_scatter
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.manifold._base import Centred, _LinearProjection, n_kept
from sidelight.tags import MethodTags


class ConstrainedPCA(_LinearProjection):
    """Principal components that keep cannot-linked rows apart and must-linked rows together.

    Maximises, over orthonormal directions ``w``,

    ``J(w) = (1/2n²) Σ_ij (w'x_i - w'x_j)² + (α/2n_C) Σ_CL (w'x_i - w'x_j)²
    - (β/2n_M) Σ_ML (w'x_i - w'x_j)²``:

    the leading eigenvectors of ``T = Cov + α T_C - β T_M`` (Zhang, Zhou, Chen 2007, as corrected in
    Hamad, part 4). With ``α = β = 0`` it is PCA. Large ``β`` (20 in the paper) can help much or do
    harm: choose it on pairs that were held out, as :class:`sidelight.evaluation.ConstraintSearchCV`
    does in a pipeline.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions.
    alpha : float, default=1.0
        Weight of the cannot-links.
    beta : float, default=1.0
        Weight of the must-links.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, the best first.
    eigenvalues_ : ndarray of shape (n_components,)
        ``J`` along each.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.manifold import ConstrainedPCA
    >>> X = np.array([[-9.0, 0.0], [-8.0, 1.0], [8.0, 0.1], [9.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 2), (1, 3)], cannot_link=[(0, 1), (2, 3)], n_samples=4)
    >>> model = ConstrainedPCA(1, alpha=1, beta=20).fit(X, constraints=known)
    >>> int(np.argmax(np.abs(model.components_)))  # the second feature, small as its spread is
    1
    """

    def __init__(self, n_components: int = 2, *, alpha: float = 1.0, beta: float = 1.0) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="principal components that keep apart what is known to be apart",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Zhang, Zhou, Chen 2007; Hamad, part 4",
            complexity="O((n + m) d² + d³) time for m pairs, O(d²) memory (n² for d > n)",
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
        self : ConstrainedPCA
            The fitted projection.
        """
        for name in ("alpha", "beta"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}.")
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        centred = Centred(rows)
        wanted = n_kept(self.n_components, centred.rank)
        pairs = known_pairs(known)
        Z = centred.coordinates
        T = Z.T @ Z / len(Z)
        if pairs.n_apart:
            apart = pair_scatter(Z, pairs.apart, pairs.apart_weight)
            T = T + self.alpha * apart / (2 * pairs.apart_weight.sum())
        if pairs.n_together:
            together = pair_scatter(Z, pairs.together, pairs.together_weight)
            T = T - self.beta * together / (2 * pairs.together_weight.sum())
        values, directions = np.linalg.eigh(T)
        values, directions = values[::-1], directions[:, ::-1]
        positive = int(np.count_nonzero(values > 1e-12 * max(float(np.abs(values).max()), 1e-300)))
        kept = min(wanted, max(positive, 1))
        if kept < wanted:
            warnings.warn(
                f"Only {positive} directions spread the rows more than they spread what belongs "
                f"together; n_components={wanted} is reduced to {kept}. A smaller beta leaves "
                "more.",
                ConstraintWarning,
                stacklevel=2,
            )
        self.eigenvalues_ = values[:kept].astype(rows.dtype)
        self._keep(centred.to_features(directions[:, :kept]), centred.mean, rows.dtype)
        return self
