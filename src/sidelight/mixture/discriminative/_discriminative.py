"""Mixtures whose search listens to constraints, while labels stay theirs (Law 2006, chapter 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from sidelight._typing import Array
from sidelight.mixture._core import EMResult
from sidelight.mixture.discriminative._base import Search, _DiscriminativeBase
from sidelight.mixture.discriminative._factor_models import (
    DiagonalModel,
    FactorModel,
    FullModel,
    TiedModel,
)
from sidelight.mixture.discriminative._objective import WhiteRows
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.tags import MethodTags


@dataclass(eq=False, repr=False)
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
    n_components : int >= 1, default=2
        Number of components ``k``.
    covariance_type : {"tied", "full", "diag"}, default="tied"
        One covariance for all components, as in the source (the cheapest: one product of the rows
        with a (d, k) matrix per evaluation), one each, or variances each.
    penalty : float >= 0, finite or {"auto", "validate"}, default="auto"
        ``λ``: log-likelihood (in nats) paid for a violated statement of weight 1. It has to
        outweigh what the likelihood loses when all rows follow the constraints, so it grows with
        the rows per statement: ``"auto"`` is 15 nats per row, ``15 n / m`` for ``m`` pairs, a rule
        of thumb that was settled on four UCI sets; where many constraints stay violated, raise it.
        ``"validate"`` raises it from 0 until pairs that the fit does not see are no longer kept
        better, as the source does; that costs about a dozen fits.
    solver : {"lbfgs", "cg", "newton"}, default="lbfgs"
        Quasi-Newton, conjugate gradient, or line-search Newton with the exact Hessian (of few
        parameters; of many, its products are used).
    sharpness : sequence of float > 0, finite, default=(0.25, 1.0, 4.0)
        ``τ`` of the stages: smooth losses first, because a statement violated deep inside a wrong
        component has no slope when posteriors are sharp.
    inverse_temperature : sequence of float > 0, finite, default=(1.0,)
        ``γ`` of stages before these: posteriors ``softmax(γ log q)`` in the likelihood, for
        deterministic annealing. 1 at the end is the likelihood.
    tol : float >= 0, default=0.0001
        The last stage ends when the gradient has fallen to this fraction of that at its start;
        stages before it ten times earlier each, at most at 0.01.
    reg_covar : float >= 0, default=1e-06
        Added to the variances.
    max_iter : int >= 1, default=500
        Largest number of iterations per stage.
    n_init : int >= 1, default=5
        Number of restarts; the best is kept. The landscape is rugged when ``λ`` is large; the
        source uses 15. Given means are run once.
    means_init : array or None, default=None
        Means to start from instead of random rows, of shape (n_components, n_features).
    random_state : int or RandomState or None, default=None
        Seed or generator for the random initialization; pass an int for reproducible results.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixing weights ``α``.
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    penalty_ : float
        Penalty ``λ`` that was used.
    search_ : dict of ndarray
        For ``penalty="validate"``: ``penalty``: the values of ``λ`` that were tried;
        ``n_violations_validation``, ``n_violations_train``: numbers of violated pairs that each
        fit did not see, and that it saw.
    history_ : ndarray
        ``-J`` per row along the last stage of the best restart; never rises.
    n_starts_at_best_ : int
        Number of restarts that ended at the best value; few mean that more are worth trying.
    n_iter_ : int
        Number of iterations of the best restart, all stages together.
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
    the trace of the precisions is paid per row. Constraints that say nothing new (must-links
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

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
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

    def _result(self, search: Search, largest_square: float) -> EMResult:
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
