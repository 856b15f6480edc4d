"""What boosting did round by round: margins, step sizes, errors, the objective."""

from __future__ import annotations

from typing import Any, Literal, Self

from sidelight.display._convergence import named
from sidelight.display._display import Display
from sidelight.pictures import Curves
from sidelight.pictures.inner import final_step, round_curves


class StagesDisplay(Display, kind=Curves):
    """Margins, step sizes, errors or objective by round of a boosted classifier.

    A classifier of more than two classes has a curve for every pair of them; where several
    classifiers are compared, each has the mean of its curves.

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
        models = {name: final_step(model)[0] for name, model in named(estimator).items()}
        return cls(round_curves(models, what)).plot(ax)
