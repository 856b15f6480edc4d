"""Greedy mixtures of Gaussians: one component at a time (Verbeek 2004, section 3.2)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._em import EMResult
from sidelight.mixture.gaussian._mixture import GaussianMixture, _GaussianBase
from sidelight.mixture.growing._greedy_path import Step, greedy_path
from sidelight.tags import MethodTags

SELECTIONS = (None, "bic", "aic")

#: With a criterion the path ends when it was worse this many times in a row.
PATIENCE = 2


class GreedyMixture(_GaussianBase):
    """Mixture of Gaussians grown one component at a time, by greedy EM.

    Maximises the log-likelihood ``L = Σ_n w_n log p(x_n)`` of ``p(x) = Σ_s π_s N(x; μ_s, Σ_s)``.
    It begins with a single Gaussian. A mixture ``p_k`` becomes

    ``p_{k+1}(x) = (1 - a) p_k(x) + a N(x; μ, Σ)``

    with the best of some candidates for ``(a, μ, Σ)``, and EM on all components follows (Verbeek
    2004, section 3.2). Candidates come from the data: the rows of every component are split at
    random by which of two of them is nearer, and each half is improved by a few steps of EM in
    which all other components stand still and rows of other components do not count. The sets of
    rows are a partition, so a search costs ``O(n m)`` whatever the number of components. There is
    nothing to initialise, and mixtures of all smaller numbers of components come with the last.

    Parameters
    ----------
    n_components : int, default=8
        The largest number of components.
    selection : {"bic", "aic"} or None, default=None
        Criterion that chooses the number of components: the mixture of the path with the lowest
        value is kept, and the path ends once it was worse two times in a row. None keeps the last
        mixture.
    n_candidates : int, default=10
        Candidates ``m`` per component and search.
    covariance_type : {"full", "diag", "spherical"}, default="full"
        One matrix per component, variances per component and feature, or one variance per
        component. A covariance that all share cannot suit a mixture before and after a component
        joins.
    tol : float, default=1e-5
        EM stops when an iteration gains less log-likelihood than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    max_iter : int, default=200
        At most this many iterations of EM per number of components.
    n_init : int, default=1
        Number of paths with different candidates, of which the best is kept.
    random_state : int, RandomState or None, default=None
        Source of chance: which splits are tried.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    path_ : list of GaussianMixture
        Mixtures of 1, 2, ... components, ready to be asked (``path_[2].predict(X)``).
    lower_bound_path_ : ndarray
        Their log-likelihoods per row; rises.
    bic_path_, aic_path_ : ndarray
        Their information criteria; the lower the better.
    candidates_path_ : list of dict
        For every mixture how many ``candidates`` there were for its last component, and how many
        of them were too ``small``, ``heavy`` or ``thin`` to be taken.
    weights_ : ndarray of shape (k,)
        Mixing weights ``π`` of the chosen mixture.
    means_ : ndarray of shape (k, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row.
    objective_, history_ : float, ndarray
        Negative log-likelihood per row at the end, and at every iteration from the single Gaussian
        on; never rises.
    n_iter_ : int
        Number of iterations of EM on all components, up to the chosen mixture.
    converged_ : bool
        Whether EM converged for every number of components up to the chosen one.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    GaussianMixture : From a start by k-means.
    AcceleratedMixture : On cells of a tree, for many rows.

    Notes
    -----
    A heuristic that is seldom far from the best mixture, but not always at it; ``n_init`` tries
    other candidates. Ten candidates are among the best tenth of all splits with probability 0.65;
    the source found more to make no difference.

    A candidate is not taken when its weight is below ``2 d / n`` or above 0.99, or when it is
    twenty times thinner in some direction than a kernel density estimate would be.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import GreedyMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 1, (100, 2)) for m in (0, 6, 12)])
    >>> model = GreedyMixture(n_components=8, selection="bic", random_state=0).fit(X)
    >>> len(model.weights_)
    3
    >>> bool(np.all(np.diff(model.lower_bound_path_) > 0))
    True
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        selection: str | None = None,
        n_candidates: int = 10,
        covariance_type: str = "full",
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.selection = selection
        self.n_candidates = n_candidates
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="Gaussian mixtures of 1, 2, ... components by greedy EM",
            knowledge=(),
            enforcement="none",
            source="Verbeek 2004, section 3.2",
            complexity="O(n k d²) per iteration and O(n m d²) per search, O(n + k d²) memory",
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
        """Fit mixtures of 1, 2, ... components to the rows.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Partial labels; like other constraints they are only counted.
        constraints : Constraints, default=None
            Not used: violations are counted.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : GreedyMixture
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_gaussian()
        self._check_search()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)

        steps, chosen = self._best_path(source, k, weights)
        self._keep_path(steps, source)
        if len(steps) < k and self.selection is None:
            warnings.warn(
                f"Only {len(steps)} of n_components={k} components could be inserted: no further "
                "candidate raised the likelihood. Ask for fewer, or try more n_candidates.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self._set_fitted_attributes(_until(steps[:chosen]), source, known)

    def _check_search(self) -> None:
        if self.covariance_type == "tied":
            raise ValueError(
                "covariance_type='tied' does not go with greedy search: a component joins with a "
                "covariance of its own. Choose 'full', 'diag' or 'spherical'."
            )
        if self.selection not in SELECTIONS:
            raise ValueError(f"selection must be 'bic', 'aic' or None, got {self.selection!r}.")
        for name in ("n_candidates", "n_init"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number above 0, got {value!r}.")

    def _best_path(
        self, source: RowSource, k: int, weights: Array | None
    ) -> tuple[list[Step], int]:
        """Grow paths with different candidates; keep the best and its chosen length."""
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_init
        )
        best: tuple[float, list[Step], int] | None = None
        for seed in seeds:
            steps, criteria = self._grow(source, k, weights, np.random.RandomState(seed))
            chosen = int(np.argmin(criteria))
            if best is None or criteria[chosen] < best[0]:
                best = criteria[chosen], steps, chosen + 1
            if steps[-1].result.interrupted:
                break
        assert best is not None
        return best[1:]

    def _grow(
        self, source: RowSource, k: int, weights: Array | None, rng: np.random.RandomState
    ) -> tuple[list[Step], list[float]]:
        """Return one path and the criterion of its mixtures."""
        whole = self._whole_data(source, 1, weights)
        steps: list[Step] = []
        criteria: list[float] = []
        for step in greedy_path(
            source,
            whole,
            rng,
            n_candidates=self.n_candidates,
            sample_weight=weights,
            max_iter=self.max_iter,
            tol=self.tol,
            description=type(self).__name__,
            verbose=self.verbose,
        ):
            steps.append(step)
            criteria.append(_criterion(self.selection, step.result, source.n_rows))
            worse = len(criteria) - 1 - int(np.argmin(criteria))
            if len(steps) == k or (self.selection is not None and worse >= PATIENCE):
                break
        return steps, criteria

    def _keep_path(self, steps: list[Step], source: RowSource) -> None:
        """Set what is known of the whole path."""
        results = [step.result for step in steps]
        self.path_ = [self._fitted(result, source.dtype) for result in results]
        self.lower_bound_path_ = np.array([result.lower_bound for result in results])
        for name in ("bic", "aic"):
            values = [_criterion(name, result, source.n_rows) for result in results]
            setattr(self, f"{name}_path_", np.array(values))
        self.candidates_path_ = [step.tried for step in steps]

    def _fitted(self, result: EMResult, dtype: np.dtype[Any]) -> GaussianMixture:
        """Make a mixture of the path one that can be asked."""
        model = GaussianMixture(
            len(result.log_weights),
            covariance_type=self.covariance_type,
            tol=self.tol,
            reg_covar=self.reg_covar,
            max_iter=self.max_iter,
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model._components, model._log_weights = result.components, result.log_weights
        model._keep_parameters(result.components, dtype)
        model.weights_ = np.exp(result.log_weights).astype(dtype)
        model._n_features_out = len(model.weights_)
        model.objective_ = result.objective
        model.n_iter_, model.converged_ = result.n_iter, result.converged
        return model


def _criterion(name: str | None, result: EMResult, n: int) -> float:
    """BIC or AIC of a mixture, or its negative log-likelihood; the lower the better."""
    loss = -2 * n * result.lower_bound
    if name is None:
        return loss
    n_parameters = result.components.n_parameters + len(result.log_weights) - 1
    return float(loss + n_parameters * (np.log(n) if name == "bic" else 2))


def _until(steps: list[Step]) -> EMResult:
    """The last mixture, with the history of all before it."""
    results = [step.result for step in steps]
    return replace(
        results[-1],
        history=np.concatenate([result.history for result in results]),
        n_iter=sum(result.n_iter for result in results),
        converged=all(result.converged for result in results),
    )
