"""Mixtures under a maximum-entropy prior by mean field (Lange et al.; Book 2009, chapter 5)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import EMResult, log_joint_blocks, rough_clusters
from sidelight.mixture._core._base import _most_probable
from sidelight.mixture.constrained._tempered import anneal
from sidelight.mixture.field._coupled_rows import CoupledRows
from sidelight.mixture.gaussian._components import GaussianBase
from sidelight.tags import MethodTags

#: With fewer pairs than this per fold, none are held out.
FEW = 20

#: Weights of the constrained rows that "auto" chooses from.
GRID = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class MeanFieldMixture(GaussianBase):
    r"""Gaussian mixture under the labelling prior of highest entropy, by mean field.

    Of all priors over labellings that violate pairs no more than so often, the one of highest
    entropy charges ``λ`` for every violated pair. Its posterior is approximated by independent
    responsibilities ``q``, and constrained rows ``C`` count ``η`` times in the parameters, so that
    few of them move the mixture beside many free rows ``U``. Minimised is

    .. math::

        F = \sum_{i \in U} f_i + \eta \Bigl( \sum_{i \in C} f_i
            - \sum_{(i, j)} \rho_{ij} \sum_s q_{is} q_{js} \Bigr), \qquad
        f_i = \sum_s q_{is} \bigl( \log q_{is} - \log \pi_s N(x_i; \mu_s, \Sigma_s) \bigr)

    with ``ρ = +λ w`` for must-links and ``ρ = -λ w`` for cannot-links of weight ``w``: row by row
    ``q_i ∝ π p(x_i | s) exp(Σ_j ρ_ij q_j)`` until nothing moves, then the parameters of the rows so
    weighted. Known classes are certain, and so are groups.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    penalty : float, default=1000.0
        ``λ`` of a pair of weight 1. 1000 trusts the pairs; the logarithm of the odds that a pair is
        right, ``log(γ / (1 - γ))``, is a better choice where some are wrong. ``numpy.inf``:
        must-linked rows are one.
    constraint_weight : float or "auto", default=1.0
        ``η``. 1: rows are rows; more: constrained rows count that much more. ``"auto"``: of 1, 3,
        10, 30, 100 and 300 the smallest with the fewest violations of pairs by the mixture alone
        (its :meth:`predict`), counted on pairs held out in ``n_splits`` folds: up to six fits
        for each fold.
    n_splits : int, default=3
        Folds for ``"auto"``. With fewer than twenty times as many pairs nothing is held out:
        violations are counted on the pairs that are used.
    annealing : bool, default=True
        Start every other time, the first time included, from the whole data and let the temperature
        of the data term fall, so that what is known leads; otherwise from rough clusters.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    tol : float, default=1e-5
        Stop when an iteration gains less of the bound than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    max_iter : int, default=200
        At most this many iterations per start, after annealing.
    n_init : int, default=2
        Number of starts, of which the one of lowest ``F`` is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from.
    weights_init, means_init, precisions_init : array, default=None
        Parameters to start from, shaped like the fitted ones; what is not given comes from the
        rough clusters. There is no annealing then.
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
        Component of highest responsibility of every row. :meth:`predict` tells what the mixture
        alone says.
    classes_ : ndarray
        Known class that each of the first components stands for.
    constraint_weight_ : float
        ``η`` that was used.
    selection_ : ndarray of shape (n_tried, 2)
        Values of ``η`` that ``"auto"`` tried, and the share of pairs violated with each; it ends
        early where none is violated.
    disagreement_ : float
        Share of the constrained rows whose label is not what :meth:`predict` says: where it is
        large, a larger ``constraint_weight`` may help.
    objective_, history_ : float, ndarray
        ``F`` per row at the end, and at every iteration after annealing; never rises.
    n_iter_ : int
        Number of iterations of the best start after annealing.
    converged_ : bool
        Whether the gain fell to ``tol`` before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    PenalizedMixture : The same prior with exact sums where these are possible (``λ = 2 w``).
    ChunkletMixture : Satisfies every constraint.

    Notes
    -----
    Lange, Law, Jain, Buhmann, Clustering with constraints: a mean-field approximation perspective,
    chapter 5 of Basu, Davidson, Wagstaff (eds.), Constrained Clustering (2009). The mixing weights
    leave the normaliser of the prior out (5.3.5). The schedule of annealing is ours.

    Examples
    --------
    Two rows of two blobs each; the pairs ask for left and right, not for above and below:

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.mixture import MeanFieldMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.2], [-1, 1.2], [1, -1.2], [1, 1.2]], 30, axis=0)
    >>> X = corner + rng.normal(0, 0.3, (120, 2))
    >>> known = Constraints([(0, 30), (1, 31), (60, 90)], [(0, 60), (31, 91)], n_samples=120)
    >>> model = MeanFieldMixture(n_components=2, random_state=0).fit(X, constraints=known)
    >>> len(set(model.labels_[:60])), len(set(model.labels_[60:])), model.n_violations_
    (1, 1, 0)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        penalty: float = 1000.0,
        constraint_weight: Any = 1.0,
        n_splits: int = 3,
        annealing: bool = True,
        covariance_type: str = "full",
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 2,
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
        self.constraint_weight = constraint_weight
        self.n_splits = n_splits
        self.annealing = annealing
        self.covariance_type = covariance_type
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
            summary="Gaussian mixture under violation penalties by mean field",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Lange et al., in Book 2009, chapter 5",
            complexity="O(n k d² + m k) per iteration with m constraints, times the weights tried",
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
            Weights of the rows.

        Returns
        -------
        self : MeanFieldMixture
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_knowledge()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        self._warn_of_contradictions(known)
        whole = self._whole_data(source, k, weights)
        self.constraint_weight_, self.selection_ = self._choose(source, whole, weights, known)
        held = self._hold(known, k, weights, self.constraint_weight_)
        self.classes_ = held.classes
        found = self._search(source, whole, weights, held)
        self._set_fitted_attributes(found, source, known)
        self.disagreement_ = 0.0
        if len(held.rows):
            alone = self._map_joint(as_rows(source.take(held.rows)), _most_probable)
            self.disagreement_ = float(np.mean(alone != self.labels_[held.rows]))
        return self

    def _check_knowledge(self) -> None:
        """Check what says how much the constraints count."""
        if not isinstance(self.penalty, Real) or not self.penalty >= 0:
            raise ValueError(f"penalty must not be negative, got {self.penalty!r}.")
        weight = self.constraint_weight
        if weight != "auto" and not (isinstance(weight, Real) and 0 < weight < np.inf):
            raise ValueError(
                f"constraint_weight must be 'auto' or a number above 0, got {weight!r}."
            )
        if not isinstance(self.n_splits, Integral) or self.n_splits < 2:
            raise ValueError(f"n_splits must be a whole number above 1, got {self.n_splits!r}.")

    def _hold(
        self, known: Constraints, k: int, sample_weight: Array | None, emphasis: float
    ) -> _MeanFieldRows:
        """Couplings ``ρ`` of the pairs, and weights ``η`` of the rows they speak about."""
        pairs = np.concatenate([known.must_link, known.cannot_link])
        sign = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        rows = np.ones(known.n_samples) if sample_weight is None else sample_weight
        speaks = np.full(len(pairs), self.penalty > 0)
        return _MeanFieldRows(
            pairs[speaks],
            (sign * self.penalty * weight)[speaks],
            known,
            k,
            emphasis * rows,
            inference="mean-field",
            n_sweeps=1,
            random_state=self.random_state,
        )

    def _search(
        self,
        source: RowSource,
        whole: Any,
        sample_weight: Array | None,
        held: _MeanFieldRows,
    ) -> EMResult:
        """The best of several starts."""
        given = any(
            start is not None
            for start in (self.weights_init, self.means_init, self.precisions_init)
        )
        again = self.warm_start and hasattr(self, "_components")
        rows = held if len(held.rows) else None

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            held.field.reset()
            if self.annealing and number % 2 == 0 and not given and not again:
                start = anneal(source, whole, rng, sample_weight=sample_weight, held=rows)
            else:
                start = self._start(
                    source,
                    whole,
                    lambda: rough_clusters(
                        source,
                        whole.n_components,
                        self.init_params,
                        rng,
                        sample_weight=sample_weight,
                        labels=held.components,
                    ),
                    sample_weight,
                )
            return self._run_em(source, start, sample_weight, held)

        return self._best_restart(self.n_init, run, source)

    def _choose(
        self, source: RowSource, whole: Any, sample_weight: Array | None, known: Constraints
    ) -> tuple[float, Array]:
        """``η``, and the share of pairs that the mixture alone violates with each one tried."""
        if self.constraint_weight != "auto":
            return float(self.constraint_weight), np.empty((0, 2))
        n_pairs = len(known.must_link) + len(known.cannot_link)
        if n_pairs == 0:
            return 1.0, np.empty((0, 2))
        folds = [(known, known)]
        if n_pairs >= FEW * self.n_splits:
            folds = known.split(n_splits=self.n_splits, random_state=self.random_state)
        tried: list[tuple[float, float]] = []
        for emphasis in GRID:
            violated, stated = 0, 0
            for used, held_out in folds:
                held = self._hold(used, whole.n_components, sample_weight, emphasis)
                found = self._search(source, whole, sample_weight, held)
                violated += _violated(found, source, held_out)
                stated += len(held_out.must_link) + len(held_out.cannot_link)
            tried.append((emphasis, violated / max(stated, 1)))
            if violated == 0:  # no larger weight can do better
                break
        selection = np.array(tried)
        return float(selection[np.argmin(selection[:, 1]), 0]), selection


class _MeanFieldRows(CoupledRows):
    """Rows under pairs, whose labels are those of highest responsibility."""

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """Component of highest responsibility of every row."""
        q, _ = self.field.marginals(self._potentials(log_density, log_weights))
        labels: Array = q.argmax(axis=1)[self._node]
        return labels


def _violated(found: EMResult, source: RowSource, known: Constraints) -> int:
    """How many pairs the mixture violates when it judges every row alone."""
    rows = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    if len(rows) == 0:
        return 0
    labels = np.full(known.n_samples, -1)
    labels[rows] = log_joint_blocks(
        as_rows(source.take(rows)), found.components, found.log_weights, _most_probable
    )
    apart = np.not_equal(*labels[known.must_link].T)
    together = np.equal(*labels[known.cannot_link].T)
    return int(apart.sum() + together.sum())
