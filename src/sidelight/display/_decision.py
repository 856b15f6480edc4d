"""The map of the rows by class, with the regions in which new rows would get each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.display._canvas import Display, check_matplotlib, set_titles
from sidelight.display._draw._points import draw_points, explain
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._points import DOUBTFUL, GIVEN, Points, Regions, link_lines
from sidelight.pictures._projection import Projection
from sidelight.pictures._rows import (
    as_fitted,
    final_step,
    given_of,
    plane_of,
    sampled_note,
)
from sidelight.pictures._run import Given, Partition, Run
from sidelight.pictures._selection import Links, no_links, select, stated_links
from sidelight.pictures.classes._decisions import (
    Decisions,
    class_codes,
    class_names,
    decisions_of,
    fitted_decisions,
)

#: Points of the grid of the regions along each axis; fewer where rows are wide.
RESOLUTION = 200
_MOST_VALUES = 20_000_000

_Grid = tuple[FloatArray, FloatArray, IntArray]


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionDisplay(Display):
    """Rows by class and where new rows would get which; given classes stand out, doubts are hollow.

    Make it by :meth:`from_estimator`. Two features are drawn as they are, one as a strip with
    random heights, more on their first two principal components; the regions are then those of the
    plane through the mean of the rows, and the title says so. Of many rows 4,000 are drawn, those
    that labels and pairs mention first.

    Parameters
    ----------
    xy : ndarray of shape (n_drawn, 2)
        Places of the drawn rows.
    codes : ndarray of int, shape (n_drawn,)
        Place of the class of each drawn row among the names, -1 for rows that got none.
    rows : ndarray of int, shape (n_drawn,)
        Which rows are drawn: their positions in the data, ascending.
    names : tuple of str
        Names of the classes.
    given : ndarray of bool, shape (n_drawn,)
        Rows whose class was given.
    doubtful : ndarray of bool, shape (n_drawn,)
        Rows whose class was not given and for which another is nearly as good: its probability
        less than 20% behind, or, without probabilities, the least decided twentieth.
    links : Links
        Drawn pairs: ``pairs`` point into ``rows``; ``cannot``, ``violated`` and ``weight`` of each.
    regions : tuple of ndarray, or None
        Places along both axes, and the code of a class at every place of their grid.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    points_ : PathCollection
        Rows whose class was predicted.
    given_ : PathCollection or None
        Rows whose class was given.
    links_ : dict of str to LineCollection
        Lines by kind: ``"must-link"``, ``"cannot-link"``, ``"violated must-link"``,
        ``"violated cannot-link"``, where there are any.
    regions_ : QuadMesh or None
        Shades of where new rows would get each class.
    names_ : list of Text
        Names of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import DecisionDisplay
    >>> from sidelight.semi_supervised import HarmonicClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> model = HarmonicClassifier().fit(X[:, 2:], known)
    >>> display = DecisionDisplay.from_estimator(model, X[:, 2:], known)
    >>> display.ax_.get_title()
    'HarmonicClassifier: 15 of 150 rows labeled'
    """

    xy: FloatArray
    codes: IntArray
    rows: IntArray
    names: tuple[str, ...]
    given: Array
    doubtful: Array
    links: Links = field(default_factory=no_links)
    regions: _Grid | None = None
    axis_titles: tuple[str, str] = ("", "")
    title: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        regions: bool = True,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the classes that a fitted classifier gives to rows.

        Parameters
        ----------
        estimator : fitted classifier
            Of Sidelight or scikit-learn, a search or a pipeline that ends in one.
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The rows: those of the fit, or others.
        y : array-like of shape (n_samples,), default=None
            Known classes; -1, None, NaN or an empty word where a row is unlabeled.
        constraints : Constraints, default=None
            What was known: pairs, which are drawn, and labels, which count like those of ``y``.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame, or of the fit.
        features : sequence of two names or numbers, default=None
            Features to draw; by default both of two, or principal components of more.
        regions : bool, default=True
            Whether to shade where new rows would get each class.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        final, _ = final_step(estimator)
        if not hasattr(estimator, "classes_") or not hasattr(estimator, "predict"):
            raise InvalidRequest(
                f"{type(final).__name__} gives no classes (it has no classes_); ClusterDisplay "
                "draws clusters."
            )
        known = _joined(constraints, y)
        run = _run_of(estimator, given_of(final, X, known, feature_names), X)
        rng = np.random.default_rng(0)  # the same rows give the same picture
        selection = select(run, stated_links(run), rng)
        rows = selection.rows
        projection = plane_of(run.source, rows, run.feature_names, rng, features)
        labels = run.constraints.labels
        given = np.zeros(run.n_rows, dtype=bool) if labels is None else labels >= 0
        shades = _regions_of(estimator, X, run, projection) if regions else None
        decisions = _decisions_of(estimator, X, run)
        doubtful = ~given & False if decisions is None else decisions.doubtful(~given)
        said = f"{int(given.sum()):,} of {counted(run.n_rows, 'row')} labeled"
        notes = [sampled_note(len(rows), run.n_rows)]
        if shades is not None and projection.kind == "components":
            notes.append("regions: on the plane through the mean")
        return cls(
            xy=projection.xy,
            codes=run.clusters.codes[rows],
            rows=rows,
            names=run.clusters.names,
            given=given[rows],
            doubtful=doubtful[rows],
            links=selection.links,
            regions=shades,
            axis_titles=projection.axis_titles,
            title=f"{type(final).__name__}: {said}",
            note="; ".join(note for note in notes if note),
        ).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, names: bool = True, legend: bool = True, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        names : bool, default=True
            Whether to write the names of up to 20 classes where their rows are.
        legend : bool, default=True
            Whether to explain lines and marks, where there are any.
        **kwargs : dict
            Passed on to ``Axes.scatter``, such as ``s`` or ``alpha``.

        Returns
        -------
        DecisionDisplay
            The display itself.
        """
        inks = self._begin(ax)
        picture = Points(
            title="The data with its classes",
            text=self.title,
            xy=self.xy,
            codes=self.codes,
            n_colors=len(self.names),
            names=dict(enumerate(self.names)),
            marks={GIVEN: self.given, DOUBTFUL: self.doubtful},
            lines=link_lines(self.links),
            regions=None if self.regions is None else Regions(*self.regions),
            axis_titles=self.axis_titles,
            note=self.note,
        )
        drawn = draw_points(self.ax_, picture, inks, names=names, **kwargs)
        self.points_, self.given_ = drawn.points, drawn.marks.get(GIVEN)
        self.regions_, self.links_, self.names_ = drawn.regions, drawn.lines, drawn.names
        if self.doubtful.any():
            label = f"in doubt ({int(self.doubtful.sum()):,})"
            self.ax_.scatter([], [], c=inks.page, edgecolors=inks.soft, label=label)
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
        if picture.axis_titles[1].startswith("("):
            self.ax_.set_yticks([])
        if legend and (self.links_ or self.given.any() or self.doubtful.any()):
            explain(self.ax_, inks)
        return self


