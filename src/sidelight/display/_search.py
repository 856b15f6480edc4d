"""What a search tried and what it chose: scores over the number of clusters and the like."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight.display._convergence import named
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curve, Curves
from sidelight.pictures.inner import search

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


class SearchDisplay(Display, kind=Curves):
    """Score of everything that a search tried, with its choice marked.

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
        found = [_searched(name, model, x, y) for name, model in named(estimator).items()]
        curves, axis_titles, notes = zip(*found, strict=True)
        return cls(search(curves, axis_titles[0], notes[0])).plot(ax)


#: A curve, the titles of its axes, and what its error bars are.
_Searched: TypeAlias = tuple[Curve, tuple[str, str], str]


def _searched(name: str, model: Any, x: str | None, y: str | None) -> _Searched:
    check_is_fitted(model)
    if hasattr(model, "cv_results_"):
        return _cross_validated(name, model, x, y or "mean_test_score")
    tried = getattr(model, "search_", None)
    if not isinstance(tried, dict):
        raise InvalidRequest(
            f"{type(model).__name__} searched nothing: it has neither cv_results_ nor search_."
        )
    x, y = _column(tried, x, _ACROSS, "x"), _column(tried, y, _UP, "y")
    error = tried.get(y.replace("mean_", "std_")) if y.startswith("mean_") else None
    note = "bars: standard deviation" if error is not None else ""
    curve = _sorted(name, tried[x], tried[y], error, _chosen(model, tried, x))
    return curve, (_worded(x), _worded(y)), note


def _cross_validated(name: str, search: Any, x: str | None, y: str) -> _Searched:
    results, best = search.cv_results_, search.best_params_
    x = x or ("n_clusters" if "n_clusters" in best else next(iter(best)))
    if x not in best:
        raise InvalidRequest(f"{x!r} was not searched over; x is one of {sorted(best)}.")
    try:
        values = np.array([params[x] for params in results["params"]], np.float64)
    except (TypeError, ValueError):
        raise InvalidRequest(
            f"The values of {x!r} are not numbers, which an axis needs; pass another x."
        ) from None
    scores = np.asarray(results[y], np.float64)
    # Of other parameters the chosen values, or each place would have several scores.
    alike = [
        all(params.get(other) == value for other, value in best.items() if other != x)
        for params in results["params"]
    ]
    error = None
    if y == "mean_test_score":
        error = np.asarray(results["std_test_score"])[alike] / np.sqrt(max(search.n_splits_, 1))
    note = "bars: standard errors" if error is not None else ""
    curve = _sorted(name, values[alike], scores[alike], error, float(best[x]))
    return curve, (_worded(x), _worded(y)), note


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


def _sorted(name: str, x: Any, y: Any, error: Any, chosen: float | None) -> Curve:
    places, heights = np.asarray(x, np.float64), np.asarray(y, np.float64)
    order = np.argsort(places, kind="stable")
    errors = None if error is None else np.asarray(error, np.float64)[order]
    return Curve(name, places[order], heights[order], errors, chosen=chosen)


def _worded(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " "))
