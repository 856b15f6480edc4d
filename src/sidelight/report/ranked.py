"""Rankings of features in words: which scores are good, and which features have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import counted, format_number


def score_text(score: float, digits: int | None = None) -> str:
    """Write a score; features without one have none.

    Examples
    --------
    >>> score_text(0.25), score_text(float("nan")), score_text(float("inf"))
    ('0.25', 'none', 'infinite')
    """
    if np.isnan(score):
        return "none"
    return format_number(score, digits) if np.isfinite(score) else "infinite"


def ranking_sentence(estimator: Any) -> str:
    """Sentence on which scores of a fitted selector are the best, and which features have none.

    The scores of a forward search are gains, in the order in which the features came in: a later
    one may gain more.
    """
    scores = np.asarray(estimator.scores_, dtype=np.float64)[np.argsort(estimator.ranking_)]
    known = scores[~np.isnan(scores)]
    worth = known if estimator.larger_is_better_ else -known
    best = "largest" if estimator.larger_is_better_ else "smallest"
    if len(known) < 2 or np.all(known == known[0]):
        found = "No score is better than another." if len(known) else ""
    elif np.all(worth[1:] <= worth[:-1]):
        found = f"The {best} score is the best."
    else:
        found = f"The {best} gain is the best; features are in the order in which they came in."
    n_none = len(scores) - len(known)
    if n_none:
        have = "has" if n_none == 1 else "have"
        lacking = f"{counted(n_none, 'feature')} {have} no score: nothing varies where it looks."
        found = f"{found} {lacking}".strip()
    return found


def merits(estimator: Any, scores: FloatArray) -> FloatArray:
    """Lengths of the bars of features: the longer, the better; 0 without a score."""
    worth = scores if estimator.larger_is_better_ else -scores
    finite = np.isfinite(worth)
    found = np.where(np.isposinf(worth), np.inf, 0.0)
    if finite.any():
        least, most = float(worth[finite].min()), float(worth[finite].max())
        least = min(least, 0.0) if estimator.larger_is_better_ else least
        found[finite] = worth[finite] - least
        found[np.isinf(found)] = most - least
    elif np.isinf(found).any():
        found[np.isinf(found)] = 1.0
    return found
