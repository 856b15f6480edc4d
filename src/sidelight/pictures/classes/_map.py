"""The map of the rows by class, with the regions in which new rows would get each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._plane import Plane, rows_in_plane
from sidelight.pictures._rows import as_fitted, final_step, given_of, sampled_note
from sidelight.pictures._run import Given, Partition, Run
from sidelight.pictures.classes._decisions import (
    Decisions,
    class_codes,
    class_names,
    decisions_of,
    fitted_decisions,
)
from sidelight.pictures.kinds._points import Mark, Points, Regions, around, color_plane

#: Points of the grid of the regions along each axis; fewer where rows are wide.
RESOLUTION = 200
_MOST_VALUES = 20_000_000


def class_map(
    estimator: Any,
    X: Any,
    y: Any = None,
    constraints: Constraints | None = None,
    feature_names: Sequence[str] | None = None,
    features: Sequence[Any] | None = None,
    *,
    regions: bool = True,
) -> Points:
    """Rows by class; given classes stand out, doubts are hollow.

    The parameters are those of ``DecisionDisplay.from_estimator``.
    """
    final, _ = final_step(estimator)
    if not hasattr(estimator, "classes_") or not hasattr(estimator, "predict"):
        raise InvalidRequest(
            f"{type(final).__name__} gives no classes (it has no classes_); ClusterDisplay "
            "draws clusters."
        )
    run = _run_of(estimator, given_of(final, X, _joined(constraints, y), feature_names), X)
    plane = rows_in_plane(run, features)
    labels = run.constraints.labels
    given = np.zeros(run.n_rows, dtype=bool) if labels is None else labels >= 0
    shades = _regions(estimator, X, plane) if regions else None
    decisions = _decisions_of(estimator, X, run)
    doubtful = np.zeros_like(given) if decisions is None else decisions.doubtful(~given)
    said = f"{int(given.sum()):,} of {counted(run.n_rows, 'row')} labeled"
    notes = [sampled_note(len(plane.rows), run.n_rows)]
    if shades is not None and plane.projection.kind == "components":
        notes.append("regions: on the plane through the mean")
    heading = f"{type(final).__name__}: {said}"
    return plane.points(
        title="The data with its classes",
        text=heading,
        heading=heading,
        note="; ".join(note for note in notes if note),
        names=dict(enumerate(run.clusters.names)),
        marks={Mark.GIVEN: given[plane.rows], Mark.DOUBTFUL: doubtful[plane.rows]},
        regions=shades,
    )


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


def _regions(estimator: Any, X: Any, plane: Plane) -> Regions | None:
    """Classes of new rows on a grid of the plane; None for rows that are given as a matrix."""
    if get_tags(estimator).input_tags.pairwise:
        return None
    run, projection = plane.run, plane.projection
    resolution = int(np.clip(np.sqrt(_MOST_VALUES / run.source.n_features), 40, RESOLUTION))
    x, y = around(projection.xy, resolution)

    def codes(places: FloatArray) -> IntArray:
        points = (projection.origin + places @ projection.axes.T).astype(run.source.dtype)
        return class_codes(estimator.predict(as_fitted(estimator, X, points)), run.clusters.names)

    if projection.kind == "strip":  # all heights are the same
        row = color_plane(x, y[:1], codes).codes
        return Regions(x, y, np.repeat(row, resolution, axis=0))
    return color_plane(x, y, codes)
