"""SemiBoost: any classifier improved by unlabeled rows (Mallapragada 2010, chapter 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, softmax
from sklearn.utils import check_random_state

from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Interval,
    Seed,
    Verbosity,
    Whole,
    estimator,
)
from sidelight._progress import fit_progress
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.base.inner import decided_codes
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised._core._base_learners import LEARNER_PARAMETERS, BaseLearner
from sidelight.semi_supervised.boosting import _similarity as similarities
from sidelight.semi_supervised.boosting._learners import Learner, learner_scale
from sidelight.semi_supervised.boosting._machine import (
    INTERRUPTED,
    NO_BETTER,
    NO_LEAD,
    Boosting,
    BoostingProblem,
    BoostingSettings,
    Machine,
)
from sidelight.semi_supervised.boosting._one_vs_one import class_pairs, two_class_rows
from sidelight.semi_supervised.boosting._similarity import Similarities
from sidelight.semi_supervised.boosting._staged import StagedClassifier
from sidelight.tags import own_tags

Similarity: TypeAlias = (
    Literal["rbf", "knn", "linear", "precomputed"]
    | ArrayLike
    | sparse.csr_array
    | sparse.csr_matrix
    | Callable[..., Any]
)


@estimator
class SemiBoostClassifier(StagedClassifier):
    """Any classifier, improved by unlabeled rows and by how similar they are.

    Minimizes ``F(H) = Σ_{i∈L, j∈U} S_ij e^{-2 y_i H_j} + C Σ_{i,j∈U} S_ij cosh(H_i - H_j)`` over
    ensembles ``H(x) = Σ_t α_t h_t(x)`` of the learner: unlabeled rows get the signs of the labeled
    rows that they are similar to, and similar unlabeled rows get similar values. Every round trains
    the learner on the labeled rows and on unlabeled rows with pseudo-labels. More than two classes
    are separated by a machine for every pair of them. New rows need the learners alone, no
    similarities. Read more in the :doc:`user guide </semi_supervised/boosting>`.

    Parameters
    ----------
    n_estimators : int >= 1, default=20
        Largest number of rounds.
    unlabeled_weight : float >= 0, finite or "ratio", default="ratio"
        Weight of the similarities between unlabeled rows; "ratio" is the number of labeled rows
        over that of unlabeled ones, as in the thesis.
    similarity : {"rbf", "knn", "linear", "precomputed"} or array or csr_array or csr_matrix or \
