"""Five plain lines about a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted

#: Largest number of classes of clusters that are named.
SHOWN_NAMES = 10


def summarize(estimator: Any) -> str:
    """Return the lines of :meth:`sidelight.base.ConstrainedEstimator.summary`."""
    tags = estimator.__sidelight_tags__()
    lines = (
        f"{type(estimator).__name__}: {tags.summary}",
        _data(estimator),
        _search(estimator),
        _result(estimator),
        _constraints(estimator, tags),
    )
    return "\n".join(lines)


def _data(estimator: Any) -> str:
    features = counted(estimator.n_features_in_, "feature")
    if hasattr(estimator, "labels_"):
        return f"Fitted to {counted(len(estimator.labels_), 'row')} of {features}."
    if hasattr(estimator, "embedding_"):
        return f"Fitted to {counted(len(estimator.embedding_), 'row')} of {features}."
    if hasattr(estimator, "transduction_"):
        return f"Fitted to {counted(len(estimator.transduction_), 'row')} of {features}."
    return f"Fitted to rows of {features}."


def _search(estimator: Any) -> str:
    if not hasattr(estimator, "n_iter_"):
        return "Found in one step, without iterations."
    ended = "Converged" if getattr(estimator, "converged_", True) else "Did not converge"
    value = f"; objective {estimator.objective_:.6g}" if hasattr(estimator, "objective_") else ""
    return f"{ended} after {counted(estimator.n_iter_, 'iteration')}{value}."


def _result(estimator: Any) -> str:
    if hasattr(estimator, "labels_"):
        sizes = estimator.cluster_sizes_
        left_out = len(estimator.labels_) - int(sizes.sum())
        text = f"{counted(len(sizes), 'cluster')} of {sizes.min()} to {sizes.max()} rows"
        text += f" (median {np.median(sizes):g})"
        text += f", {counted(left_out, 'row')} left out" if left_out else ""
        return f"{text}{_names(estimator)}."
    if hasattr(estimator, "transduction_"):
        return f"{_classes(estimator)}."
    n_out = len(estimator.get_feature_names_out())
    if hasattr(estimator, "embedding_"):
        return f"Places rows by {counted(n_out, 'coordinate')}."
    return f"Maps rows to {counted(n_out, 'feature')}."


def _names(estimator: Any) -> str:
    """Classes that clusters stand for."""
    names = enumerate(getattr(estimator, "cluster_names_", ()))
    named = [f"{cluster} {name}" for cluster, name in names if name is not None]
    if not named:
        return ""
    more = f" and {len(named) - SHOWN_NAMES} more" if len(named) > SHOWN_NAMES else ""
    return f"; by their labeled rows they are {', '.join(named[:SHOWN_NAMES])}{more}"


def _classes(estimator: Any) -> str:
    """Classes with the number of rows of the fit that are given or predicted to be of them."""
    given = estimator.transduction_.tolist()
    shown = [f"{name} {given.count(name)}" for name in estimator.classes_[:SHOWN_NAMES].tolist()]
    more = len(estimator.classes_) - SHOWN_NAMES
    others = f" and {more} more" if more > 0 else ""
    return f"{counted(len(estimator.classes_), 'class', 'classes')}: {', '.join(shown)}{others}"


def _constraints(estimator: Any, tags: Any) -> str:
    uses = ", ".join(tags.knowledge) or "nothing but the rows"
    n = getattr(estimator, "n_violations_", None)
    if n is None:
        return f"Uses {uses}."
    return "No constraint was violated." if n == 0 else f"{counted(n, 'constraint')} violated."
