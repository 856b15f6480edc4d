"""The map of the rows: clusters in color, statements as lines, the violated ones in red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.display._canvas import Display, check_matplotlib, set_titles
from sidelight.display._cluster_parts import (
    centers_of,
    color_numbers_of,
    marked_rows,
    n_colors_of,
    regions_of,
    ringed_names,
    title_of,
)
from sidelight.display._draw._points import draw_points, explain, name_points
from sidelight.display._rows import (
    axis_titles_of,
    plane_of,
    run_of,
    run_of_labels,
    sampled_note,
)
from sidelight.display._shapes import shapes_of
from sidelight.pictures._points import WRONG, Points, Regions, link_lines
from sidelight.pictures._run import Run
from sidelight.pictures._selection import Links, no_links, ringed_rows, select, stated_links
from sidelight.pictures._shapes import Shape


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterDisplay(Display):
    """Map of the rows: clusters in color, must-links solid, cannot-links dashed, violated ones red.

    Make it by :meth:`from_estimator` or :meth:`from_labels`. Two features are drawn as they are,
    one as a strip with random heights, more on their first two principal components. Of many rows
    4,000 are drawn, those that statements mention first; the title says so.

    Parameters
    ----------
    xy : ndarray of shape (n_drawn, 2)
        Places of the drawn rows.
    codes : ndarray of int, shape (n_drawn,)
        Number of the color of each drawn row, -1 for rows in no cluster.
    rows : ndarray of int, shape (n_drawn,)
        Which rows are drawn: their positions in the data, ascending.
    names : dict of int to str
        Names of the clusters by the numbers of their colors.
    links : Links
        Drawn pairs: ``pairs`` point into ``rows``; ``cannot``, ``violated`` and ``weight`` of each.
    marked : dict of str to ndarray of bool, shape (n_drawn,)
        Rows of known class and of known groups.
    ringed : ndarray of bool, shape (n_drawn,)
        Rows that a violated statement mentions.
    row_names : dict of int to str
        Ids of the ringed rows, where rows have ids and the ringed ones are few.
    centers : ndarray of shape (m, 2)
        Centers of the clusters, where the estimator has them.
    shapes : list of Shape
        Gaussian components, or balls of a learned metric, with the number of their color.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.
    n_colors : int
        Number of colors.
    regions : tuple of ndarray, or None
        Places along both axes, and the number of a color at every place of their grid.

    Attributes
    ----------
    points_ : PathCollection
        The rows.
    links_ : dict of str to LineCollection
        Lines by kind: ``"must-link"``, ``"cannot-link"``, ``"violated must-link"``,
        ``"violated cannot-link"``, where there are any.
    marks_ : dict of str to PathCollection
        Outlines of the rows of known class and of known groups.
    centers_ : Line2D or None
        The centers.
    ellipses_ : list of Polygon
        The shapes, at two standard deviations.
    names_ : list of Text
        Names of the clusters.
    regions_ : QuadMesh or None
        Shades of where new rows would go.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.display import ClusterDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 30, random_state=0)
    >>> model = PCKMeans(3, random_state=0).fit(X, constraints=known)
    >>> display = ClusterDisplay.from_estimator(model, X, constraints=known)
    >>> display.ax_.get_xlabel()
    '1st component (92%)'
    >>> display.figure_.savefig("iris.png")  # doctest: +SKIP
    """

    xy: Array
    codes: IntArray
    rows: IntArray
    names: dict[int, str]
    links: Links = field(default_factory=no_links)
    marked: dict[str, Array] = field(default_factory=dict)
    ringed: Array = field(default_factory=lambda: np.zeros(0, bool))
    row_names: dict[int, str] = field(default_factory=dict)
    centers: Array = field(default_factory=lambda: np.zeros((0, 2)))
    shapes: Sequence[Shape] = ()
    axis_titles: tuple[str, str] = ("", "")
    title: str = ""
    note: str = ""
    n_colors: int = 0
    regions: tuple[Array, Array, IntArray] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        like: Any = None,
        regions: bool = False,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the clusters that a fitted estimator found.

        Parameters
        ----------
        estimator : fitted clusterer
            Anything with ``labels_``: a clusterer or mixture of Sidelight or scikit-learn, a
            search, a pipeline (centers are drawn where the estimator saw the rows as given).
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)
            The rows of the fit.
        constraints : Constraints, default=None
            What was known; where it has ids and ``X`` has an index, rows are found by it.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame, or of the fit.
        features : sequence of two names or numbers, default=None
            Features to draw; by default both of two, or principal components of more.
        like : ClusterDisplay or array-like of shape (n_samples,), default=None
            Another display of the same rows, or labels of them, from which clusters take their
            colors: each that of the cluster or class with which it shares most rows.
        regions : bool, default=False
            Whether to shade where new rows would go; of two features only.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        run = run_of(estimator, X, constraints, feature_names)
        display = cls._of_run(
            run, type(estimator).__name__, like, features, (estimator, X) if regions else None
        )
        return display.plot(ax, **options)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        like: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw rows with labels from anywhere.

        Parameters
        ----------
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)
            The rows; missing values are filled with means.
        labels : array-like of shape (n_samples,)
            Cluster or class of every row, of any type; -1 for none.
        constraints : Constraints, default=None
            What is known about the rows.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame.
        features : sequence of two names or numbers, default=None
            Features to draw; by default both of two, or principal components of more.
        like : ClusterDisplay or array-like of shape (n_samples,), default=None
            Another display of the same rows, or labels of them, from which clusters take their
            colors.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        run = run_of_labels(X, labels, constraints, feature_names)
        return cls._of_run(run, "", like, features).plot(ax, **options)

    @classmethod
    def _of_run(
        cls,
        run: Run,
        what: str,
        like: Any,
        features: Sequence[Any] | None,
        regions: tuple[Any, Any] | None = None,
    ) -> Self:
        """Make the display of a run, with the regions of an estimator and its rows if given."""
        rng = np.random.default_rng(0)  # the same rows give the same picture
        selection = select(run, stated_links(run), rng)
        rows = selection.rows
        projection = plane_of(run.source, rows, run.feature_names, rng, features)
        ringed = ringed_rows(run, selection)
        color_of = color_numbers_of(run, rows, like)
        return cls(
            xy=projection.xy,
            codes=np.append(color_of, -1)[run.clusters.codes[rows]],
            rows=rows,
            names={int(color_of[code]): name for code, name in enumerate(run.clusters.names)},
            links=selection.links,
            marked=marked_rows(run.constraints, rows),
            ringed=ringed,
            row_names=ringed_names(run, rows, ringed),
            centers=centers_of(run, projection),
            shapes=[
                Shape(int(color_of[shape.cluster]), shape.mean, shape.covariance)
                for shape in shapes_of(run, projection, rows)
            ],
            axis_titles=axis_titles_of(projection),
            title=title_of(run, what),
            note=sampled_note(len(rows), run.n_rows),
            n_colors=max(int(color_of.max(initial=-1)) + 1, n_colors_of(like)),
            regions=None if regions is None else regions_of(*regions, run, projection, color_of),
        )

    def color_numbers(self, names: Sequence[str]) -> IntArray:
        """Number of the color of each cluster by its name; -1 for one that the map has not.

        Parameters
        ----------
        names : sequence of str
            Names of clusters.

        Returns
        -------
        ndarray of int, shape (len(names),)
            Numbers of colors.
        """
        number = {name: code for code, name in self.names.items()}
        return np.array([number.get(name, -1) for name in names], np.int64)

    def plot(
        self,
        ax: Any = None,
        *,
        names: bool = True,
        shapes: bool = True,
        legend: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        names : bool, default=True
            Whether to write the names of up to 20 clusters where they are.
        shapes : bool, default=True
            Whether to draw Gaussian components and learned metrics as ellipses.
        legend : bool, default=True
            Whether to explain the lines, where there are any.
        **kwargs : dict
            Passed on to ``Axes.scatter``, such as ``s`` or ``alpha``.

        Returns
        -------
        ClusterDisplay
            The display itself.
        """
        inks = self._begin(ax)
        picture = self._picture()
        drawn = draw_points(self.ax_, picture, inks, names=names, shapes=shapes, **kwargs)
        self.points_, self.links_, self.regions_ = drawn.points, drawn.lines, drawn.regions
        self.marks_ = {kind: drawn.marks[kind] for kind in self.marked}
        self.centers_, self.ellipses_, self.names_ = drawn.centers, drawn.ellipses, drawn.names
        name_points(self.ax_, self.xy, self.row_names, inks.bad, inks)
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
        if picture.axis_titles[1].startswith("("):
            self.ax_.set_yticks([])
        if legend and (self.links_ or self.marks_):
            explain(self.ax_, inks)
        return self

    def _picture(self) -> Points:
        marks = dict(self.marked)
        if len(self.ringed):
            marks[WRONG] = self.ringed
        return Points(
            title="The data with its clusters and constraints",
            text=self.title,
            xy=self.xy,
            codes=self.codes,
            n_colors=self.n_colors,
            names=self.names,
            marks=marks,
            lines=link_lines(self.links),
            shapes=self.shapes,
            centers=self.centers,
            regions=None if self.regions is None else Regions(*self.regions),
            axis_titles=self.axis_titles,
            note=self.note,
        )
