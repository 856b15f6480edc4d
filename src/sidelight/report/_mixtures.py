"""What a mixture has to show: its components, how sure it is of each row, salient features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.report._charts import Box, bar_figure, figure, svg_start
from sidelight.report._projection import Projection
from sidelight.report._run import Run, sample_rows
from sidelight.report._scatter import Shape

Array = npt.NDArray[np.float64]

MOST_ROWS = 20_000
DOUBTFUL = 10
SURE = 0.95
BINS = 10
MOST_FEATURES = 30

CERTAINTY = Box(width=640, height=180, left=6, right=6, top=20, bottom=22)


def shapes(run: Run, projection: Projection) -> list[Shape]:
    """Gaussian components in the coordinates of the picture; nothing for other methods."""
    estimator = run.estimator
    means, covariances = (getattr(estimator, name, None) for name in ("means_", "covariances_"))
    if means is None or covariances is None or projection.kind == "strip":
        return []
    means = np.asarray(means, np.float64)
    if means.shape[1] != len(projection.origin):
        return []
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    kind = getattr(estimator, "covariance_type", "full")
    found = []
    for s, mean in enumerate(means):
        if str(s) in number:
            covariance = _matrix(np.asarray(covariances, np.float64), kind, s, len(mean))
            found.append(
                Shape(
                    cluster=number[str(s)],
                    mean=(mean - projection.origin) @ projection.axes,
                    covariance=projection.axes.T @ covariance @ projection.axes,
                )
            )
    return found


def _matrix(covariances: Array, kind: str, component: int, d: int) -> Array:
    """Covariance of one component, whatever kind the mixture has."""
    if kind == "tied":
        return covariances
    own = covariances[component]
    return own if own.ndim == 2 else np.eye(d) * own


def certainty(run: Run) -> dict[str, Any]:
    """How sure the mixture is: largest responsibility of the rows, and the rows most in doubt."""
    if not hasattr(run.estimator, "predict_proba") or len(run.clusters.names) < 2:
        return {"certainty": None}
    rows = sample_rows(run.n_rows, MOST_ROWS, np.random.default_rng(0))
    resp = np.asarray(run.estimator.predict_proba(run.rows.take(rows)), np.float64)
    if resp.shape[1] < 2:
        return {"certainty": None}
    order = np.argsort(-resp, axis=1, kind="stable")[:, :2]
    largest = np.take_along_axis(resp, order, axis=1)
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    least = np.argsort(largest[:, 0], kind="stable")[:DOUBTFUL]
    doubts = []
    for row, name in zip(least, run.row_names(rows[least]), strict=True):
        first, second = (number.get(str(cluster), -1) for cluster in order[row])
        if largest[row, 0] < SURE:
            doubts.append(
                {
                    "name": name,
                    "first": first,
                    "first_name": run.clusters.name(first),
                    "first_share": float(largest[row, 0]),
                    "second": second,
                    "second_name": run.clusters.name(second),
                    "second_share": float(largest[row, 1]),
                }
            )
    share = float(np.mean(largest[:, 0] >= SURE))
    whose = "the rows" if len(rows) == run.n_rows else f"{len(rows):,} random rows"
    return {
        "certainty": figure(
            "How sure: rows by their largest responsibility",
            histogram(largest[:, 0], resp.shape[1], "Rows by their largest responsibility"),
            f"{share:.0%} of {whose} belong to their cluster by {SURE:.0%} or more.",
        ),
        "doubts": doubts,
    }


def histogram(largest: Array, k: int, title: str) -> str:
    """Draw how many rows have which largest responsibility, from 1/k to 1."""
    edges = np.linspace(1.0 / k, 1.0, BINS + 1)
    counts = np.histogram(np.clip(largest, edges[0], 1.0), bins=edges)[0]
    box = CERTAINTY
    base = box.base
    step = box.inner_width / BINS
    description = ", ".join(
        f"{low:.0%} to {high:.0%}: {count}"
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    parts = [svg_start(box, "sureness", title, description)]
    for number, count in enumerate(counts):
        top = float(box.y(float(count), 0.0, float(max(counts.max(), 1))))
        left = box.left + number * step + 1
        parts.append(
            f"<g><title>{edges[number]:.0%} to {edges[number + 1]:.0%}: {count:,} rows</title>"
            f'<rect x="{left:.1f}" y="{min(top, base - 1):.1f}" width="{step - 2:.1f}" '
            f'height="{max(base - top, 1):.1f}"/></g>'
        )
    for edge in (0, BINS // 2, BINS):
        at = box.left + edge * step
        anchor = {0: "start", BINS: "end"}.get(edge, "middle")
        parts.append(
            f'<text x="{at:.1f}" y="{base + 15:.1f}" style="text-anchor:{anchor}">'
            f"{edges[edge]:.0%}</text>"
        )
    return "".join(parts) + box.axis(base)


def saliency(run: Run) -> dict[str, Any]:
    """How much each feature matters, for methods that find out."""
    saliencies = getattr(run.estimator, "saliencies_", None)
    if saliencies is None:
        return {"saliency": None}
    values = np.asarray(saliencies, np.float64)
    shown = np.argsort(-values, kind="stable")[:MOST_FEATURES]
    found = bar_figure(
        "Saliency of the features",
        [run.feature_names[j] for j in shown],
        values[shown],
        [f"{values[j]:.2f}" for j in shown],
        note="1: the feature tells clusters apart; 0: it looks the same in all of them.",
        of=len(values),
        largest=1.0,
    )
    return {"saliency": found}
