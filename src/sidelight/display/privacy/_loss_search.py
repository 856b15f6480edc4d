"""Loss against the number of classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import final_step, loss_search


class LossSearchDisplay(Display, kind=Curves):
    """Loss of a published table against the number of classes that were tried.

    More classes need not lose less: each has to keep the promise. A line marks the chosen number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import LossSearchDisplay
    >>> from sidelight.privacy import Anonymizer
    >>> display = LossSearchDisplay.from_estimator(Anonymizer(5).fit(load_iris().data))
    >>> display.ax_.get_xlabel()
    'number of classes'
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted anonymizer tried.

        Parameters
        ----------
        estimator : Anonymizer
            Fitted; it has ``search_``.
        """
        model, _ = final_step(estimator)
        search = getattr(model, "search_", None) or {}
        if not {"n_clusters", "ncp"} <= set(search):
            raise InvalidRequest(
                f"{type(model).__name__} compared no numbers of classes (its search_ has no "
                "n_clusters and ncp); Anonymizer does."
            )
        chosen = int(np.asarray(model.labels_).max()) + 1
        picture = loss_search(search["n_clusters"], search["ncp"], chosen)
        return cls(picture.headed(type(model).__name__)).plot(ax)
