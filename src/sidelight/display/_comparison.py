"""Candidates side by side: held-out scores with and without the knowledge, stability, time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.display._display import Display
from sidelight.evaluation import Comparison
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Bars
from sidelight.pictures.inner import candidate_scores

#: Columns of numbers that are drawn, out of those of ``Comparison.table()``.
NUMBERS = ("k", "n_clusters", "score", "error", "plain_score", "gain_error", "stability", "seconds")


class ComparisonDisplay(Display, kind=Bars):
    """Held-out score of every candidate with its standard error, the best on top.

    A filled point is a method with what is known, its bar the standard error of the score. An open
    one is the same method without the knowledge, its bar the standard error of the *difference*
    between the two: a filled point within one or two such bars may be there by chance. The chosen
    candidate has a ring. To the right stand the stability under resampling (1: the same clusters
    again and again) and the seconds of a fit. Where no statement was held out, stability takes the
    place of the score. Of more than 25 candidates the best are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.display import ComparisonDisplay
    >>> from sidelight.evaluation import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 40, random_state=0)
    >>> found = compare(X, "kmeans, pckmeans", constraints=known, n_clusters=[2, 3], n_jobs=1)
    >>> display = ComparisonDisplay.from_comparison(found)
    >>> len(display.picture)
    4
    """

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None) -> Self:
        """Draw what a comparison found.

        Parameters
        ----------
        comparison : Comparison or dict
            What :func:`sidelight.evaluation.compare` returns, or a table like its ``table()``.
        """
        chosen = 0 if isinstance(comparison, Comparison) else None  # the chosen one comes first
        return cls(candidate_scores(_columns(comparison), chosen)).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        return 8.4, 1.8 + 0.34 * len(self.picture)


def _columns(comparison: Any) -> dict[str, Array]:
    """Columns of the picture."""
    table = comparison.table() if isinstance(comparison, Comparison) else comparison
    if not isinstance(table, Mapping) or not {"name", "score"} <= set(table):
        raise InvalidRequest(
            "A comparison is what sidelight.evaluation.compare returns, or a dict of columns: name "
            f"and {', '.join(NUMBERS)}."
        )
    missing = np.full(len(table["name"]), np.nan)
    # None stands for a number of clusters that a method finds by itself.
    numbers = {column: np.array(table.get(column, missing), np.float64) for column in NUMBERS}
    return {"name": np.asarray(table["name"], dtype=object), **numbers}
