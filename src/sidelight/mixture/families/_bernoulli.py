"""Mixtures of Bernoullis for yes-or-no features, known or not (latent class analysis)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import FinitePositive, estimator
from sidelight._fit.views import RowView
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import ExponentialFamily, Statistics, products
from sidelight.mixture.families._base import FamilyMixture
from sidelight.mixture.gaussian._missing_rows import filled_rows
from sidelight.tags import own_tags


@dataclass(frozen=True)
class BernoulliComponents(ExponentialFamily):
    """Probabilities of a yes, for all components; a value that is not known counts nothing."""

    log_yes: Array
    log_no: Array
    alpha: float

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_yes)

    @property
    def n_parameters(self) -> int:
        """Probabilities."""
        return int(self.log_yes.size)

    @property
    def n_statistics(self) -> int:
        """Numbers per row: yes, and whether it is known."""
        return 2 * int(self.log_yes.shape[1])

    @property
    def log_prior(self) -> float:
        """Log-prior: as if every component had seen α more of yes and of no."""
        return self.alpha * float(self.log_yes.sum() + self.log_no.sum())

    def features(self, block: Any) -> Any:
        """Which values are yes and which are known; in sparse rows all are."""
        if sparse.issparse(block):
            return block
        n, d = block.shape
        features = self.memory.array("features", (n, 2 * d))
        yes, known = features[:, :d], features[:, d:]
        yes[:] = block
        known[:] = ~np.isnan(yes)
        np.nan_to_num(yes, copy=False, nan=0.0)
        return features

    def _natural(self) -> tuple[Array, Array]:
        yes_against_no = (self.log_yes - self.log_no).T
        return np.vstack((yes_against_no, self.log_no.T)), np.zeros(self.n_components)

    def log_density(self, features: Any) -> Array:
        """Log-probabilities of the rows, of their known values."""
        if sparse.issparse(features):
            eta = self.natural[0][: self.log_yes.shape[1]]
            log_density = self.memory.array("densities", (features.shape[0], self.n_components))
            products(features, eta, log_density)
            log_density += self.log_no.sum(axis=1)
            return log_density
        return super().log_density(features)

    def m_step(self, statistics: Statistics) -> Self:
        """Shares of yes among the known values."""
        totals, sums = statistics
        d = self.log_yes.shape[1]
        yes = sums[:, :d]
        known = sums[:, d:] if sums.shape[1] > d else totals[:, None]
        no = np.maximum(known - yes, 0.0)
        log_all = np.log(yes + no + 2 * self.alpha)
        return replace(
            self,
            log_yes=np.log(yes + self.alpha) - log_all,
            log_no=np.log(no + self.alpha) - log_all,
        )

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes."""
        return {"means_": np.exp(self.log_yes).astype(dtype)}

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component."""
        yes = np.exp(self.log_yes[component])
        return (rng.uniform(size=(n, len(yes))) < yes).astype(np.float64)


class _Yes:
    """Rows as yes (1), no (0) and unknown (NaN)."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def __call__(self, rows: Any) -> Any:
        if sparse.issparse(rows):
            yes = rows.copy()
            yes.data = (yes.data > self._threshold).astype(yes.dtype)
            yes.eliminate_zeros()
            return yes
        with np.errstate(invalid="ignore"):
            yes = (rows > self._threshold).astype(rows.dtype)
        missing = np.isnan(rows)
        if missing.any():
            yes[missing] = np.nan
        return yes


@estimator
class BernoulliMixture(FamilyMixture):
    """Mixture of Bernoullis by EM, for yes-or-no features, some of which may be unknown.

    Maximizes ``Σ_n w_n log Σ_s π_s Π_j θ_sj^{x_nj} (1 - θ_sj)^{1 - x_nj}
    + α Σ_sj log θ_sj (1 - θ_sj)``, the product over the features that are known: NaN stands for a
    value that is not, and is left out of the likelihood exactly. Sparse rows stay sparse (there a
    zero is a no). Rows of a known class belong to the component of that class. This is latent class
    analysis, and the Bernoulli case of Verbeek 2004, section 3.1. Read more in the
    :doc:`user guide </mixture/families>`.

    Parameters
    ----------
    binarize : float, default=0.0
        Values above ``binarize`` are yes, others no.
    alpha : float > 0, finite, default=0.1
        Number of imagined observations of yes and of no per component and feature.

    Attributes
    ----------
    means_ : ndarray of shape (n_components, n_features)
        Probabilities ``θ`` of a yes.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import BernoulliMixture
    >>> answers = np.array([[1, 1, np.nan, 0], [1, 1, 1, 0], [0, 0, 0, 1], [np.nan, 0, 0, 1]])
    >>> labels = BernoulliMixture(2, random_state=0).fit(answers).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _: KW_ONLY
    binarize: float = 0.0
    alpha: FinitePositive = 0.1

    _own_tags = own_tags(
        summary="mixture of Bernoullis for yes-or-no features, missing values, partial labels",
        source="Verbeek 2004, section 3.1; Lazarsfeld, Henry 1968",
        complexity="O(n k d) per iteration, O(n d) memory",
        sparse=True,
        missing=True,
        raw_columns=True,
        out_of_core=True,
    )

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        rows: Any = self._check_rows(X, reset=reset)
        elsewhere = isinstance(rows, RowSource)
        if self.binarize < 0 and (rows.is_sparse if elsewhere else sparse.issparse(rows)):
            raise ValueError(
                f"binarize={self.binarize} makes every zero of sparse rows a yes; give dense "
                "rows, or a threshold of at least 0."
            )
        yes = _Yes(float(self.binarize))
        return RowView(rows, yes) if elsewhere else as_rows(yes(rows))

    def _rough_rows(self, source: RowSource) -> RowSource:
        if source.is_sparse:
            return source
        return filled_rows(source)[0]

    def _whole_data(self, source: RowSource) -> BernoulliComponents:
        half = np.full((self.n_components, source.n_features), np.log(0.5))
        return BernoulliComponents(half, half, float(self.alpha))
