"""What boosting did round by round: margins, step sizes, errors, the objective."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Self

from sidelight._typing import FloatArray
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._convergence import named
from sidelight.display._draw._curves import draw_curves
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._progress import by_step
from sidelight.pictures._rows import final_step
from sidelight.pictures.classes._decisions import class_names
from sidelight.pictures.classes._rounds import curves_of, mean_by_round

#: What can be drawn: attribute of the estimator, and title of the axis.
STAGES = {
    "margins": ("mean_margins_", "mean margin"),
    "steps": ("estimator_weights_", "step size"),
    "errors": ("estimator_errors_", "weighted error of the learner"),
    "objective": ("history_", "objective (lower is better)"),
}


@dataclass(eq=False, repr=False, kw_only=True)
class StagesDisplay(Display):
    """Margins, step sizes, errors or objective by round of a boosted classifier.

    A classifier of more than two classes has a curve for every pair of them; where several
    classifiers are compared, each has the mean of its curves.

    Parameters
    ----------
    curves : dict of str to ndarray
        A number for every round, by name.
    first : dict of str to int
        Number of the first round of each curve: 0 where it begins before boosting.
    axis_title : str
        What the numbers are.

    Attributes
    ----------
    lines_ : dict of str to Line2D
        The curves.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import StagesDisplay
    >>> from sidelight.semi_supervised import SemiBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:], y[50:]
    >>> known = np.where(np.arange(100) % 10 == 0, y, -1)
    >>> model = SemiBoostClassifier(random_state=0).fit(X, known)
    >>> StagesDisplay.from_estimator(model).ax_.get_ylabel()
    'mean margin'
    """

    curves: dict[str, FloatArray]
    first: dict[str, int]
    axis_title: str = ""
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        what: Literal["margins", "steps", "errors", "objective"] = "margins",
        *,
        ax: Any = None,
    ) -> Self:
        """Draw what one or several boosted classifiers kept of their rounds.

        Parameters
        ----------
        estimator : fitted estimator, or list or dict of them
            What to draw; of a dict the keys are the names, otherwise the classes are.
        what : {"margins", "steps", "errors", "objective"}, default="margins"
            Which numbers: ``mean_margins_``, ``estimator_weights_``, ``estimator_errors_`` or
            ``history_``.
        """
        check_matplotlib(cls.__name__)
        if what not in STAGES:
            raise InvalidRequest(f"what is one of {', '.join(map(repr, STAGES))}, got {what!r}.")
        attribute, axis_title = STAGES[what]
        models = {name: final_step(model)[0] for name, model in named(estimator).items()}
        curves: dict[str, FloatArray] = {}
        first: dict[str, int] = {}
        for name, model in models.items():
            machines = curves_of(model, attribute)
            if not machines:
                raise InvalidRequest(f"{name} keeps no {attribute} of rounds: nothing to draw.")
            found = {name: mean_by_round(machines)}
            if len(models) == 1 and len(machines) > 1:
                found = {_machine(model, number): curve for number, curve in machines.items()}
            curves |= found
            before = len(mean_by_round(machines)) > int(getattr(model, "n_iter_", 0))
            first |= dict.fromkeys(found, 0 if before and attribute == "history_" else 1)
        title = next(iter(models)) if len(models) == 1 else ""
        return cls(curves=curves, first=first, axis_title=axis_title, title=title).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = by_step(self.curves, self.axis_title, step="round", first=self.first)
        self.lines_ = draw_curves(self.ax_, picture, inks).plain_lines
        set_titles(self.ax_, picture.axis_titles, self.title)


def _machine(model: Any, number: int) -> str:
    """Name of a machine of a classifier: the two classes that it tells apart."""
    first, second = list(combinations(class_names(model), 2))[number]
    return f"{first} or {second}"
