"""A metric from cannot-links alone (Oyama, Tanaka; Book 2009, chapter 15)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.constraints import Constraints, known_pairs
from sidelight.constraints._pairs import Pairs
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric._base import _MetricBase, warn_of_rank
from sidelight.metric._rca import check_components
from sidelight.metric.cannot_link._learned import PairForm, joined, leading_root
from sidelight.metric.cannot_link._model import choose_ascent
from sidelight.metric.cannot_link._problem import (
    BaseKernel,
    Problem,
    pose,
    warn_of_frequent_features,
)
from sidelight.metric.cannot_link._solver import (
    LARGEST_MATRIX,
    CoordinateAscent,
    GramVisits,
    Graph,
    MetricVisits,
    Solution,
    choose_products,
    solve,
)
from sidelight.tags import MethodTags

#: Up to this many features, or rows in pairs, a map with all directions is found.
ALL_DIRECTIONS = 1000


class CannotLinkMetric(_MetricBase):
    """The metric that keeps the nearest cannot-link as far apart as its length allows.

    Maximises the smallest ``d_p'Ad_p / ‖A‖`` over the cannot-links, ``d_p = x_i - x_j``; with slack

        minimise ``½‖A‖² + Σ C_p ξ_p`` subject to ``d_p'Ad_p ≥ 1 - ξ_p``, ``ξ_p ≥ 0``,

    ``‖·‖`` Frobenius' norm, ``C_p`` = ``C`` times the weight of the pair (Book 2009, 15.3 to 15.6).
    This is a support vector machine without bias, all examples positive, with the kernel
    ``(d_p'd_q)²``, and ``A = Σ α_p d_p d_p'``, ``α ≥ 0``, is positive semi-definite without any
    projection. Coordinate ascent in ``α`` (15.8) visits blocks of pairs. In many dimensions ``A``
    and the features ``d_p d_p'`` are never formed: with ``g = X d_p`` and the Laplacian ``L`` of
    the graph of pairs weighted by ``α``, ``d_p'Ad_p = g'Lg``; a few steps, found in what pairs
    share most, single words and rows, take the place of many rounds. Features in which different
    rows *vary* gain weight, also those that mean nothing: leave out frequent words first.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of slack; ``numpy.inf`` for a hard margin.
    base_kernel : str or callable, default="linear"
        Inner products of rows that the metric is learned in: a name or function that
        :func:`sklearn.metrics.pairwise.pairwise_kernels` takes, or ``"precomputed"`` where ``X``
        holds the kernel of the rows with those of ``fit`` (texts, trees, graphs).
    kernel_params : dict, default=None
        Parameters of ``base_kernel``, such as ``{"gamma": 0.1}``.
    n_components : int, default=None
        Number of leading directions that ``transform`` keeps; all of them unless told, where there
        are 1,000 features or rows in pairs at most. Beyond, ``transform`` needs a number;
        distances do not.
    max_iter : int, default=100
        At most this many rounds over all pairs.
    tol : float, default=1e-3
        Stop when the objective is within this share of the optimum (the duality gap).
    random_state : int, RandomState or None, default=None
        Source of chance: the order of the pairs.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map ``W``, ``A = W'W``; for the linear kernel.
    row_map_ : ndarray of shape (n_components, n_rows)
        For other kernels the map of ``K(x, S)``, ``S`` the rows of pairs with a weight.
    pairs_ : ndarray of shape (n_pairs, 2)
        The cannot-links that were learned from.
    dual_coef_ : ndarray of shape (n_pairs,)
        ``α``.
    objective_ : float
        ``½‖A‖² + Σ C_p ξ_p``, at least the optimum.
    gap_ : float
        The share of ``objective_`` that it can be above the optimum.
    history_ : ndarray of shape (``n_iter_``,)
        Minus the dual objective after each round, never rising.
    n_iter_ : int
        Number of rounds over all pairs.
    converged_ : bool
        Whether the gap came to ``tol``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.metric import CannotLinkMetric
    >>> X = np.array([[0.0, 0.0], [2.0, 0.1], [0.0, 1.0], [2.0, 1.2]])
    >>> apart = Constraints(cannot_link=[(0, 1), (2, 3)], n_samples=4)
    >>> model = CannotLinkMetric(C=np.inf).fit(X, constraints=apart)
    >>> model.pair_distance([(0, 1), (2, 3), (0, 2)], X).round(1)
    array([1., 1., 0.])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        base_kernel: str | Callable[..., Any] = "linear",
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.base_kernel = base_kernel
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="widest margin for rows known to be apart; cannot-links alone",
            knowledge=("cannot-link", "labels"),
            enforcement="soft",
            source="Oyama, Tanaka; Book 2009, chapter 15",
            complexity="O(p min(k², m + s)) time per step for p pairs of m rows, differences of k "
            "entries, s pairs with a weight; O(data + p k) memory, m² with a kernel",
            needs_n_clusters=False,
            monotone=True,
            sparse=True,
            kind="transformer",
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.base_kernel == "precomputed"
        return tags

    @property
    def _base(self) -> BaseKernel:
        return BaseKernel(self.base_kernel, self.kernel_params)

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows, or their kernel where that is precomputed.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known; cannot-links and labels are used.

        Returns
        -------
        self : CannotLinkMetric
            The fitted metric.
        """
        self._check_parameters()
        rows: Any = self._check_rows(X, reset=True)
        self._forget()
        if self._base.precomputed and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"a precomputed kernel must be square in fit, got shape {rows.shape}.")
        check_components(self.n_components, rows.shape[1])
        if self._base.linear:
            warn_of_frequent_features(rows)
        known = self._check_constraints(constraints, y, rows.shape[0])
        pairs = known_pairs(known)
        if not pairs.n_apart:
            return self._without_pairs(rows, known)
        posed = self._pose(rows, known, pairs)
        if posed.gram is None:
            ascent = choose_ascent(posed.rows, posed.graph)
        else:
            ascent = CoordinateAscent(GramVisits(posed.gram, posed.graph))
        found = solve(
            ascent,
            posed.graph.upper,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=check_random_state(self.random_state),
            verbose=self.verbose,
        )
        self._report(found, posed.apart)
        form = PairForm.of_support(
            posed.rows, posed.graph, found.alpha, self._base.products, posed.gram
        )
        self._remember(form, rows.dtype)
        if self.n_components is not None and hasattr(self, "components_"):
            lengths = np.linalg.norm(self.components_, axis=1)
            rank = int(np.count_nonzero(lengths > 1e-6 * lengths.max()))
            warn_of_rank(self.n_components, rank, "the metric has only")
        return self

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn from more pairs, each shown once in the order in which it is stated.

        A pair with ``d'Ad < 1`` moves ``A`` to the nearest matrix with ``d'Ad = 1``,
        ``A += α dd'``, ``α = (1 - d'Ad) / ‖d‖⁴`` (15.19, 15.20), or, with slack at the price
        ``C``, as far as ``α ≤ C``. Pairs are never taken back: the margins are met, by an ``A``
        that is longer than that of ``fit``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows that the pairs are about.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about these rows.

        Returns
        -------
        self : CannotLinkMetric
            The metric so far.
        """
        self._check_parameters()
        if self._base.precomputed:
            raise SidelightError(
                "A precomputed kernel does not know the rows to come; give a kernel by name or as "
                "a function."
            )
        first = not hasattr(self, "n_updates_") and not hasattr(self, "pairs_")
        rows: Any = self._check_rows(X, reset=first)
        known = self._check_constraints(constraints, y, rows.shape[0])
        pairs = known_pairs(known)
        if not pairs.n_apart:
            return self._without_pairs(rows, known) if first else self
        posed = self._pose(rows, known, pairs)
        if self._base.linear and rows.shape[1] <= ALL_DIRECTIONS:
            alpha, margins = np.zeros(len(posed.apart)), np.zeros(len(posed.apart))
            visits = MetricVisits(posed.rows, posed.graph, getattr(self, "_A", None))
            visits.visit(alpha, np.arange(len(alpha)), margins, rounds=1)
            n_updates = int(np.count_nonzero(alpha))
            self._remember_metric(visits.A, rows.dtype)
        else:
            form, n_updates = self._show(posed.rows, posed.graph)
            self._remember(form, rows.dtype)
        self.n_updates_ = getattr(self, "n_updates_", 0) + n_updates
        return self

    def _pose(self, rows: Any, known: Constraints, pairs: Pairs) -> Problem:
        def tell(differs: Array) -> None:
            self._tell_of_equal_rows(known, pairs.apart, differs, needed=True)

        return pose(self._base, rows, pairs.apart, self.C * pairs.apart_weight, tell)

    def _show(self, own: Any, graph: Graph) -> tuple[PairForm, int]:
        """Show new pairs once to a metric that is held by the pairs before; count its updates."""
        before: PairForm | None = getattr(self, "_form", None)
        n_before = 0 if before is None else len(before.alpha)
        own, graph, alpha = joined(before, own, graph)
        gram = None if self._base.linear else self._base.products(own, own)
        visits = choose_products(own, graph) if gram is None else GramVisits(gram, graph)
        shown = np.arange(n_before, len(alpha))
        visits.visit(alpha, shown, np.zeros(len(alpha)), rounds=1)
        form = PairForm.of_support(own, graph, alpha, self._base.products, gram)
        return form, len(form.alpha) - n_before

    # ------------------------------------------------------------------ what was learned

    def _forget(self) -> None:
        for name in ("_A", "_form", "components_", "row_map_", "n_updates_", "_n_features_out"):
            if hasattr(self, name):
                delattr(self, name)

    def _report(self, found: Solution, apart: Array) -> None:
        self.pairs_ = apart
        self.dual_coef_ = found.alpha
        self.objective_, self.gap_ = found.primal, found.gap
        self.history_ = np.array(found.history)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if not found.converged and not found.interrupted:
            warnings.warn(
                f"CannotLinkMetric came to a gap of {found.gap:.2g} in max_iter={self.max_iter} "
                "rounds; allow more, or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _remember(self, form: PairForm, dtype: np.dtype[Any]) -> None:
        """Keep the pairs with a weight, and the map where there are few features or rows."""
        d = self.n_features_in_
        if self._base.linear and d <= ALL_DIRECTIONS:
            self._remember_metric(form.metric(), dtype)
            return
        self._form = form
        if not self._base.linear:
            if form.n_rows <= LARGEST_MATRIX:
                self.row_map_ = form.row_map(self.n_components).astype(dtype)
                self._n_features_out = len(self.row_map_)
        elif self.n_components is not None and self.n_components < d:
            seed = np.random.RandomState(0).standard_normal(d)
            self._keep(form.leading_directions(self.n_components, seed), dtype)
        elif form.n_rows <= ALL_DIRECTIONS:
            self._keep(np.asarray(form.row_map(None) @ form.rows), dtype)

    def _remember_metric(self, A: Array, dtype: np.dtype[Any]) -> None:
        self._A = A
        self._keep(leading_root(A, self.n_components), dtype)

    def _without_pairs(self, rows: Any, known: Constraints) -> Self:
        """Nothing is known at all: the Euclidean distance; anything else is a mistake."""
        d = rows.shape[1]
        if not known.is_empty or not self._base.linear or d > ALL_DIRECTIONS:
            raise SidelightError(
                "CannotLinkMetric learns from cannot-links, and there are none (labels of one "
                "class tell nothing apart); give Constraints(cannot_link=...), or use RCA, which "
                "learns from must-links."
            )
        warnings.warn(
            "No rows are known to be apart, so there is nothing to learn from: the distance is "
            "the Euclidean one.",
            ConstraintWarning,
            stacklevel=3,
        )
        self.n_iter_ = 0
        self._keep(np.eye(d)[: self.n_components], rows.dtype)
        return self

    def transform(self, X: Any) -> Array:
        """Map the rows to where the learned distance is the Euclidean one.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows; with a precomputed kernel, that of the rows with those of ``fit``.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            ``X Wᵀ``, or the map of ``K(X, S)`` for other kernels, in the element type of the rows.
        """
        check_is_fitted(self)
        if hasattr(self, "components_"):
            return super().transform(X)
        rows: Any = self._check_rows(X, reset=False)
        if not hasattr(self, "row_map_"):
            raise SidelightError(
                f"A map with all directions of {self.n_features_in_:,} features would be too "
                f"large; set n_components=100, say. pair_distance and kernel work without."
            )
        products = self._base.products(rows, self._form.rows)
        return np.asarray(products @ self.row_map_.T, dtype=rows.dtype)

    def pair_distance(self, pairs: Any, X: Any = None) -> Array:
        """Return the learned distance of each pair.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``X``.
        X : array or CSR matrix of shape (n_samples, n_features), default=None
            The rows, where ``pairs`` holds positions.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            Distances.
        """
        check_is_fitted(self)
        places = np.asarray(pairs)
        fits = places.ndim == (3 if X is None else 2) and places.shape[1] == 2
        if self._has_map or not fits:  # the latter to say what is wrong
            return super().pair_distance(pairs, X)
        if X is None:
            n = len(places)
            X = places.transpose(1, 0, 2).reshape(2 * n, -1)
            places = np.column_stack([np.arange(n), np.arange(n) + n])
        rows: Any = self._check_rows(X, reset=False)
        squares = self._form.squared_distances(rows, places, linear=self._base.linear)
        return np.sqrt(np.maximum(squares, 0.0)).astype(rows.dtype)

    def get_metric(self) -> Callable[[Any, Any], float]:
        """Return the distance as a function of two rows, for whatever takes a metric.

        Returns
        -------
        distance : callable
            ``distance(u, v) -> float``.
        """
        check_is_fitted(self)
        if hasattr(self, "components_"):
            return super().get_metric()

        def distance(u: Any, v: Any) -> float:
            return float(self.pair_distance(np.array([[u, v]], dtype=np.float64))[0])

        return distance

    def get_mahalanobis_matrix(self) -> Array:
        """Return ``A``: the squared distance is ``(x - z)ᵀ A (x - z)``.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
            Positive semi-definite; for the linear kernel, and 4,096 features at most.
        """
        check_is_fitted(self)
        if not self._base.linear:
            raise SidelightError(
                "With a kernel the metric is no matrix of features; use pair_distance or kernel."
            )
        if hasattr(self, "components_") and not hasattr(self, "_form"):
            return super().get_mahalanobis_matrix()
        if self.n_features_in_ > LARGEST_MATRIX:
            raise SidelightError(
                f"The matrix of {self.n_features_in_:,} features is too large to be formed; use "
                "pair_distance or kernel, or components_ with n_components."
            )
        return super().get_mahalanobis_matrix() if self._has_map else self._form.metric()

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """Return the inner products that the distance belongs to.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.
        Y : array or CSR matrix of shape (n_others, n_features), default=None
            Other rows; ``X`` itself unless told. The result has ``n_samples · n_others`` entries.

        Returns
        -------
        K : ndarray of shape (n_samples, n_others)
            The kernel.
        """
        check_is_fitted(self)
        if self._has_map:
            return super().kernel(X, Y)
        rows: Any = self._check_rows(X, reset=False)
        others = rows if Y is None else self._check_rows(Y, reset=False)
        return self._form.inner(rows, others).astype(rows.dtype)

    @property
    def _has_map(self) -> bool:
        return hasattr(self, "components_") or hasattr(self, "row_map_")

    # ------------------------------------------------------------------ checks

    def _check_parameters(self) -> None:
        if not self.C > 0:
            raise ValueError(f"C must be above 0 (numpy.inf for a hard margin), got {self.C!r}.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number above 0, got {self.max_iter!r}.")
