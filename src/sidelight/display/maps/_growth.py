"""How a map grew: a strip of frames, and an animation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.display._canvas import Display, Inks, check_matplotlib, inks_of
from sidelight.display._draw._points import draw_points, point_size
from sidelight.display.maps._embedding import (
    Coloring,
    coloring_of,
    coordinates_of,
    plane_of_coordinates,
)
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._points import NEW, Points
from sidelight.pictures.maps._growth import steady_frames


@dataclass(eq=False, repr=False, kw_only=True)
class GrowthDisplay(Display):
    """Frames of a map to which rows were added: side by side, or as an animation.

    Each frame is turned so that the rows that it shares with the next lie as near as possible to
    where they are there: a map that merely turns stands still. New rows are outlined.

    Parameters
    ----------
    frames : list of ndarray of shape (n_rows, 2)
        Places of the rows of each frame.
    rows : list of ndarray of int
        Which rows each frame shows.
    coloring : Coloring or None
        Colors of all rows.
    titles : list of str
        Titles of the frames.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Where it was drawn.
    axes_ : list of matplotlib Axes
        The frames of the strip; ``ax_`` is the first.
    points_ : list of PathCollection
        The rows of each frame.

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

    frames: list[Array]
    rows: list[IntArray]
    coloring: Coloring | None
    titles: list[str]

    @classmethod
    def from_frames(
        cls,
        frames: Sequence[Any],
        *,
        rows: Sequence[Any] | None = None,
        color: Any = None,
        titles: Sequence[str] | None = None,
        ax: Any = None,
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
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one for each frame; a new figure by default.
        """
        check_matplotlib(cls.__name__)
        places = [coordinates_of(frame) for frame in frames]
        if not places:
            raise InvalidRequest("There are no frames: nothing to draw.")
        shown = [np.arange(len(one)) for one in places]
        if rows is not None:
            shown = [np.asarray(one, dtype=np.int64) for one in rows]
            if [len(one) for one in shown] != [len(one) for one in places]:
                raise SidelightError("rows names the rows of each frame, one for every place.")
        n = max(int(one.max(initial=-1)) for one in shown) + 1
        if color is not None:
            n = max(n, len(color))
        return cls(
            frames=[plane_of_coordinates(one, (0, 1))[0] for one in steady_frames(places, shown)],
            rows=shown,
            coloring=coloring_of(color, None, n),
            titles=list(titles or (counted(len(one), "row") for one in shown)),
        ).plot(ax)

    @classmethod
    def from_stream(
        cls, estimator: Any, X: Any, *, n_frames: int = 5, color: Any = None, ax: Any = None
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
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one for each frame; a new figure by default.
        """
        check_matplotlib(cls.__name__)
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
        return cls.from_frames(frames, rows=rows, color=color, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the frames side by side.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one for each frame; a new figure by default.

        Returns
        -------
        GrowthDisplay
            The display itself.
        """
        check_matplotlib(type(self).__name__)
        self.axes_ = self._new_strip() if ax is None else list(np.ravel(ax))
        if len(self.axes_) != len(self.frames):
            raise InvalidRequest(
                f"There are {len(self.frames)} frames but {len(self.axes_)} axes; each frame needs "
                "its own."
            )
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self.points_ = [
            self._draw_frame(axes, number, inks_of(axes)) for number, axes in enumerate(self.axes_)
        ]
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
            return [self._draw_frame(axes, number, inks_of(axes))]

        return FuncAnimation(figure, draw, frames=len(self.frames), interval=interval)

    def _new_strip(self) -> list[Any]:
        import matplotlib.pyplot as plt

        n = len(self.frames)
        _, axes = plt.subplots(1, n, figsize=(2.4 * n, 2.6), layout="constrained", squeeze=False)
        return list(axes[0])

    def _draw_frame(self, axes: Any, number: int, inks: Inks) -> Any:
        """Draw one frame in limits that all frames share."""
        places, rows = self.frames[number], self.rows[number]
        before = self.rows[number - 1] if number else rows
        picture = Points(
            title=self.titles[number],
            text=counted(len(rows), "row"),
            xy=places,
            codes=np.zeros(len(rows), np.int64),
            marks={NEW: ~np.isin(rows, before)},
            axis_titles=("first coordinate", "second coordinate"),
        )
        style: dict[str, Any] = {"s": 0.6 * point_size(len(places))}
        if self.coloring is not None:
            style |= self.coloring.of_rows(rows).style(inks)
            if self.coloring.names is None:
                style |= {
                    "vmin": np.nanmin(self.coloring.values),
                    "vmax": np.nanmax(self.coloring.values),
                }
        points = draw_points(axes, picture, inks, **style).points
        low, high = self._limits()
        axes.set(
            xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal"
        )
        axes.set_title(picture.title, fontsize="medium")
        axes.set_xlabel(picture.axis_titles[0])
        if number == 0:  # the others stand beside it
            axes.set_ylabel(picture.axis_titles[1])
        return points

    def _limits(self) -> tuple[Array, Array]:
        """Corners of a rectangle that holds all frames."""
        everything = np.concatenate(self.frames)
        low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
        margin = 0.05 * max(float((high - low).max()), 1e-12)
        return low - margin, high + margin
