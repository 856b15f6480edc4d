"""Put the report together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.constraints import Constraints
from sidelight.io.inner import atomic_write

if TYPE_CHECKING:
    from sidelight.evaluation import Comparison
    from sidelight.preparation import TypedColumn


def write_report(path: str | os.PathLike[str], **run: Any) -> Path:
    """Write the report of a run as one HTML file that opens offline.

    The file appears complete or not at all.

    Parameters
    ----------
    path : path-like
        Where to write; an existing file is replaced.
    **run : dict
        Estimator, rows and all that the page tells: the parameters of :func:`render_report`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.report import write_report
    >>> X = np.array([[0.0, 0.0], [0.2, 0.1], [5.0, 5.0], [5.1, 4.9]])
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)], n_samples=4)
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(
    ...         Path(folder) / "run.html", estimator=model, X=X, constraints=known
    ...     )
    ...     "1 must-link and 1 cannot-link: all satisfied" in path.read_text(encoding="utf-8")
    True
    """
    html = render_report(**run)
    with atomic_write(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return Path(path)


def render_report(
    *,
    estimator: Any,
    X: Any,
    constraints: Constraints | None = None,
    labels_true: Any = None,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    columns: Sequence[TypedColumn] | None = None,
    preparation: Sequence[tuple[str, str, str]] = (),
    comparison: Comparison | None = None,
    verdict: Sequence[str] | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
    color: tuple[str, Any] | None = None,
    anchors: Any = None,
    growth: Any = None,
    remarks: Sequence[str] = (),
    contrast: Any = None,
) -> str:
    """Return the report of a run as HTML.

    Of clusters it shows a map of the data with what was asked, what was violated, sizes, means
    and agreement with the true classes; of a learned distance, projection or selection of features
    the rows and the known pairs before and after, and the weight of the features; of an embedding
    the map, how far it can be trusted, and the rows whose neighbors it lost; of a classifier the
    classes, their accuracy, the rows in doubt, and what rows without a label and pairs changed.

    Parameters
    ----------
    estimator : object
        A fitted estimator: its ``labels_`` are reported, the ``transduction_`` of a classifier, or
        the rows after its ``transform`` if it has neither, and its ``history_`` if it has one.
    X : array, CSR matrix or RowSource of shape (n_samples, n_features)
        The rows that the estimator was fitted to.
    constraints : Constraints, default=None
        Side information that the estimator was fitted with.
    labels_true : array-like of shape (n_samples,), default=None
        True classes to compare with; -1, None, NaN and "" are unknown.
    ids : sequence of length n_samples, default=None
        The user's names of the rows; by default those of ``constraints``, else the index of a data
        frame, else positions.
    feature_names : sequence of str, default=None
        Names of the columns; by default those of ``X`` or the estimator.
    columns : sequence of TypedColumn, default=None
        The table in the user's own units and words, to say what the clusters are; without it the
        means of the features are shown.
    preparation : sequence of (column, use, treatment), default=()
        What became of the columns of the table
        (:meth:`sidelight.preparation.TablePreparer.plan_table`).
    comparison : Comparison, default=None
        The candidates among which the estimator was chosen; they are shown side by side before it.
    verdict : sequence of str, default=None
        What the comparison says, in other words than its own.
    title : str, default=None
        Heading; by default the name of the method.
    settings : mapping, default=None
        Further settings of the run, shown before the parameters of the estimator.
    command : str, default=None
        Command line that repeats the run.
    seconds : float, default=None
        Time of the fit.
    color : tuple of str and array-like of shape (n_samples,), default=None
        Name and values of what colors the points of an embedding, in numbers or in words; by
        default true classes, else known labels.
    anchors : array of shape (n_samples, n_components), default=None
        Known coordinates that an embedding was fitted with, NaN where nothing is known.
    growth : object, default=None
        How an embedding grew (``growth`` of a run of :class:`sidelight.jobs.MapStream`).
    remarks : sequence of str, default=()
        Sentences about the fit of an embedding, such as parts that had to be joined.
    contrast : object, default=None
        The same classifier on the labels alone (``contrast`` of :class:`sidelight.jobs.ClassRun`).

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.report import render_report
    >>> X = np.array([[0.0], [0.1], [4.0], [4.1]])
    >>> html = render_report(estimator=KMeans(n_clusters=2, random_state=0).fit(X), X=X)
    >>> "4 rows and 2 clusters; nothing else was known." in html
    True
    """
    # Jinja2 and SciPy are imported when a report is made, not when this package is.
    from sidelight.pictures.inner import make_given
    from sidelight.report.explained import explain_columns
    from sidelight.report.pages import check_fitted, page_of

    check_fitted(estimator)
    given = make_given(
        estimator,
        X,
        constraints=constraints,
        labels_true=labels_true,
        ids=ids,
        feature_names=feature_names,
    )
    page = page_of(
        given,
        explanation=explain_columns(given, columns),
        comparison=comparison,
        verdict=verdict,
        color=color,
        anchors=anchors,
        growth=growth,
        remarks=remarks,
        contrast=contrast,
    )
    page = replace(page, title=title, settings=settings, command=command, seconds=seconds)
    return replace(page, preparation=preparation).html()
