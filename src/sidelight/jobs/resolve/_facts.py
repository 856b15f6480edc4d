"""Facts about entities: pairs in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray

if TYPE_CHECKING:
    from sidelight.jobs.resolve._run import ResolveRun

#: Pairs whose similarity is further from the threshold are not in doubt.
NEAR = 0.25


def doubtful_pairs(found: ResolveRun, most: int) -> dict[str, Array]:
    """Return the pairs nearest to the threshold, by column.

    Columns are ``i`` and ``j`` (positions), ``similarity`` and its parts, and ``reason``. Methods
    that know what would decide a pair say so; of the others, the nearest pairs are taken.
    """
    if not hasattr(found.estimator, "doubtful_pairs"):
        return _nearest(found, most)
    pairs: Mapping[str, Any] = dict(found.estimator.doubtful_pairs(most))
    return {name: np.asarray(values) for name, values in pairs.items()}


def _nearest(found: ResolveRun, most: int) -> dict[str, Array]:
    """Return the open pairs whose similarity is nearest to the threshold, at most ``NEAR`` away."""
    estimator = found.estimator
    pairs = {name: np.asarray(values) for name, values in estimator.pairs_.items()}
    apart = np.abs(pairs["similarity"] - found.threshold)
    order = np.argsort(apart, kind="stable")
    order = order[(apart <= NEAR)[order] & ~_settled(found, pairs["i"], pairs["j"])[order]][:most]
    chosen = {name: values[order] for name, values in pairs.items()}
    chosen.setdefault("relational", np.zeros(len(order)))
    joined = found.labels[chosen["i"]] == found.labels[chosen["j"]]
    words = np.where(joined, "joined", "kept apart").tolist()
    chosen["reason"] = np.array(
        [
            f"{how}: the similarity is {value:.3f}, the threshold {found.threshold:g}"
            for how, value in zip(words, chosen["similarity"].tolist(), strict=True)
        ],
        dtype=str,
    )
    return chosen


def _settled(found: ResolveRun, i: IntArray, j: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether it is known for certain whether two references are the same."""
    closure = found.knowledge.closure()
    a, b = np.sort([closure.component[i], closure.component[j]], axis=0)
    n = closure.n_components
    low, high = np.sort(closure.conflicts, axis=1).reshape(-1, 2).T
    settled = (a == b) | np.isin(a * n + b, low * n + high)
    kinds = [found.sources, found.groups if found.estimator.distinct else None]
    for values in kinds:
        if values is not None:
            unknown = "" if values.dtype.kind == "U" else -1
            settled |= (values[i] == values[j]) & (values[i] != unknown)
    return settled
