"""Rows of known class, and what a classifier and its baselines make of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sidelight._typing import IntArray
from sidelight.evaluation.inner import accuracy_interval, chance_of_difference

#: From this probability of chance on, a difference is not taken for one.
CHANCE = 0.05
#: Baselines by name, with what sentences call them. Of equals the first counts.
BASELINES = {
    "plain": "plain logistic regression of the labels",
    "alone": "the labels alone",
}


@dataclass(frozen=True)
class Share:
    """Rows whose class was found, out of those whose class is known.

    Attributes
    ----------
    n_right : float
        How many were found, on average over repeated cross-validation.
    n_rows : int
        How many there are.
    factor : float, default=1.0
        Number of rows that count as one, since folds share their labels.
    n_compared : int, default=1
        Number of classifiers out of which this one was chosen by its accuracy.
    """

    n_right: float
    n_rows: int
    factor: float = 1.0
    n_compared: int = 1

    @property
    def value(self) -> float:
        """Accuracy."""
        return self.n_right / self.n_rows

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the accuracy."""
        return accuracy_interval(
            self.n_right, self.n_rows, factor=self.factor, n_compared=self.n_compared
        )

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.1%} ({low:.0%} to {high:.0%})"

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "accuracy": self.value,
            "interval": list(self.interval),
            "n_right": self.n_right,
            "n_rows": self.n_rows,
        }


@dataclass(frozen=True)
class Judged:
    """Classes that the classifier and its baselines give to the same rows.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Positions of the rows.
    known : ndarray of shape (m,)
        Codes of their classes.
    found : ndarray of shape (m,) or (n_repeats, m)
        Codes of the classes that the classifier finds, in every repetition of a cross-validation.
    baselines : dict of str to ndarray
        The same for the baselines out of :data:`BASELINES`.
    factor : float, default=1.0
        Number of rows that count as one: 1 for the rows that no fit was told of.
    n_compared : int, default=1
        Number of classifiers out of which this one was chosen on the same rows.
    """

    rows: IntArray
    known: IntArray
    found: IntArray
    baselines: dict[str, IntArray] = field(default_factory=dict)
    factor: float = 1.0
    n_compared: int = 1

    @property
    def accuracy(self) -> Share:
        """Accuracy of the classifier."""
        return self._share(self.found, self.n_compared)

    @property
    def accuracies(self) -> dict[str, Share]:
        """Accuracies of the baselines, by name."""
        return {
            # Only the plain one was not chosen by its accuracy.
            name: self._share(self.baselines[name], 1 if name == "plain" else self.n_compared)
            for name in BASELINES
            if name in self.baselines
        }

    def _share(self, codes: IntArray, n_compared: int) -> Share:
        n_right = float((codes == self.known).sum()) / (len(codes) if codes.ndim > 1 else 1)
        return Share(n_right, len(self.rows), self.factor, n_compared)

    @property
    def rival(self) -> str | None:
        """Name of the better baseline; None where there is none."""
        shares = self.accuracies
        return max(shares, key=lambda name: shares[name].n_right) if shares else None

    @property
    def n_better(self) -> float:
        """Rows that only the classifier finds, not its better baseline."""
        return 0.0 if self.rival is None else self._only(self.found, self.baselines[self.rival])

    @property
    def n_worse(self) -> float:
        """Rows that only its better baseline finds."""
        return 0.0 if self.rival is None else self._only(self.baselines[self.rival], self.found)

    def _only(self, one: IntArray, other: IntArray) -> float:
        found = (one == self.known) & (other != self.known)
        return float(found.sum()) / (len(one) if one.ndim > 1 else 1)

    @property
    def chance(self) -> float:
        """Probability that chance alone makes such a difference to the better baseline.

        To be behind the better of two counts twice: it was picked as the better on the same rows.
        """
        n_compared = self.n_compared
        if self.n_worse > self.n_better:
            n_compared = max(n_compared, len(self.baselines))
        return chance_of_difference(
            self.n_better, self.n_worse, factor=self.factor, n_compared=n_compared
        )

    @property
    def answer(self) -> str:
        """``"helped"`` where it is better than both baselines, ``"hurt"``, or ``"unclear"``."""
        if self.rival is None or self.chance >= CHANCE:
            return "unclear"
        return "helped" if self.n_better > self.n_worse else "hurt"

    @property
    def makes_no_difference(self) -> bool:
        """Whether the classifier and the better baseline find the very same rows."""
        return not self.n_better + self.n_worse

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        facts = self.accuracy.facts()
        for name, key in (("alone", "labels_alone"), ("plain", "plain")):
            if name in self.baselines:
                facts[key] = self.accuracies[name].facts()
        if self.rival is not None:
            facts |= {
                "compared_with": "labels_alone" if self.rival == "alone" else "plain",
                "n_better": self.n_better,
                "n_worse": self.n_worse,
                "chance": self.chance,
            }
        return facts
