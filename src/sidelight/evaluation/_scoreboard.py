"""Scores of the candidates of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray
from sidelight.evaluation._constraints import Satisfaction, mean_of_known
from sidelight.exceptions import SidelightError

SAME_SCORE = 1e-12


class Scoreboard:
    """Scores of all candidates on all splits, and who is ahead.

    Parameters
    ----------
    candidates : list of dict
        Parameters of the candidates.
    n_splits : int
        Number of splits on which each is scored.
    balanced : bool
        Whether must-links and cannot-links count the same in all.
    classes : bool, default=False
        Whether the candidates are classifiers, which are scored by their accuracy.
    """

    def __init__(
        self,
        candidates: list[dict[str, Any]],
        n_splits: int,
        balanced: bool,
        *,
        classes: bool = False,
    ) -> None:
        self.candidates = candidates
        self.n_splits = n_splits
        self.balanced = balanced
        self.classes = classes
        self.errors: list[str | None] = [None] * len(candidates)
        self._first_error: SidelightError | None = None
        self._kept: list[list[Satisfaction]] = [[] for _ in candidates]
        self._n_clusters: list[list[int]] = [[] for _ in candidates]
        self._seconds: list[list[float]] = [[] for _ in candidates]
        self._accuracy: list[list[float]] = [[] for _ in candidates]

    def record(
        self,
        index: int,
        kept: Satisfaction,
        n_clusters: int,
        seconds: float,
        accuracy: float = np.nan,
    ) -> None:
        """Note how a candidate did on its next split."""
        self._kept[index].append(kept)
        self._accuracy[index].append(accuracy)
        self._n_clusters[index].append(n_clusters)
        self._seconds[index].append(seconds)

    def fail(self, index: int, error: SidelightError) -> None:
        """Note why a candidate is out of the race."""
        self.errors[index] = str(error)
        self._first_error = self._first_error or error

    def forget_unfinished(self, reason: str) -> None:
        """Drop candidates that have not been scored on all splits."""
        for index, kept in enumerate(self._kept):
            if self.errors[index] is None and len(kept) < self.n_splits:
                self.errors[index] = reason

    def split_scores(self) -> FloatArray:
        """Score of each candidate (row) on each split (column); NaN where there is none."""
        scores = np.full((len(self.candidates), self.n_splits), np.nan)
        for index, kept in enumerate(self._kept):
            for split, counts in enumerate(kept):
                accuracy = self._accuracy[index][split]
                scores[index, split] = accuracy if self.classes else counts.score(self.balanced)
        return scores

    def accuracies(self) -> FloatArray:
        """Mean share of held-out labels that each candidate finds."""
        return np.array([mean_of_known(*shares) for shares in self._accuracy])

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Mean shares of must-links and of cannot-links that each candidate respects."""
        must = [mean_of_known(*(kept.must_link_share for kept in all_)) for all_ in self._kept]
        cannot = [mean_of_known(*(kept.cannot_link_share for kept in all_)) for all_ in self._kept]
        return np.array(must), np.array(cannot)

    def scores(self) -> FloatArray:
        """Score of each candidate; NaN for those that are out of the race."""
        if self.classes:
            means = self.accuracies().tolist()
        elif self.balanced:
            means = [mean_of_known(*pair) for pair in zip(*self.shares(), strict=True)]
        else:
            means = [mean_of_known(*row) for row in self.split_scores()]
        out = [error is not None for error in self.errors]
        return np.where(out, np.nan, np.array(means, dtype=np.float64))

    def n_clusters(self) -> FloatArray:
        """Mean number of clusters that each candidate found."""
        return np.array([mean_of_known(*map(float, found)) for found in self._n_clusters])

    def best(self) -> int:
        """The candidate with the best score.

        Of several it is the one with the fewest clusters; of classifiers the one that keeps most of
        the held-out pairs.
        """
        scores = self.scores()
        if np.isnan(scores).all():
            if self._first_error is None:
                raise SidelightError(
                    "No candidate could be scored: what was held out says nothing on any pair of "
                    "rows, or the search was interrupted; give more constraints or fewer folds."
                )
            raise SidelightError(
                f"No candidate could be scored. The first failed: {self._first_error}"
            ) from self._first_error
        level = np.flatnonzero(scores >= np.nanmax(scores) - SAME_SCORE)
        if self.classes:
            kept = [mean_of_known(*pair) for pair in zip(*self.shares(), strict=True)]
            return int(level[np.argmax(np.nan_to_num(np.array(kept)[level]))])
        return int(level[np.argmin(self.n_clusters()[level])])

    def ties(self, best: int) -> list[int]:
        """All candidates within one standard error of the best."""
        scores = self.scores()
        spread = self._spread()[best] / np.sqrt(self.n_splits)
        return np.flatnonzero(scores >= scores[best] - max(SAME_SCORE, spread)).tolist()

    def _spread(self) -> FloatArray:
        return np.array([_deviation(row) for row in self.split_scores()])

    def table(self) -> dict[str, Any]:
        """All scores as columns, in the manner of scikit-learn's searches."""
        scores = self.scores()
        must, cannot = self.shares()
        table: dict[str, Any] = {
            "mean_fit_time": np.array([mean_of_known(*seconds) for seconds in self._seconds]),
            **_parameter_columns(self.candidates),
            "params": self.candidates,
        }
        for split, column in enumerate(self.split_scores().T):
            table[f"split{split}_test_score"] = column
        table |= {
            "mean_test_score": scores,
            "std_test_score": np.where(np.isnan(scores), np.nan, self._spread()),
            "rank_test_score": _ranks(scores),
        }
        if self.classes:
            table["mean_test_accuracy"] = self.accuracies()
        table |= {"mean_test_must_link": must, "mean_test_cannot_link": cannot}
        if not self.classes:
            table["mean_n_clusters"] = self.n_clusters()
        return table | {"error": np.array(self.errors, dtype=object)}


def _parameter_columns(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """One masked column per parameter: a candidate need not set all of them."""
    columns: dict[str, Any] = {}
    for name in sorted({name for params in candidates for name in params}):
        column = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for index, params in enumerate(candidates):
            if name in params:
                column[index] = params[name]
        columns[f"param_{name}"] = column
    return columns


def _ranks(scores: FloatArray) -> npt.NDArray[np.int64]:
    """1 for the best score; equal scores share a rank; those without a score share the last."""
    ahead = np.where(np.isnan(scores), -np.inf, scores)
    return 1 + np.sum(ahead[None, :] > ahead[:, None] + SAME_SCORE, axis=1).astype(np.int64)


def _deviation(row: FloatArray) -> float:
    """Standard deviation of the known scores; 0 if there are none."""
    known = row[~np.isnan(row)]
    return float(known.std()) if len(known) else 0.0
