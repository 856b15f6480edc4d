"""Gaussian mixtures of least message length (Figueiredo and Jain 2002; Verbeek 2004, 3.2.3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_weights
from sidelight.constraints import Constraints
from sidelight.mixture._core._starts import data_moments
from sidelight.mixture.gaussian._components import COVARIANCE_TYPES, GaussianComponents
from sidelight.mixture.message_length._base import MessageLengthMixture
from sidelight.mixture.message_length._componentwise import Search
from sidelight.mixture.message_length._revisable_gaussians import (
    RevisableGaussians,
    parameters_of,
    round_gaussians,
)
from sidelight.tags import MethodTags


class MMLMixture(MessageLengthMixture):
    """Mixture of Gaussians that finds its number of components.

    Minimises the length of a message that tells the parameters and then the rows:

        L = N/2 Σ_s log(n π_s) + k/2 log n - Σ_n log p(x_n)

    for components of ``N`` parameters each (Figueiredo and Jain 2002). In the M-step this is
    ``π_s ∝ max(0, Σ_n q_ns - N/2)``: a component that holds fewer than ``N/2`` rows vanishes.
    Components are updated one at a time, so that the others can take over its rows. When nothing
    vanishes any more the weakest component is removed, down to ``min_components``, and the model
    with the shortest message is kept. One start from many components is hardly ever stuck.

    Parameters
    ----------
    n_components : int, default=None
        Number of components to start from, far more than there are clusters; 20 unless told, or
        as many as there are rows.
    min_components : int, default=1
        Fewer components are not tried.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    constants : bool, default=False
        Whether the message length has the terms that do not grow with ``n``, as it is printed:
        ``n / 12`` in place of ``n``, and ``k (N + 1)/2`` more. Then components of fewer than 12
        rows are worth having, and with few features too many are found.
    tol : float, default=1e-5
        Stop when a sweep over the components changes the message length by less, per row.
    reg_covar : float, default=1e-6
        Variances, in any direction, do not fall below this part of the mean variance of the data.
    max_iter : int, default=500
        At most this many sweeps per number of components.
    n_init : int, default=1
        Number of starts, of which the shortest message is kept.
    random_state : int, RandomState or None, default=None
        Source of chance: rows that the first components start from.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    n_components_ : int
        Number of components found.
    weights_ : ndarray of shape (``n_components_``,)
        Mixing weights.
    means_ : ndarray of shape (``n_components_``, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    message_length_ : float
        Message length of the model, in nats, up to a constant of the data.
    message_lengths_ : ndarray
        Message length of the best model for every number of components that was reached.
    n_components_tried_ : ndarray of int
        These numbers.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row.
    objective_, history_ : float, ndarray
        Message length per row, and its path since the last component was removed; never rises.
    n_iter_ : int
        Number of sweeps over the components.
    converged_ : bool
        Whether the message length stood still.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    FeatureSaliencyMixture : Finds the features that matter as well.

    Notes
    -----
    Figueiredo, Jain (2002), Unsupervised learning of finite mixture models. The weight of a
    component is the exact best for the others in their proportions, so that no sweep makes the
    message longer as long as nothing is removed. On three flat, overlapping Gaussians in the plane
    (n = 900) ``constants=True`` found three components in 3 of 16 runs, the default in 12. A
    component is also removed if it holds too few rows for a covariance (ours): ``d + 1`` of them
    for a full one.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import MMLMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(centre, 1, (100, 3)) for centre in (0, 6, 12)])
    >>> model = MMLMixture(random_state=0).fit(X)
    >>> model.n_components_
    3
    """

    _many = 20

    def __init__(
        self,
        n_components: int | None = None,
        *,
        min_components: int = 1,
        covariance_type: str = "full",
        constants: bool = False,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 500,
        n_init: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.min_components = min_components
        self.covariance_type = covariance_type
        self.constants = constants
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="Gaussian mixture that finds its number of components",
            knowledge=(),
            enforcement="none",
            source="Figueiredo and Jain 2002; Verbeek 2004, section 3.2.3",
            complexity="O(n k (k + d²)) per sweep, O(n k) memory",
            needs_n_clusters=False,
            monotone=True,
            out_of_core=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the mixture to the rows.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used; their violations are counted.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows: a row of weight 2 counts as two.

        Returns
        -------
        self : MMLMixture
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        row_weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, None, source.n_rows)
        self._check_covariances()
        mean, covariance, largest = data_moments(source, row_weights)
        variance = float(np.trace(covariance)) / len(mean)
        if not variance > 0:  # rows that are all the same have no scale
            variance = 1.0
        n = float(source.n_rows if row_weights is None else row_weights.sum())
        kind = self.covariance_type
        k = self._start_size(source.n_rows, n, parameters_of(kind, source.n_features)[0] / 2)

        def run(number: int, rng: np.random.RandomState) -> Search:
            rows = rng.choice(source.n_rows, size=k, replace=False)
            start = round_gaussians(
                np.asarray(source.take(rows), dtype=np.float64),
                variance / 10,
                kind,
                floor=self.reg_covar * variance,
                constants=self.constants,
            )
            return self._search(source, start, row_weights)

        search = self._best_search(run)
        chosen: RevisableGaussians = search.best.components
        gaussians = GaussianComponents(
            means=chosen.means,
            covariances=chosen.covariances,
            kind=kind,
            origin=mean,
            largest_square=largest,
        )
        return self._keep_search(search, source, known, n, (gaussians, search.best.weights))

    def _check_covariances(self) -> None:
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ValueError(
                f"covariance_type must be one of {', '.join(map(repr, COVARIANCE_TYPES))}, got "
                f"{self.covariance_type!r}."
            )
        if not self.reg_covar > 0:
            raise ValueError(f"reg_covar must be above 0, got {self.reg_covar!r}.")

    def _keep_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        self.means_ = components.means.astype(dtype)
        self.covariances_ = components.covariances.astype(dtype)
        self.precisions_ = components.precisions.astype(dtype)
        self.precisions_cholesky_ = components.precision_factors.astype(dtype)
