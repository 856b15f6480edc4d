"""Greedy mixtures of Gaussians: one component at a time (Verbeek 2004, section 3.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.lowest import lowest
from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import EMResult
from sidelight.mixture.gaussian._components import GaussianBase, GaussianComponents
from sidelight.mixture.gaussian._mixture import GaussianMixture
from sidelight.mixture.growing._greedy_path import REASONS, Step, greedy_path
from sidelight.tags import PLAIN_TAGS, own_tags

#: With a criterion the path ends when it was worse this many times in a row.
PATIENCE = 2


@dataclass(frozen=True)
class Path:
    """Mixtures of 1, 2, ... components, and the criterion of each."""

    steps: list[Step]
    criteria: list[float]

    @property
    def objective(self) -> float:
        """Criterion of the best mixture."""
        return self.criteria[lowest(self.criteria, "numbers of components")]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the path."""
        return self.steps[-1].result.interrupted


@estimator
class GreedyMixture(GaussianBase):
    """Mixture of Gaussians grown one component at a time, by greedy EM.

    Maximizes the log-likelihood ``L = Σ_n w_n log p(x_n)`` of ``p(x) = Σ_s π_s N(x; μ_s, Σ_s)``.
    It begins with a single Gaussian. A mixture ``p_k`` becomes

    ``p_{k+1}(x) = (1 - a) p_k(x) + a N(x; μ, Σ)``

    with the best of some candidates for ``(a, μ, Σ)``, and EM on all components follows (Verbeek
    2004, section 3.2). Candidates come from the data: the rows of every component are split at
    random by which of two of them is nearer, and each half is improved by a few steps of EM in
    which all other components stand still and rows of other components do not count. The sets of
    rows are a partition, so a search costs ``O(n m)`` whatever the number of components. There is
    nothing to initialize, and mixtures of all smaller numbers of components come with the last.
    Read more in the :doc:`user guide </mixture/growing>`.

    Parameters
    ----------
    n_components : int >= 1, default=8
        Largest number of components.
    selection : {"bic", "aic"} or None, default=None
        Criterion that chooses the number of components: the mixture of the path with the lowest
        value is kept, and the path ends once it was worse two times in a row. None keeps the last
        mixture.
    n_candidates : int >= 1, default=10
        Number of candidates ``m`` per component and search.
    covariance_type : {"full", "diag", "spherical"}, default="full"
        One matrix per component, variances per component and feature, or one variance per
        component. A covariance that all share cannot suit a mixture before and after a component
        joins.
    tol : float >= 0, default=1e-05
        EM stops when an iteration gains less log-likelihood than this per row.
    max_iter : int >= 1, default=200
        Largest number of iterations of EM per number of components.
    n_init : int >= 1 or "auto", default=1
        Number of restarts with different candidates; the best is kept.
        ``"auto"`` takes 10.
    random_state : int or RandomState or None, default=None
        Seed or generator for the splits that are tried; pass an int for reproducible results.

    Attributes
    ----------
    mixtures_ : tuple of GaussianMixture
        Fitted mixtures of 1, 2, ... components (``mixtures_[2].predict(X)``).
    search_ : dict of str to ndarray
        Of the same mixtures: ``n_components``; ``objective``, the negative log-likelihood per row;
        ``bic`` and ``aic``, the lower the better; ``n_candidates`` for the last component, and how
        many of them were too small, heavy or thin to be taken: ``n_small``, ``n_heavy``,
        ``n_thin``.
    history_ : ndarray
        Negative log-likelihood per row at every iteration from the single Gaussian on; never rises.
    n_iter_ : int
        Number of iterations of EM on all components, up to the chosen mixture.
    converged_ : bool
        Whether EM converged for every number of components up to the chosen one.

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
    twenty times thinner in some direction than a kernel density estimate would be. The path ends
    where no candidate raises the likelihood: neither the best after a few steps of EM by itself,
    nor any after many, nor one of the best ``m`` after EM on all components.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import GreedyMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 1, (100, 2)) for m in (0, 6, 12)])
    >>> model = GreedyMixture(n_components=8, selection="bic", random_state=0).fit(X)
    >>> len(model.weights_)
    3
    >>> bool(np.all(np.diff(model.search_["objective"]) < 0))
    True
    """

    n_components: Count = 8
    _: KW_ONLY
    selection: Literal["bic", "aic"] | None = None
    n_candidates: Count = 10
    covariance_type: Literal["full", "diag", "spherical"] = "full"
    tol: NonNegative = 1e-5
    reg_covar: FiniteNonNegative = 1e-6
    max_iter: Count = 200
    n_init: Restarts = 1
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="Gaussian mixtures of 1, 2, ... components by greedy EM",
        **PLAIN_TAGS,
        source="Verbeek 2004, section 3.2",
        complexity="O(n k d²) per iteration and O(n m d²) per search, O(n + k d²) memory",
    )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        whole = self._whole_data(source, 1, weights)

        def run(number: int, rng: np.random.RandomState) -> Path:
            return self._grow(source, whole, weights, rng)

        path = self._best_restart(n_restarts(self), run, source)
        results = [step.result for step in path.steps]
        self.mixtures_ = tuple(self._fitted(result, source.dtype) for result in results)
        self.search_ = {
            "n_components": np.arange(1, len(results) + 1),
            "objective": np.array([result.objective for result in results]),
            "bic": np.array([_criterion("bic", result, source.n_rows) for result in results]),
            "aic": np.array([_criterion("aic", result, source.n_rows) for result in results]),
        }
        for name in ("candidates", *REASONS):
            self.search_[f"n_{name}"] = np.array([step.tried.get(name, 0) for step in path.steps])
        if len(results) < self.n_components and self.selection is None:
            warn(
                f"Only {len(results)} of {self.n_components} components could be "
                "inserted: no further candidate raised the likelihood. Ask for fewer, or try more "
                f"{setting('n_candidates')}.",
                ConvergenceWarning,
            )
        chosen = lowest(path.criteria, "numbers of components") + 1
        return _until(path.steps[:chosen])

    def _grow(
        self,
        source: RowSource,
        whole: GaussianComponents,
        weights: Array | None,
        rng: np.random.RandomState,
    ) -> Path:
        """Grow one path until it is long enough, or the criterion got worse twice."""
        path = Path([], [])
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
            path.steps.append(step)
            path.criteria.append(_criterion(self.selection, step.result, source.n_rows))
            worse = len(path.criteria) - 1 - lowest(path.criteria, "numbers of components")
            if len(path.steps) == self.n_components:
                break
            if self.selection is not None and worse >= PATIENCE:
                break
        return path

    def _fitted(self, result: EMResult, dtype: np.dtype[Any]) -> GaussianMixture:
        """Return a mixture of the path as an estimator."""
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
        model._set_parameters(result.components, dtype)
        model.weights_ = np.exp(result.log_weights).astype(dtype)
        model._n_features_out = len(model.weights_)
        model.objective_ = result.objective
        model.n_iter_, model.converged_ = result.n_iter, result.converged
        return model


def _criterion(name: str | None, result: EMResult, n: int) -> float:
    """BIC or AIC of a mixture, or its negative log-likelihood; the lower the better."""
    loss = 2 * n * result.objective
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
