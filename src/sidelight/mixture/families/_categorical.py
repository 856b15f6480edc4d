"""Mixtures of categorical features, known or not (latent class analysis)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core._components import ExponentialFamily, Statistics
from sidelight.mixture._core._starts import rough_clusters
from sidelight.mixture.families._base import _FamilyMixture
from sidelight.tags import MethodTags


@dataclass(frozen=True)
class CategoricalComponents(ExponentialFamily):
    """Probabilities of the categories of all features side by side, for all components.

    Rows are CSR indicators of the categories; a feature that is not known has no entry.
    """

    log_probabilities: Array
    starts: Array  # column of the first category of every feature
    alpha: float

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_probabilities)

    @property
    def n_parameters(self) -> int:
        """Free probabilities."""
        k, n_categories = self.log_probabilities.shape
        return int(k * (n_categories - len(self.starts)))

    @property
    def n_statistics(self) -> int:
        """Entries per row."""
        return len(self.starts)

    @property
    def log_prior(self) -> float:
        """As if every component had seen α more of every category."""
        return self.alpha * float(self.log_probabilities.sum())

    def features(self, block: Any) -> Any:
        """The indicators themselves."""
        return block

    def _natural(self) -> tuple[Array, Array]:
        return self.log_probabilities.T, np.zeros(self.n_components)

    def maximize(self, statistics: Statistics) -> Self:
        """Shares of the categories among the known values of their feature."""
        counts = statistics[1] + self.alpha
        of_feature = np.add.reduceat(counts, self.starts, axis=1)
        sizes = np.diff(np.append(self.starts, counts.shape[1]))
        logs = np.log(counts) - np.repeat(np.log(of_feature), sizes, axis=1)
        return replace(self, log_probabilities=logs)

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw the number of a category for every feature."""
        ends = np.append(self.starts, self.log_probabilities.shape[1])
        columns = []
        for start, stop in itertools.pairwise(ends):
            logs = self.log_probabilities[component, start:stop]
            chances = np.exp(logs - logsumexp(logs))
            columns.append(rng.choice(stop - start, size=n, p=chances))
        return np.column_stack(columns).astype(np.float64)


class CategoricalMixture(_FamilyMixture):
    """Mixture of categorical features by EM, some of whose values may be unknown.

    Maximises ``Σ_n w_n log Σ_s π_s Π_j θ_sj[x_nj] + α Σ log θ``, the product over the features that
    are known: NaN stands for a value that is not, and is left out of the likelihood exactly (latent
    class analysis). Every distinct number of a column is a category; in new rows a number that was
    never seen counts as not known. Rows of a known class belong to the component of that class.

    Parameters
    ----------
    n_components : int, default=2
        Number of components ``k``.
    alpha : float, default=0.1
        Imagined observations of every category per component.
    tol : float, default=1e-5
        Stop when an iteration gains less than this per row.
    max_iter : int, default=200
        At most this many iterations per start.
    n_init : int, default=5
        Number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters of the indicators of the categories to start from.
    warm_start : bool, default=False
        Start from the parameters of the last fit.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixing weights ``π``.
    categories_ : list of ndarray
        Categories of every feature, ascending.
    category_probabilities_ : list of ndarray of shape (n_components, n_categories)
        ``θ`` of every feature.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row; that of its class where that is known.
    classes_ : ndarray
        Known class that each of the first components stands for.
    objective_, history_ : float, ndarray
        Negative log-likelihood (and log-prior) per row at the end, and at every iteration; never
        rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the gain fell to ``tol`` before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import CategoricalMixture
    >>> X = np.array([[0, 2, 1], [0, 2, np.nan], [3, 1, 0], [3, np.nan, 0]])
    >>> labels = CategoricalMixture(2, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.1,
        tol: float = 1e-5,
        max_iter: int = 200,
        n_init: int = 5,
        init_params: str = "kmeans",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="mixture of categorical features with gaps, with partial labels",
            knowledge=("labels",),
            enforcement="hard",
            source="Verbeek 2004, section 3.1; Lazarsfeld, Henry 1968",
            complexity="O(n k d) per iteration, O(n d + k c) memory for c categories",
            monotone=True,
            missing=True,
        )

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Indicators of the categories of every row."""
        rows: Any = self._check_rows(X, reset=reset)
        if reset:
            self.categories_ = [np.unique(column[~np.isnan(column)]) for column in rows.T]
            for number, categories in enumerate(self.categories_):
                if not len(categories):
                    raise ValueError(f"No value of column {number} is known; leave the column out.")
        return as_rows(self._indicators(rows))

    def _indicators(self, rows: Array) -> sparse.csr_array:
        starts = self._starts()
        columns = np.empty(rows.shape, dtype=np.int64)
        for number, (values, categories) in enumerate(zip(rows.T, self.categories_, strict=True)):
            places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
            columns[:, number] = np.where(categories[places] == values, starts[number] + places, -1)
        known = columns >= 0
        indptr = np.append(0, np.cumsum(known.sum(axis=1)))
        n_categories = starts[-1] + len(self.categories_[-1])
        entries = np.ones(int(indptr[-1]), dtype=rows.dtype)
        return sparse.csr_array(
            (entries, columns[known], indptr), shape=(len(rows), int(n_categories))
        )

    def _starts(self) -> Array:
        sizes = [len(categories) for categories in self.categories_]
        return np.append(0, np.cumsum(sizes)[:-1]).astype(np.int64)

    def _whole_data(self, source: RowSource, k: int) -> CategoricalComponents:
        if not self.alpha > 0:
            raise ValueError(f"alpha must be above 0, got {self.alpha!r}.")
        sizes = np.array([len(categories) for categories in self.categories_])
        uniform = np.tile(-np.log(np.repeat(sizes, sizes)), (k, 1))
        return CategoricalComponents(uniform, self._starts(), float(self.alpha))

    def _rough(
        self,
        source: RowSource,
        k: int,
        rng: np.random.RandomState,
        labels: Array,
        sample_weight: Array | None,
    ) -> Array:
        return rough_clusters(
            source, k, self.init_params, rng, sample_weight=sample_weight, labels=labels
        )

    def _keep_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        probabilities = np.exp(components.log_probabilities).astype(dtype)
        self.category_probabilities_ = np.split(probabilities, components.starts[1:], axis=1)

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows of categories, component by component.
        y : ndarray of int32, shape (n_samples,)
            Component that each was drawn from.
        """
        check_is_fitted(self)
        numbers, labels = super().sample(n_samples)
        columns = [
            categories[column.astype(np.int64)]
            for categories, column in zip(self.categories_, numbers.T, strict=True)
        ]
        return np.column_stack(columns).astype(numbers.dtype), labels
