"""ASSEMBLE.AdaBoost: boosting of margins and pseudo-margins (Bennett, Demiriz, Maclin 2002)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from sidelight._fit.moments import point_among, relative_to
from sidelight._fit.parameters import Count, Interval, Seed, Verbosity, estimator
from sidelight._progress import FitProgress, fit_progress
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.semi_supervised._core._base_learners import LEARNER_PARAMETERS, BaseLearner
from sidelight.semi_supervised._core._held_out import held_out_labels
from sidelight.semi_supervised.boosting._learners import Learner, learner_scale, predicted_codes
from sidelight.semi_supervised.boosting._staged import StagedClassifier
from sidelight.tags import own_tags

#: Errors are taken to be at least this, so that a learner without any has a finite weight.
MIN_ERROR = 1e-10

#: Factors of the shares of the votes that probabilities may have; the one without any evidence, and
#: the weight of that: the loss in units of a row's for a factor that is ``e`` times another one.
SHARPNESS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])
USUAL_SHARPNESS, PRIOR_WEIGHT = 3.0, 4.0


@estimator
class AssembleClassifier(StagedClassifier):
    """AdaBoost whose unlabeled rows have the classes that the ensemble itself gives them.

    Minimizes ``Σ_i D_i e^{-2(f_i,y_i - W/k)}`` over the learners ``h_t`` of the ensemble
    ``f_i,c = Σ_t w_t [h_t(x_i) = c]``, their weights ``w_t`` with the sum ``W``, and the classes
    ``y_i`` of unlabeled rows; ``k`` is the number of classes. For two classes that is
    ``Σ_L D_i e^{-y_i H_i} + Σ_U D_i e^{-|H_i|}``, so that unlabeled rows are pushed away from the
    boundary (Mallapragada 2010, sections 2.3.1 and 3.2). Read more in the
    :doc:`user guide </semi_supervised/boosting>`.

    Parameters
    ----------
    n_estimators : int >= 1, default=20
        Largest number of rounds.
    labeled_share : float in (0, 1), default=0.9
        Share of the weight of all rows that the labeled ones have at the start.

    Attributes
    ----------
    estimators_ : list
        The learners, trained on codes of classes.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Their weights ``w``.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weighted error of every learner, on labels and pseudo-labels.
    sharpness_ : float
        Factor ``s`` of probabilities, which are proportional to ``e^{s f_i,c / W}``.
    objective_ : float
        Value at the end, 1 before the first round; it was minimized.
    history_ : ndarray of shape (n_rounds + 1,)
        Value before the first round and after every one.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether boosting ended by itself and was not interrupted.

    Notes
    -----
    The first pseudo-label of a row is the class of the nearest labeled row. Every round trains a
    learner on all rows, weighted by ``D_i e^{-2 f_i,y_i}`` (or drawn with these probabilities,
    where the learner takes no weights), and gives it the weight
    ``w = 1/2 ln((k - 1)(1 - ε)/ε)``, which makes the objective least. It ends when the error ``ε``
    is not below ``(k - 1)/k``. Without unlabeled rows it is AdaBoost.

    The ensemble is its own teacher: pseudo-labels hardly change after the first round, and where
    the nearest labeled row is a poor guess nothing corrects it.
    :class:`~sidelight.semi_supervised.SemiBoostClassifier` asks similar rows instead.

    The ensemble agrees with itself more than with the truth, so that ``f`` itself says little about
    how often it is right. The factor of probabilities is the one with the least log loss on labels
    that were held out, each fifth of them once, near 3 where there are few.

    A round takes a fit of the learner to all rows, six times in all; memory is ``O(n)`` beside the
    rows.

    References
    ----------
    P. K. Mallapragada, "Some contributions to semi-supervised learning", PhD thesis, Michigan
    State University, 2010, sections 2.3.1 and 3.2. K. Bennett, A. Demiriz and R. Maclin,
    "Exploiting unlabeled data in ensemble methods", KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.semi_supervised import AssembleClassifier
    >>> X = np.array([[0.0], [0.3], [0.6], [0.9], [3.0], [3.3], [3.6], [3.9]])
    >>> y = ["low", None, None, None, None, None, None, "high"]
    >>> AssembleClassifier(random_state=0).fit(X, y).predict([[0.8], [3.1]]).tolist()
    ['low', 'high']
    """

    _common_parameters = LEARNER_PARAMETERS

    estimator: BaseLearner = "stump"
    _: KW_ONLY
    n_estimators: Count = 20
    labeled_share: Annotated[float, Interval(0, 1, open_low=True, open_high=True)] = 0.9
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="AdaBoost that gives unlabeled rows the classes of its own ensemble",
        source="Bennett, Demiriz, Maclin 2002; Mallapragada 2010, section 2.3.1",
        complexity="a fit of the learner to all n rows per round, O(n) memory",
        sparse=True,
        monotone=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        self._scale = learner_scale(rows)
        rng = check_random_state(self.random_state)
        learner = Learner(self.estimator, len(self.classes_), rng)
        learner.check_takes(rows)
        scaled = self._scaled(rows)
        boosting = _Assembling(scaled, labels, self.labeled_share, learner, rng)
        with fit_progress(type(self).__name__, self.n_estimators, verbose=self.verbose) as progress:
            boosting.run(self.n_estimators, progress)
            self.sharpness_ = self._sharpness(scaled, labels, learner, rng, progress)
        self.estimators_ = [one.trained for one in boosting.rounds]
        self.estimator_weights_ = np.array([one.weight for one in boosting.rounds])
        self.estimator_errors_ = np.array([one.error for one in boosting.rounds])
        self.history_ = np.array([1.0, *(one.objective for one in boosting.rounds)])
        self.objective_ = float(self.history_[-1])
        self.n_iter_ = len(boosting.rounds)
        self.converged_ = not progress.interrupted

    def _sharpness(
        self,
        rows: Any,
        labels: IntArray,
        learner: Learner,
        rng: np.random.RandomState,
        progress: FitProgress,
    ) -> float:
        """Factor of the shares of the votes at which they predict held-out labels best.

        The ensemble agrees with itself more than with the truth: its own margins say nothing about
        how often it is right. Labels that are held out do.
        """
        loss = PRIOR_WEIGHT * np.log(SHARPNESS / USUAL_SHARPNESS) ** 2
        for fewer, held_out in held_out_labels(labels):
            if progress.interrupted:
                break
            part = _Assembling(rows, fewer, self.labeled_share, learner, rng)
            part.run(self.n_estimators, None)
            shares = part.votes[held_out] / part.total
            for i, factor in enumerate(SHARPNESS):
                p = log_softmax(factor * shares, axis=1)
                loss[i] -= p[np.arange(len(held_out)), labels[held_out]].sum()
        return float(SHARPNESS[np.argmin(loss)])

    def _scaled(self, rows: Any) -> Any:
        return rows * self._scale if self._scale != 1 else rows

    def _staged(self, rows: Any) -> Iterator[Array]:
        for votes in self._staged_votes(rows):
            yield _decision(votes).copy()  # the votes go on to grow

    def _staged_votes(self, rows: Any) -> Iterator[Array]:
        """Votes of the learners for every class, after every round."""
        scaled, n_classes = self._scaled(rows), len(self.classes_)
        votes = np.zeros((rows.shape[0], n_classes))
        for weight, trained in zip(self.estimator_weights_, self.estimators_, strict=True):
            votes[np.arange(len(votes)), predicted_codes(trained, scaled, n_classes)] += weight
            yield votes

    def _votes(self, rows: Any) -> Array:
        votes = np.zeros((rows.shape[0], len(self.classes_)))
        for after in self._staged_votes(rows):
            votes = after
        return votes

    def _decide(self, rows: Any) -> Array:
        return _decision(self._votes(rows))

    def _probabilities(self, rows: Any) -> Array:
        """Proportional to ``e^{s f/W}``, as sharp as held-out labels ask for."""
        total = float(self.estimator_weights_.sum())
        return np.asarray(softmax(self.sharpness_ * self._votes(rows) / total, axis=1))


def _decision(votes: Array) -> Array:
    """Decision values from the votes for every class."""
    return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes


@dataclass(frozen=True)
class _BoostingRound:
    """A learner with its weight and error, and the objective that it led to."""

    trained: Any
    weight: float
    error: float
    objective: float


class _Assembling:
    """The rounds of ASSEMBLE."""

    def __init__(
        self,
        rows: Any,
        labels: IntArray,
        beta: float,
        learner: Learner,
        rng: np.random.RandomState,
    ) -> None:
        self.rows, self.learner, self.rng = rows, learner, rng
        self.unlabeled = labels < 0
        n_unlabeled = int(self.unlabeled.sum())
        n_labeled = len(labels) - n_unlabeled
        self.start = np.where(self.unlabeled, (1 - beta) / max(n_unlabeled, 1), beta / n_labeled)
        self.start /= self.start.sum()
        self.classes = _nearest_classes(rows, labels)
        self.n_classes = int(labels.max()) + 1
        self.chance = (self.n_classes - 1) / self.n_classes
        self.votes = np.zeros((len(labels), self.n_classes))
        self.total = 0.0
        self.rounds: list[_BoostingRound] = []

    def run(self, n_rounds: int, progress: FitProgress | None) -> None:
        """Add learners until one is no better than chance, or without an error."""
        for _ in range(n_rounds):
            log_weights = self._log_weights()
            weights = np.exp(log_weights - log_weights.max())
            weights /= weights.sum()
            trained = self._train(weights)
            predicted = self.learner.predict(trained, self.rows)
            error = float(weights[predicted != self.classes].sum())
            if error >= self.chance and self.rounds:
                break
            self._add(trained, predicted, error)
            if progress is not None:
                progress.step(self.rounds[-1].objective)
            if not MIN_ERROR < error < self.chance:
                break

    def _log_weights(self) -> Array:
        """Logarithms of the terms of the objective."""
        margins = self.votes[np.arange(len(self.votes)), self.classes] - self.total / self.n_classes
        return np.log(self.start) - 2 * margins

    def _train(self, weights: Array) -> Any:
        if self.learner.takes_weights:
            # Weights of 1 on average, as learners with a penalty expect.
            return self.learner.fit(self.rows, self.classes, weights * len(weights))
        drawn = self.rng.choice(len(weights), len(weights), p=weights)
        left_out = ~self.unlabeled & ~np.isin(self.classes, self.classes[drawn])
        drawn = np.concatenate([drawn, np.flatnonzero(left_out)])  # no class is missing
        return self.learner.fit(self.rows[drawn], self.classes[drawn])

    def _add(self, trained: Any, predicted: IntArray, error: float) -> None:
        """Add a learner; the first one may be no better than chance, and has the weight 1 then."""
        weight = 1.0
        if error < self.chance:
            odds = (1 - error) / max(error, MIN_ERROR)
            weight = math.log((self.n_classes - 1) * odds) / 2
        self.votes[np.arange(len(predicted)), predicted] += weight
        self.total += weight
        self.classes = np.where(self.unlabeled, self.votes.argmax(axis=1), self.classes)
        objective = float(np.exp(self._log_weights()).sum())
        self.rounds.append(_BoostingRound(trained, weight, error, objective))


def _nearest_classes(rows: Any, labels: IntArray) -> IntArray:
    """Known classes, and those of the nearest labeled row for all others."""
    labeled, unlabeled = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    classes = labels.copy()
    if len(unlabeled):
        near = relative_to(rows, point_among(as_rows(rows)))
        search = NearestNeighbors(n_neighbors=1).fit(near[labeled])
        places = search.kneighbors(near[unlabeled], return_distance=False)[:, 0]
        classes[unlabeled] = labels[labeled[places]]
    return classes
