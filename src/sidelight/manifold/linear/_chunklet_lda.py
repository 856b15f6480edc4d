"""Linear discriminant analysis from chunklets (Bar-Hillel et al. 2005; Book 2009, chapter 17)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from sidelight._fit.named_rows import NamedRows, named_rows
from sidelight._fit.parameters import Interval, estimator
from sidelight._fit.scatter import chunklet_scatter, chunklet_weights, regularized
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning
from sidelight.manifold.linear._base import Centered, _LinearProjection
from sidelight.tags import own_tags

#: Less of the variance of all rows than this is rounding of rows that are the same.
NO_SPREAD = 1e-24


@estimator
class ChunkletLDA(_LinearProjection):
    """Discriminant directions from rows that belong together, without knowing any class.

    Maximizes ``|F'S_t F| / |F'C F|`` with ``S_t`` the covariance of all rows and ``C`` that within
    chunklets, the must-link components (constraint-based Fisher discriminant, Bar-Hillel et al.
    2005), each by the mean weight of its must-links (1 for labels and groups).
    With a chunklet per class it spans what LDA spans; directions are scaled so that the covariance
    within chunklets becomes the identity. Read more in the :doc:`user guide </manifold/index>`.

    With fewer must-links than features, k-means on the projected rows is often worse than on the
    rows themselves
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    shrinkage : float in [0, 1), default=0.05
        ``C`` is replaced by ``(1 - s) C + s tr(C)/d I``; 0 gives the published method, which needs
        chunklets that span all directions.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, the best first.
    eigenvalues_ : ndarray of shape (n_components,)
        Variance of all rows over that within chunklets, along each direction.
    n_chunklets_ : int
        Number of chunklets with at least two rows.

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

    _: KW_ONLY
    shrinkage: Annotated[float, Interval(0, 1, open_high=True)] = 0.05

    _own_tags = own_tags(
        summary="discriminant directions from rows that belong together",
        knowledge=("must-link", "labels", "groups"),
        source="Bar-Hillel, Hertz, Shental, Weinshall 2005; Book 2009, chapter 17",
        complexity="O(n d² + d³) time, O(d²) memory",
        out_of_core=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        centered = Centered(rows)
        kept = self._n_kept(centered)
        members = named_rows(as_rows(rows), known).map(centered.project)
        values, directions = self._solve(members, centered.covariance, known)
        self._set_directions(values[:kept], directions[:, :kept], centered, rows.dtype)

    def _solve(self, members: NamedRows, total: Array, known: Constraints) -> tuple[Array, Array]:
        component = known.closure(on_contradiction="keep").component
        weights = chunklet_weights(known, component)
        scatter, mass, self.n_chunklets_ = chunklet_scatter(members, component, weights)
        within = scatter / (mass or 1.0)
        if np.trace(within) <= len(within) * NO_SPREAD * np.trace(total):
            warn(
                "No rows that differ are known to belong together, so there is nothing to compare "
                "with: the directions are those of PCA.",
                ConstraintWarning,
            )
            within = np.eye(len(within))
        # Directions that no chunklet spans stay finite.
        values, directions = linalg.eigh(total, regularized(within, self.shrinkage))
        return values[::-1], directions[:, ::-1]
