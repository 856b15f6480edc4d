"""What commands share: talking to the user in tables, sentences or JSON."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight.report.inner import Line, Strong, TextTable, Told


@dataclass
class Screen:
    """Where a command says what it does: tables for people, or one JSON object for machines."""

    as_json: bool = False
    quiet: bool = False
    knows_columns: bool = False  # what becomes of the columns has been shown before
    keeps_facts: bool = False  # another command goes on with what this one ended with
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # what the command ended with

    @property
    def prints_text(self) -> bool:
        """Whether there is somebody to read more than the result."""
        return not (self.as_json or self.quiet)

    @property
    def wants_facts(self) -> bool:
        """Whether somebody needs the result as plain values."""
        return self.as_json or self.keeps_facts

    def note(self, *sentences: str) -> None:
        """Write a note to standard error."""
        self.notes += sentences
        if self.prints_text:
            print(*sentences, sep="\n", end="\n" if sentences else "", file=sys.stderr)

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
        names = ", ".join(paths.values())
        if names or otherwise:
            self.tell(f"Written: {names}" if names else otherwise)
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
    return "".join(map(_rich_part, (line,) if isinstance(line, str) else line))


def _rich_part(value: object) -> str:
    text = plain_text(value)
    return f"[bold]{text}[/]" if isinstance(value, Strong) else text


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
        cells = [_rich_part(cell) for cell in row]
        if told.strong_first and position == 0:
            cells[0] = f"[bold]{cells[0]}[/]"
        laid_out.add_row(*cells)
    return laid_out


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
