"""The tables of the report, as plain rows for the template."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from sidelight import __version__
from sidelight._words import SCORES, STATEMENTS, counted, format_number, listed
from sidelight.pictures._matching import count_together, match_classes
from sidelight.pictures._run import Partition, Run, shorten
from sidelight.pictures._selection import Links, Selection

Row = dict[str, Any]

MAX_STATEMENTS = 200
MAX_CLASSES = 40
MAX_VALUE_LENGTH = 160


@dataclass(frozen=True)
class Tally:
    """How many statements of one kind were made, and how many were violated."""

    kind: str
    stated: int
    violated: int

    @property
    def plural(self) -> str:
        """Kind of the statements."""
        return f"{self.kind}s"

    @property
    def satisfied_share(self) -> float:
        """Part of the statements that hold."""
        return 1.0 - self.violated / self.stated

    @property
    def percent(self) -> str:
        """The same in per cent; no violation is rounded away."""
        share = self.satisfied_share
        return f"{share:.0%}" if share in (0.0, 1.0) or 0.01 <= share < 0.995 else f"{share:.2%}"


def tallies(run: Run) -> list[Tally]:
    """Count what was asked by kind; kinds that were not used are left out."""
    stated, violated = run.constraints, run.violations
    counts = [
        Tally(STATEMENTS[kind], number, len(getattr(violated, kind)))
        for kind, number in stated.counts.items()
    ]
    if run.size_bounds is not None:
        counts.append(Tally("bounded size", len(run.size_bounds), run.n_sizes_violated))
    if run.conditions is not None:
        k = len(run.estimator.cluster_sizes_)
        n_unmet = len(run.conditions.unmet(run.estimator.labels_, k))
        counts.append(Tally("condition", len(run.conditions) * k, n_unmet))
    return [tally for tally in counts if tally.stated]


def asked_in_one_sentence(run: Run) -> str:
    """Say what was asked and what came of it."""
    data = [counted(run.n_rows, "row"), counted(len(run.clusters.names), "cluster")]
    kinds = tallies(run)
    if not kinds:
        return f"{listed(data)}; nothing else was known."
    asked = listed([counted(tally.stated, tally.kind) for tally in kinds])
    return f"{', '.join(data)}, {asked}: {outcome(kinds)}."


def outcome(kinds: list[Tally]) -> str:
    """Say how much was violated."""
    stated = sum(tally.stated for tally in kinds)
    violated = sum(tally.violated for tally in kinds)
    return f"{violated:,} of {stated:,} violated" if violated else "all satisfied"


def statements(run: Run, links: Links, selection: Selection) -> list[Row]:
    """List what was asked, violated statements first, at most :data:`MAX_STATEMENTS`.

    A pair that is drawn knows the number of its line.
    """
    drawn = zip(selection.rows[selection.links.pairs], selection.links.cannot, strict=True)
    line_of = {(int(a), int(b), bool(cannot)): n for n, ((a, b), cannot) in enumerate(drawn)}

    def pair(number: int) -> Row:
        first, second = (int(row) for row in links.pairs[number])
        cannot = bool(links.cannot[number])
        return {
            **_statement(run, STATEMENTS["cannot_link" if cannot else "must_link"], first),
            "violated": bool(links.violated[number]),
            "second": run.row_names([second])[0],
            "second_cluster": int(run.clusters.codes[second]),
            "second_cluster_name": run.clusters.name(int(run.clusters.codes[second])),
            "weight": format_number(float(links.weight[number])),
            "line": line_of.get((first, second, cannot)),
        }

    n_violated = int(links.violated.sum())
    found = [pair(number) for number in range(n_violated)[:MAX_STATEMENTS]]
    found += _row_statements(run)
    found += [pair(number) for number in range(n_violated, len(links))[:MAX_STATEMENTS]]
    return found[:MAX_STATEMENTS]


def _statement(run: Run, kind: str, row: int, second: str = "") -> Row:
    """A violated statement about a row, by the user's ids."""
    cluster = int(run.clusters.codes[row])
    return {
        "kind": kind,
        "violated": True,
        "first": run.row_names([row])[0],
        "first_cluster": cluster,
        "first_cluster_name": run.clusters.name(cluster),
        "second": second,
        "second_cluster": None,
        "weight": "",
        "line": None,
    }


def _row_statements(run: Run) -> list[Row]:
    """Violated labels and memberships of groups."""
    known, violated = run.constraints, run.violations
    kinds = (
        ("labels", "labelled", known.labels, known.label_names, violated.labels),
        ("groups", "in group", known.groups, known.group_names, violated.groups),
    )
    return [
        _statement(run, STATEMENTS[kind], row, f"{what} {names[codes[row]]}")
        for kind, what, codes, names, rows in kinds
        if codes is not None
        for row in rows[:MAX_STATEMENTS].tolist()
    ]


def confusion(truth: Partition, clusters: Partition, most: int) -> Row:
    """Lay out true classes (rows, the largest) against clusters (columns, at most so many).

    Each cluster stands under the class it was matched with; a last one, -1, holds the rows in no
    cluster.
    """
    counts = count_together(truth, clusters)
    numbers = match_classes(counts)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES]
    order = order[np.argsort(numbers[order], kind="stable")]
    matched = numbers[order][numbers[order] < len(clusters.names)]
    rest = np.setdiff1d(np.arange(len(clusters.names)), matched)
    columns = np.concatenate([matched, rest])
    if counts[:, -1].any():
        columns = np.append(columns, -1)
    shown = columns[:most]
    rows = [
        {
            "name": truth.names[code],
            "cells": [
                {"count": int(n), "share": float(n / max(counts[code].sum(), 1))}
                for n in counts[code, shown]
            ],
            "total": int(truth.sizes[code]),
        }
        for code in order
    ]
    return {
        "columns": [{"number": int(c), "name": clusters.name(int(c))} for c in shown],
        "rows": rows,
        "n_hidden": counts.shape[0] - len(order),
        "n_hidden_columns": len(columns) - len(shown),
    }


def scores(run: Run) -> list[Row]:
    """Score the clusters against the true classes.

    The constraints give part of the answer away: the rows they do not mention are scored apart.
    """
    from sidelight.evaluation import constrained_scores

    if run.truth is None or not ((run.truth.codes >= 0) & (run.clusters.codes >= 0)).any():
        return []
    found = constrained_scores(run.truth.codes, run.clusters.codes, run.constraints)
    apart = found.get("unconstrained", {})
    return [
        {"name": title, "overall": found["all"][name], "unmentioned": apart.get(name)}
        for name, title in SCORES.items()
    ]


def settings_of(estimator: Any, extra: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """List the parameters of the estimator, after what else was set for the run."""
    rows = dict(extra or {})
    rows.update(estimator.get_params(deep=False))
    return [(str(name), shorten(_value(value), MAX_VALUE_LENGTH)) for name, value in rows.items()]


def versions() -> list[tuple[str, str]]:
    """List what the run was made with."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ("sidelight", __version__),
        ("python", platform.python_version()),
        *((name, metadata.version(name)) for name in packages),
    ]


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return value if isinstance(value, str) else repr(value)