def _joined(constraints: Constraints | None, y: Any) -> Constraints | None:
    """Pairs and labels in one."""
    if y is None:
        return constraints
    labels = Constraints.from_labels(y, None if constraints is None else constraints.ids)
    return labels if constraints is None else constraints | labels


def _run_of(estimator: Any, given: Given, X: Any) -> Run:
    """Classes of the rows: the given ones, those of the fit, or those that are predicted."""
    names = class_names(estimator)
    found = getattr(estimator, "transduction_", None)
    if found is None or len(found) != given.n_rows:
        found = estimator.predict(X)
    codes = class_codes(found, names)
    labels = given.constraints.labels
    if labels is not None:
        stated = class_codes(given.constraints.label_names, names)
        codes = np.where(labels >= 0, np.append(stated, -1)[labels], codes)
    violations = given.constraints.violations(codes)
    clusters = Partition(codes, names, names)
    return Run(**vars(given), clusters=clusters, violations=violations)


def _decisions_of(estimator: Any, X: Any, run: Run) -> Decisions | None:
    """How sure the classifier is of the rows; None where it does not say."""
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        return None
    of_the_fit = len(getattr(estimator, "transduction_", ())) == run.n_rows
    found = fitted_decisions(estimator, X) if of_the_fit else decisions_of(estimator, X)
    return found if found.values.shape == (run.n_rows, len(run.clusters.names)) else None


def _regions_of(estimator: Any, X: Any, run: Run, projection: Projection) -> _Grid | None:
    """Classes of new rows on a grid of the plane; None for rows that are given as a matrix."""
    if get_tags(estimator).input_tags.pairwise:
        return None
    n_features = run.source.n_features
    resolution = int(np.clip(np.sqrt(_MOST_VALUES / n_features), 40, RESOLUTION))
    low, high = projection.xy.min(axis=0), projection.xy.max(axis=0)
    margin = np.where(high > low, 0.05 * (high - low), 1.0)
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin, strict=True))
    is_strip = projection.kind == "strip"
    across, up = np.meshgrid(x, y[:1] if is_strip else y)
    places = np.column_stack([across.ravel(), up.ravel()])
    points = projection.origin + places @ projection.axes.T
    found = estimator.predict(as_fitted(estimator, X, points.astype(run.source.dtype)))
    codes = class_codes(found, run.clusters.names).reshape(across.shape)
    return x, y, np.repeat(codes, resolution, axis=0) if is_strip else codes
