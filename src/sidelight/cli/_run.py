"""``sidelight cluster``, ``classify``, ``transform`` and ``select``: run, write, tell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._screen import (
    SHOWN_CLUSTERS,
    Screen,
    class_lines,
    number,
    plain_text,
    preparation_lines,
    score_table,
    size_table,
    table,
    violation_lines,
)
from sidelight.jobs import Applied, Outcome, Prepared, Request, Run, prepare
from sidelight.jobs._outputs import check_outputs_free
from sidelight.jobs._table._request import several
from sidelight.jobs.classify._run import Classified, ClassRun

SHOWN_FEATURES = 30


def run(
    request: Request, screen: Screen, *, force: bool, spreadsheet_safe: bool, **outputs: Path | None
) -> dict[str, Any]:
    """Do the whole job and return the facts that ``--json`` prints."""
    claim(screen, request.inputs, force=force, **outputs)
    if several(request.k):
        from sidelight.cli._compare import choose_number

        return choose_number(request, screen, spreadsheet_safe=spreadsheet_safe, **outputs)
    return work(request, screen, spreadsheet_safe=spreadsheet_safe, **outputs)


def claim(
    screen: Screen, inputs: Iterable[Path], *, force: bool, **outputs: Path | None
) -> dict[str, Path]:
    """Make sure, before any work, that outputs may be written: all that a command writes."""
    screen.note(*check_outputs_free(inputs, force=force, **outputs))
    return {kind: Path(path) for kind, path in outputs.items() if path is not None}


def work(
    request: Request, screen: Screen, *, spreadsheet_safe: bool, **outputs: Path | None
) -> dict[str, Any]:
    """Run, write and show; the outputs have been claimed."""
    prepared = prepare(request)
    screen.note(*prepared.notes)
    if not screen.knows_columns:
        screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    with screen.progress():
        found = prepared.fit()
        facts = {"command": found.request.command, **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found, facts))
    kind = next(iter(outputs))
    facts["outputs"] = screen.written(
        paths, f"Nothing was written; -o {kind}.csv keeps the {kind}, --report a report."
    )
    if kind not in paths and request.command != "select":
        facts |= {"ids": found.data.row_ids, **dense_values(found)}
    screen.result(facts)
    return facts


def dense_values(found: Outcome) -> dict[str, Any]:
    """Clusters or classes of the rows, or their features."""
    if isinstance(found, Classified):
        name = "probabilities" if found.decisions.are_probabilities else "scores"
        values = found.decisions.values
        return {"row_classes": found.row_classes, "columns": found.value_columns, name: values}
    if found.labels is not None:
        return {"labels": found.labels}
    rows = found.features
    return {"rows": rows.toarray() if hasattr(rows, "toarray") else rows}


def heading(found: Outcome) -> str:
    """Method, data and number of rows."""
    name, rows = type(found.estimator).__name__, counted(found.data.n_rows, "row")
    return f"[bold]{name}[/] on {plain_text(found.data.path)}: {rows}"


def _parts(found: Run, facts: dict[str, Any]) -> list[Any]:
    """What a person is told."""
    if isinstance(found, ClassRun):
        from sidelight.cli._classify import class_parts

        return class_parts(found, facts)
    return _features(found) if found.labels is None else cluster_parts(found, facts)


def cluster_parts(found: Run, facts: dict[str, Any]) -> list[Any]:
    """What a person is told about clusters: sizes, what they are, what they keep."""
    ended = "converged" if facts["converged"] else "not converged"
    n_features = counted(facts["n_features"], "feature")
    parts: list[Any] = [
        f"{heading(found)}, {n_features}; {ended} after "
        f"{counted(facts['n_iter'], 'iteration')} in {found.seconds:.2f} s, objective "
        f"{number(facts['objective'])}",
        size_table(facts["sizes"], facts["classes"]),
        *class_lines(facts["classes"], facts["sizes"]),
    ]
    parts += condition_parts(facts.get("conditions"), found.estimator)
    parts += explanation_lines(found)
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def condition_parts(conditions: list[dict[str, Any]] | None, estimator: Any) -> list[Any]:
    """What the clusters hold of what they have to, and which rows pay for it."""
    if not conditions:
        return []
    n_clusters = len(conditions[0]["rows"])
    shown = range(n_clusters)[:SHOWN_CLUSTERS]
    rows = [
        (one["condition"], _least_text(one["at_least"]), *(f"{one['rows'][h]:,}" for h in shown))
        for one in conditions
    ]
    parts: list[Any] = [table("Condition", "At least", *map(str, shown), rows=rows)]
    if n_clusters > len(shown):
        parts.append(f"  and {counted(n_clusters - len(shown), 'more cluster')}")
    if n := len(estimator.not_nearest_):
        parts.append(
            f"{counted(n, 'row')} {'is' if n == 1 else 'are'} nearer to another cluster: "
            "conditions come first."
        )
    return parts


def _least_text(least: list[int]) -> str:
    return f"{least[0]:,}" if min(least) == max(least) else f"{min(least):,} to {max(least):,}"


def explanation_lines(found: Run) -> list[str]:
    """What sets the clusters apart, a line each; nothing for very many."""
    if not 1 < len(found.sizes) <= SHOWN_CLUSTERS:
        return []
    from sidelight.explanation import brief
    from sidelight.jobs import explain

    lines = [f"  {plain_text(line)}" for line in brief(explain(found))]
    return ["What sets them apart (`sidelight explain` tells more):", *lines]


def _features(found: Run) -> list[Any]:
    if found.method.tags.kind == "embedding":
        from sidelight.cli._embed import map_parts

        return map_parts(found)
    ranked = hasattr(found.estimator, "get_support")
    return [*([_ranking(found)] if ranked else []), features_line(found)]


def features_line(found: Run | Applied) -> str:
    """Rows and features, before and after."""
    names = found.features_in if isinstance(found, Prepared) else found.model.features_in
    n_before = counted(len(names), "feature")
    n_after = len(found.feature_names)
    return f"{heading(found)}, {n_before} in, {n_after} out, in {found.seconds:.2f} s"


def _ranking(found: Run) -> Any:
    estimator, names = found.estimator, found.features_in
    order, kept = np.argsort(estimator.ranking_, kind="stable"), estimator.get_support()
    rows: list[tuple[Any, ...]] = [
        (
            names[j],
            estimator.ranking_[j],
            number(float(estimator.scores_[j])),
            "✓" if kept[j] else "",
        )
        for j in order[:SHOWN_FEATURES]
    ]
    if len(order) > SHOWN_FEATURES:
        rows.append((f"and {len(order) - SHOWN_FEATURES} more", "", "", ""))
    return table("Feature", "Rank", "Score", "Kept", rows=rows)
