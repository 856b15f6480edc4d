"""How the objective fell from iteration to iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import by_step, final_step


class ConvergenceDisplay(Display, kind=Curves):
    """Objective by iteration, of one or several fits; lower is better.

    The end of a search that was stopped before it converged is open.

    Objectives of different methods, or of different data, are on scales of their own: compare the
    same method with other parameters, starts or knowledge.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.display import ConvergenceDisplay
    >>> X = load_iris().data
    >>> fits = {f"start {s}": KMeans(3, n_init=1, random_state=s).fit(X) for s in range(3)}
    >>> display = ConvergenceDisplay.from_estimator(fits)
    >>> display.ax_.get_ylabel()
    'objective (lower is better)'
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``history_`` of one or several fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, or list or dict of them
            What to draw; of a dict the keys are the names, otherwise the classes are.
        """
        models = {name: final_step(model)[0] for name, model in named(estimator).items()}
        picture = by_step(
            {name: _history(model) for name, model in models.items()},
            "objective (lower is better)",
            stopped={
                name: not getattr(model, "converged_", True) for name, model in models.items()
            },
        )
        return cls(picture).plot(ax)


def named(estimator: Any) -> dict[str, Any]:
    """One or several estimators by name; a name that occurs again gets a number."""
    if isinstance(estimator, Mapping):
        return {str(name): model for name, model in estimator.items()}
    if isinstance(estimator, Sequence) and not hasattr(estimator, "fit"):
        found: dict[str, Any] = {}
        for model in estimator:
            name = type(model).__name__
            number = sum(other.partition(" ")[0] == name for other in found)
            found[f"{name} {number + 1}" if number else name] = model
        return found
    return {type(estimator).__name__: estimator}


def _history(model: Any) -> Array:
    history = getattr(model, "history_", None)
    name = type(model).__name__
    if history is None:
        raise InvalidRequest(f"{name} keeps no history_ of its objective: nothing to draw.")
    if len(history) and not np.isscalar(history[0]):
        raise InvalidRequest(
            f"history_ of {name} does not hold the objective by iteration: nothing to draw."
        )
    values = np.asarray(history, dtype=np.float64)
    if not np.isfinite(values).any():
        raise InvalidRequest(f"{name} needed no iterations: its history_ is empty.")
    return values
