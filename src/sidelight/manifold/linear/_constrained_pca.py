"""Constrained PCA: unlabeled rows and pairs (SSDR, Zhang, Zhou, Chen 2007; Hamad, part 4)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from sidelight._fit.named_rows import named_rows
from sidelight._fit.parameters import Auto, FiniteNonNegative, estimator
from sidelight._fit.scatter import RANK_TOLERANCE, pair_scatter
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints, known_pairs
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, InvalidParameter
from sidelight.manifold.linear._base import Centered, _LinearProjection
from sidelight.tags import own_tags


@estimator
class ConstrainedPCA(_LinearProjection):
    """Principal components that keep cannot-linked rows apart and must-linked rows together.

    Maximizes, over orthonormal directions ``w``,

    ``J(w) = (1/2n²) Σ_ij (w'x_i - w'x_j)² - (p_M/2n_M) Σ_ML (w'x_i - w'x_j)²
    + (p_C/2n_C) Σ_CL (w'x_i - w'x_j)²``:

    the leading eigenvectors of ``T = Cov - p_M T_M + p_C T_C`` (Zhang, Zhou, Chen 2007, as
    corrected in Hamad, part 4). Without any penalty it is PCA. A large penalty of the must-links
    (20 in the paper) can help much or do harm: choose it on pairs that were held out, as
    :class:`sidelight.evaluation.ConstraintSearchCV` does in a pipeline. Read more in the
    :doc:`user guide </manifold/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits, satellite and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float >= 0, finite or tuple or "auto", default="auto"
        Weight of the mean squared length of the constrained pairs against the variance of the
        rows: one for both kinds, or a pair (must-links, cannot-links). "auto" is 1 for both; the
        paper has (20, 1).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, the best first.
    eigenvalues_ : ndarray of shape (n_components,)
        ``J`` along each direction.
    penalty_ : tuple of two floats
        Weights ``p_M`` of the must-links and ``p_C`` of the cannot-links that were used.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.manifold import ConstrainedPCA
    >>> X = np.array([[-9.0, 0.0], [-8.0, 1.0], [8.0, 0.1], [9.0, 1.1]])
    >>> known = Constraints(must_link=[(0, 2), (1, 3)], cannot_link=[(0, 1), (2, 3)], n_samples=4)
    >>> model = ConstrainedPCA(1, penalty=(20, 1)).fit(X, constraints=known)
    >>> int(np.argmax(np.abs(model.components_)))  # the second feature, small as its spread is
    1
    """

    _: KW_ONLY
    penalty: FiniteNonNegative | tuple[FiniteNonNegative, FiniteNonNegative] | Auto = "auto"

    _own_tags = own_tags(
        summary="principal components that keep apart what is known to be apart",
        source="Zhang, Zhou, Chen 2007; Hamad, part 4",
        complexity="O((n + m) d² + d³) time for m pairs, O(d²) memory (n² for d > n)",
        out_of_core=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        self.penalty_ = self._penalties()
        centered = Centered(rows)
        wanted = self._n_kept(centered)
        pairs = known_pairs(known)
        Z = named_rows(as_rows(rows), known).map(centered.project)
        T = centered.covariance
        for price, places, weights in (
            (self.penalty_[1], pairs.apart, pairs.apart_weight),
            (-self.penalty_[0], pairs.together, pairs.together_weight),
        ):
            if len(places):
                T = T + price * pair_scatter(Z, places, weights) / (2 * weights.sum())
        values, directions = np.linalg.eigh(T)
        values, directions = values[::-1], directions[:, ::-1]
        positive = int(np.count_nonzero(values > RANK_TOLERANCE * np.abs(values).max()))
        kept = min(wanted, max(positive, 1))
        if kept < wanted:
            warn(
                f"Only {positive} directions spread the rows more than they spread must-linked "
                f"ones; {setting('n_components', wanted)} is reduced to {kept}. A smaller penalty "
                "of the must-links leaves more.",
                ConstraintWarning,
            )
        self._set_directions(values[:kept], directions[:, :kept], centered, rows.dtype)

    def _penalties(self) -> tuple[float, float]:
        if self.penalty == "auto":
            return 1.0, 1.0
        given = self.penalty if isinstance(self.penalty, tuple) else (self.penalty, self.penalty)
        if len(given) != 2 or not all(0 <= float(one) < np.inf for one in given):
            raise InvalidParameter(
                f"penalty must be a number of at least 0, or one for must-links and one for "
                f"cannot-links, got {self.penalty!r}."
            )
        return float(given[0]), float(given[1])
