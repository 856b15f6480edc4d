"""Low-density separation with its inductive form (Chapelle, Zien 2005; Mallapragada 2010)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Seed,
    Share,
    Verbosity,
    estimator,
)
from sidelight._progress import shown
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base.inner import decided_codes
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import distance_graph, join_parts
from sidelight.graphs.inner import MAX_ROWS
from sidelight.semi_supervised._core._base_learners import (
    LEARNER_PARAMETERS,
    BaseLearner,
    check_takes,
    make_learner,
)
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, ClassShares
from sidelight.semi_supervised.margin._low_density import (
    GradientTSVM,
    LowDensityFit,
    density_distances,
    descend_in_stages,
    gaussian_of,
    labeled_svm,
    spectral_features,
)
from sidelight.semi_supervised.margin._parts import warn_of_parts_without_labels
from sidelight.tags import own_tags


@estimator
class LowDensitySeparation(BalancedClassifier):
    """Low-density separation: a TSVM on distances that go around gaps, then any classifier.

    Edges of the graph of nearest neighbors have length ``e^{ρd} - 1``; with the shortest paths
    ``p`` over them, ``D = (1/ρ) log(1 + p)`` is short along dense parts and long across gaps. On
    features ``z`` of the kernel ``exp(-D²/2σ²)``, it minimizes

        ``½‖w‖² + C Σ_L max(0, 1 - y_i f(z_i))² + C* Σ_U exp(-3 f(z_j)²)``

    while ``C*`` grows, such that the mean of ``f`` on unlabeled rows is that of classes with the
    shares that are expected. These
    classes of the rows of the fit are ``transduction_``; new rows are classified by ``estimator``,
    trained on the rows as they are with these classes (ILDS). Read more in the
    :doc:`user guide </semi_supervised/margin>`.

    Parameters
    ----------
    estimator : {"stump", "tree", "forest", "logistic", "svm", "rbf-svm", "naive-bayes", \
"neighbors"} or BaseEstimator, default="svm"
        Classifier for new rows: any of scikit-learn's, or a name: "stump" (decision tree of depth
        1), "tree", "forest", "logistic" (regression), "svm" (linear), "rbf-svm", "naive-bayes"
        (Gaussian) or "neighbors" (the nearest one).
    rho : float >= 0, finite, default=2.0
        ``ρ``, per mean length of an edge: 0 gives ordinary path lengths, a large one the longest
        edge that cannot be avoided.
    n_neighbors : int >= 1, default=5
        Number of neighbors of a row in the graph.
    sigma : float > 0, finite or "auto", default="auto"
        Width ``σ`` of the kernel, in mean lengths of an edge. "auto" is the quantile
        ``1/n_classes`` of the distances ``D``.
    min_eigenvalue : float in [0, 1], default=0.1
        Features belong to eigenvalues of the centered kernel above this share of the largest.
    C : float > 0, finite, default=100.0
        Cost of the slack of a labeled row.
    C_unlabeled : float >= 0, finite or "auto", default="auto"
        Final cost ``C*`` of an unlabeled row near the boundary. "auto" lets all unlabeled rows
        together weigh as much as all labeled ones, ``C n_labeled / n_unlabeled``.
    class_shares : {"auto", "labels", "equal"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "labels" takes those of the labels, as published. "auto" takes those
        of the classes that an SVM of the labeled rows predicts, on the features ``z``.
    max_iter : int >= 1, default=500
        Largest number of steps of L-BFGS at one cost ``C*``.
    tol : float > 0, finite, default=1e-06
        Largest entry of the gradient at the end of a stage.
    random_state : int or RandomState or None, default=None
        Seed or generator for an ``estimator`` that has one; pass an int for reproducible results.

    Attributes
    ----------
    estimator_ : object
        The classifier for new rows.
    transduction_values_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``f`` of the rows of the fit.
    class_shares_ : ndarray of shape (n_classes,)
        The shares of the classes that were used.
    n_components_ : int
        Number of features of the kernel.
    sigma_ : float
        The width that was used.
    edge_length_ : float
        Mean length of an edge, the unit of distances.
    n_cut_off_ : int
        Number of unlabeled rows that the graph does not join to a labeled one.
    objective_ : float
        Objective at the end, added over the machines.
    history_ : ndarray of shape (n_stages,)
        Objective at the end of every stage, at the cost of that stage.
    n_iter_ : int
        Number of steps of all stages.
    converged_ : bool
        Whether the last stages ended before ``max_iter``.

    Notes
    -----
    More than two classes are separated by one machine for each against all others. With no
    unlabeled rows the classifier is ``estimator`` itself. It needs the distances between all rows:
    ``O(n² log n)`` time for the paths, ``O(n³)`` for the features up to 1,500 rows, and
    ``8 n²`` bytes several times over; more than 15,000 rows are refused.

    Parts of the graph that do not hang together are joined by the shortest links between them. It
    hurts on text, where nearest neighbors are often of other classes, and where the shares of the
    classes are wrong.

    References
    ----------
    Chapelle, Zien 2005, "Semi-supervised classification by low density separation"; Mallapragada
    2010, section 3.4 (ILDS).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from sidelight.semi_supervised import LowDensitySeparation
    >>> X, truth = make_circles(200, noise=0.04, factor=0.5, random_state=0)
    >>> y = np.full(200, -1)
    >>> for ring in (0, 1):
    ...     y[np.flatnonzero(truth == ring)[:2]] = ring
    >>> model = LowDensitySeparation("rbf-svm").fit(X, y)
    >>> bool(np.mean(model.transduction_ == truth) > 0.99)
    True
    """

    estimator: BaseLearner = "svm"
    _: KW_ONLY
    rho: FiniteNonNegative = 2.0
    n_neighbors: Count = 5
    sigma: FinitePositive | Auto = "auto"
    min_eigenvalue: Share = 0.1
    C: FinitePositive = 100.0
    C_unlabeled: FiniteNonNegative | Auto = "auto"
    class_shares: ClassShares = "auto"
    max_iter: Count = 500
    tol: FinitePositive = 1e-6
    random_state: Seed = None
    verbose: Verbosity = 0

    _common_parameters: ClassVar = LEARNER_PARAMETERS
    _own_tags = own_tags(
        summary="a boundary through gaps: distances along dense parts, then any classifier",
        source="Chapelle, Zien 2005; Mallapragada 2010, section 3.4",
        complexity="O(n² log n + n³) time, O(n²) memory",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        n = rows.shape[0]
        if n > MAX_ROWS:
            raise SidelightError(
                f"LowDensitySeparation needs the distances between all {n:,} rows, "
                f"{8e-9 * n * n:,.0f} GB; more than {MAX_ROWS:,} are refused. Fit it to a sample "
                "of the rows, which classifies all others, or take LapSVM or TSVM."
            )
        self.estimator_ = make_learner(self.estimator, self.random_state)
        check_takes(self.estimator_, rows)
        with one_thread_blas, shown(self.verbose):
            # One order of the sums for any number of threads.
            features = self._features(rows, labels, known)
            self._separate(features, labels)
        self.estimator_.fit(rows, self._codes)

    def _features(self, rows: Any, labels: IntArray, known: Constraints) -> Array:
        """Coordinates in which distances go around gaps."""
        graph = distance_graph(rows, n_neighbors=self.n_neighbors)
        self.n_cut_off_ = warn_of_parts_without_labels(
            graph,
            labels,
            known,
            "Their part was joined to the others by the shortest link, which says little about "
            "their class.",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)  # given above, where it matters
            graph, _ = join_parts(graph, rows)
        self.edge_length_ = float(graph.data.mean()) if graph.nnz else 0.0
        graph.data = graph.data / (self.edge_length_ or 1.0)
        distances = density_distances(graph, self.rho)
        self.sigma_ = self._width(distances)
        features = spectral_features(gaussian_of(distances, self.sigma_), self.min_eigenvalue)
        self.n_components_ = features.shape[1]
        return features

    def _width(self, distances: Array) -> float:
        if self.sigma != "auto":
            return float(self.sigma)
        apart = distances[np.triu_indices(len(distances), 1)]
        width = float(np.quantile(apart, 1.0 / len(self.classes_))) if len(apart) else 0.0
        if width > 0:
            return width
        positive = apart[apart > 0]
        return float(positive.min()) if len(positive) else 1.0

    def _separate(self, features: Array, labels: IntArray) -> None:
        """Train the machines, and give every row of the fit its class."""
        n_labeled = int(np.count_nonzero(labels >= 0))
        cost_unlabeled = self.C * n_labeled / max(len(labels) - n_labeled, 1)
        if self.C_unlabeled != "auto":
            cost_unlabeled = float(self.C_unlabeled)
        self.class_shares_ = self._shares(features, labels)
        found: list[LowDensityFit] = []
        for positive in [1] if len(self.classes_) == 2 else range(len(self.classes_)):
            signs = np.where(labels < 0, 0.0, np.where(labels == positive, 1.0, -1.0))
            share = self.class_shares_[positive]
            problem = GradientTSVM.balanced(features, signs, 2.0 * share - 1.0)
            found.append(
                descend_in_stages(
                    problem, self.C, cost_unlabeled, max_iter=self.max_iter, tol=self.tol
                )
            )
        values = np.column_stack([one.values for one in found])
        self.transduction_values_ = values[:, 0] if len(found) == 1 else values
        self._codes = np.where(labels >= 0, labels, decided_codes(self.transduction_values_))
        self.history_ = np.sum([one.history for one in found], axis=0)
        self.objective_ = float(self.history_[-1])
        self.n_iter_ = sum(one.n_iter for one in found)
        self.converged_ = all(one.converged for one in found)
        if not self.converged_:
            warn(
                f"LowDensitySeparation stopped a stage after {self.max_iter} steps "
                f"({setting('max_iter', self.max_iter)}) before its minimum.",
                ConvergenceWarning,
            )

    def _shares(self, features: Array, labels: IntArray) -> Array:
        """Shares of the classes: given, or those of a first prediction, a row added to each."""
        given, n_classes = self._given_shares(labels), len(self.classes_)
        if given is not None:
            return given
        free = np.flatnonzero(labels < 0)
        if not len(free):
            return np.bincount(labels, minlength=n_classes) / len(labels)
        values = np.column_stack(
            [
                labeled_svm(
                    features, np.where(labels < 0, 0.0, np.where(labels == one, 1.0, -1.0)), self.C
                )[free]
                for one in range(n_classes)
            ]
        )
        chosen = np.bincount(np.argmax(values, axis=1), minlength=n_classes) + 1
        return np.asarray(chosen / chosen.sum())

    def _transduced(self, rows: Any) -> IntArray:
        return self._codes

    def _decide(self, rows: Any) -> Array:
        return learner_values(self.estimator_, rows, len(self.classes_))


def learner_values(learner: Any, rows: Any, n_classes: int) -> Array:
    """Decision values of a fitted learner of codes: its own, from probabilities, or from classes.

    Returns
    -------
    values : ndarray of shape (n_rows,) or (n_rows, n_classes)
        One value for two classes, positive for the second.
    """
    if hasattr(learner, "decision_function"):
        values = np.asarray(learner.decision_function(rows), dtype=np.float64)
        return values.reshape(len(values)) if n_classes == 2 else values
    codes = np.asarray(learner.predict(rows), dtype=np.int64)
    share = np.eye(n_classes)[codes]
    if hasattr(learner, "predict_proba"):
        found = np.asarray(learner.predict_proba(rows), dtype=np.float64)
        # Naive Bayes has no probabilities for columns without any variance.
        known = np.isfinite(found).all(axis=1)
        share[known] = found[known]
    return share[:, 1] - share[:, 0] if n_classes == 2 else share
