"""Relevant component analysis (Bar-Hillel, Hertz, Shental, Weinshall 2005; Book 2009, 17)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from scipy import linalg

from sidelight._fit.moments import covariance, moments
from sidelight._fit.named_rows import named_rows
from sidelight._fit.parameters import Auto, Count, Interval, estimator
from sidelight._fit.scatter import (
    chunklet_scatter,
    chunklet_weights,
    n_positive,
    scale_free_rank,
    shrunk,
    shrunk_to_variances,
)
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._base import _MetricBase
from sidelight.tags import own_tags


@estimator
class RCA(_MetricBase):
    """Relevant component analysis: directions in which rows known to belong together differ shrink.

    Chunklets are the must-link components with at least two rows (rows of one known class are one
    chunklet). With their scatter ``C = (1/p) Σ_j w_j Σ_{i∈j} (x_i - m_j)(x_i - m_j)ᵀ`` over rows of
    total weight ``p``, where ``w_j`` is the mean weight of the must-links of a chunklet (1 for
    labels and groups), the map is ``W = C^{-1/2}``: the within-chunklet covariance becomes the
    identity. Among all ``A`` with ``det(A)`` fixed it gives the smallest distances within
    chunklets, and it is the maximum likelihood estimate of a covariance common to them (Bar-Hillel
    et al. 2005). With
    ``n_components`` the directions ``F`` of largest ``|Fᵀ S_t F| / |Fᵀ C F|`` are kept, ``S_t`` the
    covariance of all rows. Cannot-links are not used. Read more in the
    :doc:`user guide </metric/index>`.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of dimensions to keep; all of them by default.
    shrinkage : "auto" or float in [0, 1), default="auto"
        How far ``C`` is drawn to something simpler, which keeps directions that no chunklet spans
        from being blown up. ``"auto"``: towards a multiple of the variances of the features, by as
        much as the number of rows in chunklets asks for (oracle approximating shrinkage); with few
        must-links the map then hardly does more than standardize. A number ``s``:
        ``(1 - s) C + s tr(C)/d I``; 0 gives the published method.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``.
    n_chunklets_ : int
        Chunklets with at least two rows.

    Notes
    -----
    With ``shrinkage="auto"`` the map does not depend on the units of the features, and with few
    must-links it is close to a standardization. Where the units carry meaning, as with the pixels
    of an image, k-means on the mapped rows can be worse than on the rows themselves: see digits in
    :doc:`the comparison of all methods </does_knowledge_help>`.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import RCA
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1], [2.0, 0.0]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], n_samples=5)  # differ in the first feature
    >>> model = RCA(shrinkage=0.05).fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < far)
    True
    """

    n_components: Count | None = None
    _: KW_ONLY
    shrinkage: Auto | Annotated[float, Interval(0, 1, open_high=True)] = "auto"

    _own_tags = own_tags(
        summary="distance that shrinks where rows known to belong together differ",
        knowledge=("must-link", "labels", "groups"),
        source="Bar-Hillel, Hertz, Shental, Weinshall 2005; Book 2009, chapter 17",
        complexity="O(p d² + d³) time for p rows in chunklets, O(d²) memory",
    )

    def _learn(self, source: RowSource, known: Constraints) -> None:
        d = source.n_features
        kept = self._check_n_components(d)
        component = known.closure(on_contradiction="keep").component
        weights = chunklet_weights(known, component)
        scatter, mass, self.n_chunklets_ = chunklet_scatter(
            named_rows(source, known), component, weights
        )
        if not self.n_chunklets_:
            reason = "No rows are known to belong together, so there is nothing to learn from"
            self._set_euclidean_map(reason, d, source.dtype)
            return
        sizes = np.bincount(component)
        chunklet = sizes >= 2
        rank = int(np.sum(sizes[chunklet] - 1))
        within = scatter / mass
        if self.shrinkage == "auto" and within.any():
            evidence = float(np.sum(weights[chunklet] * (sizes[chunklet] - 1)))
            within = shrunk_to_variances(within, moments(source).variances, evidence)
        else:
            within = self._regularize(within, rank)
        # In units of their own deviations features of any scale keep all their digits.
        unit = np.sqrt(np.diagonal(within))
        within = within / unit[:, None] / unit
        if kept == d:  # the map that turns the rows least
            own, vectors = np.linalg.eigh(within)
            _, scale, turned = np.linalg.svd((vectors / np.sqrt(own)).T / unit)
            self._set_map((turned.T * scale) @ turned, source.dtype)
        else:  # directions are orthonormal within chunklets already
            total = covariance(source) / unit[:, None] / unit
            values, directions = linalg.eigh(total, within)
            self._warn_of_rank(n_positive(values), "the rows vary in only")
            best = np.argsort(-values, kind="stable")[:kept]
            self._set_map(directions[:, best].T / unit, source.dtype)

    def _regularize(self, within: Array, rank: int) -> Array:
        """Shrink towards a multiple of the identity; refuse a matrix that stays singular."""
        d = len(within)
        if not within.any():
            warn(
                "Rows known to belong together are all the same: no direction can be told from "
                "another, and the distance is the Euclidean one.",
                ConstraintWarning,
            )
            return np.eye(d)
        assert self.shrinkage != "auto"
        if self.shrinkage == 0:
            spanned = scale_free_rank(within)
            if spanned < d:
                raise SidelightError(
                    f"The chunklets span {spanned} of {d} directions, so their scatter has no "
                    "inverse; give more must-links, fewer features (PCA first), or "
                    "shrinkage='auto'."
                )
        elif rank < d:
            warn(
                f"The chunklets span at most {rank} of {d} directions; in the others "
                f"shrinkage={self.shrinkage} stands in. Give more must-links, or fewer features "
                "(PCA first).",
                ConstraintWarning,
            )
        return shrunk(within, self.shrinkage)
