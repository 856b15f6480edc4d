"""What commands share: talking to the user in tables, sentences or JSON."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._words import SCORES, format_number, statements
from sidelight.constraints import Constraints, Violations
from sidelight.jobs._tell import Line, Strong, TextTable, Told

SHOWN_CLUSTERS = 30
SHOWN_VIOLATIONS = 8
SHOWN_COLUMNS = 30
#: What the scales do to numbers.
SCALE_WORDS = {
    "standard": "scaled to variance 1",
    "robust": "scaled by their quartiles",
    "range": "scaled to range 1",
    "none": "not scaled",
}


@dataclass
class Screen:
    """Where a command says what it does: tables for people, or one JSON object for machines."""

    as_json: bool = False
    quiet: bool = False
    knows_columns: bool = False  # what becomes of the columns has been shown before
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # what the command ended with

    @property
    def prints_text(self) -> bool:
        """Whether there is somebody to read more than the result."""
        return not (self.as_json or self.quiet)

    def note(self, *sentences: str) -> None:
        """Say something on the side (standard error)."""
        self.notes += sentences
        if self.prints_text:
            print(*sentences, sep="\n", end="\n" if sentences else "", file=sys.stderr)

    def show(self, *parts: Any) -> None:
        """Show text (Rich markup) or tables on standard output."""
        if self.prints_text:
            from rich.console import Console

            console = Console(highlight=False, soft_wrap=True)
            for part in parts:
                console.print(part)

    def tell(self, *told: Told) -> None:
        """Show lines and tables on standard output."""
        if self.prints_text:
            from rich.console import Console

            console = Console(highlight=False, soft_wrap=True)
            for one in told:
                console.print(_rich_table(one) if isinstance(one, TextTable) else _rich_line(one))

    def written(self, outputs: Mapping[str, Any], otherwise: str) -> dict[str, str]:
        """Name the files that were written, and return them by kind."""
        paths = {kind: str(path) for kind, path in outputs.items()}
        names = ", ".join(plain_text(path) for path in paths.values())
        if names or otherwise:
            self.show(f"Written: {names}" if names else otherwise)
        return paths

    def result(self, facts: dict[str, Any]) -> None:
        """End with the facts: the one JSON object, if that was asked for."""
        self.facts = facts
        if self.as_json:
            print(json.dumps(_plain({**facts, "notes": self.notes}), allow_nan=False))

    @contextlib.contextmanager
    def progress(self) -> Iterator[None]:
        """Bars for long work, when a person is watching."""
        import sidelight

        with sidelight.progress(show=self.prints_text and sys.stderr.isatty()):
            yield


def plain_text(value: object) -> str:
    """Text that Rich shows as it is: ids may hold square brackets."""
    from rich.markup import escape

    return escape(str(value))


def _rich_line(line: Line) -> str:
    parts = (line,) if isinstance(line, str) else line
    return "".join(
        f"[bold]{plain_text(part)}[/]" if isinstance(part, Strong) else plain_text(part)
        for part in parts
    )


def _rich_table(told: TextTable) -> Any:
    """Lay out a table; of a narrow one the first column is folded, and the others never are."""
    from rich import box
    from rich.table import Table

    laid_out = Table(
        title=plain_text(told.title) if told.title else None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0) if told.narrow else (0, 1),
    )
    for position, header in enumerate(told.headers):
        side: Any = told.side(position)
        fold: Any = {"overflow": "fold", "no_wrap": position > 0} if told.narrow else {}
        laid_out.add_column(plain_text(header), justify=side, **fold)
    for position, row in enumerate(told.rows):
        cells = [plain_text(cell) for cell in row]
        if told.strong_first and position == 0:
            cells[0] = f"[bold]{cells[0]}[/]"
        laid_out.add_row(*cells)
    return laid_out


def number(value: float) -> str:
    """A number for people."""
    return format_number(value, 6)


def table(
    *headers: str,
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    justify: Sequence[str] = ("left", "right"),
) -> Any:
    """Lay out a table; by default columns after the first are numbers, to the right."""
    from rich import box
    from rich.table import Table

    laid_out = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for position, header in enumerate(headers):
        side: Any = justify[min(position, len(justify) - 1)]
        laid_out.add_column(header, justify=side)
    for row in rows:
        laid_out.add_row(*(plain_text(cell) for cell in row))
    return laid_out


def size_table(sizes: Mapping[str, int], classes: Mapping[str, str]) -> Any:
    """The clusters with their classes and numbers of rows; of very many, the largest."""
    n_rows = sum(sizes.values())
    shown = list(sizes.items())
    if len(shown) > SHOWN_CLUSTERS:
        shown = sorted(shown, key=lambda one: -one[1])[:SHOWN_CLUSTERS]
    rows = [(cluster, f"{n:,}", f"{n / n_rows:.1%}") for cluster, n in shown]
    if hidden := len(sizes) - len(shown):
        rows.append((f"and {hidden} smaller ones", "", ""))
    if not classes:
        return table("Cluster", "Rows", "Share", rows=rows)
    named = [(cluster, classes.get(cluster, ""), *numbers) for cluster, *numbers in rows]
    return table("Cluster", "Class", "Rows", "Share", rows=named, justify=("left", "left", "right"))


def class_lines(classes: Mapping[str, str], sizes: Mapping[str, int]) -> list[str]:
    """How clusters came to their classes."""
    if not classes:
        return []
    unclear = any(cluster not in classes for cluster in sizes if cluster != "-1")
    return [
        "Classes are those of most of the labeled rows in a cluster"
        + (", where it holds most of the class." if unclear else ".")
    ]


def score_table(scores: Mapping[str, Mapping[str, float]], column: str) -> Any:
    """The usual scores side by side."""
    rows: list[list[str]] = [["Rows", *(f"{int(s['n_rows']):,}" for s in scores.values())]]
    rows += [[text, *(f"{s[name]:.3f}" for s in scores.values())] for name, text in SCORES.items()]
    headers = (f"{which} rows" for which in scores)
    return table(f"Agreement with the column {column!r}", *headers, rows=rows)


def knowledge_text(known: Constraints) -> str:
    """How much is known, in words."""
    return ", ".join(statements(known.counts)) or "nothing"


def violation_lines(known: Constraints, violations: Violations) -> list[str]:
    """How much of what is known a clustering keeps, and some of what it does not."""
    kept = violations.n_stated - violations.n
    return [
        f"Known: {knowledge_text(known)}; {kept:,} of {violations.n_stated:,} kept "
        f"({violations.satisfied:.1%})",
        *(f"  {plain_text(sentence)}" for sentence in violations.describe(SHOWN_VIOLATIONS)),
    ]


def preparation_lines(preparer: Any, *, raw: bool) -> list[Any]:
    """What became of the columns: a sentence for plain numbers, a short table for others."""
    if raw:
        return ["Columns are taken as they are."]
    if not hasattr(preparer, "plan_table"):
        return ["Sparse rows are taken as they are."] if preparer is None else []
    scale = SCALE_WORDS[preparer.scale]
    plan = preparer.plan_table()
    plain = [name for name, kind, how in plan if kind == "number" and not how]
    others = [row for row in plan if row[0] not in set(plain)]
    if not others:
        numbers = f"{len(plain):,} column{'s'[: len(plain) != 1]} of numbers"
        return [f"{numbers}, {scale} (--raw takes them as they are)"]
    rows = [(_few(plain), "number", "")] if plain else []
    rows += others[:SHOWN_COLUMNS]
    if len(others) > SHOWN_COLUMNS:
        rows.append((f"and {len(others) - SHOWN_COLUMNS:,} more", "", ""))
    title = f"Columns; numbers are {scale} (--as, --weight, --scale, --drop, --raw overrule)"
    return [table("Column", "Used as", "How", rows=rows, title=title, justify=("left",))]


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6:,} more"


def _plain(value: Any) -> Any:
    """Values that JSON knows; what is not a finite number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
