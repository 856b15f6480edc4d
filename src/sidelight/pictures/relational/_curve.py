"""Precision and recall of the pairs that are joined, over the threshold of the similarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import format_number
from sidelight.pictures.kinds._curves import Curve, Curves


@dataclass(frozen=True, eq=False)
class ResolutionCurve:
    """What a run would have joined, had it stopped at every one of its similarities.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Similarities at which merges end, falling.
    precision, recall : ndarray of shape (m,)
        Share of the joined pairs that belong together, and of those that belong together the
        share that is joined.
    """

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of both."""
        total = self.precision + self.recall
        return np.divide(
            2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0
        )

    @property
    def best(self) -> int:
        """Place of the best harmonic mean, the highest threshold of equally good ones."""
        return int(np.argmax(self.f1))

    def at(self, threshold: float) -> int | None:
        """Place where a threshold stops; None where nothing is joined."""
        joined = np.flatnonzero(self.thresholds >= threshold)
        return int(joined[-1]) if len(joined) else None


def curve_of_merges(
    first: IntArray, second: IntArray, similarity: FloatArray, truth: Array
) -> ResolutionCurve:
    """Precision and recall after every merge.

    Parameters
    ----------
    first, second : ndarray of shape (m,)
        A reference of each of the two clusters that are merged, in the order of the merges.
    similarity : ndarray of shape (m,)
        Similarity at which they are merged. Where a later merge has a higher one, which an earlier
        merge made possible, a threshold between the two stops before both.
    truth : ndarray of shape (n,)
        Code of the entity of every reference; references with -1 are left out of the count.
    """
    n_true = sum(n * (n - 1) // 2 for n in Counter(truth[truth >= 0].tolist()).values())
    parent = np.arange(len(truth)).tolist()
    entities: list[dict[int, int]] = [{c: 1} if c >= 0 else {} for c in truth.tolist()]
    joined, right = np.zeros(len(first)), np.zeros(len(first))
    n_joined = n_right = 0
    for step, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        a, b = _root(parent, a), _root(parent, b)
        if a != b:
            if len(entities[a]) < len(entities[b]):
                a, b = b, a
            large, small = entities[a], entities[b]
            n_joined += sum(large.values()) * sum(small.values())
            n_right += sum(n * large.get(entity, 0) for entity, n in small.items())
            for entity, n in small.items():
                large[entity] = large.get(entity, 0) + n
            entities[b], parent[b] = {}, a
        joined[step], right[step] = n_joined, n_right
    level = np.minimum.accumulate(similarity.astype(np.float64))
    last = np.flatnonzero(np.append(np.diff(level) < 0, True)[: len(level)])
    joined, right = joined[last], right[last]
    return ResolutionCurve(
        thresholds=level[last],
        precision=np.divide(right, joined, out=np.ones_like(right), where=joined > 0),
        recall=right / max(n_true, 1),
    )


def _root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        parent[node] = node = parent[parent[node]]
    return node


def curve_of(merges: Mapping[str, Any], truth: Array) -> ResolutionCurve:
    """The same from ``merges_`` of a resolver."""
    first, second = (np.asarray(merges[name], np.int64) for name in ("i", "j"))
    return curve_of_merges(first, second, np.asarray(merges["similarity"]), truth)


def threshold_of(estimator: Any) -> float | None:
    """Threshold that a fitted resolver used; None where it is not known."""
    given = getattr(estimator, "threshold_", getattr(estimator, "threshold", None))
    return None if given is None or isinstance(given, str) else float(given)


def rates(curve: ResolutionCurve, threshold: float | None) -> Curves:
    """Precision, recall and F1 over the threshold, with a mark at the threshold of a run."""
    t = curve.thresholds
    values = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f1}
    best, limits = "", None
    if len(t):
        best = f"best F1 {curve.f1[curve.best]:.3f} at {format_number(t[curve.best], 3)}"
        ends = t if threshold is None else np.append(t, threshold)
        margin = 0.02 * float(np.ptp(ends)) or 0.05
        limits = (float(ends.min()) - margin, float(ends.max()) + margin)
    return Curves(
        title="Precision and recall over the threshold",
        text=f"{best[:1].upper()}{best[1:]}.",
        # A threshold has the values of the last merge at or above it.
        curves=[Curve(name, t, heights, css=name.lower()) for name, heights in values.items()],
        axis_titles=("threshold", "share of pairs"),
        note=best,
        css="rates",
        size=(1180, 260),
        x_limits=limits,
        y_limits=(-0.02, 1.02),
        steps=True,
        dots=False,
        mark=threshold,
    )
