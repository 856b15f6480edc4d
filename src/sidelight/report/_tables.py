"""The tables of the report, as plain rows for the template."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from sidelight import __version__
from sidelight._words import SCORES, STATEMENTS, counted, listed
from sidelight.report._run import Partition, Run, shorten
from sidelight.report._selection import Links

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
    def satisfied_share(self) -> float:
        """Part of the statements that hold."""
        return 1.0 - self.violated / self.stated


@dataclass(frozen=True)
class Statement:
    """One thing that was asked, by the user's ids."""

    kind: str
    violated: bool
    first: str
    second: str
    first_cluster: int
    second_cluster: int | None
    weight: str
    pair: tuple[int, int] | None


def tallies(run: Run) -> list[Tally]:
    """Count what was asked by kind; kinds that were not used are left out."""
    stated, violated = run.constraints, run.violations
    counts = [
        Tally(STATEMENTS[kind], number, len(getattr(violated, kind)))
        for kind, number in stated.counts.items()
    ]
    if run.size_bounds is not None:
        counts.append(Tally("bounded size", len(run.size_bounds), run.n_sizes_violated))
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


def statements(run: Run, links: Links) -> list[Statement]:
    """List what was asked, violated statements first, at most :data:`MAX_STATEMENTS`."""
    n_violated = int(links.violated.sum())
    found = [_pair_statement(run, links, number) for number in range(n_violated)[:MAX_STATEMENTS]]
    found += _row_statements(run)
    satisfied = range(n_violated, len(links))[:MAX_STATEMENTS]
    found += [_pair_statement(run, links, number) for number in satisfied]
    return found[:MAX_STATEMENTS]


def _pair_statement(run: Run, links: Links, number: int) -> Statement:
    first, second = (int(row) for row in links.pairs[number])
    names = run.row_names([first, second])
    codes = run.clusters.codes
    return Statement(
        kind="cannot-link" if links.cannot[number] else "must-link",
        violated=bool(links.violated[number]),
        first=names[0],
        second=names[1],
        first_cluster=int(codes[first]),
        second_cluster=int(codes[second]),
        weight=format_number(float(links.weight[number])),
        pair=(first, second),
    )


def _row_statements(run: Run) -> list[Statement]:
    """Violated labels and memberships of groups."""
    known, violated = run.constraints, run.violations
    kinds = (
        ("labels", "labelled", known.labels, known.label_names, violated.labels),
        ("groups", "in group", known.groups, known.group_names, violated.groups),
    )
    return [
        Statement(
            kind=STATEMENTS[kind],
            violated=True,
            first=run.row_names([row])[0],
            second=f"{what} {names[codes[row]]}",
            first_cluster=int(run.clusters.codes[row]),
            second_cluster=None,
            weight="",
            pair=None,
        )
        for kind, what, codes, names, rows in kinds
        if codes is not None
        for row in rows[:MAX_STATEMENTS].tolist()
    ]


@dataclass(frozen=True)
class Confusion:
    """Known classes (rows) against clusters (columns), the largest classes first.

    Attributes
    ----------
    classes, clusters : ndarray of int
        Codes in the order of the table; the clusters are ordered so that each stands under the
        class it was matched with. A last cluster -1 holds the rows in no cluster.
    counts : ndarray of shape (n_classes, n_clusters)
    share : ndarray of the same shape
        Counts as a part of the class.
    n_hidden : int
        Classes that are too many to show.
    """

    classes: npt.NDArray[np.int64]
    clusters: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    n_hidden: int


def count_together(truth: Partition, clusters: Partition) -> npt.NDArray[np.int64]:
    """Count the rows by class and cluster; the last column is for rows in no cluster."""
    width = len(clusters.names) + 1
    inside = truth.codes >= 0
    column = np.where(clusters.codes >= 0, clusters.codes, width - 1)
    flat = np.bincount(
        truth.codes[inside] * width + column[inside], minlength=len(truth.names) * width
    )
    return flat.reshape(len(truth.names), width)


def match_classes(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give every class the number of its cluster (Hungarian matching), or a number of its own.

    The numbers are used as colours, so that a class has the colour of its cluster.
    """
    n_classes, n_clusters = counts.shape[0], counts.shape[1] - 1
    rows, columns = linear_sum_assignment(-counts[:, :n_clusters])
    numbers = np.full(n_classes, -1, dtype=np.int64)
    numbers[rows] = columns
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = n_clusters + np.arange(len(alone))
    return numbers


def confusion(truth: Partition, clusters: Partition) -> Confusion:
    """Lay out the confusion table."""
    counts = count_together(truth, clusters)
    numbers = match_classes(counts)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES]
    order = order[np.argsort(numbers[order], kind="stable")]
    matched = numbers[order][numbers[order] < len(clusters.names)]
    rest = np.setdiff1d(np.arange(len(clusters.names)), matched)
    columns = np.concatenate([matched, rest])
    if counts[:, -1].any():
        columns = np.append(columns, len(clusters.names))
    shown = counts[np.ix_(order, columns)]
    totals = np.maximum(counts[order].sum(axis=1, keepdims=True), 1)
    return Confusion(
        classes=order,
        clusters=np.where(columns == len(clusters.names), -1, columns),
        counts=shown,
        share=shown / totals,
        n_hidden=counts.shape[0] - len(order),
    )


@dataclass(frozen=True)
class Score:
    """A score over all rows with a known label, and over those that no constraint mentions."""

    name: str
    overall: float
    unmentioned: float | None


def scores(run: Run) -> list[Score]:
    """Score the clusters against the known labels.

    The constraints give part of the answer away: the rows they do not mention are scored apart.
    """
    from sidelight.evaluation import constrained_scores

    if run.truth is None or not ((run.truth.codes >= 0) & (run.clusters.codes >= 0)).any():
        return []
    found = constrained_scores(run.truth.codes, run.clusters.codes, run.constraints)
    apart = found.get("unconstrained", {})
    return [Score(title, found["all"][name], apart.get(name)) for name, title in SCORES.items()]


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


def format_number(value: float) -> str:
    """Write a number with about four digits.

    Examples
    --------
    >>> [format_number(value) for value in (0.0, 12.0, 3.14159, 123456.7, 1.5e-7)]
    ['0', '12', '3.142', '123,457', '1.5e-07']
    """
    if not np.isfinite(value):
        return str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e3:
        return f"{value:.4g}"
    if 1e3 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return value if isinstance(value, str) else repr(value)
