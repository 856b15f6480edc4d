"""How the objective fell from iteration to iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._curves import draw_curves
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._progress import by_step
from sidelight.pictures._rows import final_step


@dataclass(eq=False, repr=False, kw_only=True)
class ConvergenceDisplay(Display):
    """Objective by iteration, of one or several fits; lower is better.

    Objectives of different methods, or of different data, are on scales of their own: compare the
    same method with other parameters, starts or knowledge.

    Parameters
    ----------
    histories : dict of str to ndarray
        Objective at every iteration, by name.
    converged : dict of str to bool
        Whether each search ended by itself; its last point is open where it did not.

    Attributes
    ----------
    lines_ : dict of str to Line2D
        The curves.

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

    histories: dict[str, Array]
    converged: dict[str, bool]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``history_`` of one or several fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, or list or dict of them
            What to draw; of a dict the keys are the names, otherwise the classes are.
        """
        check_matplotlib(cls.__name__)
        models = {name: final_step(model)[0] for name, model in named(estimator).items()}
        return cls(
            histories={name: _history(model) for name, model in models.items()},
            converged={
                name: bool(getattr(model, "converged_", True)) for name, model in models.items()
            },
        ).plot(ax)

    def _draw(self, inks: Inks) -> None:
        stopped = {name: not ended for name, ended in self.converged.items()}
        picture = by_step(self.histories, "objective (lower is better)", stopped=stopped)
        self.lines_ = draw_curves(self.ax_, picture, inks).plain_lines
        title = next(iter(self.histories)) if len(self.histories) == 1 else ""
        set_titles(self.ax_, picture.axis_titles, title, picture.note)


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
