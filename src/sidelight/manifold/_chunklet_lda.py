"""Linear discriminant analysis from chunklets (Bar-Hillel et al. 2005; Book 2009, chapter 17)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import linalg

from sidelight._fit.scatter import chunklet_scatter
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning
from sidelight.manifold._base import Centred, _LinearProjection, n_kept
from sidelight.tags import MethodTags

#: Less of the variance of all rows than this is rounding of rows that are the same.
NO_SPREAD = 1e-24


class ChunkletLDA(_LinearProjection):
    """Discriminant directions from rows that belong together, without knowing any class.

    Maximises ``|F'S_t F| / |F'C F|`` with ``S_t`` the covariance of all rows and ``C`` that within
    chunklets, the must-link components (constraint-based Fisher discriminant, Bar-Hillel et al.
    2005). With a chunklet per class it spans what LDA spans; directions are scaled so that the
    covariance within chunklets becomes the identity.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions.
    shrinkage : float, default=0.05
        ``C`` is replaced by ``(1 - s) C + s tr(C)/d I``; 0 gives the published method, which needs
        chunklets that span all directions.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, the best first.
    eigenvalues_ : ndarray of shape (n_components,)
        Variance of all rows over that within chunklets, along each.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    n_chunklets_ : int
        Chunklets with at least two rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.manifold import ChunkletLDA
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1], [2.0, 0.0]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], n_samples=5)
    >>> int(np.argmax(np.abs(ChunkletLDA(1).fit(X, constraints=known).components_)))
    1
    """

    def __init__(self, n_components: int = 2, *, shrinkage: float = 0.05) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="discriminant directions from rows that belong together",
            knowledge=("must-link", "labels", "groups"),
            enforcement="soft",
            source="Bar-Hillel, Hertz, Shental, Weinshall 2005; Book 2009, chapter 17",
            complexity="O(n d² + d³) time, O(d²) memory",
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
            What is known; must-links, groups and labels are used.

        Returns
        -------
        self : ChunkletLDA
            The fitted projection.
        """
        if not 0 <= self.shrinkage < 1:
            raise ValueError(f"shrinkage must be in [0, 1), got {self.shrinkage!r}.")
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, y, rows.shape[0])
        self._warn_of_contradictions(known)
        centred = Centred(rows)
        kept = n_kept(self.n_components, centred.rank)
        component = known.closure(on_contradiction="keep").component
        values, directions, self.n_chunklets_ = self._solve(centred.coordinates, component)
        self.eigenvalues_ = values[:kept].astype(rows.dtype)
        self._keep(centred.to_features(directions[:, :kept]), centred.mean, rows.dtype)
        return self

    def _solve(self, Z: Array, component: Array) -> tuple[Array, Array, int]:
        d = Z.shape[1]
        scatter, n_rows, n_chunklets = chunklet_scatter(Z, component)
        within = scatter / max(n_rows, 1)
        total = Z.T @ Z / len(Z)
        scale = float(np.trace(within)) / d
        if scale <= NO_SPREAD * float(np.trace(total)):
            warnings.warn(
                "No rows that differ are known to belong together, so there is nothing to compare "
                "with: the directions are those of PCA.",
                ConstraintWarning,
                stacklevel=3,
            )
            within, scale = np.eye(d), 1.0
        least = max(self.shrinkage, 1e-9)  # directions that no chunklet spans stay finite
        within = (1 - least) * within + least * scale * np.eye(d)
        values, directions = linalg.eigh(total, within)
        return values[::-1], directions[:, ::-1], n_chunklets
