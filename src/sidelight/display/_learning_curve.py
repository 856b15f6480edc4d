"""How much every further statement brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.constraints.inner import plain
from sidelight.display._canvas import check_matplotlib
from sidelight.display._convergence import named
from sidelight.display._display import Display
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import learning


class LearningCurveDisplay(Display, kind=Curves):
    """Score over the number of statements, one curve per method, with standard errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.display import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LearningCurveDisplay.from_estimator(
    ...     PCKMeans(3, random_state=0), X, y, n_statements=(0, 40), n_draws=2, random_state=0
    ... )
    >>> display.picture.curves[0].x.tolist()
    [0.0, 40.0]
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_statements: Sequence[int] = (0, 15, 30, 60, 90),
        n_draws: int = 10,
        score: Callable[[Any, Any], float] = adjusted_rand_index,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Fit with ever more random pairs and score the rows that no pair mentions.

        Rows that a pair mentions are easy for a method that satisfies all pairs; the others tell
        what the method made of them.

        Parameters
        ----------
        estimator : clusterer, or list or dict of them
            What to compare; each is cloned and fitted ``n_draws`` times for every number. A
            ``random_state`` that is None becomes the number of the draw.
        X : array or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their classes, from which pairs are drawn.
        n_statements : sequence of int, default=(0, 15, 30, 60, 90)
            Numbers of pairs.
        n_draws : int >= 1, default=10
            Number of draws of each.
        score : callable, default=adjusted_rand_index
            Function of true classes and clusters.
        random_state : int, default=0
            Seed of the first draw.
        """
        check_matplotlib(cls.__name__)
        counts, classes = np.asarray(n_statements), plain(y)
        models = named(estimator)
        scores = {name: np.full((len(counts), n_draws), np.nan) for name in models}
        for row, number in enumerate(counts):
            for draw in range(n_draws):
                known = Constraints.sample(y, int(number), random_state=random_state + draw)
                free = np.setdiff1d(np.arange(len(classes)), known.mentioned)
                for name, model in models.items():
                    labels = _fit(model, X, known, random_state + draw)
                    scores[name][row, draw] = score(classes[free], labels[free])
        return cls(learning(counts, scores, ("random pairs", _worded(score)))).plot(ax)

    @classmethod
    def from_scores(
        cls,
        n_statements: Sequence[int],
        scores: Mapping[str, Any],
        *,
        axis_titles: tuple[str, str] = ("statements", "score"),
        ax: Any = None,
    ) -> Self:
        """Draw scores that were computed elsewhere.

        Parameters
        ----------
        n_statements : sequence of int, shape (m,)
            Numbers of statements.
        scores : dict of str to array of shape (m, n_draws)
            Scores by method, of every draw.
        axis_titles : tuple of str, default=("statements", "score")
            Titles of the axes.
        """
        counts = np.asarray(n_statements)
        tables = {str(name): np.asarray(table, np.float64) for name, table in scores.items()}
        for name, table in tables.items():
            if table.ndim != 2 or len(table) != len(counts):
                raise InvalidRequest(
                    f"scores of {name!r} have shape {table.shape}; give one row for each of the "
                    f"{len(counts)} numbers of statements, and a column for every draw."
                )
        return cls(learning(counts, tables, axis_titles)).plot(ax)


def _fit(model: Any, X: Any, known: Constraints, seed: int) -> Array:
    fresh = clone(model)
    if fresh.get_params().get("random_state", 0) is None:
        fresh.set_params(random_state=seed)
    fresh.fit(X, constraints=known)
    return np.asarray(fresh.labels_)


def _worded(score: Any) -> str:
    name = getattr(score, "__name__", "score").replace("_", " ").replace("rand", "Rand")
    return f"{name}, rows that no pair mentions"
