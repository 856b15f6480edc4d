"""Mixtures of categorical features, known or not (latent class analysis)."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import FinitePositive, estimator
from sidelight._fit.views import RowView
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import DiscreteComponents, Statistics
from sidelight.mixture.families._base import FamilyMixture
from sidelight.tags import own_tags


@dataclass(frozen=True)
class CategoricalComponents(DiscreteComponents):
    """Probabilities of the categories of all features side by side, for all components.

    Rows are CSR indicators of the categories; a feature that is not known has no entry.
    """

    log_probabilities: Array
    starts: Array  # column of the first category of every feature
    alpha: float

    @property
    def n_parameters(self) -> int:
        """Free probabilities."""
        k, n_categories = self.log_probabilities.shape
        return int(k * (n_categories - len(self.starts)))

    @property
    def n_statistics(self) -> int:
        """Entries per row."""
        return len(self.starts)

    def features(self, block: Any) -> Any:
        """The indicators themselves."""
        return block

    def m_step(self, statistics: Statistics) -> Self:
        """Shares of the categories among the known values of their feature."""
        counts = statistics[1] + self.alpha
        of_feature = np.add.reduceat(counts, self.starts, axis=1)
        sizes = np.diff(np.append(self.starts, counts.shape[1]))
        logs = np.log(counts) - np.repeat(np.log(of_feature), sizes, axis=1)
        return replace(self, log_probabilities=logs)

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes."""
        probabilities = np.exp(self.log_probabilities).astype(dtype)
        return {"category_probabilities_": np.split(probabilities, self.starts[1:], axis=1)}

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw the number of a category for every feature."""
        ends = np.append(self.starts, self.log_probabilities.shape[1])
        columns = []
        for start, stop in itertools.pairwise(ends):
            logs = self.log_probabilities[component, start:stop]
            shares = np.exp(logs - logsumexp(logs))
            columns.append(rng.choice(stop - start, size=n, p=shares))
        return np.column_stack(columns).astype(np.float64)


@dataclass(frozen=True)
class _Categories:
    """Values that occur in every column of some rows, ascending."""

    values: tuple[Array, ...]

    def join(self, later: _Categories) -> _Categories:
        """Return the values of both."""
        pairs = zip(self.values, later.values, strict=True)
        return _Categories(tuple(np.union1d(one, other) for one, other in pairs))

    def result(self) -> list[Array]:
        """Return the values of every column."""
        return list(self.values)


def _categories(block: Array) -> tuple[tuple[_Categories], tuple[()]]:
    columns = (np.unique(column[~np.isnan(column)]) for column in block.T)
    return (_Categories(tuple(columns)),), ()


@dataclass(frozen=True)
class _Indicators:
    """Rows as CSR indicators of the categories of all columns; unknown values have no entry."""

    categories: list[Array]
    starts: Array

    @property
    def n_categories(self) -> int:
        """Number of categories of all columns."""
        return int(self.starts[-1]) + len(self.categories[-1])

    def __call__(self, rows: Array) -> sparse.csr_array:
        columns = np.empty(rows.shape, dtype=np.int64)
        pairs = zip(rows.T, self.categories, strict=True)
        for number, (values, categories) in enumerate(pairs):
            places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
            own = self.starts[number] + places
            columns[:, number] = np.where(categories[places] == values, own, -1)
        known = columns >= 0
        indptr = np.append(0, np.cumsum(known.sum(axis=1)))
        entries = np.ones(int(indptr[-1]), dtype=rows.dtype)
        return sparse.csr_array(
            (entries, columns[known], indptr), shape=(len(rows), self.n_categories)
        )


class IndicatorRows(RowView):
    """Indicators of the categories of rows that are elsewhere, made as they are read."""

    def __init__(self, source: RowSource, indicators: _Indicators) -> None:
        super().__init__(source, indicators)
        self.n_features, self.is_sparse = indicators.n_categories, True


@estimator
class CategoricalMixture(FamilyMixture):
    """Mixture of categorical features by EM, some of whose values may be unknown.

    Maximizes ``Σ_n w_n log Σ_s π_s Π_j θ_sj[x_nj] + α Σ log θ``, the product over the features that
    are known: NaN stands for a value that is not, and is left out of the likelihood exactly (latent
    class analysis). Every distinct number of a column is a category; in new rows a number that was
    never seen counts as not known. Rows of a known class belong to the component of that class.
    Read more in the :doc:`user guide </mixture/families>`.

    Parameters
    ----------
    alpha : float > 0, finite, default=0.1
        Number of imagined observations of every category per component.

    Attributes
    ----------
    categories_ : list of ndarray
        Categories of every feature, ascending.
    category_probabilities_ : list of ndarray of shape (n_components, n_categories)
        ``θ`` of every feature.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import CategoricalMixture
    >>> X = np.array([[0, 2, 1], [0, 2, np.nan], [3, 1, 0], [3, np.nan, 0]])
    >>> labels = CategoricalMixture(2, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _: KW_ONLY
    alpha: FinitePositive = 0.1

    _own_tags = own_tags(
        summary="mixture of categorical features with missing values, with partial labels",
        source="Verbeek 2004, section 3.1; Lazarsfeld, Henry 1968",
        complexity="O(n k d) per iteration, O(n d + k c) memory for c categories",
        missing=True,
        raw_columns=True,
        out_of_core=True,
    )

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Indicators of the categories of every row."""
        rows: Any = self._check_rows(X, reset=reset)
        if reset:
            self.categories_: list[Array] = list(as_rows(rows).map_reduce(_categories)[0][0])
            for number, categories in enumerate(self.categories_):
                if not len(categories):
                    raise ValueError(f"No value of column {number} is known; leave the column out.")
        indicators = _Indicators(self.categories_, self._starts())
        if isinstance(rows, RowSource):
            return IndicatorRows(rows, indicators)
        return as_rows(indicators(rows))

    def _starts(self) -> Array:
        sizes = [len(categories) for categories in self.categories_]
        return np.append(0, np.cumsum(sizes)[:-1]).astype(np.int64)

    def _whole_data(self, source: RowSource) -> CategoricalComponents:
        sizes = np.array([len(categories) for categories in self.categories_])
        uniform = np.tile(-np.log(np.repeat(sizes, sizes)), (self.n_components, 1))
        return CategoricalComponents(uniform, self._starts(), float(self.alpha))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        check_is_fitted(self)
        numbers, labels = super().sample(n_samples)
        columns = [
            categories[column.astype(np.int64)]
            for categories, column in zip(self.categories_, numbers.T, strict=True)
        ]
        return np.column_stack(columns).astype(numbers.dtype), labels
