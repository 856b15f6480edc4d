"""Loss against the number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._curves import draw_curves
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step
from sidelight.pictures.privacy._loss import loss_search


@dataclass(eq=False, repr=False, kw_only=True)
class LossSearchDisplay(Display):
    """Loss of a published table against the number of classes that were tried.

    More classes need not lose less: each has to keep the promise.

    Parameters
    ----------
    n_clusters : ndarray of shape (n_tried,)
        Numbers of classes.
    losses : ndarray of shape (n_tried,)
        Loss of each.
    chosen : int or None
        Number of classes of the published table.

    Attributes
    ----------
    line_ : Line2D
        The losses.
    mark_ : Line2D or None
        Line at the chosen number.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.display import LossSearchDisplay
    >>> display = LossSearchDisplay(
    ...     n_clusters=np.array([8, 2, 4]), losses=np.array([0.3, 0.5, 0.2]), chosen=4
    ... ).plot()
    >>> display.line_.get_xdata().tolist()
    [2, 4, 8]
    """

    n_clusters: IntArray
    losses: FloatArray
    chosen: int | None = None
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted anonymizer tried.

        Parameters
        ----------
        estimator : Anonymizer
            Fitted; it has ``search_``.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        search = getattr(model, "search_", None) or {}
        if not {"n_clusters", "ncp"} <= set(search):
            raise InvalidRequest(
                f"{type(model).__name__} compared no numbers of classes (its search_ has no "
                "n_clusters and ncp); Anonymizer does."
            )
        return cls(
            n_clusters=np.asarray(search["n_clusters"]),
            losses=np.asarray(search["ncp"], np.float64),
            chosen=int(np.asarray(model.labels_).max()) + 1,
            title=type(model).__name__,
        ).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = loss_search(self.n_clusters, self.losses, self.chosen)
        drawn = draw_curves(self.ax_, picture, inks)
        self.line_, self.mark_ = drawn.plain_lines["loss"], drawn.mark
        set_titles(self.ax_, picture.axis_titles, self.title)
