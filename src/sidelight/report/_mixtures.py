"""What a mixture has to show: its components, how sure it is of each row, salient features."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from sidelight.pictures.inner import Run, sample_rows
from sidelight.pictures.inner import certainty as sureness
from sidelight.report.cards import Panel, card, figures, group, named_values, row_id
from sidelight.report.text import text_table

MAX_ROWS = 20_000
DOUBTFUL = 10
SURE = 0.95
MAX_FEATURES = 30


def certainty_cards(run: Run) -> list[Markup]:
    """Return how sure the mixture is: largest shares of the rows, and the rows most in doubt."""
    if not hasattr(run.estimator, "predict_proba") or len(run.clusters.names) < 2:
        return []
    rows = sample_rows(run.n_rows, MAX_ROWS, np.random.default_rng(0))
    resp = np.asarray(run.estimator.predict_proba(run.rows.take(rows)), np.float64)
    if resp.shape[1] < 2:
        return []
    order = np.argsort(-resp, axis=1, kind="stable")[:, :2]
    largest = np.take_along_axis(resp, order, axis=1)
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    least = np.argsort(largest[:, 0], kind="stable")[:DOUBTFUL]
    doubts = []
    for row, name in zip(least, run.row_names(rows[least]), strict=True):
        if largest[row, 0] >= SURE:
            continue
        cells: list[object] = [row_id(name)]
        for cluster, share in zip(order[row], largest[row], strict=True):
            code = number.get(str(cluster), -1)
            cells += [group(code, run.clusters.name(code)), f"{100 * share:.0f}%"]
        doubts.append(cells)
    share = float(np.mean(largest[:, 0] >= SURE))
    whose = "the rows" if len(rows) == run.n_rows else f"{len(rows):,} random rows"
    how_sure = Panel(
        "How sure: rows by their largest responsibility",
        sureness(largest[:, 0], resp.shape[1], "Rows by their largest responsibility"),
        f"{share:.0%} of {whose} belong to their cluster by {SURE:.0%} or more.",
    )
    if not doubts:
        return [figures(how_sure, size="full")]
    sides = ("left", "left", "right", "left", "right")
    told = text_table("Row", "Cluster", "Share", "or", "Share", rows=doubts, justify=sides)
    return [
        figures(how_sure, size="wide-half"),
        card("Rows most in doubt", told, size="narrow-half"),
    ]


def saliency(run: Run) -> Panel | None:
    """Return how much each feature matters, for methods that find out."""
    saliencies = getattr(run.estimator, "saliencies_", None)
    if saliencies is None:
        return None
    values = np.asarray(saliencies, np.float64)
    shown = np.argsort(-values, kind="stable")[:MAX_FEATURES]
    return named_values(
        "Saliency of the features",
        [run.feature_names[j] for j in shown],
        values[shown],
        [f"{values[j]:.2f}" for j in shown],
        note="1: the feature tells clusters apart; 0: it looks the same in all of them.",
        of=len(values),
        largest=1.0,
    )
