"""The rounds of SemiBoost for two classes, and the ensemble that they make.

A round (Mallapragada 2010, figure 3.3) computes the confidences ``p`` and ``q`` of the unlabeled
rows, trains a learner on the labeled rows and on rows with pseudo-labels ``sign(p - q)``, and adds
it with the step ``α`` that lowers the objective most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._progress import FitProgress
from sidelight._typing import Array, IntArray
from sidelight.semi_supervised.boosting._learners import Learner, predicted_codes, stacked
from sidelight.semi_supervised.boosting._objective import (
    LONGEST_STEP,
    Confidences,
    best_step,
    confidences,
    disagreement,
)
from sidelight.semi_supervised.boosting._similarity import SimilarityPairs

#: Why boosting ended.
ALL_ROUNDS = "n_estimators rounds are done"
NO_BETTER = "no learner agrees with the confidences better than chance"
TOO_LONG = "a step of this length raises the objective"
PERFECT = "a learner agrees with all confidences"
NO_LEAD = "no unlabeled row leans to either class"
NO_UNLABELED = "there are no unlabeled rows"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class BoostingSettings:
    """How rounds are run: parameters of the classifier, defaults resolved."""

    n_estimators: int
    sampling: str
    fraction: float
    n_retries: int
    step: float | None


@dataclass(frozen=True)
class BoostingProblem:
    """Training data of a machine.

    Attributes
    ----------
    labeled, unlabeled : array or CSR matrix
        Rows of the two classes, and all unlabeled rows.
    signs : ndarray of shape (n_labeled,)
        1 for rows of the positive class, -1 for the other.
    a, b : ndarray of shape (n_unlabeled,)
        Similarities to the labeled rows of the positive and of the negative class.
    joined : SimilarityPairs
        Similarities between unlabeled rows.
    C : float
        Weight of these.
    label_mass : float
        Weight of the loss of a labeled row; 0 where labels are not part of the objective.
    """

    labeled: Any
    unlabeled: Any
    signs: Array
    a: Array
    b: Array
    joined: SimilarityPairs
    C: float
    label_mass: float

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabeled rows."""
        return len(self.a)

    def confidences(self, H: Array) -> Confidences:
        """Confidences of the unlabeled rows, and of the labeled ones where their loss counts.

        The loss ``e^{-2yH}`` of a labeled row is that of a row which is similar to itself alone.
        """
        n = self.n_unlabeled
        if len(H) == n:
            return confidences(H, self.a, self.b, self.joined.products, self.C)
        own = self.label_mass * (self.signs > 0), self.label_mass * (self.signs < 0)

        def products(vectors: Array) -> Array:
            padded = np.zeros_like(vectors)
            padded[:, :n] = self.joined.products(np.ascontiguousarray(vectors[:, :n]))
            return padded

        a, b = np.concatenate([self.a, own[0]]), np.concatenate([self.b, own[1]])
        return confidences(H, a, b, products, self.C)

    def signs_of(self, learner: Learner, trained: Any) -> Array:
        """Signs that a learner gives to the rows of the objective."""
        codes = learner.predict(trained, self.unlabeled)
        if self.label_mass:
            codes = np.concatenate([codes, learner.predict(trained, self.labeled)])
        return 2.0 * codes - 1.0


@dataclass(frozen=True)
class Round:
    """A round of boosting.

    Attributes
    ----------
    trained : object
        The learner ``h``, trained on the codes 0 and 1.
    alpha : float
        Its step ``α``.
    error : float
        Share ``ε`` of the confidences against it.
    objective : float
        Objective after the step.
    mean_margin : float
        Mean of ``|H|`` over the unlabeled rows after the step.
    pseudo_labels : ndarray of int8, shape (n_unlabeled,)
        Signs of ``p - q`` before the step, 0 for ties.
    """

    trained: Any
    alpha: float
    error: float
    objective: float
    mean_margin: float
    pseudo_labels: Array


