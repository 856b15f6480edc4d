"""Fitting any estimator, alone or at the end of a pipeline, with or without constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sidelight.constraints.inner import align, check_one_index, plain
from sidelight.evaluation._contingency import encode_labels

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


def join_knowledge(constraints: Constraints | None, y: Any, X: Any) -> Constraints | None:
    """Constraints and partial labels in the order of the rows; None where neither is given."""
    from sidelight.constraints import Constraints

    if constraints is not None and not isinstance(constraints, Constraints):
        raise TypeError(
            f"constraints must be a sidelight.Constraints object, not {type(constraints).__name__}."
        )
    known: Constraints | None = None if constraints is None else align(constraints, X)
    if y is None:
        return known
    check_one_index(y, X, "y")
    labels = Constraints(labels=plain(y), ids=None if known is None else known.ids)
    return labels if known is None else known | labels


def takers(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The parts that take constraints: steps of a pipeline, or the estimator itself."""
    parts = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    for name, part in parts:
        if hasattr(part, "fit") and has_fit_parameter(part, "constraints"):
            yield name, part


def takes_constraints(estimator: Any) -> bool:
    """Whether the estimator takes constraints."""
    return next(takers(estimator), None) is not None


def fit_with(estimator: Any, X: Any, constraints: Constraints, y: Any = None) -> Any:
    """Fit, with the constraints for every part that takes them; with ``y`` where it is given."""
    target = () if y is None else (y,)
    parts = list(takers(estimator))
    if not parts:
        return estimator.fit(X, *target)
    if not isinstance(estimator, Pipeline):
        return estimator.fit(X, *target, constraints=constraints)
    if not get_config()["enable_metadata_routing"]:
        given = {f"{name}__constraints": constraints for name, _ in parts}
        return estimator.fit(X, *target, **given)
    for _, part in parts:
        # What the user decided on routing stays; what is open is decided here.
        if part.get_metadata_routing().fit.requests.get("constraints") is None:
            part.set_fit_request(constraints=True)
    return estimator.fit(X, *target, constraints=constraints)


def labels_of(estimator: Any, X: Any) -> Any:
    """Clusters of the rows that the estimator was fitted on."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    labels = getattr(last, "labels_", None)
    return estimator.predict(X) if labels is None else labels


def n_clusters_of(labels: Any) -> int:
    """Number of clusters in a labeling; rows without a cluster do not count."""
    codes = encode_labels(labels)
    return len(np.unique(codes[codes >= 0]))


def set_seed(estimator: Any, seed: int) -> Any:
    """Seed every part of the estimator whose ``random_state`` was left open."""
    is_open = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**is_open)
