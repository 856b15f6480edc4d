"""Rows in the plane: which are drawn, where, and what was said about them.

The same choice as in the report: rows that statements mention first, then a random sample, in two
features as they are, in one as a strip, in more by principal components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import explain_bad_rows
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index, plain
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import ArrayRows
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._projection import Projection, dense, project
from sidelight.pictures._run import Given, Run, make_given, make_run


@dataclass(frozen=True)
class _Labeled:
    """Labels in the place of an estimator that is not known, or saw other rows."""

    labels_: Array
    cluster_names_: Any = ()
    missing: bool = False

    def __sidelight_tags__(self) -> Any:
        return SimpleNamespace(missing=self.missing)


class _Predicted:
    """An estimator that keeps no labels, with those it predicts."""

    def __init__(self, estimator: Any, labels: Any) -> None:
        self._estimator, self.labels_ = estimator, np.asarray(labels)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)


def final_step(estimator: Any) -> tuple[Any, bool]:
    """The estimator that did the work, and whether it saw the rows as they are given.

    A search gives its best estimator, a pipeline its last step, which saw what the steps before
    made of the rows: centers and components are not in the user's features then.
    """
    inner = getattr(estimator, "best_estimator_", estimator)
    steps = getattr(inner, "steps", None)
    if steps is None:
        check_is_fitted(inner)
        return inner, True
    check_is_fitted(inner[-1])
    return inner[-1], all(step in (None, "passthrough") for _, step in steps[:-1])


def fitted_with(estimator: Any, attribute: str, otherwise: str) -> Any:
    """The estimator that did the work; an error where it has not an attribute.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator, or a pipeline or search that ends with it.
    attribute : str
        What it has to have.
    otherwise : str
        What an estimator without it does not do, for the message.
    """
    model, _ = final_step(estimator)
    if not hasattr(model, attribute):
        raise InvalidRequest(f"{type(model).__name__} {otherwise}")
    return model


def run_of(estimator: Any, X: Any, constraints: Constraints | None, feature_names: Any) -> Run:
    """A fitted clusterer with what it was given."""
    final, as_given = final_step(estimator)
    predicts = hasattr(final, "predict") and not is_regressor(final)
    if not hasattr(final, "labels_") and not predicts:
        raise InvalidRequest(
            f"{type(final).__name__} gives no clusters (it has no labels_). PairDistancesDisplay "
            "draws what a learned distance does, and ClusterDisplay.from_labels any labels."
        )
    labels = final.labels_ if hasattr(final, "labels_") else estimator.predict(X)
    if not as_given:
        names = getattr(final, "cluster_names_", ())
        final = _Labeled(labels, names, missing=has_gaps(X))
    elif not hasattr(final, "labels_"):
        final = _Predicted(final, labels)
    return make_run(given_of(final, X, constraints, feature_names))


def run_of_labels(X: Any, labels: Any, constraints: Constraints | None, feature_names: Any) -> Run:
    """Labels of any kind with the rows they are about."""
    check_one_index(labels, X, "labels")
    return make_run(
        given_of(_Labeled(plain_labels(labels), missing=has_gaps(X)), X, constraints, feature_names)
    )


def plain_labels(labels: Any) -> Array:
    """One label per row, as numbers or words."""
    values = plain(labels)
    if values.ndim != 1:
        raise InvalidRequest(f"labels has {values.ndim} dimensions; give one label per row.")
    if values.dtype.kind == "f" and np.all(values == np.round(values)):
        return values.astype(np.int64)  # what pandas makes of integers
    return values.astype(str) if values.dtype == object else values


def given_of(estimator: Any, X: Any, constraints: Constraints | None, feature_names: Any) -> Given:
    """An estimator with what it was given, checked."""
    n_rows = readable(X).n_rows
    labels = getattr(estimator, "labels_", None)
    for what, number in (
        ("there are labels of", None if labels is None else len(labels)),
        ("the constraints are about", None if constraints is None else constraints.n_samples),
    ):
        if number is not None and number != n_rows:
            raise SidelightError(
                f"X has {n_rows:,} rows but {what} {number:,}; give the rows of the fit, all of "
                "them and in the same order."
            )
    return make_given(
        estimator,
        X,
        constraints=constraints,
        labels_true=None,
        ids=None,
        feature_names=feature_names,
    )


def readable(X: Any) -> RowSource:
    """Rows of numbers; a clear sentence where a column holds none."""
    try:
        rows = as_rows(X)
    except SidelightError:
        raise
    except (TypeError, ValueError) as error:
        raise explain_bad_rows(X, error) from error
    if isinstance(rows, ArrayRows) and np.isinf(rows.to_memory()).any():
        raise explain_bad_rows(X, SidelightError("X holds infinite values, which have no place."))
    return rows


def has_gaps(X: Any) -> bool:
    """Whether dense rows in memory miss values."""
    if sparse.issparse(X) or isinstance(X, RowSource | str) or not hasattr(X, "shape"):
        return False
    values = np.asarray(X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def as_fitted(estimator: Any, X: Any, values: Any) -> Any:
    """Rows of numbers with the columns of a data frame, where the estimator was fitted to one."""
    if not hasattr(estimator, "feature_names_in_") or sparse.issparse(values):
        return values
    columns = list(getattr(X, "columns", ()))
    if hasattr(X, "iloc"):
        return type(X)(values, columns=columns)
    return type(X)(values, schema=columns) if hasattr(X, "with_columns") else values


def plane_of(
    source: RowSource,
    rows: IntArray,
    names: Sequence[str],
    rng: np.random.Generator,
    features: Sequence[Any] | None = None,
) -> Projection:
    """Places of rows: on two features if these are asked for, otherwise as in the report."""
    if features is None:
        return project(source, rows, names, rng)
    chosen = [position_of(one, names, "feature", "two names or numbers") for one in features]
    if len(chosen) != 2:
        raise InvalidRequest(f"features names {len(chosen)} features; a map shows two.")
    axes = np.zeros((source.n_features, 2))
    axes[chosen, [0, 1]] = 1.0
    sample = dense(source.take(rows))
    origin = sample.mean(axis=0)
    origin[chosen] = 0.0
    titles = (names[chosen[0]], names[chosen[1]])
    kind: Any = "plane" if source.n_features == 2 and chosen == [0, 1] else "components"
    return Projection(kind, sample[:, chosen], titles, "Two of the features.", axes, origin)


def position_of(feature: Any, names: Sequence[str], what: str, give: str) -> int:
    """Number of a feature that is given by its name or number."""
    if feature in names:
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise InvalidRequest(f"There is no {what} {feature!r}; give {give} out of: {shown}.")


def sampled_note(n_drawn: int, n_rows: int) -> str:
    """Note that not all rows are drawn; empty where they are."""
    return "" if n_drawn == n_rows else f"{n_drawn:,} of {n_rows:,} rows drawn"
