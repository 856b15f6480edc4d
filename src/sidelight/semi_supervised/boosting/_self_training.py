"""Self-training: a classifier that labels rows for itself (Yarowsky 1995; Mallapragada 2010)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Count, Seed, Share, Verbosity, estimator
from sidelight._progress import fit_progress
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import ProbabilisticClassifier
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised._core._base_learners import (
    LEARNER_PARAMETERS,
    BaseLearner,
    check_takes,
    make_learner,
)
from sidelight.semi_supervised.boosting._learners import learner_scale
from sidelight.tags import own_tags

#: Why self-training ended.
NO_CHANGE = "no unlabeled row is certain enough"
ALL_LABELED = "all rows are labeled"
ALL_ROUNDS = "max_iter rounds are done"
INTERRUPTED = "interrupted"


@estimator
class SelfTrainingClassifier(ProbabilisticClassifier):
    """Any classifier that takes its own most certain predictions for labels, round after round.

    A round trains the classifier on all labeled rows, predicts the unlabeled ones, and labels those
    with the largest probability ``max_c p_c(x)`` of a class: all above a threshold, or the ``k``
    best. It minimizes nothing, and has no other guide than itself. Labels that must-links, groups
    and cannot-links pass on count from the beginning. Read more in the
    :doc:`user guide </semi_supervised/boosting>`.

    Parameters
    ----------
    estimator : {"stump", "tree", "forest", "logistic", "svm", "rbf-svm", "naive-bayes", \
"neighbors"} or BaseEstimator, default="logistic"
        Classifier that is wrapped: any of scikit-learn's that gives probabilities, or a name.
    criterion : {"threshold", "k_best"}, default="threshold"
        Which rows a round labels, as in scikit-learn.
    threshold : float in [0, 1], default=0.75
        Of "threshold": probability above which a prediction becomes a label.
    k_best : int >= 1, default=10
        Of "k_best": number of rows that a round labels.
    max_iter : int >= 1 or None, default=10
        Largest number of rounds; by None they go on until no row is left or none certain enough.

    Attributes
    ----------
    estimator_ : object
        The classifier, trained on labels and pseudo-labels, on codes of classes.
    labeled_iter_ : ndarray of int, shape (n_samples,)
        Round in which every row got its label: 0 for those that were known, -1 for rows that got
        none.
    stop_reason_ : str
        Why self-training ended.
    n_iter_ : int
        Number of rounds; 1 where all rows are labeled.
    converged_ : bool
        Whether no row was left to label, or none certain enough.

    Notes
    -----
    A round takes a fit of the classifier, memory is ``O(n)`` beside the rows. Pseudo-labels are
    never taken back, so that early mistakes are learned: probabilities that are too certain, such
    as those of naive Bayes, make a threshold meaningless. Adding rows that the classifier was
    certain of leaves the boundary about where it was (Mallapragada 2010, section 3.2);
    :class:`~sidelight.semi_supervised.SemiBoostClassifier` asks similar rows instead. Without
    constraints it is scikit-learn's class of this name.

    References
    ----------
    Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods", ACL 1995; P. K.
    Mallapragada, "Some contributions to semi-supervised learning", PhD thesis, Michigan State
    University, 2010, sections 2.3.1 and 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.semi_supervised import SelfTrainingClassifier
    >>> X = np.array([[0.0], [0.3], [0.6], [0.9], [3.0], [3.3], [3.6], [3.9]])
    >>> y = ["low", None, None, None, None, None, None, "high"]
    >>> model = SelfTrainingClassifier("logistic", threshold=0.6).fit(X, y)
    >>> model.predict([[0.8], [3.1]]).tolist()
    ['low', 'high']
    """

    _common_parameters = LEARNER_PARAMETERS

    estimator: BaseLearner = "logistic"
    _: KW_ONLY
    criterion: Literal["threshold", "k_best"] = "threshold"
    threshold: Share = 0.75
    k_best: Count = 10
    max_iter: Count | None = 10
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="any classifier that takes its own most certain predictions for labels",
        source="Yarowsky 1995; Mallapragada 2010, sections 2.3.1 and 3.2",
        complexity="a fit of the learner per round, O(n) memory",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        self._scale = learner_scale(rows)
        # Every round trains with the same seed, as fitting one estimator again does.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        check_takes(self._made(seed), rows)
        scaled = self._scaled(rows)
        self._codes = labels.copy()
        self.labeled_iter_ = np.where(labels >= 0, 0, -1)
        self.n_iter_, self.stop_reason_ = 0, ""
        n_free = int(np.count_nonzero(labels < 0))
        most = n_free + 1 if self.max_iter is None else int(self.max_iter)
        with fit_progress(type(self).__name__, most, verbose=self.verbose) as progress:
            while not self.stop_reason_:
                self._run_round(scaled, seed)
                progress.step(float(np.count_nonzero(self._codes >= 0)))
        if progress.interrupted:
            self.stop_reason_ = self.stop_reason_ or INTERRUPTED
        self.n_iter_ = max(self.n_iter_, 1)
        self.converged_ = self.stop_reason_ in (ALL_LABELED, NO_CHANGE)
        self.estimator_ = self._trained(scaled, seed)
        self._warn_if_nothing_was_labeled(labels)

    def _run_round(self, rows: Any, seed: int) -> None:
        """Train, and label the rows that are certain enough, or set why there is no next round."""
        free = np.flatnonzero(self._codes < 0)
        if not len(free):
            self.stop_reason_ = ALL_LABELED
            return
        if self.n_iter_ == self.max_iter:
            self.stop_reason_ = ALL_ROUNDS
            return
        self.n_iter_ += 1
        p = self._chances(self._trained(rows, seed), rows[free])
        certainty = p.max(axis=1)
        if self.criterion == "threshold":
            chosen = np.flatnonzero(certainty > self.threshold)
        else:
            chosen = np.argsort(-certainty, kind="stable")[: self.k_best]
        self._codes[free[chosen]] = p[chosen].argmax(axis=1)
        self.labeled_iter_[free[chosen]] = self.n_iter_
        if not len(chosen):
            self.stop_reason_ = NO_CHANGE

    def _made(self, seed: int) -> Any:
        learner = make_learner(self.estimator, seed)
        if not hasattr(learner, "predict_proba"):
            raise SidelightError(
                f"Self-training asks how certain predictions are, but {type(learner).__name__} has "
                "no predict_proba: wrap it in sklearn.calibration.CalibratedClassifierCV, or take "
                f"another one, such as {setting('estimator', 'logistic')}."
            )
        return learner

    def _trained(self, rows: Any, seed: int) -> Any:
        labeled = np.flatnonzero(self._codes >= 0)
        return self._made(seed).fit(rows[labeled], self._codes[labeled])

    def _chances(self, learner: Any, rows: Any) -> Array:
        """Probabilities of the classes; certain predictions where the learner has none."""
        if not rows.shape[0]:
            return np.zeros((0, len(self.classes_)))
        p = np.array(learner.predict_proba(rows), dtype=np.float64)
        # Naive Bayes has no probabilities for columns without any variance.
        lost = np.flatnonzero(~np.isfinite(p).all(axis=1))
        if len(lost):
            p[lost] = np.eye(p.shape[1])[np.asarray(learner.predict(rows[lost]), dtype=np.int64)]
        return p

    def _warn_if_nothing_was_labeled(self, labels: IntArray) -> None:
        n_unlabeled = int(np.count_nonzero(labels < 0))
        if n_unlabeled and not np.any(self.labeled_iter_ > 0) and self.stop_reason_ == NO_CHANGE:
            warn(
                f"No prediction for {counted(n_unlabeled, 'unlabeled row')} is more certain than "
                f"{setting('threshold', self.threshold)}: the result is the learner of the labeled "
                "rows alone. Take a lower threshold, or "
                f"{setting('criterion', 'k_best')}.",
                ConstraintWarning,
            )

    def _scaled(self, rows: Any) -> Any:
        return rows * self._scale if self._scale != 1 else rows

    def _transduced(self, rows: Any) -> IntArray:
        return np.where(self._codes >= 0, self._codes, super()._transduced(rows))

    def _decide(self, rows: Any) -> Array:
        p = self._probabilities(rows)
        return p[:, 1] - p[:, 0] if p.shape[1] == 2 else p

    def _probabilities(self, rows: Any) -> Array:
        return self._chances(self.estimator_, self._scaled(rows))
