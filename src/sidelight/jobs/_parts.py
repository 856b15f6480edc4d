"""Sentences and tables that the results of several jobs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidelight._words import counted, format_number, score_rows, statements
from sidelight.constraints import Constraints, Violations
from sidelight.report.inner import Line, Strong, TextTable, Told, first_rows, text_table

#: Largest numbers of clusters, violated statements and columns that are listed.
MAX_CLUSTERS = 30
MAX_VIOLATIONS = 8
MAX_COLUMNS = 30
#: What the scales do to numbers.
SCALE_WORDS = {
    "standard": "scaled to variance 1",
    "robust": "scaled by their quartiles",
    "range": "scaled to range 1",
    "none": "not scaled",
}


def heading(estimator: Any, data: Any, text: str, noun: str = "row") -> Line:
    """Return method, data and number of rows, and what came out."""
    size = counted(data.n_rows, noun)
    return (Strong(type(estimator).__name__), f" on {data.path}: {size}{text}")


def ended(estimator: Any) -> str:
    """Return whether the search converged, and after how many iterations."""
    how = "converged" if getattr(estimator, "converged_", True) else "not converged"
    return f"{how} after {counted(int(estimator.n_iter_), 'iteration')}"


def objective_text(estimator: Any) -> str:
    """Return the objective with at most six digits."""
    return f"objective {format_number(estimator.objective_, 6)}"


def size_table(sizes: Mapping[str, int], classes: Mapping[str, str]) -> TextTable:
    """Return the clusters with their classes and numbers of rows; of very many, the largest."""
    n_rows = sum(sizes.values())
    shown = list(sizes.items())
    if len(shown) > MAX_CLUSTERS:
        shown.sort(key=lambda one: -one[1])
    named = [[classes.get(cluster, "")] if classes else [] for cluster, _ in shown]
    rows = [
        (cluster, *name, f"{n:,}", f"{n / n_rows:.1%}")
        for (cluster, n), name in zip(shown, named, strict=True)
    ]
    told = first_rows(rows, MAX_CLUSTERS, "smaller ones")
    if not classes:
        return text_table("Cluster", "Rows", "Share", rows=told)
    headers = ("Cluster", "Class", "Rows", "Share")
    return text_table(*headers, rows=told, justify=("left", "left", "right"))


def class_lines(classes: Mapping[str, str], sizes: Mapping[str, int]) -> list[Told]:
    """Return how clusters came to their classes."""
    if not classes:
        return []
    unclear = any(cluster not in classes for cluster in sizes if cluster != "-1")
    return [
        "Classes are those of most of the labeled rows in a cluster"
        + (", where it holds most of the class." if unclear else ".")
    ]


def score_table(scores: Mapping[str, Mapping[str, float]], column: str) -> TextTable:
    """Return the agreement with the true classes, over all rows and over unmentioned ones."""
    n_rows = ("Rows", *(f"{int(one['n_rows']):,}" for one in scores.values()))
    rows = [n_rows, *score_rows(*scores.values())]
    headers = (f"{which} rows" for which in scores)
    return text_table(f"Agreement with the column {column!r}", *headers, rows=rows)


def knowledge_text(known: Constraints) -> str:
    """Return how much is known, in words."""
    return ", ".join(statements(known.counts)) or "nothing"


def violation_lines(known: Constraints, violations: Violations, what: str = "Known") -> list[Told]:
    """Return how many statements a clustering keeps, and some of those that it does not."""
    kept = violations.n_stated - violations.n
    return [
        f"{what}: {knowledge_text(known)}; {kept:,} of {violations.n_stated:,} kept "
        f"({violations.satisfied:.1%})",
        *(f"  {sentence}" for sentence in violations.describe(MAX_VIOLATIONS)),
    ]


def ending(knowledge: Constraints, violations: Violations, scores: Any, data: Any) -> list[Told]:
    """Return what was known and kept, and the agreement with the truth, where there is one."""
    parts: list[Told] = [] if knowledge.is_empty else violation_lines(knowledge, violations)
    return [*parts, *([score_table(scores, data.truth_column or "truth")] if scores else [])]


def preparation_lines(preparer: Any, *, raw: bool) -> list[Told]:
    """Return what became of the columns: a sentence for plain numbers, a table for others."""
    if raw:
        return ["Columns are taken as they are."]
    if not hasattr(preparer, "plan_table"):
        return ["Sparse rows are taken as they are."] if preparer is None else []
    scale = SCALE_WORDS[preparer.scale]
    plan = preparer.plan_table()
    plain = [name for name, kind, how in plan if kind == "number" and not how]
    others = [row for row in plan if row[0] not in set(plain)]
    if not others:
        columns = f"{counted(len(plain), 'column')} of numbers"
        return [f"{columns}, {scale} (--raw takes them as they are)"]
    numbers = [(_few(plain), "number", "")] if plain else []
    rows = [*numbers, *first_rows(others, MAX_COLUMNS)]
    title = f"Columns; numbers are {scale} (--as, --weight, --scale, --drop, --raw overrule)"
    return [text_table("Column", "Used as", "How", rows=rows, title=title, justify=("left",))]


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6:,} more"
