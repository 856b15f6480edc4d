"""Penalised probabilistic clustering (Lu and Leen; Book 2009, chapter 4)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.mixture._core import EMResult, rough_clusters
from sidelight.mixture.field._coupled_rows import CoupledRows
from sidelight.mixture.field._plan import INFERENCE
from sidelight.mixture.gaussian._components import GaussianBase
from sidelight.tags import MethodTags


class PenalizedMixture(GaussianBase):
    r"""Gaussian mixture whose prior prefers labellings that agree with the pairs (PPC).

    The components ``z`` of the rows are not independent: pairs with a weight ``w > 0`` prefer to be
    together, pairs with ``w < 0`` apart,

    .. math::

        p(z) = \frac{1}{\Omega(\pi)} \prod_i \pi_{z_i} \prod_{i < j} e^{2 w_{ij} [z_i = z_j]},
        \qquad L = \log \sum_z p(z) \prod_i N(x_i; \mu_{z_i}, \Sigma_{z_i}) .

    EM maximises ``L``: the E-step finds the posterior of every row in the network of the pairs, the
    M-step weighs the rows with it; the mixing weights are those under which the prior expects the
    counts of the posterior, as ``Ω`` depends on them. The knowledge ends up in the parameters, and
    new rows are judged by the plain mixture. Without weight this is EM for a mixture of Gaussians,
    with infinite weight every pair is certain; components of vanishing width make it constrained
    k-means. Known classes and groups are certain.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    penalty : float or "auto", default="auto"
        ``|w|`` of a pair of weight 1; the weights of the pairs multiply it. ``numpy.inf``: all
        pairs are certain. ``"auto"`` is 3, or 1 with ``certainty``, where it multiplies the ``w``
        that follow from the certainties.
    certainty : bool, default=False
        Take the weights of the pairs for the probability ``γ`` that a statement is right: then
        ``w = ±½ log(γ / (1 - γ))``, 1 is certain and below one half speaks for the opposite.
        So ``w = 3`` is a certainty of 0.9975, and 1.3 one of 0.93.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    inference : {"auto", "exact", "forest", "gibbs", "mean-field"}, default="auto"
        How the posterior is found in a connected part of the pairs. ``"auto"``: exactly, by
        messages on trees and tables of up to a million entries elsewhere; parts too entangled for
        that are approximated with a warning. ``"exact"``: an error there. ``"forest"``: exact, on a
        spanning forest of the strongest pairs. ``"gibbs"``: averages over ``n_sweeps`` sweeps of
        Gibbs sampling. ``"mean-field"``: independent rows that fit best.
    n_sweeps : int, default=50
        Sweeps of Gibbs sampling in an iteration, in each of four chains.
    tol : float, default=1e-5
        Stop when an iteration gains less log-likelihood than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    max_iter : int, default=200
        At most this many iterations per start.
    n_init : int, default=1
        Number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from.
    weights_init, means_init, precisions_init : array, default=None
        Parameters to start from, shaped like the fitted ones; what is not given comes from the
        rough clusters.
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
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable components of the rows, those of a connected part together; certain
        knowledge is satisfied. :meth:`predict` tells what the mixture alone would say.
    classes_ : ndarray
        Known class that each of the first components stands for.
    inference_ : dict of str to int
        How many rows (or groups of them) under constraints each method of inference answered for.
    objective_, history_ : float, ndarray
        ``-L`` per row at the end, and at every iteration; an upper bound or an estimate where
        inference is approximate. Never rises, except by chance with ``"gibbs"``.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the gain fell to ``tol`` before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    sidelight.cluster.PCKMeans : The limit of components of vanishing width.

    Notes
    -----
    Lu, Leen, Penalized probabilistic clustering, chapter 4 of Basu, Davidson, Wagstaff (eds.),
    Constrained Clustering (2009). The mixing weights are found by matching moments instead of the
    chapter's grid on the simplex, for any number of components.

    Certainties of many pairs of a lattice count as independent evidence: strong ones favour one
    component everywhere. A warning tells when components end without a row; lower ``penalty`` then.

    Examples
    --------
    Two rows of two blobs each; the pairs ask for left and right, not for above and below:

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.mixture import PenalizedMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.2], [-1, 1.2], [1, -1.2], [1, 1.2]], 30, axis=0)
    >>> X = corner + rng.normal(0, 0.3, (120, 2))
    >>> known = Constraints([(0, 30), (1, 31), (60, 90)], [(0, 60), (31, 91)], n_samples=120)
    >>> model = PenalizedMixture(2, n_init=5, init_params="random", random_state=0)
    >>> labels = model.fit(X, constraints=known).labels_
    >>> len(set(labels[:60])), len(set(labels[60:])), model.n_violations_
    (1, 1, 0)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        penalty: Any = "auto",
        certainty: bool = False,
        covariance_type: str = "full",
        inference: str = "auto",
        n_sweeps: int = 50,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.certainty = certainty
        self.covariance_type = covariance_type
        self.inference = inference
        self.n_sweeps = n_sweeps
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="Gaussian mixture whose prior weighs every pair (PPC)",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Lu and Leen, in Book 2009, chapter 4",
            complexity="O(n k d²) per iteration; pairs linear on trees, k^(width + 1) elsewhere",
            monotone=self.inference != "gibbs",
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
        """Fit the mixture to the rows and the pairs.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Pairs with weights, labels and groups.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows; rows in a connected part of the pairs count as their average in
            the log-likelihood.

        Returns
        -------
        self : PenalizedMixture
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_pairs()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        self._warn_of_contradictions(known)
        held = self._couple(known, k, weights)
        self.classes_ = held.classes
        whole = self._whole_data(source, k, weights)

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            held.field.reset()
            start = self._start(
                source,
                whole,
                lambda: rough_clusters(
                    source, k, self.init_params, rng, sample_weight=weights, labels=held.components
                ),
                weights,
            )
            noisy = self.inference == "gibbs" and len(held.rows) > 0
            return self._run_em(source, start, weights, held, noisy=noisy)

        self._set_fitted_attributes(self._best_restart(self.n_init, run, source), source, known)
        self.inference_ = held.field.methods(k)
        self._warn_of_empty(k, known)
        return self

    def _check_pairs(self) -> None:
        if self.penalty != "auto" and not self.penalty >= 0:
            raise ValueError(f"penalty must be 'auto' or not negative, got {self.penalty!r}.")
        if self.inference not in INFERENCE:
            raise ValueError(f"inference must be one of {INFERENCE}, got {self.inference!r}.")
        if not isinstance(self.n_sweeps, Integral) or self.n_sweeps < 1:
            raise ValueError(f"n_sweeps must be a whole number above 0, got {self.n_sweeps!r}.")

    def _couple(self, known: Constraints, k: int, sample_weight: Array | None) -> CoupledRows:
        """Turn the pairs into couplings ``ρ = 2 w``; those of 0 say nothing."""
        pairs = np.concatenate([known.must_link, known.cannot_link])
        sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        if self.certainty:
            _check_certainties(weight, pairs, known)
            with np.errstate(divide="ignore"):
                weight = 0.5 * (np.log(weight) - np.log1p(-weight))
        penalty = (1.0 if self.certainty else 3.0) if self.penalty == "auto" else self.penalty
        # A certainty of one half, or no penalty, says nothing, also where the other is infinite.
        speaks = (weight != 0) & (penalty > 0)
        coupling = 2.0 * sign[speaks] * penalty * weight[speaks]
        return CoupledRows(
            pairs[speaks],
            coupling,
            known,
            k,
            sample_weight,
            inference=self.inference,
            n_sweeps=self.n_sweeps,
            random_state=self.random_state,
        )

    def _warn_of_empty(self, k: int, known: Constraints) -> None:
        empty = np.setdiff1d(np.arange(k), self.labels_)
        if len(empty) and not known.is_empty:
            warnings.warn(
                f"{len(empty)} of {k} components end without a row: the pairs may weigh too much "
                "together; a lower penalty leaves the rows more say.",
                ConstraintWarning,
                stacklevel=3,
            )


def _check_certainties(weight: Array, pairs: Array, known: Constraints) -> None:
    wrong = np.flatnonzero(weight > 1)
    if len(wrong):
        one, other = known.name_rows(pairs[wrong[0]])
        raise SidelightError(
            f"The pair of {one} and {other} has the weight {weight[wrong[0]]:g}, which is no "
            "probability: with certainty=True weights must be above 0 and at most 1."
        )
