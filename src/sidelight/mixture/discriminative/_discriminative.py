"""Mixtures whose search listens to constraints, while labels stay theirs (Law 2006, chapter 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.mixture._core import EMResult
from sidelight.mixture.discriminative._base import BestStart, _DiscriminativeBase
from sidelight.mixture.discriminative._factor_models import (
    DiagonalModel,
    FactorModel,
    FullModel,
    TiedModel,
)
from sidelight.mixture.discriminative._objective import WhiteRows
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.tags import own_tags


@estimator
class DiscriminativeMixture(_DiscriminativeBase):
    """Gaussian mixture by likelihood minus constraint violations.

    Maximizes over weights, means and precisions::

        J(θ) = Σ_i log Σ_j α_j N(x_i; μ_j, Σ_j)  -  λ · violated(θ)

    where ``violated`` is a smooth count of the statements that the labels of the mixture violate:
    for a must-link the Jensen-Shannon divergence of the two sharpened posteriors
    ``s_i = softmax(τ log α_j N(x_i; μ_j, Σ_j))`` in units of ``log 2``, and for a cannot-link one
    minus that. Labels are those of the mixture for every row, constrained or not: rows that are
    alike get the same label, and a constraint moves components, not points. Groups of any size and
    classes count like the links that state them. There is no EM for ``J``; exact gradients and
    Hessians are used. Read more in the :doc:`user guide </mixture/discriminative>`.

    Parameters
    ----------
    covariance_type : {"tied", "full", "diag"}, default="tied"
        One covariance for all components, as in the source (the cheapest: one product of the rows
        with a (d, k) matrix per evaluation), one each, or variances each.
    reg_covar : float >= 0, finite, default=1e-06
        Added to the variances.

    Attributes
    ----------
    n_violations_ : int
        Number of stated constraints that the labels violate; ``constraints.violations(labels_)``
        tells which. When there are too many, raise ``penalty``.

    See Also
    --------
    ProjectedDiscriminativeMixture : Finds a projection on few directions at the same time.

    Notes
    -----
    Law (2006), Clustering, Dimensionality Reduction, and Side Information, chapter 5 and
    appendix B. The divergence is measured in units of its largest value, so penalties are on the
    scale on which those of the source make sense. ``J`` includes a ridge: ``reg_covar`` times half
    the trace of the precisions is paid per row. Constraints without information (must-links
    between neighbors) do not help, and more constraints are not always better.

    Examples
    --------
    Two rows of clouds: top and bottom are the obvious clusters. Two must-links that join top and
    bottom turn the mixture, not only the four rows:

    >>> from sidelight.datasets import make_four_gaussians
    >>> from sidelight.evaluation import clustering_accuracy
    >>> from sidelight.mixture import DiscriminativeMixture
    >>> data = make_four_gaussians(random_state=0)
    >>> model = DiscriminativeMixture(n_components=2, n_init=5, random_state=0)
    >>> labels = model.fit_predict(data.data, constraints=data.constraints)
    >>> clustering_accuracy(data.target, labels) > 0.95, model.n_violations_
    (True, 0)
    """

    _: KW_ONLY
    covariance_type: Literal["tied", "full", "diag"] = "tied"

    _own_tags = own_tags(
        summary="mixture moved by a price on violated constraints, by gradients",
        source="Law 2006, chapter 5",
        complexity="O((n + m) k d + d³) per evaluation for m constraints, O(n + m d) memory",
    )

    def _whitener(self, covariance: Array) -> Array:
        if self.covariance_type == "diag":  # the axes must stay
            return np.diag(1.0 / np.sqrt(np.diagonal(covariance)))
        return super()._whitener(covariance)

    def _model(self, rows: WhiteRows, added: float) -> FactorModel:
        k, d = self.n_components, len(rows.mean)
        if self.covariance_type == "tied":
            return TiedModel(k, d, d, rows.total)
        ridge = added * rows.whitener @ rows.whitener
        if self.covariance_type == "full":
            return FullModel(k, ridge, rows.total)
        return DiagonalModel(k, np.diagonal(ridge).copy(), rows.total)

    def _is_start_random(self) -> bool:
        return self.means_init is None

    def _first(self, rows: WhiteRows, model: Any, rng: np.random.RandomState) -> Array:
        start: Array = model.start(self._first_means(rows, rng))
        return start

    def _result(self, search: BestStart, largest_square: float) -> EMResult:
        rows = search.rows
        log_weights, means, factors = search.objective.model.moments(search.theta)
        inverse = np.linalg.inv(rows.whitener)
        if self.covariance_type == "diag":
            covariances = (np.diagonal(inverse) / factors) ** 2
        else:
            halves = np.linalg.inv(factors) @ inverse
            covariances = np.swapaxes(halves, -1, -2) @ halves
        components = GaussianComponents(
            means=rows.mean + means @ inverse,
            covariances=covariances,
            kind=self.covariance_type,
            origin=rows.mean,
            reg_covar=self.reg_covar,
            largest_square=largest_square,
        )
        return search.result(components, log_weights, rows.log_volume)
