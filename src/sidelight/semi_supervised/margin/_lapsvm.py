"""Laplacian support vector machine (Belkin, Niyogi, Sindhwani 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.lowest import relative_gap
from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Seed,
    estimator,
)
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base.inner import decided_codes
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs import laplacian, neighbor_graph
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, ClassShares
from sidelight.semi_supervised._core._kernel import (
    Gamma,
    Kernel,
    KernelClassifier,
    KernelName,
    check_precomputed,
    make_kernel,
)
from sidelight.semi_supervised.margin._features import (
    kernel_factor,
    kernel_matrix,
    kernel_spread,
    linear_rows,
    power_of_two,
)
from sidelight.semi_supervised.margin._hinge import HingeSolution, solve_hinge
from sidelight.semi_supervised.margin._manifold import (
    LabeledProblem,
    dense_problem,
    primal_problem,
)
from sidelight.semi_supervised.margin._parts import warn_of_parts_without_labels
from sidelight.tags import own_tags

#: "auto": penalty on ‖f‖², in units of the spread of the rows, and on the mean squared difference
#: of ``f`` over edges.
AMBIENT, INTRINSIC = 0.001, 0.2

#: Up to this many rows "auto" solves the dense system of a kernel that is not linear.
DENSE_ROWS = 2000

#: Eigenvalues of the kernel between landmarks below this share of the largest are rounding.
MIN_EIGENVALUE = 1e-13

#: Rows whose kernel with the landmarks is computed at a time.
BLOCK_ROWS = 8192


@estimator
class LapSVM(BalancedClassifier, KernelClassifier):
    """Laplacian SVM: a margin on the labeled rows by a function that is smooth over all rows.

    Minimizes

        ``(1/n_l) Σ_L max(0, 1 - y_i f(x_i)) + γ_A ‖f‖² + (γ_I/n²) f'Lf``

    over ``f = Σ_i α_i k(x_i, ·) + b``, with the Laplacian ``L`` of the graph of nearest neighbors
    of all rows: neighbors are to have similar values. The problem is convex. Read more in the
    :doc:`user guide </semi_supervised/margin>`.

    Parameters
    ----------
    gamma_A : float > 0, finite or "auto", default="auto"
        Penalty ``γ_A`` on the norm in the space of the kernel; an SVM with
        ``C = 1/(2 γ_A n_l)`` has the same. "auto" is ``0.001 V``, with the mean squared distance
        ``V`` of the rows to their mean in that space.
    gamma_I : float >= 0, finite or "auto", default="auto"
        Penalty ``γ_I`` on differences between neighbors; 0 leaves the unlabeled rows out. "auto"
        is ``0.4 n²/tr L``, by which the term is 0.2 times the mean squared difference over edges.
    n_neighbors : int >= 1, default=5
        Number of neighbors of a row in the graph.
    weights : {"gaussian", "local", "cosine", "connectivity"}, default="local"
        Weights of the edges, see :func:`sidelight.graphs.neighbor_graph`.
    normalized : bool, default=False
        Whether ``L`` is ``I - D^{-1/2} W D^{-1/2}`` instead of ``D - W``. It does not count ``b``.
    fit_intercept : bool, default=True
        Whether there is a bias ``b``, which is not penalized. Without it, ``f`` is the published
        expansion.
    solver : {"auto", "dense", "primal"}, default="auto"
        "dense" solves the published system of all rows, ``O(n³)`` and ``8 n²`` bytes; "primal" the
        same in the space of the columns, whose matrix is factored (up to 1,000 columns) or used
        by conjugate gradients. Kernels other than the linear one then have ``n_components``
        columns, which approximate them (Nyström). "auto" is "primal", but for other kernels
        "dense" up to 2,000 rows.
    class_shares : {"auto", "labels", "equal"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "auto" takes those that ``f`` predicts. Others move ``b`` after
        training, such that ``f`` of each machine is positive for the share of its class; "labels"
        takes the shares of the labels.
    n_components : int >= 1, default=300
        Number of rows, the labeled ones among them, whose kernels "primal" approximates others by.
    max_iter : int >= 1, default=10000
        Largest number of passes over the dual variables.
    tol : float > 0, finite, default=1e-06
        Largest violation of the conditions of the optimum, in units of ``f``.
    random_state : int or RandomState or None, default=None
        Seed or generator for the choice of ``n_components`` rows; pass an int for reproducible
        results.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the columns; with the linear kernel only (and not with "dense").
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        ``α``: weights of the kernels with the rows ``support_``; where there is no ``coef_``.
    support_ : ndarray of int
        Rows of the fit whose kernels ``f`` consists of; where there is no ``coef_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        ``b``.
    class_shares_ : ndarray of shape (n_classes,)
        Shares of the classes among the unlabeled rows, as predicted.
    dual_variables_ : ndarray of shape (n_machines, n_labeled)
        Dual variables of the labeled rows, between 0 and ``1/n_l``.
    gamma_A_ : float
        The ``γ_A`` that was used.
    gamma_I_ : float
        The ``γ_I`` that was used.
    solver_ : {"dense", "primal"}
        The solver that was used.
    gap_ : float
        Share of ``objective_`` by which it may be above the optimum at most.
    n_cut_off_ : int
        Number of unlabeled rows that the graph does not join to a labeled one.
    objective_ : float
        Objective at the end, added over the machines.
    history_ : ndarray
        Objective after every 50 passes.
    n_iter_ : int
        Largest number of passes over the dual variables of a machine.
    converged_ : bool
        Whether the conditions of the optimum hold to ``tol``.

    Notes
    -----
    More than two classes are separated by one machine for each against all others; all share one
    factorization. With ``gamma_I=0`` the machine is scikit-learn's ``SVC`` with
    ``C = 1/(2 γ_A n_l)``. Where all rows are labeled the graph still counts.

    "primal" takes ``O(n (k + m) m + m³)`` time for ``m`` columns and ``k`` neighbors, and no matrix
    between rows. The graph is built on the rows as they are: scale columns of different units.

    It hurts where neighbors are often of different classes; a smaller ``gamma_I`` limits that.

    References
    ----------
    Belkin, Niyogi, Sindhwani 2006, "Manifold regularization", section 4.3; Melacci, Belkin 2011,
    "Laplacian support vector machines trained in the primal".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight.semi_supervised import LapSVM
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> for moon in (0, 1):
    ...     y[np.flatnonzero(truth == moon)[:2]] = moon
    >>> model = LapSVM(gamma_I=500.0, gamma=10.0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.95)
    True
    """

    gamma_A: FinitePositive | Auto = "auto"
    gamma_I: FiniteNonNegative | Auto = "auto"
    _: KW_ONLY
    kernel: KernelName = "rbf"
    gamma: Gamma = "scale"
    n_neighbors: Count = 5
    weights: Literal["gaussian", "local", "cosine", "connectivity"] = "local"
    normalized: bool = False
    fit_intercept: bool = True
    solver: Literal["auto", "dense", "primal"] = "auto"
    class_shares: ClassShares = "auto"
    n_components: Count = 300
    max_iter: Count = 10_000
    tol: FinitePositive = 1e-6
    random_state: Seed = None

    _own_tags = own_tags(
        summary="margin on the labeled rows by a function that is smooth over a graph of all rows",
        source="Belkin, Niyogi, Sindhwani 2006; Melacci, Belkin 2011; Mallapragada 2010, 3.4",
        complexity="O(n (k + m) m + m³) and O(n m) memory for m columns; dense O(n³) and 8 n²",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        self._kernel = make_kernel(self.kernel, self.gamma, rows)
        self.solver_ = self._chosen_solver(rows.shape[0])
        self._forget_coefficients()
        with one_thread_blas:  # one order of the sums for any number of threads
            if self.solver_ == "dense":
                self._learn_dense(rows, labels, known)
            elif self._kernel.name == "linear":
                self._learn_linear(rows, labels, known)
            else:
                self._learn_landmarks(rows, labels, known)
        self._balance(rows, labels)

    def _balance(self, rows: Any, labels: IntArray) -> None:
        """Move the biases such that the classes have the shares that are asked for."""
        free, n_classes = np.flatnonzero(labels < 0), len(self.classes_)
        shares = self._given_shares(labels)
        if shares is not None and len(free):
            values = self._decide(rows[free]).reshape(len(free), -1)
            wanted = shares[1:] if n_classes == 2 else shares
            at = [
                np.quantile(column, 1 - share)
                for column, share in zip(values.T, wanted, strict=True)
            ]
            self.intercept_ -= np.array(at)
        codes = decided_codes(self._decide(rows[free])) if len(free) else labels
        self.class_shares_ = np.bincount(codes, minlength=n_classes) / len(codes)

    def _chosen_solver(self, n: int) -> Literal["dense", "primal"]:
        if self.solver != "auto":
            return self.solver
        return "primal" if self._kernel.name == "linear" or n > DENSE_ROWS else "dense"

    def _learn_dense(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        K = kernel_matrix(
            self._kernel, rows, "LapSVM", f"Take {setting('solver', 'primal')} instead."
        )
        spread = kernel_spread(K)
        scale = power_of_two(spread) ** 2
        K /= scale
        L = self._laplacian(
            kernel_factor(K) if self._kernel.is_precomputed else rows, labels, known
        )
        ambient, intrinsic = self._penalties(spread, scale, L)
        labeled = np.flatnonzero(labels >= 0)
        problem = dense_problem(K, L, labeled, ambient, intrinsic)
        self.dual_coef_ = self._solve(problem, labels[labeled]) / scale
        self.support_ = np.arange(rows.shape[0])
        # A copy: the user may change the rows, and kernels of a matrix with itself round otherwise.
        self._support_rows = None if self._kernel.is_precomputed else rows.copy()

    def _learn_linear(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        linear = linear_rows(rows, move=False)
        L = self._laplacian(rows, labels, known)
        ambient, intrinsic = self._penalties(linear.spread, linear.scale**2, L)
        labeled = np.flatnonzero(labels >= 0)
        problem = primal_problem(linear.rows, L, labeled, ambient, intrinsic)
        self.coef_ = self._solve(problem, labels[labeled]) / linear.scale

    def _learn_landmarks(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        """Features of a kernel by its values with some rows (Nyström)."""
        self.support_ = self._landmarks(labels)
        if self._kernel.is_precomputed:
            rows = check_precomputed(_dense(rows))
            self._support_rows, graph_rows = None, kernel_factor(rows)
        else:
            self._support_rows, graph_rows = rows[self.support_], rows
        between = _kernel_with(self._kernel, rows[self.support_], self.support_, self._support_rows)
        values, vectors = linalg.eigh((between + between.T) / 2)
        kept = values > MIN_EIGENVALUE * max(float(values[-1]), 1e-300)
        to_features = vectors[:, kept] / np.sqrt(values[kept])
        features = np.empty((rows.shape[0], to_features.shape[1]))
        for first in range(0, rows.shape[0], BLOCK_ROWS):
            part = slice(first, first + BLOCK_ROWS)
            block = _kernel_with(self._kernel, rows[part], self.support_, self._support_rows)
            features[part] = block @ to_features
        linear = linear_rows(features, move=False)
        L = self._laplacian(graph_rows, labels, known)
        ambient, intrinsic = self._penalties(linear.spread, linear.scale**2, L)
        labeled = np.flatnonzero(labels >= 0)
        problem = primal_problem(linear.rows, L, labeled, ambient, intrinsic)
        weights = self._solve(problem, labels[labeled]) / linear.scale
        self.dual_coef_ = np.ascontiguousarray(weights @ to_features.T)

    def _landmarks(self, labels: IntArray) -> IntArray:
        """Rows whose kernels are the features: labeled ones, at most half, and others at random."""
        n = len(labels)
        if self.n_components >= n:
            return np.arange(n)
        rng = check_random_state(self.random_state)
        order = rng.permutation(n)
        is_labeled = labels[order] >= 0
        labeled = order[is_labeled][: max(self.n_components // 2, 1)]
        others = order[~is_labeled][: self.n_components - len(labeled)]
        return np.sort(np.concatenate([labeled, others]))

    def _laplacian(self, rows: Any, labels: IntArray, known: Constraints) -> sparse.csr_array:
        graph = neighbor_graph(rows, self.n_neighbors, weights=self.weights)
        self.n_cut_off_ = 0
        if self.gamma_I != 0:
            self.n_cut_off_ = warn_of_parts_without_labels(
                graph,
                labels,
                known,
                "The graph says nothing about their classes, which the kernel alone decided.",
            )
        return laplacian(graph, "symmetric" if self.normalized else "unnormalized")

    def _penalties(self, spread: float, scale: float, L: sparse.csr_array) -> tuple[float, float]:
        """``γ_A`` and ``γ_I/n²`` for features that were divided by the root of ``scale``."""
        n, trace = L.shape[0], float(L.trace())
        self.gamma_A_ = AMBIENT * (spread or 1.0) if self.gamma_A == "auto" else float(self.gamma_A)
        if self.gamma_I != "auto":
            self.gamma_I_ = float(self.gamma_I)
        else:
            self.gamma_I_ = 2.0 * INTRINSIC * n**2 / trace if trace > 0 else 0.0
        return self.gamma_A_ / scale, self.gamma_I_ / n**2

    def _solve(self, problem: LabeledProblem, codes: IntArray) -> Array:
        """Train the machines; returns weights of shape (n_machines, n_columns)."""
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(codes == one, 1.0, -1.0) for one in positive]
        found = [
            solve_hinge(
                problem.rows,
                sign,
                1.0 / len(codes),
                intercept=self.fit_intercept,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for sign in signs
        ]
        self.dual_variables_ = np.array([one.beta for one in found])
        self.intercept_ = np.array([one.bias for one in found])
        self._set_fitted_attributes(found)
        return np.ascontiguousarray(problem.expand((self.dual_variables_ * np.array(signs)).T).T)

    def _set_fitted_attributes(self, found: list[HingeSolution]) -> None:
        self.n_iter_ = max(one.n_passes for one in found)
        longest = max(len(one.history) for one in found)
        padded = [one.history + [one.history[-1]] * (longest - len(one.history)) for one in found]
        self.history_ = np.sum(padded, axis=0)
        self.objective_ = float(self.history_[-1])
        gap = float(sum(one.gap for one in found))
        self.gap_ = relative_gap(gap, self.objective_)
        self.converged_ = all(one.converged for one in found)
        if not self.converged_:
            warn(
                f"LapSVM stopped after {self.n_iter_} passes ({setting('max_iter', self.max_iter)})"
                f" before the optimum: its objective is {self.objective_:.6g}, and the least "
                f"possible one may be lower by {gap:.2g}. Scale the columns, or take "
                f"a larger {setting('gamma_A')}.",
                ConvergenceWarning,
            )

    def _decide(self, rows: Any) -> Array:
        if hasattr(self, "coef_"):
            values = rows @ self.coef_.T
        else:
            between = _kernel_with(self._kernel, rows, self.support_, self._support_rows)
            values = between @ self.dual_coef_.T
        values = np.asarray(values + self.intercept_)
        return values[:, 0] if len(self.intercept_) == 1 else values


def _kernel_with(kernel: Kernel, rows: Any, support: IntArray, support_rows: Any) -> Array:
    """Kernel of rows with those of the fit that count; of a given matrix, these columns."""
    return _dense(rows[:, support]) if kernel.is_precomputed else kernel(rows, support_rows)


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
