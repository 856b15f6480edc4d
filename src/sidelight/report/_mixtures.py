"""What a mixture has to show: its components, how sure it is of each row, salient features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.pictures._histograms import certainty as sureness
from sidelight.pictures._run import Run, sample_rows
from sidelight.report.figures import bar_figure, figure

Array = npt.NDArray[np.float64]

MAX_ROWS = 20_000
DOUBTFUL = 10
SURE = 0.95
MAX_FEATURES = 30


def certainty(run: Run) -> dict[str, Any]:
    """How sure the mixture is: largest responsibility of the rows, and the rows most in doubt."""
    if not hasattr(run.estimator, "predict_proba") or len(run.clusters.names) < 2:
        return {"certainty": None}
    rows = sample_rows(run.n_rows, MAX_ROWS, np.random.default_rng(0))
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
            sureness(largest[:, 0], resp.shape[1], "Rows by their largest responsibility"),
            f"{share:.0%} of {whose} belong to their cluster by {SURE:.0%} or more.",
        ),
        "doubts": doubts,
    }


def saliency(run: Run) -> dict[str, Any]:
    """How much each feature matters, for methods that find out."""
    saliencies = getattr(run.estimator, "saliencies_", None)
    if saliencies is None:
        return {"saliency": None}
    values = np.asarray(saliencies, np.float64)
    shown = np.argsort(-values, kind="stable")[:MAX_FEATURES]
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