callable, default="knn"
        ``S``: "rbf" is ``exp(-‖x - z‖²/σ²)`` between all rows, at most 20,000 unlabeled ones; "knn"
        the same between nearest neighbors only, for any number of rows; "linear" is ``x'z`` for
        values that are not negative, such as word counts, best normalized to length 1;
        "precomputed" takes ``X`` itself for the similarities, whose rows are then the features of
        the learner, and ``predict`` takes similarities to the rows of the fit. A matrix of shape
        (n_samples, n_samples) gives them beside the features, as does a function of two blocks of
        rows. Similarities must not be negative; where they are not symmetric, their mean over both
        directions is taken, with a warning.
    sigma : float > 0, finite or "auto", default="auto"
        Width ``σ`` of "rbf" and "knn"; "auto" takes it from ``percentile``.
    percentile : float in (0, 100], default=15.0
        Percentile of the distances between all rows that is ``σ``; from 2,000 evenly spaced rows
        where there are more.
    n_neighbors : int >= 1, default=10
        Number of neighbors of a row for "knn".
    sampling : {"auto", "weight", "weighted", "top"}, default="auto"
        How unlabeled rows are given to the learner: all of them with their weights ``|p - q|``
        ("weight"), a sample drawn in proportion to these ("weighted"), or those of the largest
        weights ("top"). "auto" is "weight" for learners that take weights, "weighted" for others.
    fraction : float in (0, 1], default=0.1
        Share of the unlabeled rows in a sample; for "weight" what all of them weigh together, in
        units of a labeled row for each.
    n_retries : int >= 0, default=3
        How often a sample is drawn again whose learner is no better than chance, before boosting
        ends.
    step : float > 0, finite or "exact", default="exact"
        Step ``α`` along a learner: "exact" makes the bound of the objective least, a number is the
        fixed step of functional gradient descent, which ends when a step raises the objective.
    labeled_loss : float >= 0, finite, default=0.0
        Weight of a loss ``e^{-2 y_i H_i}`` of labeled rows, which share it evenly, in units of the
        similarity between labeled and unlabeled rows. Above 0 a labeled row is trained on with the
        weight of its gradient, like any other, not with 1.

    Attributes
    ----------
    unlabeled_ : ndarray of int64, shape (n_unlabeled,)
        Positions of the unlabeled rows of the fit.
    machines_ : list of Machine
        The ensembles for two classes each, in the order of ``itertools.combinations``. What the
        following attributes say of two classes they say as lists, one entry per machine, of more.
    estimators_ : list
        The learners ``h_t``, trained on the codes 0 and 1.
    estimator_weights_ : ndarray of shape (n_rounds,) or list of ndarray
        Their steps ``α_t``.
    estimator_errors_ : ndarray of shape (n_rounds,) or list of ndarray
        Share ``ε_t`` of the confidences that speaks against a learner.
    mean_margins_ : ndarray of shape (n_rounds,) or list of ndarray
        Mean of ``|H|`` over the unlabeled rows after every round.
    pseudo_labels_history_ : ndarray of int8, shape (n_rounds, n_unlabeled) or list of ndarray
        Sign of ``p - q`` in every round, positive for ``classes_[1]``, 0 for ties: a byte per row,
        round and machine.
    confidences_ : ndarray of float32, shape (n_unlabeled,) or list of ndarray
        ``p - q`` after the last round, in units of the largest confidence. Those of earlier rounds
        are not kept.
    stop_reason_ : str or list of str
        Why boosting ended.
    sigma_ : float or None
        Width ``σ`` that was used, if there is one.
    objective_ : float
        Objective at the end, the sum over all machines; it was minimized.
    history_ : ndarray of shape (n_iter + 1,)
        Objective before the first round and after every one.
    n_iter_ : int
        Number of rounds, of the machine with the most.
    converged_ : bool
        Whether boosting ended by itself and was not interrupted.

    Notes
    -----
    With the confidences ``p_i = e^{-2H_i} Σ_{L+} S_ij + C/2 Σ_U S_ij e^{H_j - H_i}`` in the
    positive class and ``q_i`` in the negative one, ``F = Σ p_i + q_i`` and
    ``∂F/∂H_i = 2 (q_i - p_i)``. The pseudo-label of a row is the sign of ``p - q``, its weight
    ``|p - q|``, and ``α = 1/4 ln((1 - ε)/ε)``, which multiplies ``F`` by at most ``1/cosh 2α``.
    Only ratios of similarities count.

    A round takes ``O(k n)`` time for a neighbor graph, ``O(n²)`` for all similarities (4 bytes
    each) and ``O(n d)`` for "linear", which forms no matrix, beside a fit of the learner.

    It helps weak learners most: with 10 labels it improved stumps on all ten sets that it was tried
    on, trees on nine. A learner that is good with the labels alone may lose: a linear SVM did
    on six of eight. Where classes are not apart in the similarities pseudo-labels mislead it.
    Without unlabeled rows it is the learner itself (AdaBoost with ``labeled_loss``), and where no
    round lowers the objective the learner of the labeled rows is taken, with a warning.

    Probabilities are those at which the confidences are least, ``1/(1 + e^{-4H})``, and of several
    classes the normalized products over the machines. They are not calibrated: for two classes
    they are nearly as good as any power of them, for several that overlap too sharp.

    Rows with values beyond 2^60 or all below 2^-60 are given to learners divided by a power of two.

    References
    ----------
    P. K. Mallapragada, "Some contributions to semi-supervised learning", PhD thesis, Michigan
    State University, 2010, chapter 3. P. K. Mallapragada, R. Jin, A. K. Jain and Y. Liu,
    "SemiBoost: boosting for semi-supervised learning", IEEE Transactions on Pattern Analysis and
    Machine Intelligence 31(11), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sidelight.semi_supervised import SemiBoostClassifier
    >>> X, y = load_digits(n_class=5, return_X_y=True)
    >>> X, y = X[(y == 2) | (y == 4)], y[(y == 2) | (y == 4)]
    >>> known = [int(y[i]) if i < 10 else -1 for i in range(len(y))]
    >>> model = SemiBoostClassifier("stump", random_state=0).fit(X, known)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _common_parameters = LEARNER_PARAMETERS

    estimator: BaseLearner = "stump"
    _: KW_ONLY
    n_estimators: Count = 20
    unlabeled_weight: FiniteNonNegative | Literal["ratio"] = "ratio"
    similarity: Similarity = "knn"
    sigma: FinitePositive | Auto = "auto"
    percentile: Annotated[float, Interval(0, 100, open_low=True)] = 15.0
    n_neighbors: Count = 10
    sampling: Literal["auto", "weight", "weighted", "top"] = "auto"
    fraction: Annotated[float, Interval(0, 1, open_low=True)] = 0.1
    n_retries: Whole = 3
    step: FinitePositive | Literal["exact"] = "exact"
    labeled_loss: FiniteNonNegative = 0.0
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="any classifier, boosted with unlabeled rows that are similar to labeled ones",
        source="Mallapragada 2010, chapter 3; Mallapragada, Jin, Jain, Liu 2009",
        complexity="O(n²) per round dense, O(k n) with a neighbor graph, and a fit of the learner",
        sparse=True,
        monotone=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        self.unlabeled_ = np.flatnonzero(labels < 0)
        n_classes = len(self.classes_)
        self._scale = learner_scale(rows)
        found = self._similarities(rows, labels, n_classes, known)
        self.sigma_ = found.sigma
        rng = check_random_state(self.random_state)
        learner = Learner(self.estimator, 2, rng)
        learner.check_takes(rows)
        settings = self._settings(learner)
        scaled = rows * self._scale if self._scale != 1 else rows
        unlabeled = scaled[self.unlabeled_]
        boostings = []
        for pair in class_pairs(n_classes):
            members, signs = two_class_rows(labels, pair)
            labeled = members[signs != 0]
            problem = self._problem(
                scaled[labeled], unlabeled, signs[signs != 0], found.votes[:, list(pair)], found
            )
            boostings.append(Boosting(problem, pair, learner, settings, rng))
        name, total = type(self).__name__, self.n_estimators * len(boostings)
        with fit_progress(name, total, verbose=self.verbose) as progress:
            for boosting in boostings:
                boosting.run(progress)
        self._set_fitted_attributes([boosting.machine() for boosting in boostings])
        self._warn_of_no_use()

    def _settings(self, learner: Learner) -> BoostingSettings:
        """Resolve defaults that depend on the learner."""
        sampling = self.sampling
        if sampling == "auto":
            sampling = "weight" if learner.takes_weights else "weighted"
        if sampling == "weight" and not learner.takes_weights:
            raise SidelightError(
                f"sampling='weight' trains the learner on weighted rows, but {learner.name} takes "
                "no sample_weight: use sampling='weighted' or 'top', which choose rows, or "
                "another learner."
            )
        step = None if self.step == "exact" else float(self.step)
        return BoostingSettings(self.n_estimators, sampling, self.fraction, self.n_retries, step)

    def _problem(
        self, labeled: Any, unlabeled: Any, signs: Array, votes: Array, found: Similarities
    ) -> BoostingProblem:
        """Collect what the machine of two classes learns from."""
        n_labeled, n_unlabeled = len(signs), unlabeled.shape[0]
        weight = (
            n_labeled / max(n_unlabeled, 1)
            if self.unlabeled_weight == "ratio"
            else float(self.unlabeled_weight)
        )
        mass = float(votes.sum()) or 1.0
        return BoostingProblem(
            labeled=labeled,
            unlabeled=unlabeled,
            signs=signs,
            a=votes[:, 1],
            b=votes[:, 0],
            joined=found.joined,
            C=weight,
            label_mass=self.labeled_loss * mass / n_labeled,
        )

    def _similarities(
        self, rows: Any, labels: IntArray, n_classes: int, known: Constraints
    ) -> Similarities:
        """Similarities of the unlabeled rows; warns of rows connected to no labeled one."""
        found = self._compare(rows, labels, n_classes, known)
        direct = found.votes.sum(axis=1) > 0
        if direct.all():
            return found
        if not direct.any():
            raise SidelightError(
                "No unlabeled row is similar to a labeled row, so that labels say nothing about "
                "them: increase sigma (or percentile), n_neighbors, or the number of labeled rows."
            )
        reached = direct if self.unlabeled_weight == 0 else found.joined.reached_from(direct)
        if not reached.all():
            lost = self.unlabeled_[~reached]
            names = known.name_rows(lost[:3])
            warn(
                f"{counted(len(lost), 'unlabeled row')} of {len(reached):,} (such as "
                f"{', '.join(names)}) cannot be reached from a labeled row by similar rows: "
                "no learner is trained on them until the others give them different values, and "
                "they are classified like any new row. A larger sigma (or percentile) or more "
                "n_neighbors connects them.",
                ConstraintWarning,
            )
        return found

    def _compare(
        self, rows: Any, labels: IntArray, n_classes: int, known: Constraints
    ) -> Similarities:
        if not len(self.unlabeled_):
            nothing = similarities.DenseSimilarities(np.zeros((0, 0)))
            return Similarities(np.zeros((0, n_classes)), nothing)
        if not isinstance(self.similarity, str):
            matrix = self.similarity(rows, rows) if callable(self.similarity) else self.similarity
            return similarities.given(matrix, labels, n_classes, known.name_rows)
        if self.similarity == "precomputed":
            return similarities.given(rows, labels, n_classes, known.name_rows)
        if self.similarity == "linear":
            return similarities.linear(rows, labels, n_classes, known.name_rows)
        if self.sigma == "auto":
            width = similarities.width_of(rows, self.percentile)
        else:
            width = float(self.sigma)
        if self.similarity == "knn":
            return similarities.nearest(rows, labels, n_classes, width, self.n_neighbors)
        return similarities.gaussian(rows, labels, n_classes, width)

    def _set_fitted_attributes(self, machines: list[Machine]) -> None:
        self.machines_ = machines
        self.n_iter_ = max(len(machine.errors) for machine in machines)
        self.converged_ = all(machine.stop_reason != INTERRUPTED for machine in machines)
        ends = [np.pad(m.history, (0, self.n_iter_ + 1 - len(m.history)), "edge") for m in machines]
        self.history_ = np.sum(ends, axis=0)
        self.objective_ = float(self.history_[-1])
        self.estimators_ = self._of_machines("estimators")
        self.estimator_weights_ = self._of_machines("alphas")
        self.estimator_errors_ = self._of_machines("errors")
        self.mean_margins_ = self._of_machines("mean_margins")
        self.pseudo_labels_history_ = self._of_machines("pseudo_labels")
        self.confidences_ = self._of_machines("confidences")
        self.stop_reason_ = self._of_machines("stop_reason")

    def _of_machines(self, name: str) -> Any:
        """A fact of the only machine, or a list with that of every one."""
        facts = [getattr(machine, name) for machine in self.machines_]
        return facts[0] if len(facts) == 1 else facts

    def _warn_of_no_use(self) -> None:
        """Warn that unlabeled rows changed nothing, where no round improved the objective."""
        reasons = {m.stop_reason for m in self.machines_ if not len(m.errors)}
        if reasons & {NO_BETTER, NO_LEAD}:
            warn(
                f"SemiBoost found no use for the unlabeled rows ({', '.join(sorted(reasons))}): "
                "where that is so the learner of the labeled rows alone was taken. A smaller sigma "
                "(or percentile), or a smaller C, lets labels speak more clearly.",
                ConstraintWarning,
            )

    def _transduced(self, rows: Any) -> IntArray:
        codes = np.zeros(rows.shape[0], dtype=np.int64)
        if len(self.unlabeled_):
            values = np.column_stack([machine.scores for machine in self.machines_])
            codes[self.unlabeled_] = decided_codes(self._joint(values))
        return codes

    def _decide(self, rows: Any) -> Array:
        scaled = rows * self._scale if self._scale != 1 else rows
        return self._joint(np.column_stack([m.decide(scaled) for m in self.machines_]))

    def _joint(self, values: Array) -> Array:
        """Decision values from those of the machines, in the order of the pairs of classes.

        A machine says that a row is of its positive class with probability ``1/(1 + e^{-4H})``. The
        value of a class is the sum of the logarithms of what its machines say.
        """
        n_classes = len(self.classes_)
        if n_classes == 2:
            return values[:, 0]
        sums = np.zeros((len(values), n_classes))
        for place, (first, second) in enumerate(class_pairs(n_classes)):
            sums[:, first] += log_expit(-4 * values[:, place])
            sums[:, second] += log_expit(4 * values[:, place])
        return sums

    def _probabilities(self, rows: Any) -> Array:
        """``1/(1 + e^{-4H})`` for two classes, the normalized products over the machines for more.

        The confidences ``p e^{-2H} + q e^{2H}`` of a row are least at ``H = 1/4 ln(p/q)``.
        """
        values = self._decide(rows)
        if values.ndim == 1:
            return np.column_stack([expit(-4 * values), expit(4 * values)])
        return np.asarray(softmax(values, axis=1))

    def _staged(self, rows: Any) -> Iterator[Array]:
        scaled = rows * self._scale if self._scale != 1 else rows
        last = [np.zeros(rows.shape[0])] * len(self.machines_)
        for stage in zip_longest(*(machine.staged(scaled) for machine in self.machines_)):
            last = [old if new is None else new for old, new in zip(last, stage, strict=True)]
            yield self._joint(np.column_stack(last))
