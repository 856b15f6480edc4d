"""Charts: local linear models of the rows, with their responsibilities and local coordinates.

Every row has a responsibility ``r_ns = p(s | x_n)`` and a local coordinate ``z_ns`` in each chart
``s``. Global coordinates are affine in them within a chart (Law 2006, section 2.9):

    g(x) = Σ_s p(s | x) (κ_s + A_s z_s(x)) = u(x) L,   u = [r_s, r_s z_s] over all s.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted, check_random_state

from sidelight._typing import Array
from sidelight._words import counted, setting, worded
from sidelight.exceptions import SidelightError
from sidelight.mixture import GaussianMixture

#: Rows per chart and most charts where their number is "auto".
ROWS_PER_CHART = 30
MAX_CHARTS = 50

#: Bound below the variances of a chart, in units of the mean variance of the features.
RELATIVE_REG_COVAR = 1e-6

#: Iterations of EM: charts cover the rows long before their parameters have settled.
EM_ITERATIONS = 30

#: Share of the rows that each of several mixtures is fitted to, so that they differ.
SHARE_PER_MIXTURE = 0.9

#: Numbers of local coordinates that are held at a time.
BLOCK_NUMBERS = 2**23


@dataclass(frozen=True)
class LocalCharts:
    """Local linear models of one or several mixtures, which count alike.

    Attributes
    ----------
    mixtures : tuple of estimators
        Fitted mixtures with ``predict_proba`` and local coordinates.
    center : ndarray of shape (n_features,)
        Subtracted from the rows first.
    exponent : int
        Power of two by which the rows are divided then.
    """

    mixtures: tuple[Any, ...]
    center: Array
    exponent: int

    def scaled(self, rows: Array) -> Array:
        """Rows as the mixtures take them."""
        return np.ldexp(rows.astype(np.float64) - self.center, -self.exponent)

    def coordinates(self, rows: Array) -> tuple[Array, Array]:
        """Responsibilities of shape (n, K), and local coordinates of shape (n, K, h)."""
        scaled = self.scaled(rows)
        resp = [mixture.predict_proba(scaled) for mixture in self.mixtures]
        local = [_local_coordinates(mixture, scaled) for mixture in self.mixtures]
        return np.hstack(resp) / len(self.mixtures), np.concatenate(local, axis=1)

    def blocks(self, rows: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Responsibilities and local coordinates block by block."""
        step = max(BLOCK_NUMBERS // (self.n_charts * rows.shape[1]), 1)
        for first in range(0, len(rows), step):
            block = slice(first, first + step)
            yield block, *self.coordinates(rows[block])

    @property
    def n_charts(self) -> int:
        """Number of charts of all mixtures."""
        return sum(len(mixture.means_) for mixture in self.mixtures)

    def design(self, rows: Array) -> Array:
        """Return ``u(x)`` of every row, of shape (n, K (h + 1))."""
        parts = [design_of(resp, local) for _, resp, local in self.blocks(rows)]
        return np.concatenate(parts)


def design_of(resp: Array, local: Array) -> Array:
    """Rows ``[r_s, r_s z_s]`` over all charts, of shape (n, K (h + 1))."""
    n, k, h = local.shape
    design = np.empty((n, k, h + 1))
    design[:, :, 0] = resp
    np.multiply(resp[:, :, None], local, out=design[:, :, 1:])
    return design.reshape(n, k * (h + 1))


def chart_moments(resp: Array, local: Array) -> Array:
    """``D``: matrix with the blocks ``Σ_n r_ns [1, z_ns][1, z_ns]'``."""
    n, k, h = local.shape
    size = h + 1
    homogeneous = np.concatenate([np.ones((n, k, 1)), local], axis=2)
    weighted = homogeneous * resp[:, :, None]
    blocks = np.swapaxes(np.swapaxes(weighted, 0, 1), 1, 2) @ np.swapaxes(homogeneous, 0, 1)
    moments = np.zeros((k, size, k, size))
    moments[np.arange(k), :, np.arange(k), :] = blocks
    return moments.reshape(k * size, k * size)


def posterior_entropy(resp: Array) -> float:
    """Sum over the rows of the entropy of their responsibilities, in bits."""
    positive = np.where(resp > 0, resp, 1.0)
    return float(-np.sum(positive * np.log2(positive)))


def number_of_charts(n_charts: int | str, n_samples: int, n_components: int) -> int:
    """Check the number of charts, or choose it by the number of rows."""
    if n_charts == "auto":
        per_chart = max(ROWS_PER_CHART, 5 * (n_components + 2))
        return max(min(n_samples // per_chart, MAX_CHARTS), 1)
    if int(n_charts) > n_samples:
        raise SidelightError(
            f"{setting('n_charts', n_charts)} is more than the {counted(n_samples, 'row')}; use "
            "fewer charts."
        )
    return int(n_charts)


def check_dimensions(rows: Array, n_components: int) -> None:
    """Raise if the rows cannot be mapped to ``n_components`` dimensions."""
    n, n_features = rows.shape
    if n < n_components + 2:
        raise SidelightError(
            f"A map of {counted(n_components, 'dimension')} needs at least {n_components + 2} "
            f"rows, but there are {worded(f'n_samples = {n}', str(n))}."
        )
    if n_components > n_features:
        raise SidelightError(
            f"{setting('n_components', n_components)} is more than "
            f"{worded(f'n_features = {n_features}', counted(n_features, 'feature'))}; use "
            f"{n_features} or fewer."
        )


def scale_of(rows: Array, name: str = "X") -> tuple[Array, int]:
    """Mean of the rows, and the power of two near the square root of their mean variance."""
    seen = ~np.isnan(rows)
    number = seen.sum(axis=0)
    if not number.all():
        column = int(np.flatnonzero(number == 0)[0])
        raise SidelightError(
            f"Column {column} of {name} has no value in any row; leave it out before the fit."
        )
    exact = rows.astype(np.float64)
    center = np.where(seen, exact, 0.0).sum(axis=0) / number
    offsets = np.where(seen, exact - center, 0.0)
    # Rounding of a mean is not a difference of the rows.
    noise = 4 * np.finfo(rows.dtype).eps * np.abs(center)
    if not np.any(np.abs(offsets) > noise):
        raise SidelightError(f"All rows of {name} are equal, so that there is nothing to map.")
    _, exponent = np.frexp(np.abs(offsets).max())
    spread = float(np.sqrt(np.mean(np.sum(np.ldexp(offsets, -exponent) ** 2, axis=0) / number)))
    return center, int(exponent + np.frexp(spread)[1])


def fit_charts(
    rows: Array,
    n_components: int,
    n_charts: int,
    kind: str,
    mixture: BaseEstimator | None,
    random_state: Any,
    *,
    n_mixtures: int = 1,
    name: str = "X",
) -> LocalCharts:
    """Fit the mixtures whose components are the charts, or take the one that is given."""
    if mixture is not None:
        return _given_charts(rows, mixture, random_state, n_mixtures)
    rng = check_random_state(random_state)
    center, exponent = scale_of(rows, name)
    scaled = LocalCharts((), center, exponent).scaled(rows)
    if rows.shape[1] > n_components:
        shape: dict[str, Any] = {"covariance_type": kind, "n_factors": n_components}
    else:  # as many factors as features leave no noise: the charts are the offsets themselves
        shape = {"covariance_type": "full"}
    plain = GaussianMixture(n_charts, reg_covar=RELATIVE_REG_COVAR, max_iter=EM_ITERATIONS, **shape)
    return LocalCharts(_fitted(plain, scaled, rng, n_mixtures), center, exponent)


def _given_charts(
    rows: Array, mixture: BaseEstimator, random_state: Any, n_mixtures: int
) -> LocalCharts:
    """Charts of a mixture of the user, in the units of the rows."""
    if not hasattr(mixture, "predict_proba"):
        raise _no_mixture(mixture)
    as_given = np.zeros(rows.shape[1])
    try:
        check_is_fitted(mixture)
        mixtures: tuple[Any, ...] = (mixture,)
    except NotFittedError:
        mixtures = _fitted(mixture, rows, check_random_state(random_state), n_mixtures)
    for one in mixtures:
        if not hasattr(one, "means_"):
            raise _no_mixture(one)
        if one.n_features_in_ != rows.shape[1]:
            raise SidelightError(
                f"The mixture was fitted to {one.n_features_in_} features, but the rows have "
                f"{rows.shape[1]}."
            )
    return LocalCharts(mixtures, as_given, 0)


def _no_mixture(given: Any) -> SidelightError:
    return SidelightError(
        "mixture must be a GaussianMixture, whose components are the charts, not "
        f"{type(given).__name__}."
    )


def _fitted(
    mixture: Any, rows: Array, rng: np.random.RandomState, n_mixtures: int
) -> tuple[Any, ...]:
    """Fit one mixture to all rows, or several to parts of them."""
    fitted = []
    n = len(rows)
    for _ in range(n_mixtures):
        one = clone(mixture).set_params(random_state=int(rng.randint(2**31 - 1)))
        part = rows
        if n_mixtures > 1:
            kept = rng.permutation(n)[: max(int(np.ceil(SHARE_PER_MIXTURE * n)), 1)]
            chosen = rows[np.sort(kept)]
            # A column that is known in none of the chosen rows could not be fitted.
            part = chosen if (~np.isnan(chosen)).any(axis=0).all() else rows
        with warnings.catch_warnings():
            # Charts cover the rows long before EM has converged, also where some of them are equal.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.append(one.fit(part))
    return tuple(fitted)


def _local_coordinates(mixture: Any, rows: Array) -> Array:
    """Posterior means of the factors, or the offsets from the means of charts without factors."""
    if hasattr(mixture, "loadings_"):
        latent: Array = mixture.latent(rows)
        return latent.astype(np.float64, copy=False)
    complete = mixture.impute(rows) if np.isnan(rows).any() else rows
    return np.asarray(complete[:, None, :] - mixture.means_, dtype=np.float64)
