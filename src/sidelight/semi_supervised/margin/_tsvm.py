"""Transductive support vector machine by label switching (Joachims 1999)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Restarts,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, ClassShares
from sidelight.semi_supervised._core._kernel import (
    Gamma,
    KernelClassifier,
    KernelName,
    make_kernel,
)
from sidelight.semi_supervised.margin._features import (
    kernel_factor,
    kernel_matrix,
    kernel_spread,
    linear_rows,
    power_of_two,
    used_rows,
)
from sidelight.semi_supervised.margin._switching import Switching, switch_labels
from sidelight.tags import own_tags

#: Up to this many columns the Hessian is factored, beyond conjugate gradients take its place.
DIRECT_COLUMNS = 500

#: Beyond this many rows one search is enough by default.
MANY_ROWS = 1_000


@estimator
class TSVM(BalancedClassifier, KernelClassifier):
    """Transductive SVM: the widest margin over labeled and unlabeled rows, by label switching.

    Minimizes

        ``½‖w‖² + C Σ_L max(0, 1 - y_i f(x_i))² + C* Σ_U max(0, 1 - ŷ_j f(x_j))²``

    over ``f = w'x + b`` and pseudo-labels ``ŷ`` of the unlabeled rows, of which a fixed share is
    positive. ``C*`` doubles until it is ``C_unlabeled``; at each cost the machine is trained and
    pairs of opposite pseudo-labels with slacks ``ξ_m > 0, ξ_l > 0, ξ_m + ξ_l > 2`` are switched
    until there are none. No switch raises the objective. Read more in the
    :doc:`user guide </semi_supervised/margin>`.

    Parameters
    ----------
    C : float > 0, finite or "scale", default="scale"
        Cost of the slack of a labeled row. "scale" is ``1 / V``, with the mean squared distance
        ``V`` of the rows to their mean (in the space of the kernel), so that the unit of the rows
        does not matter; that of single columns does.
    C_unlabeled : float >= 0, finite or "auto", default="auto"
        Final cost ``C*`` of the slack of an unlabeled row. "auto" lets all unlabeled rows together
        weigh as much as all labeled ones, ``C n_labeled / n_unlabeled``; 0 leaves them out.
    class_shares : {"auto", "labels", "equal"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "labels" takes those of the labels, which is far off where these are
        few. "auto" is the mean of ``(1 + f)/2``, cut off at 0 and 1, over the unlabeled rows, with
        ``f`` of the SVM of the labeled rows alone: that of the labels where this SVM is uncertain,
        that of its predictions where it is certain. Give the shares where you know them: wrong
        ones cost accuracy.
    kernel : {"linear", "rbf", "precomputed"} or callable, default="linear"
        Kernel between rows: ``x'z``; ``exp(-gamma ‖x - z‖²)``; "precomputed", where ``fit`` takes
        the matrix of shape (n_samples, n_samples) and ``predict`` one of shape (n_new, n_samples);
        or a function of two blocks of rows that returns their matrix. Only "linear" takes more
        than 15,000 rows.
    solver : {"auto", "direct", "cg"}, default="auto"
        How the steps of Newton's method are found: by factoring a matrix of the size of the
        columns, or by conjugate gradients; "auto" factors up to 500 columns.
    n_init : int >= 1 or "auto", default="auto"
        Number of searches, of which the lowest objective stays: "auto" takes 10 for up to 1,000
        rows, and one for more, where ten cost much and found little (on eight real sets objectives
        of 0 to 0.5 percent less). The first is the published one, the next four begin with the
        first and last rows along two principal axes, and all others with a fifth of the pairs of
        the best one so far switched at random, always the same way.
    max_iter : int >= 1, default=100
        Largest number of trainings at one cost ``C*``.
    tol : float > 0, finite, default=1e-06
        A machine is trained when its gradient is at most this share of that of ``w = 0``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        ``w`` of every machine; with the linear kernel only.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Weights of the kernels with the rows ``support_``; with other kernels only.
    support_ : ndarray of int
        Rows of the fit on which the machines rest; with other kernels only.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        ``b``, which is not penalized.
    pseudo_labels_ : ndarray of shape (n_unlabeled, n_machines)
        ``ŷ`` of the unlabeled rows, -1 or 1, by the machines (one for two classes).
    C_ : float
        The ``C`` that was used.
    C_unlabeled_ : float
        The final ``C*``.
    class_shares_ : ndarray of shape (n_classes,)
        Shares of the unlabeled rows that the machines of the classes take; of more than two classes
        they need not add up to 1.
    n_swaps_ : int
        Number of pairs whose pseudo-labels were switched.
    objective_ : float
        Objective at the end, added over the machines.
    history_ : ndarray of shape (n_iter,)
        Objective after every training of the search that was best, the first without unlabeled
        rows. It falls while ``C*`` stays the same and jumps where it grows.
    C_unlabeled_history_ : ndarray of shape (n_iter,)
        ``C*`` of every training of the machine that took most of them.
    n_iter_ : int
        Largest number of trainings of a machine.
    converged_ : bool
        Whether no pair was left to switch.

    Notes
    -----
    The loss is the squared hinge, and the bias is free. Joachims has the plain hinge; the proof
    that no switch raises the objective is the same. With no unlabeled rows the machine is the
    ordinary SVM of this loss (``LinearSVC`` but for its penalty on the bias). More than two
    classes are separated by one machine for every class against all others: all unlabeled rows
    take part in each, and one share per class is all that needs to be known. Machines for pairs
    of classes would have to place rows of all other classes, too.

    A training takes some passes over the stored values of the rows (``O(nnz)`` each), and memory
    is linear. Kernels other than the linear one take ``O(n³)`` time once and ``8 n²`` bytes.

    The problem is not convex. Of 100 problems with ten unlabeled rows, solved by trying all
    labelings, the published search ended above the optimum in 33 (by 86 % at worst), five searches
    in 3 and ten in none; of large problems nobody knows. Ten searches take four times as long.

    It hurts where the share of the classes is wrong, or where the classes are not parted by a gap:
    then a wide margin over all rows is somewhere else.

    References
    ----------
    Joachims 1999, "Transductive inference for text classification using support vector
    machines", section 4; Sindhwani, Keerthi 2006, "Large scale semi-supervised linear SVMs".

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.semi_supervised import TSVM
    >>> X = np.array([[0.0], [0.3], [0.6], [0.9], [1.6], [1.8], [2.0], [2.2]])
    >>> y = np.array(["low", None, None, None, "high", None, None, None])
    >>> TSVM(C=10.0, class_shares=[0.5, 0.5]).fit(X, y).predict([[1.0], [1.5]])
    array(['low', 'high'], dtype='<U4')
    """

    C: FinitePositive | Literal["scale"] = "scale"
    C_unlabeled: FiniteNonNegative | Auto = "auto"
    _: KW_ONLY
    class_shares: ClassShares = "auto"
    kernel: KernelName = "linear"
    gamma: Gamma = "scale"
    solver: Literal["auto", "direct", "cg"] = "auto"
    n_init: Restarts = "auto"
    max_iter: Count = 100
    tol: FinitePositive = 1e-6
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="widest margin over labeled and unlabeled rows, by switching pseudo-labels",
        source="Joachims 1999; Sindhwani, Keerthi 2006; Mallapragada 2010, section 3.4",
        complexity="O(nnz) per pass of a training, O(nnz) memory; O(n³) and 8 n² with a kernel",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        self._kernel = make_kernel(self.kernel, self.gamma, rows)
        self._forget_coefficients()
        with one_thread_blas:  # one order of the sums for any number of threads
            self._learn_machines(rows, labels, self._shares(labels))

    def _learn_machines(self, rows: Any, labels: IntArray, shares: list[float | None]) -> None:
        if self._kernel.name == "linear":
            linear = linear_rows(rows)
            found = self._train(linear.rows, labels, shares, linear.spread, linear.scale**2)
            planes = [linear.plane(one.plane.normal, one.plane.bias) for one in found]
            self.coef_ = np.array([normal for normal, _ in planes])
            self.intercept_ = np.array([bias for _, bias in planes])
        else:
            self._learn_kernel(rows, labels, shares)

    def _learn_kernel(self, rows: Any, labels: IntArray, shares: list[float | None]) -> None:
        """Train on a factor of the kernel matrix; planes become weights of kernels with rows."""
        matrix = kernel_matrix(
            self._kernel,
            rows,
            "TSVM",
            f"Take {setting('kernel', 'linear')}, on features that approximate a kernel if need "
            "be, such as those of sklearn.kernel_approximation.Nystroem.",
        )
        spread = kernel_spread(matrix)
        scale = power_of_two(spread) ** 2
        factor = kernel_factor(matrix / scale)
        found = self._train(factor, labels, shares, spread, scale)
        duals = np.array(
            [2.0 * one.costs * one.signs * one.plane.slacks(one.signs) / scale for one in found]
        )
        self.intercept_ = np.array([one.plane.bias for one in found])
        self.support_ = used_rows(duals)
        self.dual_coef_ = duals[:, self.support_]
        self._support_rows = None if self._kernel.is_precomputed else rows[self.support_]

    def _train(
        self,
        rows: Any,
        labels: IntArray,
        shares: list[float | None],
        spread: float,
        scale: float,
    ) -> list[Switching]:
        """Train the machines on rows that were divided by the root of ``scale``."""
        n_labeled = int(np.count_nonzero(labels >= 0))
        n_unlabeled = len(labels) - n_labeled
        self.C_ = self._cost(spread)
        if self.C_unlabeled != "auto":
            self.C_unlabeled_ = float(self.C_unlabeled)
        else:
            self.C_unlabeled_ = self.C_ * n_labeled / max(n_unlabeled, 1)
        solver = self.solver
        if solver == "auto":
            solver = "direct" if rows.shape[1] <= DIRECT_COLUMNS else "cg"
        found: list[Switching] = []
        with stage_progress(type(self).__name__, verbose=self.verbose) as progress:
            for positive, share in enumerate(shares, start=1 if len(shares) == 1 else 0):
                given = np.where(labels < 0, 0.0, np.where(labels == positive, 1.0, -1.0))
                found.append(
                    switch_labels(
                        rows,
                        given,
                        cost=self.C_ * scale,
                        cost_unlabeled=self.C_unlabeled_ * scale,
                        positive_share=None if share is None else float(share),
                        solver=solver,
                        tol=self.tol,
                        max_iter=self.max_iter,
                        n_init=self._n_searches(len(labels)),
                        step=lambda value: progress.step(value / scale),
                    )
                )
        self._set_fitted_attributes(found, labels, scale)
        return found

    def _n_searches(self, n_rows: int) -> int:
        if isinstance(self.n_init, str) and n_rows > MANY_ROWS:
            return 1
        return n_restarts(self)

    def _cost(self, spread: float) -> float:
        if self.C != "scale":
            return float(self.C)
        return 1.0 / spread if spread > 0 else 1.0

    def _shares(self, labels: IntArray) -> list[float | None]:
        """Share of positive rows for every machine: one for two classes, else one per class."""
        shares = self._given_shares(labels)
        n_classes = len(self.classes_)
        if shares is None:
            return [None] * (1 if n_classes == 2 else n_classes)
        return list(shares[1:] if n_classes == 2 else shares)

    def _set_fitted_attributes(
        self, found: list[Switching], labels: IntArray, scale: float
    ) -> None:
        free = labels < 0
        shares = np.array([one.share for one in found])
        self.class_shares_ = np.append(1.0 - shares, shares) if len(shares) == 1 else shares
        self.pseudo_labels_ = np.column_stack([one.signs[free] for one in found]).astype(np.int8)
        self.n_iter_ = max(len(one.history) for one in found)
        self.n_swaps_ = sum(sum(one.swaps) for one in found)
        # Machines that are done keep their objective while the others go on.
        padded = [
            one.history + [one.history[-1]] * (self.n_iter_ - len(one.history)) for one in found
        ]
        self.history_ = np.sum(padded, axis=0) / scale
        longest = max(found, key=lambda one: len(one.history))
        self.C_unlabeled_history_ = np.array(longest.cost_history) / scale
        self.objective_ = float(self.history_[-1])
        self.converged_ = all(one.converged for one in found)
        if not self.converged_:
            warn(
                f"TSVM stopped with pairs left to switch ({setting('max_iter', self.max_iter)}) or "
                f"a machine that is not trained to {setting('tol', self.tol)}: allow more "
                "trainings, scale the columns, or take a smaller C.",
                ConvergenceWarning,
            )

    def _decide(self, rows: Any) -> Array:
        if self._kernel.name == "linear":
            values = rows @ self.coef_.T + self.intercept_
        elif self._kernel.is_precomputed:
            part = rows[:, self.support_]
            part = part.toarray() if sparse.issparse(part) else part
            values = part @ self.dual_coef_.T + self.intercept_
        else:
            values = self._kernel(rows, self._support_rows) @ self.dual_coef_.T + self.intercept_
        return np.asarray(values[:, 0] if len(self.intercept_) == 1 else values)
