"""Mixtures of multinomials for counts such as the words of documents (Book 2009, section 2.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from sidelight._fit.parameters import FinitePositive, estimator
from sidelight.engine import Minimum, RowSource
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import MultinomialComponents
from sidelight.mixture.families._base import FamilyMixture
from sidelight.tags import own_tags


@estimator
class MultinomialMixture(FamilyMixture):
    """Mixture of multinomials by EM, for counts: naive Bayes without (or with few) labels.

    Maximizes ``Σ_n w_n log Σ_s π_s Π_w θ_sw^{x_nw} + α Σ_sw log θ_sw`` over mixing weights ``π``
    and probabilities of words ``θ`` (Book 2009, section 2.2); the multinomial coefficient, the same
    for all parameters, is left out. Sparse counts stay sparse. Rows of a known class belong to the
    component of that class. Read more in the :doc:`user guide </mixture/families>`.

    Parameters
    ----------
    alpha : float > 0, finite, default=0.01
        Number added to every count, so that words that a component has not seen stay possible.

    Attributes
    ----------
    feature_log_prob_ : ndarray of shape (n_components, n_features)
        ``log θ``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import MultinomialMixture
    >>> counts = np.array([[5, 1, 0], [4, 0, 1], [0, 1, 6], [1, 0, 4]])
    >>> MultinomialMixture(2, random_state=0).fit(counts, [-1, 0, -1, 1]).labels_
    array([0, 0, 1, 1], dtype=int32)
    """

    _: KW_ONLY
    alpha: FinitePositive = 0.01

    _own_tags = own_tags(
        summary="mixture of multinomials for counts such as words, with partial labels",
        source="Book 2009, section 2.2",
        complexity="O(nnz k) per iteration, O(n + k d) memory",
        sparse=True,
        out_of_core=True,
        raw_columns=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _whole_data(self, source: RowSource) -> MultinomialComponents:
        check_counts(source, type(self).__name__)
        uniform = np.full((self.n_components, source.n_features), -np.log(source.n_features))
        return MultinomialComponents(uniform, float(self.alpha))


def check_counts(source: RowSource, name: str) -> None:
    """Raise if there are negative numbers, with the place of the first one."""

    (first,), _ = source.map_reduce(_first_negative, aligned=(range(source.n_rows),))
    if first < source.n_rows:
        row = source.take([int(first)])
        raise SidelightError(
            f"Negative values in data passed to {name}: row {int(first)} has {row.min():g}; "
            "counts are not negative."
        )


def _first_negative(block: Any, positions: range) -> tuple[tuple[Minimum], tuple[()]]:
    """Position of the first row of a block with a negative number; behind all rows if none has."""
    values = block.data if sparse.issparse(block) else block
    if not np.any(values < 0):
        return (Minimum(np.iinfo(np.int64).max),), ()
    smallest = block.min(axis=1)
    if sparse.issparse(smallest):
        smallest = smallest.toarray()
    return (Minimum(positions.start + int(np.argmax(np.ravel(smallest) < 0))),), ()
