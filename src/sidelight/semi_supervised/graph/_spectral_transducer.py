"""Spectral graph transducer (Joachims 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Count, FinitePositive, Seed, estimator
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs import smooth_eigenvectors
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, ClassShares
from sidelight.semi_supervised.graph._base import _GraphClassifier
from sidelight.semi_supervised.graph._secular import minimize_on_sphere
from sidelight.semi_supervised.graph._shares import harmonic_shares
from sidelight.tags import own_tags

#: Eigenvalues that differ by less than this share of the largest are equal.
SAME_EIGENVALUE = 1e-6


@estimator
class SpectralGraphTransducer(BalancedClassifier, _GraphClassifier):
    """Smoothest balanced cut of a graph that agrees with the labels.

    Minimizes ``z'Lz + c (z - γ)'C(z - γ)`` over ``z`` in the space of the smoothest eigenvectors of
    the normalized Laplacian, subject to ``z'1 = 0`` and ``z'z = n``. Labeled rows have
    ``γ = sqrt(n₋/n₊)`` if they are of the class and ``-sqrt(n₊/n₋)`` if not, with the shares of the
    classes among all rows, and ``C`` weighs both sides the same. A row is of the class where
    ``z`` is above the middle of the two values; of several classes, each against all others, where
    ``z`` has come farthest from the one to the other. New rows take the weighted average of
    ``z`` over the nearest rows of the fit. Read more in the
    :doc:`user guide </semi_supervised/graph>`.

    Parameters
    ----------
    n_components : int >= 1, default=80
        Number of eigenvectors; all but one where there are fewer rows.
    penalty : float > 0, finite, default=1.0
        Weight ``c`` of the labels.
    spectrum : {"laplacian", "squares"}, default="laplacian"
        ``L`` in the space of the eigenvectors: their eigenvalues, or, as published, the squares 1,
        4, 9, ... of their ranks, for which ``penalty=3200`` was published; equal eigenvalues have
        equal ranks.
    class_shares : {"auto", "labels", "equal"} or array, default="auto"
        Shares of the classes; an array holds one for every class, in the order of ``classes_``.
        "labels" takes those of the labels, which is right where these were drawn at random and are
        many. "auto" takes those of the classes that
        :class:`~sidelight.semi_supervised.HarmonicClassifier` predicts on the same graph. Give the
        shares where you know them: wrong ones cost accuracy.
    random_state : int or RandomState or None, default=None
        Seed or generator for the start of the search for eigenvectors; pass an int for
        reproducible results.

    Attributes
    ----------
    transduction_values_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``z`` of every row of the fit, on the line where ``γ`` is 1 for the class and -1 for others;
        for two classes that of ``classes_[1]``.
    class_shares_ : ndarray of shape (n_classes,)
        The shares of the classes that were used.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of ``L`` on the vectors orthogonal to 1, ascending; not their ranks.
    objective_ : float
        Value of the objective; summed over the classes where there are more than two.

    Notes
    -----
    The problem is solved exactly: an eigenvalue problem of ``n_components`` dimensions and the root
    of a secular equation. Time goes into the eigenvectors, ``O(n (k + d²))`` per iteration of
    Lanczos for ``d`` components, and memory is ``O(n (k + d))``. Shares that are far
    from those of the classes hurt.

    References
    ----------
    Joachims, "Transductive learning via spectral graph partitioning", ICML 2003; Mallapragada,
    thesis, 2010, section 2.3.1.

    Examples
    --------
    >>> from sidelight.semi_supervised import SpectralGraphTransducer
    >>> X = [[0.0], [1.0], [2.1], [4.6], [5.7]]
    >>> model = SpectralGraphTransducer(2, random_state=0).fit(X, [0, -1, -1, -1, 1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1])
    """

    _: KW_ONLY
    n_components: Count = 80
    penalty: FinitePositive = 1.0
    spectrum: Literal["laplacian", "squares"] = "laplacian"
    class_shares: ClassShares = "auto"
    random_state: Seed = None

    _own_tags = own_tags(
        summary="smoothest balanced cut of a graph of neighbors that agrees with the labels",
        source="Joachims 2003; Mallapragada 2010, section 2.3.1",
        complexity="O(n (k + d²)) per Lanczos iteration for d components, O(n (k + d)) memory",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        super()._learn(rows, labels, known)
        self.transduction_values_ = self._values

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        rng = check_random_state(self.random_state)
        n_vectors = min(self.n_components + 1, len(labels))
        eigenvalues, vectors = smooth_eigenvectors(W, n_vectors, random_state=rng)
        with one_thread_blas:  # one order of the sums for any number of threads
            self.eigenvalues_, vectors = balanced_vectors(eigenvalues, vectors)
            energies = self.eigenvalues_
            if self.spectrum == "squares":
                energies = squared_ranks(self.eigenvalues_)
            n_classes = len(self.classes_)
            codes = [1] if n_classes == 2 else list(range(n_classes))
            shares = self._given_shares(labels)
            if shares is None:
                shares = harmonic_shares(W, labels, n_classes)
            self.class_shares_ = shares
            found = [
                transduce(vectors, energies, labels, code, shares[code], self.penalty)
                for code in codes
            ]
        self.objective_ = float(sum(value for _, value in found))
        columns = [z for z, _ in found]
        return columns[0] if n_classes == 2 else np.column_stack(columns)

    def _decision(self, values: Array) -> Array:
        return values


def balanced_vectors(eigenvalues: Array, vectors: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors on the part of their space that is orthogonal to 1."""
    ones = vectors.sum(axis=0)
    turn = np.linalg.qr(ones[:, None], mode="complete")[0][:, 1:]
    values, within = np.linalg.eigh(turn.T @ (eigenvalues[:, None] * turn))
    return np.clip(values, 0.0, None), vectors @ (turn @ within)


