"""Parts of a table, each with its family of components: how rows are read, started and filled.

The components of a node factor over the parts: log-densities add, m-steps are those of the parts
(Verbeek 2004, section 4.4). A part reads its columns of the rows as a table of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import MultinomialComponents, data_moments
from sidelight.mixture.families._bernoulli import BernoulliComponents
from sidelight.mixture.families._multinomial import check_counts
from sidelight.mixture.gaussian._components import GaussianComponents, one_gaussian
from sidelight.mixture.gaussian._low_rank import (
    LowRankComponents,
    low_rank_of_moments,
    low_rank_of_rows,
)
from sidelight.mixture.gaussian._missing import incomplete
from sidelight.mixture.gaussian._missing_rows import (
    FilledRows,
    incomplete_moments,
    known_values,
)
from sidelight.mixture.som._families import (
    OriginSubspaces,
    SharedSphericalComponents,
    complete_nodes,
    incomplete_nodes,
)

Family: TypeAlias = Literal[
    "spherical", "diag", "full", "ppca", "bernoulli", "categorical", "multinomial"
]
FAMILIES = ("spherical", "diag", "full", "ppca", "bernoulli", "categorical", "multinomial")

#: Principal axes along which the squares of rows are taken for the start of subspaces.
MAX_ENERGIES = 20


@dataclass(frozen=True)
class FamilySettings:
    """Parameters of the families.

    Attributes
    ----------
    n_factors : int
        Number of factors of ``"ppca"``.
    centered : bool
        Whether ``"ppca"`` has means; without them its subspaces go through the origin.
    shared_variance : bool
        Whether ``"spherical"`` components of all nodes have the same variance.
    reg_covar : float
        Added to variances, in units of the mean variance of the columns.
    alpha : float
        Imagined observations of every outcome.
    threshold : float
        Values above it are a yes of ``"bernoulli"``.
    pairs : bool
        Whether nominal columns are paired by mutual information.
    """

    n_factors: int = 1
    centered: bool = True
    shared_variance: bool = True
    reg_covar: float = 1e-6
    alpha: float = 0.1
    threshold: float = 0.0
    pairs: bool = False


class FamilyColumns(Protocol):
    """Columns of one family."""

    @property
    def columns(self) -> Array:
        """Positions of the columns."""

    @property
    def takes_missing(self) -> bool:
        """Whether values may be missing."""

    def encode(self, rows: Any) -> Any:
        """The table that the components read: an array or CSR matrix with a row for every row."""

    def whole(self, table: Any, weights: Array, k: int) -> Any:
        """``k`` copies of the component of all rows."""

    def numbers(self, table: Any) -> Any:
        """Numeric features without gaps, for the start: an array or CSR matrix."""

    def for_rows(self, components: Any, table: Any) -> Any:
        """Components that measure these rows, which may miss values."""

    def centers(self, components: Any) -> Array:
        """Mean of every column for every node, of shape (k, c)."""

    def coordinates(self, table: Any) -> Array:
        """Rows as points, dense, NaN where missing."""

    def points(self, components: Any) -> Array:
        """Nodes as points like the rows."""

    def expected(self, components: Any, table: Any, resp: Array) -> Array:
        """Expectation of every column given the known values and ``resp``, of shape (n, c)."""


def picked(rows: Any, columns: Array) -> Any:
    """The columns of the rows; all of them without a copy."""
    if len(columns) == rows.shape[1] and np.array_equal(columns, np.arange(rows.shape[1])):
        return rows
    taken = rows[:, columns]
    return taken if sparse.issparse(rows) else np.ascontiguousarray(taken)


def filled_by_means(table: Array) -> Array:
    """Numbers in float64 with the mean of the column where a value is missing."""
    numbers = np.asarray(table, dtype=np.float64)
    missing = np.isnan(numbers)
    if not missing.any():
        return numbers
    known = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, numbers).sum(axis=0) / known
    return np.where(missing, means, numbers)


@dataclass(frozen=True)
class NumericPart:
    """Gaussian columns."""

    columns: Array
    kind: str
    settings: FamilySettings
    names: Sequence[str] | None = None

    takes_missing = True

    def encode(self, rows: Any) -> Array:
        """The columns themselves."""
        table: Array = picked(rows, self.columns)
        return table

    def numbers(self, table: Array) -> Array:
        """The values; in units of their standard deviations where components have their own.

        A row and its negative are in the same subspaces through the origin: of rows for these,
        squares along the principal axes.
        """
        numbers = filled_by_means(table)
        if self.kind == "ppca" and not self.settings.centered:
            axes = np.linalg.eigh(numbers.T @ numbers)[1][:, -MAX_ENERGIES:]
            return np.asarray((numbers @ axes) ** 2)
        if self.kind in ("diag", "full"):
            spread = numbers.std(axis=0)
            numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return numbers

    def whole(self, table: Array, weights: Array, k: int) -> Any:
        """``k`` copies of the Gaussian of all rows; for rows that miss values if any does."""
        self._check_factors(table.shape[1])
        source = as_rows(table)
        missing = bool(np.isnan(table).any())
        if missing:
            columns = known_values(source, weights, self.names)
            source = FilledRows(source, columns.means)
            added = self._added(columns.variances)
        else:
            added = self._added(moments(source, weights).variances)
        if self.kind in ("spherical", "diag"):
            components = self._independent(source, weights, k, added)
        else:
            found = (
                incomplete_moments(source, columns, weights)  # type: ignore[arg-type]
                if missing
                else data_moments(source, weights, full=True)
                if self._takes_matrix(table)
                else None
            )
            components = self._correlated(source, weights, k, added, found)
        return incomplete_nodes(components, incomplete) if missing else components

    def _added(self, variances: Array) -> float:
        """Regularization that is added to variances, in the units of the columns."""
        typical = float(variances.mean())
        return self.settings.reg_covar * (typical if typical > 0 else 1.0)

    def _check_factors(self, n_columns: int) -> None:
        if self.kind == "ppca" and self.settings.n_factors >= n_columns:
            raise SidelightError(
                f"{setting('n_factors', self.settings.n_factors)} is not below the "
                f"{n_columns} columns; subspaces need fewer factors than columns."
            )

    def _takes_matrix(self, table: Array) -> bool:
        """Whether the matrix of all pairs of columns is needed."""
        return self.kind == "full" or not self.settings.centered

    def _independent(
        self, source: RowSource, weights: Array, k: int, added: float
    ) -> GaussianComponents:
        mean, variances, largest = data_moments(source, weights, full=False)
        variances = np.maximum(variances + added, np.finfo(np.float64).tiny)
        shared = self.kind == "spherical" and self.settings.shared_variance
        made = SharedSphericalComponents if shared else GaussianComponents
        spherical = self.kind == "spherical"
        return made(
            means=np.repeat(mean[None], k, axis=0),
            covariances=np.full(k, variances.mean())
            if spherical
            else np.repeat(variances[None], k, axis=0),
            kind=self.kind,
            origin=mean,
            reg_covar=added,
            largest_square=largest,
        )

    def _correlated(
        self,
        source: RowSource,
        weights: Array,
        k: int,
        added: float,
        found: tuple[Array, Array, float] | None,
    ) -> Any:
        n_factors, centered = self.settings.n_factors, self.settings.centered
        if found is None:
            return low_rank_of_rows(
                source, k, "ppca", n_factors, reg_covar=added, sample_weight=weights
            )
        mean, covariance, largest = found
        if self.kind == "full":
            return one_gaussian(
                mean, covariance, k, "full", reg_covar=added, largest_square=largest
            )
        if centered:
            return low_rank_of_moments(
                mean, covariance, k, "ppca", n_factors, added, largest_square=largest
            )
        made = low_rank_of_moments(
            mean,
            covariance + np.outer(mean, mean),
            k,
            "ppca",
            n_factors,
            added,
            largest_square=(math.sqrt(largest) + float(np.linalg.norm(mean))) ** 2,
        )
        zeros = np.zeros_like(made.means)
        return OriginSubspaces(**{**vars_of(made), "means": zeros, "origin": zeros[0]})

    def coordinates(self, table: Array) -> Array:
        """The values."""
        return table

    def points(self, components: Any) -> Array:
        """The means."""
        return self.centers(components)

    def for_rows(self, components: Any, table: Array) -> Any:
        """Components that leave out what is missing, if anything is."""
        if np.isnan(table).any():
            return incomplete_nodes(complete_nodes(components), incomplete)
        return complete_nodes(components)

    def centers(self, components: Any) -> Array:
        """The means."""
        means: Array = complete_nodes(components).means
        return means

    def expected(self, components: Any, table: Array, resp: Array) -> Array:
        """``Σ_s p(s | x_o) E[x | x_o, s]``."""
        aware = incomplete_nodes(complete_nodes(components), incomplete)
        expected: Array = aware.expected_rows(aware.features(table), resp)
        return expected


def vars_of(components: LowRankComponents) -> dict[str, Any]:
    """Fields of components, without what was computed from them."""
    return {field.name: getattr(components, field.name) for field in fields(components)}


@dataclass(frozen=True)
class BernoulliPart:
    """Columns of yes or no."""

    columns: Array
    settings: FamilySettings

    takes_missing = True

    def encode(self, rows: Any) -> Any:
        """1 for values above the threshold, 0 for others, NaN where missing."""
        table = picked(rows, self.columns)
        threshold = self.settings.threshold
        if sparse.issparse(table):
            if threshold < 0:
                raise SidelightError(
                    f"{setting('binarize', threshold)} makes every zero of sparse rows a yes; "
                    "give dense rows, or a threshold of at least 0."
                )
            yes = sparse.csr_array(table, copy=True)
            yes.data = (yes.data > threshold).astype(np.float64)
            yes.eliminate_zeros()
            return yes
        with np.errstate(invalid="ignore"):
            encoded = (table > threshold).astype(table.dtype)
        encoded[np.isnan(table)] = np.nan
        return encoded

    def numbers(self, table: Any) -> Any:
        """0 and 1."""
        return table if sparse.issparse(table) else filled_by_means(table)

    def whole(self, table: Any, weights: Array, k: int) -> BernoulliComponents:
        """All probabilities one half; one M-step makes the nodes differ."""
        half = np.full((k, table.shape[1]), np.log(0.5))
        return BernoulliComponents(half, half, self.settings.alpha)

    def for_rows(self, components: Any, table: Any) -> Any:
        """The same: missing values count nothing."""
        return components

    def coordinates(self, table: Any) -> Array:
        """0 and 1."""
        return table.toarray() if sparse.issparse(table) else table

    def points(self, components: Any) -> Array:
        """Probabilities of a yes."""
        return self.centers(components)

    def centers(self, components: Any) -> Array:
        """Probabilities of a yes."""
        return np.exp(components.log_yes)

    def expected(self, components: Any, table: Any, resp: Array) -> Array:
        """Probability of a yes."""
        return np.asarray(resp @ np.exp(components.log_yes))


@dataclass(frozen=True)
class MultinomialPart:
    """Columns of counts."""

    columns: Array
    settings: FamilySettings

    takes_missing = False

    def encode(self, rows: Any) -> Any:
        """The counts themselves."""
        table = picked(rows, self.columns)
        check_counts(as_rows(table), "SelfOrganizingMixture")
        return table

    def numbers(self, table: Any) -> Any:
        """Shares of the counts."""
        sums = np.asarray(table.sum(axis=1), dtype=np.float64).ravel()
        inverse = 1.0 / np.where(sums > 0, sums, 1.0)
        if sparse.issparse(table):
            return sparse.diags_array(inverse) @ table
        return np.asarray(table, np.float64) * inverse[:, None]

    def whole(self, table: Any, weights: Array, k: int) -> MultinomialComponents:
        """Equal probabilities for all words; one M-step makes the nodes differ."""
        uniform = np.full((k, table.shape[1]), -np.log(table.shape[1]))
        return MultinomialComponents(uniform, self.settings.alpha)

    def for_rows(self, components: Any, table: Any) -> Any:
        """The same: counts are not missing."""
        return components

    def coordinates(self, table: Any) -> Array:
        """Shares of the counts."""
        shares = self.numbers(table)
        return shares.toarray() if sparse.issparse(shares) else shares

    def points(self, components: Any) -> Array:
        """Probabilities of the words."""
        return self.centers(components)

    def centers(self, components: Any) -> Array:
        """Probabilities of the words."""
        return np.exp(components.log_probabilities)

    def expected(self, components: Any, table: Any, resp: Array) -> Array:
        """Shares of the words."""
        return np.asarray(resp @ np.exp(components.log_probabilities))
