"""The page of entities: how pairs were found, merge chains, doubtful pairs, rates by threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed, statements
from sidelight.constraints import Constraints
from sidelight.pictures.relational._curve import ResolutionCurve, rates, threshold_of
from sidelight.report.figures import figure
from sidelight.report.page import (
    SHOWN_MEMBERS,
    agreement,
    largest_clusters,
    render_page,
    row_names,
    size_figure,
)
from sidelight.report.sections import Section, status

MAX_CHAINS = 8
MAX_STEPS = 30
MAX_DOUBTFUL = 20
#: Kinds of merges, in words.
KINDS = {"bootstrap": "nearly identical", "similar": "", "must-link": "known for certain"}
#: Letters of a reference that are shown.
MAX_LETTERS = 90


def render_resolution(
    *,
    estimator: Any,
    ids: Any,
    texts: Sequence[str],
    constraints: Constraints,
    blocking: Sequence[str],
    doubtful: Mapping[str, Any] | None,
    curve: ResolutionCurve | None = None,
    truth: IntArray | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of entities as HTML.

    Parameters
    ----------
    estimator : AttributeResolution, RelationalResolution or CollectiveResolution
        Fitted.
    ids : ndarray of shape (n_samples,) or None
        Names of the references.
    texts : sequence of str, one per reference
        The compared columns of a reference as one text.
    constraints : Constraints
        What was known for certain; empty for nothing.
    blocking : sequence of str
        How the compared pairs were chosen, a sentence each.
    doubtful : mapping of str to sequence, or None
        Doubtful pairs: ``i``, ``j``, ``similarity``, ``attribute``, ``relational``, ``reason``.
    curve : ResolutionCurve, default=None
        Precision and recall over the threshold.
    truth : ndarray of shape (n_samples,), default=None
        Codes of the true entities, -1 where unknown.
    title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    labels = np.asarray(estimator.labels_)
    n, n_entities = len(labels), len(np.unique(labels))
    n_pairs = int(estimator.blocking_.n_pairs)
    known = statements(constraints.counts)
    sentence = f"{counted(n, 'reference')} to {counted(n_entities, 'entity', 'entities')}; "
    sentence += f"{counted(n_pairs, 'pair')} compared"
    sentence += f"; known for certain: {listed(known)}." if known else "."
    cards = {
        "sentence": sentence,
        "status": status(None, f"{n - n_entities:,} references joined to others"),
        "facts_of_its_own": [("Entities", f"{n_entities:,}"), ("Pairs", f"{n_pairs:,}")],
        "n_colors": 1,
        "chains": chains(estimator, ids, texts),
        "doubtful": _doubtful(doubtful, ids, texts),
        "curve": _rates(curve, threshold_of(estimator)),
        "blocking": list(blocking),
        "sizes": size_figure(labels, "entities"),
        "scores": agreement(truth, labels, constraints),
        "remarks": list(constraints.notes),
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        package=__package__,
        estimator=estimator,
        n_rows=n,
        noun="References",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def chains(estimator: Any, ids: Any, texts: Sequence[str]) -> list[Section]:
    """Return how the largest entities came about, merge by merge."""
    merges, labels = estimator.merges_, np.asarray(estimator.labels_)
    first = np.asarray(merges["i"], np.int64)
    entity = labels[first] if len(first) else first
    found = []
    for cluster in largest_clusters(labels, ids, MAX_CHAINS):
        if cluster["size"] < 2:
            continue
        steps = np.flatnonzero(entity == cluster["label"])
        members = np.flatnonzero(labels == cluster["label"])[:SHOWN_MEMBERS]
        cluster["references"] = [
            {"id": name, "text": texts[row][:MAX_LETTERS]}
            for name, row in zip(row_names(ids, members), members.tolist(), strict=True)
        ]
        cluster["steps"] = [_step(merges, step, ids) for step in steps[:MAX_STEPS].tolist()]
        cluster["n_more_steps"] = len(steps) - len(cluster["steps"])
        found.append(cluster)
    return found


def _step(merges: Mapping[str, Any], step: int, ids: Any) -> Section:
    """Return one merge, and how it came about where the method records that."""
    one, other = row_names(ids, [merges["i"][step], merges["j"][step]])
    parts = {name: _share(merges[name][step]) for name in ("attribute", "relational", "similarity")}
    kind = str(merges["kind"][step]) if "kind" in merges else ""
    how = KINDS.get(kind, kind)
    if "shared" in merges and merges["neighbors"][step]:
        shared = f"{int(merges['shared'][step])} of {int(merges['neighbors'][step])}"
        how = f"{how}{', ' if how else ''}{shared} neighbors shared"
    return {"first": one, "second": other, "how": how, **parts}


def _share(value: Any) -> str:
    return f"{float(value):.3f}" if np.isfinite(value) else ""


def _doubtful(pairs: Mapping[str, Any] | None, ids: Any, texts: Sequence[str]) -> list[Section]:
    if pairs is None:
        return []
    found = []
    for place in range(min(len(pairs["i"]), MAX_DOUBTFUL)):
        rows = [int(pairs["i"][place]), int(pairs["j"][place])]
        first, second = row_names(ids, rows)
        found.append(
            {
                "first": first,
                "second": second,
                "texts": [texts[row][:MAX_LETTERS] for row in rows],
                "reason": str(pairs["reason"][place]),
                **{
                    name: _share(pairs[name][place])
                    for name in ("attribute", "relational", "similarity")
                },
            }
        )
    return found


def _rates(curve: ResolutionCurve | None, threshold: float | None) -> Section | None:
    if curve is None or not len(curve.thresholds):
        return None
    best = curve.best
    note = (
        f"A threshold stands for the run that stops there. Best F1: {curve.f1[best]:.3f} at "
        f"{format_number(float(curve.thresholds[best]))}"
    )
    if threshold is not None:
        at = curve.at(float(threshold))
        here = 0.0 if at is None else float(curve.f1[at])
        note += f"; {here:.3f} at {format_number(float(threshold))}, the threshold of this run"
    return figure("Precision and recall over the threshold", rates(curve, threshold), f"{note}.")