@dataclass(frozen=True)
class Machine:
    """An ensemble ``H(x) = Σ_t α_t h_t(x)`` for two classes.

    Attributes
    ----------
    pair : tuple of int
        Codes of the negative and of the positive class.
    estimators : list
        The learners ``h_t``, trained on the codes 0 and 1.
    alphas : ndarray of shape (n_estimators,)
        Their steps ``α_t``.
    errors : ndarray of shape (n_rounds,)
        Share of the confidences against each learner.
    history : ndarray of shape (n_rounds + 1,)
        Objective before the first round and after every one.
    mean_margins : ndarray of shape (n_rounds,)
        Mean of ``|H|`` over the unlabeled rows, after every round.
    pseudo_labels : ndarray of int8, shape (n_rounds, n_unlabeled)
        Signs of ``p - q`` in every round, 0 for ties.
    confidences : ndarray of float32, shape (n_unlabeled,)
        ``p - q`` at the end, divided by the largest of all confidences.
    scores : ndarray of shape (n_unlabeled,)
        ``H`` on the unlabeled rows.
    stop_reason : str
        Why boosting ended.
    """

    pair: tuple[int, int]
    estimators: list[Any]
    alphas: Array
    errors: Array
    history: Array
    mean_margins: Array
    pseudo_labels: Array
    confidences: Array
    scores: Array
    stop_reason: str

    def staged(self, rows: Any) -> Iterator[Array]:
        """Values of ``H`` after every round."""
        H = np.zeros(rows.shape[0])
        for alpha, trained in zip(self.alphas, self.estimators, strict=True):
            H = H + alpha * (2.0 * predicted_codes(trained, rows, 2) - 1.0)
            yield H

    def decide(self, rows: Any) -> Array:
        """Values of ``H``."""
        H = np.zeros(rows.shape[0])
        for after in self.staged(rows):
            H = after
        return H


class Boosting:
    """The rounds of one machine.

    Parameters
    ----------
    problem : BoostingProblem
        What it learns from.
    pair : tuple of int
        Codes of the negative and of the positive class.
    learner : Learner
        The base learner.
    settings : BoostingSettings
        How rounds are run.
    rng : RandomState
        Generator for the draws of rows.
    """

    def __init__(
        self,
        problem: BoostingProblem,
        pair: tuple[int, int],
        learner: Learner,
        settings: BoostingSettings,
        rng: np.random.RandomState,
    ) -> None:
        self.problem, self.pair, self.learner = problem, pair, learner
        self.settings, self.rng = settings, rng
        self.rounds: list[Round] = []
        self.stop_reason = ""
        n_labeled = len(problem.signs) if problem.label_mass else 0
        self.H = np.zeros(problem.n_unlabeled + n_labeled)
        self.now = problem.confidences(self.H)
        self.first_objective = self.now.objective

    def run(self, progress: FitProgress) -> None:
        """Run rounds until one of the reasons to stop is met."""
        while not self.stop_reason:
            self._advance()
            progress.step(self.now.objective)

    def _advance(self) -> None:
        """Add a learner, or return why boosting ends."""
        lead = self.now.lead
        if not lead.any():
            self.stop_reason = NO_BETTER if self.rounds else NO_LEAD if len(lead) else NO_UNLABELED
            return
        found = self._search(lead)
        if found is None:
            self.stop_reason = NO_BETTER
            return
        trained, h, error = found
        alpha = best_step(error) if self.settings.step is None else self.settings.step
        H = self.H + alpha * h
        after = self.problem.confidences(H)
        if not after.objective < self.now.objective:
            self.stop_reason = NO_BETTER if self.settings.step is None else TOO_LONG
            return
        n = self.problem.n_unlabeled
        margin = float(np.abs(H[:n] if n else H).mean())
        pseudo_labels = np.sign(lead[:n]).astype(np.int8)
        self.rounds.append(Round(trained, alpha, error, after.objective, margin, pseudo_labels))
        self.H, self.now = H, after
        if len(self.rounds) == self.settings.n_estimators:
            self.stop_reason = ALL_ROUNDS
        elif best_step(error) == LONGEST_STEP:
            self.stop_reason = PERFECT

    def _search(self, lead: Array) -> tuple[Any, Array, float] | None:
        """A learner that agrees with the confidences better than chance, its signs and error.

        An unlucky sample is no reason to stop: it is drawn again.
        """
        draws = 1 + self.settings.n_retries if self.settings.sampling == "weighted" else 1
        for _ in range(draws):
            chosen = training_set(self.problem, lead, self.settings, self.rng)
            trained = self.learner.fit(*chosen)
            h = self.problem.signs_of(self.learner, trained)
            error = disagreement(self.now, h)
            if error < 0.5:
                return trained, h, error
        return None

    def machine(self) -> Machine:
        """The ensemble; without a single round it is the learner of the labeled rows alone."""
        n = self.problem.n_unlabeled
        estimators = [one.trained for one in self.rounds]
        alphas = [one.alpha for one in self.rounds]
        scores: Array = self.H[:n]
        if not self.rounds:
            trained = self.learner.fit(self.problem.labeled, codes_of(self.problem.signs))
            estimators, alphas = [trained], [1.0]
            if n:
                scores = 2.0 * self.learner.predict(trained, self.problem.unlabeled) - 1.0
        labels = [one.pseudo_labels for one in self.rounds]
        return Machine(
            pair=self.pair,
            estimators=estimators,
            alphas=np.array(alphas),
            errors=np.array([one.error for one in self.rounds]),
            history=np.array([self.first_objective, *(one.objective for one in self.rounds)]),
            mean_margins=np.array([one.mean_margin for one in self.rounds]),
            pseudo_labels=np.stack(labels) if labels else np.zeros((0, n), np.int8),
            confidences=self.now.lead[:n].astype(np.float32),
            scores=scores,
            stop_reason=self.stop_reason or INTERRUPTED,
        )


