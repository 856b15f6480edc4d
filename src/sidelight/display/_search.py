"""What a search tried and what it chose: scores over the number of clusters and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._convergence import named
from sidelight.display._draw._curves import draw_curves
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._scores import search

#: Columns that are drawn unless others are asked for, the first that there is.
_ACROSS = ("n_clusters", "n_components", "percentile", "penalty", "sigma", "bandwidth", "n_cells")
_UP = (
    "bic",
    "message_length",
    "mean_satisfaction",
    "n_violations_validation",
    "quality",
    "distortion",
    "objective",
)
_WORDS = {
    "n_clusters": "number of clusters",
    "n_components": "number of components",
    "mean_test_score": "held-out score",
    "bic": "BIC",
    "mean_satisfaction": "statements satisfied",
}


@dataclass(eq=False, repr=False, kw_only=True)
class SearchDisplay(Display):
    """Score of everything that a search tried, with its choice marked.

    Parameters
    ----------
    curves : dict of str to tuple of ndarray
        What was tried, its score, and half the length of the error bars or None, by name.
    chosen : dict of str to float
        What each search chose, where that is known.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    lines_ : dict of str to ErrorbarContainer
        The curves.
    chosen_ : dict of str to Line2D
        Rings around the choices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.display import SearchDisplay
    >>> from sidelight.evaluation import ConstraintSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 60, random_state=0)
    >>> search = ConstraintSearchCV(PCKMeans(), {"n_clusters": [2, 3, 4]}, random_state=0)
    >>> display = SearchDisplay.from_estimator(search.fit(X, constraints=known))
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('number of clusters', 'held-out score')
    """

    curves: Mapping[str, tuple[Any, ...]]
    chosen: dict[str, float] = field(default_factory=dict)
    axis_titles: tuple[str, str] = ("", "")
    title: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        x: str | None = None,
        y: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw ``cv_results_`` of a search, or ``search_`` of an estimator.

        Parameters
        ----------
        estimator : fitted search or estimator, or list or dict of them
            A :class:`~sidelight.evaluation.ConstraintSearchCV` or a search of scikit-learn, of
            which error bars are standard errors; or an estimator that tried several values itself
            and has ``search_``. Of a dict the keys are the names.
        x : str, default=None
            Parameter, or column of ``search_``, along the horizontal axis; by default the only
            one, or the number of clusters.
        y : str, default=None
            Column along the vertical axis; by default the score.
        """
        check_matplotlib(cls.__name__)
        tables = {name: _table(model, x, y) for name, model in named(estimator).items()}
        first = next(iter(tables.values()))
        return cls(
            curves={name: table.curve for name, table in tables.items()},
            chosen={
                name: table.chosen for name, table in tables.items() if table.chosen is not None
            },
            axis_titles=(_worded(first.x), _worded(first.y)),
            title=next(iter(tables)) if len(tables) == 1 else "",
            note=first.note,
        ).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = search(self.curves, self.chosen, self.axis_titles, self.note)
        drawn = draw_curves(self.ax_, picture, inks)
        self.lines_, self.chosen_ = drawn.lines, drawn.chosen
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)


@dataclass(frozen=True)
class _Table:
    """Columns of a search that are drawn."""

    x: str
    y: str
    curve: tuple[Array, Array, Array | None]
    chosen: float | None
    note: str = ""


def _table(model: Any, x: str | None, y: str | None) -> _Table:
    check_is_fitted(model)
    if hasattr(model, "cv_results_"):
        return _cross_validated(model, x, y or "mean_test_score")
    if not isinstance(getattr(model, "search_", None), dict):
        raise InvalidRequest(
            f"{type(model).__name__} searched nothing: it has neither cv_results_ nor search_."
        )
    search = model.search_
    x, y = _column(search, x, _ACROSS, "x"), _column(search, y, _UP, "y")
    error = search.get(y.replace("mean_", "std_")) if y.startswith("mean_") else None
    note = "bars: standard deviation" if error is not None else ""
    curve = _sorted(np.asarray(search[x], np.float64), search[y], error)
    return _Table(x, y, curve, _chosen(model, search, x), note)


def _cross_validated(search: Any, x: str | None, y: str) -> _Table:
    results, best = search.cv_results_, search.best_params_
    name = x or ("n_clusters" if "n_clusters" in best else next(iter(best)))
    if name not in best:
        raise InvalidRequest(f"{name!r} was not searched over; x is one of {sorted(best)}.")
    try:
        values = np.array([params[name] for params in results["params"]], np.float64)
    except (TypeError, ValueError):
        raise InvalidRequest(
            f"The values of {name!r} are not numbers, which an axis needs; pass another x."
        ) from None
    scores = np.asarray(results[y], np.float64)
    # Of other parameters the chosen values, or each place would have several scores.
    alike = [
        all(params.get(other) == value for other, value in best.items() if other != name)
        for params in results["params"]
    ]
    error = None
    if y == "mean_test_score":
        error = np.asarray(results["std_test_score"])[alike] / np.sqrt(max(search.n_splits_, 1))
    note = "bars: standard errors" if error is not None else ""
    return _Table(name, y, _sorted(values[alike], scores[alike], error), float(best[name]), note)


def _column(search: dict[str, Any], name: str | None, usual: tuple[str, ...], axis: str) -> str:
    columns = [column for column, values in search.items() if np.ndim(values) == 1]
    if name is None:
        name = next((column for column in usual if column in columns), None)
    if name is None or name not in columns:
        raise InvalidRequest(f"{axis} is one of the columns of search_: {', '.join(columns)}.")
    return name


def _chosen(model: Any, search: dict[str, Any], x: str) -> float | None:
    """What the search chose: the fitted value of the same name, or of one in the same place."""
    for name in _ACROSS:
        values = search.get(name)
        if values is None or np.ndim(values) != 1 or len(values) != len(search[x]):
            continue
        value = getattr(model, f"{name}_", None)
        if value is None and name == "n_components" and hasattr(model, "weights_"):
            value = len(model.weights_)
        if np.isscalar(value):
            found = np.flatnonzero(np.asarray(values) == value)
            if len(found) == 1:
                return float(search[x][found[0]])
    return None


def _sorted(x: Array, y: Any, error: Any) -> tuple[Array, Array, Array | None]:
    order = np.argsort(x, kind="stable")
    y = np.asarray(y, np.float64)[order]
    return x[order], y, None if error is None else np.asarray(error, np.float64)[order]


def _worded(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " "))
