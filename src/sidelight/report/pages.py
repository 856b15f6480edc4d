"""The page that suits a fitted estimator: of clusters, classes, a map, or a learned distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sidelight.evaluation import Comparison
from sidelight.exceptions import SidelightError
from sidelight.explanation import Explanation
from sidelight.pictures.inner import Given
from sidelight.report.page import Page


def page_of(
    given: Given,
    *,
    explanation: Explanation | None = None,
    comparison: Comparison | None = None,
    verdict: Sequence[str] | None = None,
    color: tuple[str, Any] | None = None,
    anchors: Any = None,
    growth: Any = None,
    remarks: Sequence[str] = (),
    contrast: Any = None,
) -> Page:
    """Return the page of a fitted estimator; title, settings and command are still open.

    Parameters
    ----------
    given : Given
        The estimator with what it was given.
    explanation : Explanation, default=None
        What the clusters are.
    comparison, verdict, color, anchors, growth, remarks, contrast
        As for :func:`sidelight.report.render_report`.
    """
    # Each kind of page is imported where it is asked for.
    estimator = given.estimator
    if hasattr(estimator, "transduction_"):
        from sidelight.report.classes._cards import class_page

        page = class_page(given, contrast)
    elif hasattr(estimator, "labels_"):  # spectral clusterers have an embedding_, too
        from sidelight.report.clusters import cluster_page

        page = cluster_page(given, explanation)
    elif hasattr(estimator, "embedding_"):
        from sidelight.report.maps._embedding import embedding_page

        page = embedding_page(given, color, anchors, growth, remarks)
    else:
        from sidelight.report.maps._mapped import map_page

        page = map_page(given)
    if comparison is None:
        return page
    from sidelight.report._comparison import with_candidates

    return with_candidates(page, comparison, verdict, given)


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that has neither clusters, classes nor a map of rows."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if hasattr(estimator, "labels_") or hasattr(estimator, "transduction_"):
        return
    is_map = hasattr(estimator, "transform")
    try:
        if is_map:
            check_is_fitted(estimator)
    except NotFittedError:
        is_map = False
    if not is_map:
        raise SidelightError(
            f"{type(estimator).__name__} has no labels_ and maps no rows yet; fit it before "
            "writing its report."
        )
