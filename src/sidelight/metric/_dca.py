"""Discriminative component analysis (Hoi, Liu, Lyu, Ma 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Literal

import numpy as np
from scipy import linalg

from sidelight._fit.moments import moments
from sidelight._fit.named_rows import named_rows
from sidelight._fit.parameters import Auto, Count, Interval, estimator
from sidelight._fit.scatter import (
    centered,
    chunklet_weights,
    conflict_weights,
    group_means,
    n_positive,
    pair_scatter,
    regularized,
    scale_free_rank,
    shrunk_to_variances,
)
from sidelight._typing import Array
from sidelight._words import worded
from sidelight.constraints import Closure, Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.metric._base import _MetricBase
from sidelight.tags import own_tags


@estimator
class DCA(_MetricBase):
    """Discriminative component analysis: chunklets known to be apart move apart.

    Maximizes ``|F'C_b F| / |F'C_w F|``, with ``C_b = (1/n_b) Σ (m_j - m_i)(m_j - m_i)'`` over the
    ``n_b`` pairs of chunklets that a cannot-link parts, and ``C_w`` the average covariance within
    chunklets (Hoi, Liu, Lyu, Ma 2006). Rows that only cannot-links mention are chunklets of one
    row: they count in ``C_b`` alone. Parted chunklets, and chunklets in ``C_w``, count by the mean
    weight of the links behind them (1 for labels and groups). Read more in the
    :doc:`user guide </metric/index>`.

    By default the map does not depend on the units of the features; where these carry meaning, as
    with pixels, k-means on the mapped rows can be worse than on the rows themselves
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of dimensions to keep; as many as the cannot-links span by default.
    variant : {"default", "published"}, default="default"
        Way to the directions: the generalized eigenproblem of both matrices, or the algorithm of
        the paper, which first drops the directions that ``C_b`` does not span and then whitens
        ``C_w`` in the others. The former finds ratios at least as good.
    shrinkage : "auto" or float in [0, 1), default="auto"
        How far ``C_w`` is drawn to something simpler: towards a multiple of the variances of the
        features, by as much as the number of rows in chunklets asks for, or by a number ``s``:
        ``(1 - s) C_w + s tr(C_w)/d I``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``Fᵀ``: ``F'C_w F = I``, ``F'C_b F`` diagonal.
    ratios_ : ndarray of shape (n_components,)
        Spread between over spread within, along each direction.
    n_chunklets_ : int
        Number of chunklets, those of one row included.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import DCA
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_samples=4)
    >>> model = DCA().fit(X, constraints=known)
    >>> near, far = model.pair_distance([(0, 1), (0, 2)], X)
    >>> bool(near < far)
    True
    """

    n_components: Count | None = None
    _: KW_ONLY
    variant: Literal["default", "published"] = "default"
    shrinkage: Auto | Annotated[float, Interval(0, 1, open_high=True)] = "auto"

    _own_tags = own_tags(
        summary="distance in which chunklets known to be apart lie far from each other",
        source="Hoi, Liu, Lyu, Ma 2006",
        complexity="O(p d² + e d² + d³) time for e parted chunklets, O(d²) memory",
    )

    def _learn(self, source: RowSource, known: Constraints) -> None:
        d = source.n_features
        self._check_n_components(d)
        closure = known.closure(on_contradiction="keep")
        if not len(closure.conflicts):
            if not known.is_empty:
                raise SidelightError(
                    f"No rows are known to be apart ({worded('n_samples=', '')}1 class at most): "
                    "DCA needs cannot-links or labels of two classes; use RCA with must-links "
                    "alone."
                )
            self._set_euclidean_map("Nothing is known about the rows", d, source.dtype)
            self.n_chunklets_, self.ratios_ = 0, np.ones(len(self.components_), source.dtype)
            return
        between, within = self._matrices(source, known, closure)
        solve = _generalized if self.variant == "default" else _published
        ratios, directions = solve(between, within)
        self._warn_of_rank(len(ratios), "the cannot-links span only")
        self.ratios_ = ratios[: self.n_components].astype(source.dtype)
        self._set_map(directions[:, : self.n_components].T, source.dtype)

    def _matrices(
        self, source: RowSource, known: Constraints, closure: Closure
    ) -> tuple[Array, Array]:
        """``C_b`` and ``C_w``."""
        sizes = np.bincount(closure.component)
        used = sizes >= 2
        used[closure.conflicts.ravel()] = True
        self.n_chunklets_ = int(used.sum())
        members = np.flatnonzero(used[closure.component])
        number = np.cumsum(used) - 1  # of a chunklet, among those that count
        chunklet = number[closure.component[members]]
        # Differences do not change where the rows are centered, and keep their digits.
        rows = centered(named_rows(source, known)[members])
        means = group_means(rows, chunklet)
        between = pair_scatter(means, number[closure.conflicts], conflict_weights(known))
        between = between / conflict_weights(known).sum()
        # Every chunklet counts alike but for its weight, whatever its size.
        weights = chunklet_weights(known, closure.component)
        share = (weights / sizes)[used]
        offsets = rows - means[chunklet]
        within = (offsets * share[chunklet][:, None]).T @ offsets
        within = within / max(float(weights[sizes >= 2].sum()), 1e-300)
        if not within.any():
            return between, np.eye(len(within))
        if self.shrinkage == "auto":
            evidence = float(np.sum(weights[sizes >= 2] * (sizes[sizes >= 2] - 1)))
            return between, shrunk_to_variances(within, moments(source).variances, evidence)
        return between, regularized(within, self.shrinkage)


def _generalized(between: Array, within: Array) -> tuple[Array, Array]:
    """Directions of largest ratio."""
    ratios, directions = linalg.eigh(between, within)
    kept = n_positive(ratios, 1e-10)
    return ratios[::-1][:kept], directions[:, ::-1][:, :kept]


def _published(between: Array, within: Array) -> tuple[Array, Array]:
    """Whiten the span of ``C_b``, then take the directions of smallest ``C_w`` there."""
    rank, d = scale_free_rank(between, 1e-10), len(between)
    # Where all directions are spanned, units do not matter: those of the features' own are safest.
    unit = np.sqrt(np.diagonal(between)) if rank == d else np.ones(d)
    values, vectors = np.linalg.eigh(between / unit[:, None] / unit)
    Z = (vectors[:, d - rank :] / np.sqrt(values[d - rank :])) / unit[:, None]
    spread, turned = np.linalg.eigh(Z.T @ within @ Z)
    return 1.0 / spread, Z @ turned / np.sqrt(spread)
