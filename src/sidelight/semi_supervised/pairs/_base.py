"""Shared parts of the classifiers from labels and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Auto,
    Count,
    FinitePositive,
    NonNegative,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base.inner import CLASSIFIER_ATTRIBUTES, decided_codes, not_defined
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised._core._kernel import (
    KERNEL_PARAMETERS,
    Gamma,
    KernelClassifier,
    KernelName,
    check_precomputed,
    make_kernel,
)
from sidelight.semi_supervised.pairs._geometry import Geometry, is_linear
from sidelight.semi_supervised.pairs._suggest import Sequences, suggest
from sidelight.semi_supervised.pairs._terms import Terms, make_terms

#: ``λ`` by default, for kernels with a mean of 1 on the diagonal.
REGULARIZATION = 0.01


@estimator
class _PairwiseClassifier(KernelClassifier):
    """A classifier without bias in the space of a kernel, learned from labels and pairs.

    Subclasses define ``_fit_machines(geometry, λ, random_state)``, which returns the coefficients
    of the points, or of explicit features, for every machine: one that is positive for the second
    of two classes, or one for every class against the rest.
    """

    _common_parameters: ClassVar[Mapping[str, str]] = {
        **KERNEL_PARAMETERS,
        "alpha": 'Factor ``λ`` of ``‖f‖²``; "auto" is 0.01 times the mean of ``K(x, x)`` '
        "over the rows, so that their unit does not matter.",
        "n_components": "Number of rows, drawn at random, whose kernels make explicit features "
        "(Nyström's method), for more labels and pairs than the exact kernel can take; None for "
        "the exact one.",
        "reject": "Rows whose largest decision value (``|f|`` for two classes) is below this are "
        "of unknown class: ``predict`` returns -1, or None where classes are no numbers. 0 rejects "
        "what no class claims, where there are more than two; None rejects nothing.",
        "random_state": "Seed or generator for random choices; pass an int for reproducible "
        "results.",
    }
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "support_ : ndarray of int, shape (n_support,)": "Rows of the fit whose kernels make up "
        "``f``; not for linear kernels.",
        "dual_coef_ : ndarray of shape (n_machines, n_support)": "Their coefficients, for one "
        "machine (two classes) or one per class; not for linear kernels.",
        "coef_ : ndarray of shape (n_machines, n_features)": "Weights of the features, for linear "
        "kernels only.",
        "penalty_ : float": "``μ`` that was used.",
        "alpha_ : float": "``λ`` that was used.",
        **CLASSIFIER_ATTRIBUTES,
        "transduction_ : ndarray of shape (n_samples,)": "Class of every row of the fit: the known "
        "one of labeled rows, otherwise the predicted one, or unknown where it was rejected.",
    }
    #: Pairs are terms of the loss and do not pass labels on.
    _with_labels: ClassVar[tuple[str, ...]] = ()

    _: KW_ONLY
    penalty: FinitePositive | Auto = "auto"
    alpha: FinitePositive | Auto = "auto"
    kernel: KernelName = "rbf"
    gamma: Gamma = "scale"
    n_components: Count | None = None
    reject: NonNegative | None = None
    max_iter: Count = 1000
    tol: NonNegative = 1e-8
    random_state: Seed = None
    verbose: Verbosity = 0

    def _fit_machines(
        self, geometry: Geometry, scaled: float, random_state: np.random.RandomState
    ) -> FloatArray:
        not_defined(self, "_fit_machines")

    def _share_of_pairs(self) -> float:
        """Weight of all pairs together relative to all labels, where the penalty is "auto"."""
        not_defined(self, "_share_of_pairs")

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        kernel = make_kernel(self.kernel, self.gamma, rows)
        if kernel.is_precomputed:
            rows = self._check_kernel_matrix(rows)
        terms = make_terms(labels, known)
        random_state = check_random_state(self.random_state)
        landmarks = self._landmarks(rows.shape[0], is_linear(kernel), random_state)
        geometry = Geometry(kernel, rows, terms, landmarks)
        scaled = REGULARIZATION
        if self.alpha != "auto":
            scaled = float(self.alpha) / geometry.scale
        self.alpha_ = scaled * geometry.scale
        self.penalty_ = self._choose_penalty(terms)
        with one_thread_blas:  # one order of the sums for any number of threads
            coefs = self._fit_machines(geometry, scaled, random_state)
        self._expansion = geometry.expansion(coefs)
        self._set_coefficients()
        self._known: Constraints | None = known

    def _choose_penalty(self, terms: Terms) -> float:
        if self.penalty != "auto":
            return float(self.penalty)
        pairs = float(terms.same_weight.sum() + terms.apart_weight.sum())
        return min(1.0, self._share_of_pairs() * len(terms.labeled) / pairs) if pairs else 1.0

    def _landmarks(self, n: int, linear: bool, random_state: Any) -> IntArray | None:
        """Rows whose kernels make explicit features, if these are requested."""
        if self.n_components is None:
            return None
        if linear:
            raise SidelightError(
                f"{setting('n_components', self.n_components)} approximates a kernel, but the "
                "linear kernel is computed from the features themselves and needs none."
            )
        number = min(int(self.n_components), n)
        return np.sort(random_state.permutation(n)[:number]).astype(np.int64)

    def _check_kernel_matrix(self, rows: Any) -> Array:
        if sparse.issparse(rows):
            raise SidelightError("A precomputed kernel is taken as a dense matrix only.")
        return check_precomputed(rows)

    def _set_coefficients(self) -> None:
        expansion = self._expansion
        self._forget_coefficients()
        if expansion.support is None:
            self.coef_ = expansion.weights
        else:
            self.support_, self.dual_coef_ = expansion.support, expansion.weights

    def _machines(self) -> list[int]:
        """Class that every machine is positive for."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _set_search(self, histories: list[Any]) -> None:
        """Set the objective on its way; machines that ended earlier stay where they are."""
        longest = max(map(len, histories))
        padded = [np.pad(one, (0, longest - len(one)), mode="edge") for one in histories]
        self.history_ = np.sum(padded, axis=0)
        self.objective_ = float(self.history_[-1])

    def _warn_unless_converged(self, converged: bool, advice: str) -> None:
        if not converged:
            warn(
                f"{type(self).__name__} stopped after {self.n_iter_} steps "
                f"({setting('max_iter', self.max_iter)}) before the optimum. {advice}",
                ConvergenceWarning,
            )

    def _decide(self, rows: Any) -> Array:
        values = self._expansion.values(rows)
        return values[:, 0] if len(self.classes_) == 2 else values

    # ------------------------------------------------------------------ rows of unknown class

    def predict(self, X: Any) -> Array:
        """Return the class of every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Classes as they were given to ``fit``; -1, or None where classes are no numbers, for
            rows that ``reject`` leaves without one.
        """
        check_is_fitted(self)
        return self._named(self._codes(self._decide(self._check_rows(X, reset=False))))

    def _codes(self, values: Array) -> IntArray:
        """Codes of the classes that decision values choose, -1 where they are rejected."""
        codes = decided_codes(values)
        if self.reject is None:
            return codes
        largest = np.abs(values) if values.ndim == 1 else values.max(axis=1)
        return np.where(largest < self.reject, -1, codes)

    def _transduced(self, rows: Any) -> IntArray:
        return self._codes(self._decide(rows))

    def _set_transduction(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        codes = np.where(labels >= 0, labels, self._transduced(rows))
        self.transduction_ = self._named(codes)
        self.n_violations_ = known.violations(codes).n

    def _named(self, codes: IntArray) -> Array:
        """Classes of codes; the mark of unlabeled rows where the code is -1."""
        rejected = codes < 0
        if not rejected.any():
            return self.classes_[codes]
        if self.classes_.dtype.kind in "if":
            return np.where(rejected, self.classes_.dtype.type(-1), self.classes_[codes])
        named = self.classes_.astype(object)[codes]
        named[rejected] = -1 if self.classes_.dtype.kind == "u" else None
        return named

    # ------------------------------------------------------------------ pairs to ask about

    def suggest_pairs(
        self,
        X: Any,
        strategy: Literal["min", "max", "com"] = "min",
        n_pairs: int = 10,
        *,
        exclude: Any = None,
    ) -> tuple[IntArray, FloatArray]:
        """Return the pairs whose answer would help most, the most useful first.

        Rows that must-links and groups join are a sequence, all others are alone. The ambiguity of
        a sequence ``G`` of unknown class is ``max_{x in G} min_s log(1 + exp(-f_s(x)))``: that of
        its most doubtful row. Pairs whose answer follows from what is known are left out.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows of the fit, in the same order.
        strategy : {"min", "max", "com"}, default="min"
            Whom an ambiguous sequence is paired with: the nearest sequence of known class in the
            space of the kernel, the farthest one, or another ambiguous sequence, such that
            ``amb(G) + amb(H) - K(G, H)`` is largest.
        n_pairs : int, default=10
            Largest number of pairs; no more than one for every ambiguous sequence.
        exclude : array of shape (m, 2), default=None
            More pairs that are not wanted, such as questions that were left open.

        Returns
        -------
        pairs : ndarray of int64, shape (n, 2)
            Positions of a row of the ambiguous sequence and of one of its partner.
        scores : ndarray of float64, shape (n,)
            Ambiguity of the first; for "com" the sum that is largest.
        """
        check_is_fitted(self)
        if strategy not in ("min", "max", "com"):
            raise SidelightError(f'strategy must be "min", "max" or "com", got {strategy!r}.')
        rows = self._check_rows(X, reset=False)
        if self._known is None:  # a model file keeps what new rows need
            raise SidelightError(
                "A saved model does not keep what is known about the rows of its fit, so that it "
                "cannot tell which pairs to ask about: fit it again."
            )
        if rows.shape[0] != self._known.n_samples:
            raise SidelightError(
                f"suggest_pairs takes the {self._known.n_samples} rows of the fit, got "
                f"{rows.shape[0]}."
            )
        values = self._expansion.values(rows)
        if values.shape[1] == 1:
            values = np.hstack([-values, values])
        doubt = np.logaddexp(0.0, -values.max(axis=1))
        sequences = Sequences(self._known, doubt, exclude)
        return suggest(sequences, self._expansion.kernel, rows, strategy, int(n_pairs))