def squared_ranks(eigenvalues: Array) -> Array:
    """1, 4, 9, ...; eigenvalues that are equal, but for rounding, share the first of their ranks.

    Every further part of a graph that is not connected has the eigenvalue 0.
    """
    new = np.diff(eigenvalues, prepend=-1.0) > SAME_EIGENVALUE * max(eigenvalues[-1], 1e-300)
    first = np.maximum.accumulate(np.where(new, np.arange(1.0, len(eigenvalues) + 1), 0.0))
    return np.asarray(first**2)


def transduce(
    vectors: Array,
    energies: Array,
    labels: IntArray,
    code: int,
    class_share: float,
    penalty: float,
) -> tuple[Array, float]:
    """One class against all others.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        Orthonormal, orthogonal to 1.
    energies : ndarray of shape (d,)
        ``L`` in their space, which is diagonal there.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    code : int
        The class.
    class_share : float
        Its share among all rows.
    penalty : float
        ``c``.

    Returns
    -------
    z : ndarray of shape (n,)
        Between about -1 (others) and 1 (the class).
    objective : float
        Value of the objective.
    """
    labeled = np.flatnonzero(labels >= 0)
    positive = labels[labeled] == code
    share = float(positive.mean())
    upper, lower = (
        np.sqrt((1 - class_share) / class_share),
        -np.sqrt(class_share / (1 - class_share)),
    )
    gamma = np.where(positive, upper, lower)
    weights = penalty * np.where(positive, 0.5 / share, 0.5 / (1 - share))
    at_labels = vectors[labeled]
    G = np.diag(energies) + at_labels.T @ (weights[:, None] * at_labels)
    b = at_labels.T @ (weights * gamma)
    w = minimize_on_sphere(G, b, float(len(vectors)))
    objective = float(w @ G @ w - 2 * b @ w + np.sum(weights * gamma**2))
    return (vectors @ w - (upper + lower) / 2) / ((upper - lower) / 2), objective