def training_set(
    problem: BoostingProblem, lead: Array, settings: BoostingSettings, rng: np.random.RandomState
) -> tuple[Any, IntArray, Array | None]:
    """Rows, codes and weights that a learner is trained on: the labeled rows, and chosen ones.

    The chosen rows weigh as much as ``fraction`` of the unlabeled rows, a labeled row weighs 1.
    Where the loss of labeled rows counts they have the weight of their gradient instead.
    """
    n = problem.n_unlabeled
    weight = np.abs(lead)
    total = float(weight[:n].sum())
    mass = settings.fraction * n / total if total > 0 else 1.0 / weight[n:].mean()
    if settings.sampling == "weight":
        chosen = np.flatnonzero(weight[:n])
    else:
        number = max(1, round(settings.fraction * n)) if n else 0
        chosen = _choose(weight[:n], number, settings.sampling, rng)
    picked = problem.unlabeled if len(chosen) == n else problem.unlabeled[chosen]
    rows = stacked(problem.labeled, picked)
    codes = codes_of(np.concatenate([problem.signs, lead[:n][chosen]]))
    if settings.sampling != "weight":
        return rows, codes, None
    known = mass * weight[n:] if problem.label_mass else np.ones(len(problem.signs))
    return rows, codes, np.concatenate([known, mass * weight[:n][chosen]])


def _choose(weight: Array, number: int, sampling: str, rng: np.random.RandomState) -> IntArray:
    """Rows of the largest weights, or rows drawn without replacement in proportion to them."""
    able = np.flatnonzero(weight)
    if sampling == "top":
        order = np.argsort(-weight[able], kind="stable")
        return np.sort(able[order[:number]])
    # The smallest of waiting times with these rates (Efraimidis, Spirakis 2006).
    waiting = rng.exponential(size=len(able)) / weight[able]
    if number < len(able):
        able = able[np.argpartition(waiting, number)[:number]]
    return np.sort(able)


def codes_of(signs: Array) -> IntArray:
    """Codes 0 and 1 of negative and positive signs."""
    return (signs > 0).astype(np.int64)
