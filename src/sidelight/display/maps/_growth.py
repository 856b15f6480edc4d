"""How a map grew: a strip of frames, and an animation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from sidelight.display._canvas import check_matplotlib
from sidelight.display._display import Display
from sidelight.display._draw._points import point_size
from sidelight.display._panels import axes_of, draw_panels
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Points
from sidelight.pictures.inner import growth_frames


class GrowthDisplay(Display, kind=Points):
    """Frames of a map to which rows were added: side by side, or as an animation.

    Each frame is turned so that the rows that it shares with the next lie as near as possible to
    where they are there: a map that merely turns stands still. New rows are outlined. There is a
    picture for every frame, and ``drawn_`` is a tuple of their artists.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The frames of the strip; ``ax_`` is the first.

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> from sidelight.display import GrowthDisplay
    >>> strip = make_strip(90, random_state=0)
    >>> frames = [strip.coordinates[:n] for n in (30, 60, 90)]
    >>> display = GrowthDisplay.from_frames(frames, color=strip.coordinates[:, 0])
    >>> [ax.get_title() for ax in display.axes_]
    ['30 rows', '60 rows', '90 rows']
    """

    picture: tuple[Points, ...]

    @classmethod
    def from_frames(
        cls,
        frames: Sequence[Any],
        *,
        rows: Sequence[Any] | None = None,
        color: Any = None,
        titles: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw maps of more and more rows.

        Parameters
        ----------
        frames : sequence of arrays of shape (n_rows, n_components)
            Coordinates of the rows of each frame; the first two are drawn.
        rows : sequence of arrays of int, default=None
            Positions of the rows of each frame among all; by default a frame shows the first.
        color : array-like of shape (n_samples,), default=None
            A value, label or cluster of every row.
        titles : sequence of str, default=None
            Titles of the frames; by default the numbers of rows.
        """
        return cls(growth_frames(frames, rows, color=color, titles=titles)).plot(ax, **options)

    @classmethod
    def from_stream(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_frames: int = 5,
        color: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Feed rows to an embedding in blocks, and draw its map after each.

        Parameters
        ----------
        estimator : estimator with ``partial_fit``
            Embedding that learns from a stream; a copy of it is fitted.
        X : array of shape (n_samples, n_features)
            The rows, in the order of the stream.
        n_frames : int, default=5
            Number of blocks.
        color : array-like of shape (n_samples,), default=None
            A value, label or cluster of every row.
        """
        if not hasattr(estimator, "partial_fit"):
            raise InvalidRequest(
                f"{type(estimator).__name__} does not learn from a stream (it has no partial_fit)."
            )
        model = clone(estimator)
        values = np.asarray(X)
        frames, rows = [], []
        for block in np.array_split(np.arange(len(values)), n_frames):
            model.partial_fit(values[block])
            frames.append(np.array(model.embedding_))
            # A map that forgets says which rows it still holds.
            rows.append(np.array(getattr(model, "row_ids_", np.arange(block[-1] + 1))))
        return cls.from_frames(frames, rows=rows, color=color, ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the frames side by side.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one for each frame; a new figure by default.
        """
        check_matplotlib(type(self).__name__)
        self.axes_ = axes_of(ax, len(self.picture), "frame", size=(2.4, 2.6))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.drawn_ = draw_panels(self.axes_, self.picture, {**self._style, **options})
        return self

    def animate(self, *, interval: int = 400) -> Any:
        """Return an animation of the frames, to be shown in a notebook or saved.

        Parameters
        ----------
        interval : int, default=400
            Milliseconds between frames.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            The animation; keep it until it was shown or saved
            (``animation.save("growth.gif", writer="pillow")``).
        """
        check_matplotlib(type(self).__name__)
        import matplotlib.pyplot as plt
        from matplotlib.animation import FuncAnimation

        figure, axes = plt.subplots(figsize=(5.0, 4.4), layout="constrained")

        def draw(number: int) -> list[Any]:
            axes.clear()
            drawn = draw_panels([axes], [self.picture[number]], self._style)
            return [drawn[0].points]

        return FuncAnimation(figure, draw, frames=len(self.picture), interval=interval)

    @property
    def _style(self) -> Mapping[str, Any]:
        """One scale for all frames, and points that are small enough for them."""
        size = 0.6 * point_size(max(len(one.xy) for one in self.picture))
        options: dict[str, Any] = {"s": size, "legend": False}
        values = [one.values for one in self.picture if one.values is not None]
        if values:
            every = np.concatenate(values)
            options |= {"vmin": np.nanmin(every), "vmax": np.nanmax(every)}
        return options
