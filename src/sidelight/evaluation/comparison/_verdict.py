"""Verdict of a comparison, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sidelight._words import counted, worded
from sidelight.evaluation.comparison._held_out import Estimate, HeldOut

if TYPE_CHECKING:
    from sidelight.evaluation.comparison._comparison import Candidate

#: Makes the advice on getting more statements, from their number and the number of clusters.
Ask = Callable[[int, "int | None"], str]

#: A difference is clear from this many standard errors on.
CLEAR = 2.0
#: Differences below it are of no use to anybody, however sure.
TINY = 0.005
#: More statements than this are not proposed: at ten seconds each they take a person nearly an
#: hour, and a difference that is not seen by then changes the result by little.
WORTH_ASKING = 300
#: Partitions whose agreement is at least this are nearly the same.
ALIKE = 0.95


def more_statements(difference: Estimate, n_statements: int) -> int | None:
    r"""Statements that are missing until a difference of this size is twice its standard error.

    With :math:`m` statements and a difference of :math:`d \pm \sigma`, errors fall like
    :math:`1/\sqrt m`, so that :math:`m (2 \sigma / d)^2` statements are needed in all.

    Examples
    --------
    >>> more_statements(Estimate(0.1, 0.1), 30)
    90
    >>> more_statements(Estimate(0.2, 0.1), 30), more_statements(Estimate(0.0, 0.1), 30)
    (0, None)
    """
    if not abs(difference.value) > TINY:
        return None
    needed = n_statements * (CLEAR * difference.error / abs(difference.value)) ** 2
    return max(0, math.ceil(needed - n_statements - 1e-9))


def how_clear(difference: Estimate) -> str:
    """Classify a difference: "noise", "unclear", or clear: "more" or "less"."""
    size = abs(difference.value)
    if math.isnan(size) or size <= difference.error or size <= TINY:
        return "noise"
    if size < CLEAR * difference.error:
        return "unclear"
    return "more" if difference.value > 0 else "less"


def ask_in_general(n_more: int, k: int | None) -> str:
    """Advice on how to get more statements, independent of the interface."""
    number = "" if k is None else f" -k {k}"
    return worded(
        f"sidelight.active.ActiveClusterer(..., budget={n_more}) asks for them.",
        f"`sidelight ask DATA{number} --constraints FILE --budget {n_more}` asks for them.",
    )


def _rounded(n: int) -> str:
    """Return a number of statements rounded to one digit: an extrapolation has no more."""
    step = 10 ** (len(str(n)) - 1)
    return f"{round(n / step) * step:,}"


class Verdict:
    """Sentences about the chosen candidate.

    Parameters
    ----------
    chosen, others : Candidate, list of Candidate
        The candidates that have all their scores.
    held_out : HeldOut
        Pairs behind the scores.
    alike : ndarray of shape (n_others,)
        Agreement of the chosen candidate with each of the others.
    """

    def __init__(
        self,
        chosen: Candidate,
        others: Sequence[Candidate],
        held_out: HeldOut,
        alike: Sequence[float],
    ) -> None:
        self.chosen = chosen
        self.others = list(others)
        self.held_out = held_out
        self.alike = list(alike)
        self.rival, self.ahead = self._find_rival()
        self.gain = Estimate(chosen.gain, chosen.gain_error)

    def _find_rival(self) -> tuple[Candidate | None, Estimate]:
        """The best of those whose clusters differ, and how far the chosen one is ahead of it."""
        different = [
            other
            for other, alike in zip(self.others, self.alike, strict=True)
            if alike < ALIKE and other.hits is not None
        ]
        if not different or self.chosen.hits is None or not len(self.held_out):
            return None, Estimate(np.nan, np.nan)
        rival = max(different, key=lambda other: other.score)
        return rival, self.held_out.difference(self.chosen.hits, rival.hits)

    def sentences(self, ask: Ask) -> list[str]:
        """All sentences of the verdict, the choice first."""
        if not len(self.held_out):
            return [*self._by_stability()]
        sentences = [
            self._choice(),
            *self._best_score(),
            *self._against_rival(),
            *self._knowledge(),
        ]
        return sentences + self._too_few(ask)

    def _by_stability(self) -> list[str]:
        chosen = self.chosen
        return [
            f"Chosen: {chosen.title}, the most stable: fits on parts of the rows agree by "
            f"{chosen.stability:.2f} (1 is the same, 0 chance).",
            "No statement could be held out, so nothing but stability decided, and it favors few "
            "clusters; a few dozen must-links and cannot-links tell more.",
        ]

    def _choice(self) -> str:
        chosen = self.chosen
        score = Estimate(chosen.score, chosen.error)
        return (
            f"Chosen: {chosen.title}. It keeps {score} of the statements that it was not told "
            f"(0.50 is chance), and fits on parts of the rows agree by {chosen.stability:.2f}."
        )

    def _best_score(self) -> list[str]:
        """Sentences on why the best score was not chosen, if so."""
        chosen = self.chosen
        top = max(self.others, key=lambda other: other.score, default=chosen)
        if not top.score > chosen.score + TINY:
            return []
        return [
            f"{top.title} keeps {top.score:.2f}, which is no more than one standard error better: "
            "of such candidates the one that agrees best with all is taken."
        ]

    def _against_rival(self) -> list[str]:
        if self.rival is None:
            if self.others:
                return ["All other candidates find nearly the same clusters."]
            return []
        name, ahead = self.rival.title, self.ahead
        clear = how_clear(ahead)
        if clear in ("more", "less"):
            side = "ahead of" if clear == "more" else "behind"
            return [f"It is {side} {name} by {abs(ahead.value):.2f} ± {ahead.error:.2f}."]
        if clear == "unclear":
            return [
                f"The difference to {name}, {ahead.value:+.2f} ± {ahead.error:.2f}, is smaller "
                "than two standard errors: it may be chance."
            ]
        return [
            f"The difference to {name}, {ahead.value:+.2f}, is smaller than its standard error, "
            f"{ahead.error:.2f}: the statements do not tell the two apart."
        ]

    def _knowledge(self) -> list[str]:
        chosen, gain = self.chosen, self.gain
        if chosen.plain is None:
            if chosen.learns:
                return []
            return [f"{chosen.name} uses nothing of what is known."]
        without = f"{chosen.plain} without the knowledge"
        difference = f"{gain.value:+.2f} ± {gain.error:.2f}"
        clear = how_clear(gain)
        if clear == "more":
            return [f"The knowledge helped: {difference} over {without}, on statements not used."]
        if clear == "less":
            return [
                f"The knowledge hurt: {difference} against {without}, on statements not used. "
                "Look for wrong statements, or leave it out."
            ]
        if clear == "unclear":
            word = "helped" if gain.value > 0 else "hurt"
            return [
                f"The knowledge may have {word}: {difference} against {without}, perhaps chance."
            ]
        return [f"No sign that the knowledge helped: {difference} against {without}."]

    def _too_few(self, ask: Ask) -> list[str]:
        """How many more statements would answer what is open."""
        n = self.held_out.n_statements
        open_ = []
        if self.rival is not None and how_clear(self.ahead) in ("noise", "unclear"):
            open_.append(("which of the two is better", more_statements(self.ahead, n)))
        if self.chosen.plain is not None and how_clear(self.gain) in ("noise", "unclear"):
            open_.append(("whether the knowledge helps", more_statements(self.gain, n)))
        known = [(question, more) for question, more in open_ if more is not None]
        if not known:
            return []
        question, more = min(known, key=lambda one: one[1])
        if more > WORTH_ASKING:
            return [
                f"To tell {question} would take about {_rounded(more)} more statements. More than "
                f"{WORTH_ASKING}, an hour of a person's time, are not worth asking for: a "
                "difference that is not seen by then hardly matters."
            ]
        have = counted(n, "statement")
        return [
            f"{have} are too few to tell {question}: if a difference of this size is real, about "
            f"{more:,} more would show it. {ask(more, self.chosen.n_clusters)}"
        ]
