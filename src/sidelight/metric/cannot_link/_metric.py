"""A metric from cannot-links alone (Oyama, Tanaka; Book 2009, chapter 15)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Auto, Count, NonNegative, Positive, Seed, Verbosity, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting, worded
from sidelight.base import PairStream
from sidelight.constraints import Constraints, known_pairs
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.metric._base import Metric, _MetricBase, vector_metric
from sidelight.metric.cannot_link import _learned
from sidelight.metric.cannot_link._choice import choose_ascent, choose_products
from sidelight.metric.cannot_link._learned import LearnedMetric, WeightedPairs, joined
from sidelight.metric.cannot_link._problem import (
    BaseKernel,
    CannotLinkProblem,
    make_problem,
    warn_of_frequent_features,
)
from sidelight.metric.cannot_link._solver import DualSolution, solve
from sidelight.metric.cannot_link._sweeps import MetricSweeps
from sidelight.tags import own_tags


@estimator
class CannotLinkMetric(PairStream, _MetricBase):
    """The metric that keeps the nearest cannot-link as far apart as its length allows.

    Maximizes the smallest ``d_p'Ad_p / ‖A‖`` over the cannot-links, ``d_p = x_i - x_j``; with slack

        minimize ``½‖A‖² + Σ C_p ξ_p`` subject to ``d_p'Ad_p ≥ 1 - ξ_p``, ``ξ_p ≥ 0``,

    ``‖·‖`` Frobenius' norm, ``C_p`` = ``penalty`` times the weight of the pair (Book 2009, 15.3 to
    15.6). This is a support vector machine without bias, all examples positive, with the kernel
    ``(d_p'd_q)²``, and ``A = Σ α_p d_p d_p'``, ``α ≥ 0``, is positive semi-definite without any
    projection. Coordinate ascent in ``α`` (15.8) goes over blocks of pairs. In many dimensions
    ``A`` and the features ``d_p d_p'`` are never formed: with ``g = X d_p`` and the Laplacian ``L``
    of the graph of pairs weighted by ``α``, ``d_p'Ad_p = g'Lg``; a few steps, found in the features
    that pairs share most, single words and rows, take the place of many rounds. Features in which
    different rows *vary* gain weight, also those that mean nothing: leave out frequent words first.

    :meth:`partial_fit` takes pairs once, in the order in which they are stated. A pair with
    ``d'Ad < 1`` moves ``A`` to the nearest matrix with ``d'Ad = 1``: ``A += α dd'``,
    ``α = (1 - d'Ad) / ‖d‖⁴`` (15.19, 15.20), or as far as ``α ≤ penalty``. Pairs are never taken
    back: the margins are met, by an ``A`` that is longer than that of ``fit``.
    Read more in the :doc:`user guide </metric/index>`.

    k-means on the mapped rows is no better than on the rows themselves on most tables that we
    tried, and worse on some
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float > 0 or "auto", default="auto"
        Price of a unit of slack, in units of ``½‖A‖²``; ``numpy.inf`` for a hard margin. "auto"
        is 1.
    base_kernel : str or callable, default="linear"
        Inner products of rows that the metric is learned in: a name or function that
        :func:`sklearn.metrics.pairwise.pairwise_kernels` takes, or ``"precomputed"`` where ``X``
        holds the kernel of the rows with those of ``fit`` (texts, trees, graphs).
    kernel_params : dict or None, default=None
        Parameters of ``base_kernel``, such as ``{"gamma": 0.1}``.
    n_components : int >= 1 or None, default=None
        Number of leading directions that ``transform`` keeps; all of them by default, where there
        are 1,000 features or rows in pairs at most. Beyond, ``transform`` needs a number;
        distances do not.
    max_iter : int >= 1, default=100
        Largest number of rounds over all pairs.
    tol : float >= 0, default=0.001
        Stop when the objective is within this share of the optimum (the duality gap).
    random_state : int or RandomState or None, default=None
        Seed or generator for the order of the pairs; pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``; for the linear kernel.
    row_map_ : ndarray of shape (n_components, n_rows)
        For other kernels the map of ``K(x, S)``, ``S`` the rows of pairs with a weight.
    cannot_links_ : ndarray of shape (n_pairs, 2)
        The cannot-links that were learned from.
    dual_variables_ : ndarray of shape (n_pairs,)
        ``α``.
    objective_ : float
        ``½‖A‖² + Σ C_p ξ_p``, at least the optimum.
    gap_ : float
        Share of ``objective_`` by which it may be above the optimum at most.
    history_ : ndarray of shape (``n_iter_``,)
        Minus the dual objective after each round, never rising.
    n_iter_ : int
        Number of rounds over all pairs.
    converged_ : bool
        Whether the duality gap came to ``tol``.
    penalty_ : float
        Price of a unit of slack that was used.
    n_updates_ : int
        Number of pairs that changed the metric in calls of ``partial_fit`` since the last ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import CannotLinkMetric
    >>> X = np.array([[0.0, 0.0], [2.0, 0.1], [0.0, 1.0], [2.0, 1.2]])
    >>> apart = Constraints(cannot_link=[(0, 1), (2, 3)], n_samples=4)
    >>> model = CannotLinkMetric(np.inf).fit(X, constraints=apart)
    >>> model.pair_distance([(0, 1), (2, 3), (0, 2)], X).round(1)
    array([1., 1., 0.])
    """

    penalty: Positive | Auto = "auto"
    _: KW_ONLY
    base_kernel: str | Callable[..., Any] = "linear"
    kernel_params: dict[str, Any] | None = None
    n_components: Count | None = None
    max_iter: Count = 100
    tol: NonNegative = 1e-3
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="widest margin for rows known to be apart; cannot-links alone",
        knowledge=("cannot-link", "labels"),
        source="Oyama, Tanaka; Book 2009, chapter 15",
        complexity="O(p min(k², m + s)) time per step for p pairs of m rows, differences of k "
        "entries, s pairs with a weight; O(data + p k) memory, m² with a kernel",
        monotone=True,
        sparse=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.base_kernel == "precomputed"
        return tags

    @property
    def _base(self) -> BaseKernel:
        return BaseKernel(self.base_kernel, self.kernel_params)

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """The map ``W``; of the linear kernel, where there is a map."""
        return self._map(linear=True)

    @property
    def row_map_(self) -> Array:
        """The map of ``K(x, S)``; of other kernels, where there is a map."""
        return self._map(linear=False)

    def _map(self, *, linear: bool) -> Array:
        learned: LearnedMetric | None = vars(self).get("_learned_metric")
        if learned is None or learned.map is None or learned.kernel.linear is not linear:
            raise AttributeError("There is no such map; pair_distance and kernel work without.")
        return learned.map

    @property
    def _n_features_out(self) -> int:  # type: ignore[override]
        return 0 if self._learned_metric.map is None else len(self._learned_metric.map)

    def _learn(self, source: RowSource, known: Constraints) -> None:
        n, d = source.shape
        if self._base.precomputed and n != d:
            raise ValueError(f"a precomputed kernel must be square in fit, got shape {(n, d)}.")
        self._check_n_components(d)
        if self._base.linear:
            warn_of_frequent_features(source)
        self.n_updates_ = 0
        problem = self._problem(source, known)
        if problem is None:
            return
        found = solve(
            choose_ascent(problem.rows, problem.graph, problem.gram),
            problem.graph.upper,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=check_random_state(self.random_state),
            verbose=self.verbose,
        )
        self._set_solution(found, problem.apart)
        support = WeightedPairs.of_support(
            problem.rows, problem.graph, found.alpha, self._base, problem.gram
        )
        self._learned_metric = self._learned_from(support, source.dtype)
        if self.n_components is not None and hasattr(self, "components_"):
            lengths = np.linalg.norm(self.components_, axis=1)
            rank = int(np.count_nonzero(lengths > 1e-6 * lengths.max()))
            self._warn_of_rank(rank, "the metric has only")

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        if self._base.precomputed:
            raise SidelightError(
                "A precomputed kernel does not know the rows to come; give a kernel by name or as "
                "a function."
            )
        self._forget_threshold()
        first = not hasattr(self, "_learned_metric")
        rows, known = self._validate_fit_in_memory(X, y, constraints, reset=first)
        if first:
            self.n_updates_ = 0
        problem = self._problem(as_rows(rows), known, needed=first)
        if problem is None:
            return self
        if self._base.linear and rows.shape[1] <= _learned.ALL_DIRECTIONS:
            alpha, margins = np.zeros(len(problem.apart)), np.zeros(len(problem.apart))
            before = None if first else self._learned_metric.matrix
            sweeps = MetricSweeps(
                problem.rows, problem.graph, None if before is None else before.copy()
            )
            sweeps.sweep(alpha, np.arange(len(alpha)), margins, rounds=1)
            self.n_updates_ += int(np.count_nonzero(alpha))
            self._learned_metric = LearnedMetric.from_matrix(
                self._base, sweeps.A, self.n_components, rows.dtype
            )
        else:
            support, n_updates = self._with_more_pairs(problem)
            self.n_updates_ += n_updates
            self._learned_metric = self._learned_from(support, rows.dtype)
        return self

    def _problem(
        self, source: RowSource, known: Constraints, *, needed: bool = True
    ) -> CannotLinkProblem | None:
        """Cannot-links that can be learned from; None without any."""
        pairs = known_pairs(known)
        self.penalty_ = 1.0 if self.penalty == "auto" else float(self.penalty)
        if pairs.n_apart:
            price = self.penalty_ * pairs.apart_weight
            problem = make_problem(self._base, source, pairs.apart, price)
            self._warn_of_equal_rows(known, pairs.apart, problem.differs, needed=True)
            return problem
        if needed:
            self._without_pairs(source, known)
        return None

    def _with_more_pairs(self, problem: CannotLinkProblem) -> tuple[WeightedPairs, int]:
        """Pairs with a weight after new ones have stepped once, and how many of them have one."""
        before = self._learned_metric.support if hasattr(self, "_learned_metric") else None
        n_before = 0 if before is None else len(before.alpha)
        own, graph, alpha = joined(before, problem.rows, problem.graph)
        gram = None if self._base.linear else self._base.products(own, own)
        new = np.arange(n_before, len(alpha))
        choose_products(own, graph, gram).sweep(alpha, new, np.zeros(len(alpha)), rounds=1)
        support = WeightedPairs.of_support(own, graph, alpha, self._base, gram)
        return support, len(support.alpha) - n_before

    def _learned_from(self, support: WeightedPairs, dtype: np.dtype[Any]) -> LearnedMetric:
        return LearnedMetric.from_pairs(support, self.n_features_in_, self.n_components, dtype)

    def _set_solution(self, found: DualSolution, apart: Array) -> None:
        """Set the fitted attributes of the search."""
        self.cannot_links_ = apart
        self.dual_variables_ = found.alpha
        self.objective_, self.gap_ = found.primal, found.duality_gap
        self.history_ = np.array(found.history)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if not found.converged and not found.interrupted:
            warn(
                f"CannotLinkMetric came to a duality gap of {found.duality_gap:.2g} in "
                f"{setting('max_iter', self.max_iter)} rounds; allow more, or a larger tol.",
                ConvergenceWarning,
            )

    def _without_pairs(self, source: RowSource, known: Constraints) -> None:
        """Without any knowledge it is the Euclidean distance; anything else is a mistake."""
        d = source.n_features
        if not known.is_empty or not self._base.linear or d > _learned.ALL_DIRECTIONS:
            raise SidelightError(
                "CannotLinkMetric learns from cannot-links, and there are none (labels of one "
                "class tell nothing apart); give "
                f"{worded('Constraints(cannot_link=...)', 'some')}, or use RCA, which learns from "
                "must-links."
            )
        self.n_iter_ = 0
        reason = "No rows are known to be apart, so there is nothing to learn from"
        self._set_euclidean_map(reason, d, source.dtype)

    def _set_map(
        self, components: Array, dtype: np.dtype[Any], *, mean: Array | None = None
    ) -> None:
        self._learned_metric = LearnedMetric(self._base, components.astype(dtype))

    def _transform(self, rows: Any) -> Array:
        return self._learned_metric.transform(rows)

    def _distances_among(self, rows: Any, pairs: Array) -> Array:
        return self._learned_metric.distances(rows, pairs)

    def _inner(self, rows: Any, others: Any) -> Array:
        return self._learned_metric.inner(rows, others)

    def get_metric(self) -> Metric:
        check_is_fitted(self)
        if hasattr(self, "components_"):
            return super().get_metric()

        def square(u: Array, v: Array) -> float:
            return float(self.pair_distance(np.array([[u, v]]))[0]) ** 2

        return vector_metric(square, self.n_features_in_)

    def get_mahalanobis_matrix(self) -> Array:
        """Return ``A``: the squared distance is ``(x - z)ᵀ A (x - z)``.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
            Positive semi-definite; for the linear kernel, and 4,096 features at most.
        """
        check_is_fitted(self)
        return self._learned_metric.mahalanobis(self.n_features_in_)
