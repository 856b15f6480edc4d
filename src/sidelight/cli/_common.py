"""What commands share: talking to the user, reading what is known, writing several files."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_pairs
from sidelight.io._atomic import atomic_write, check_writable

SHOWN_VIOLATIONS = 8


@dataclass
class Screen:
    """Where a command says what it does: tables for people, or one JSON object for machines."""

    as_json: bool = False
    quiet: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def talks(self) -> bool:
        """Whether there is somebody to read more than the result."""
        return not (self.as_json or self.quiet)

    def note(self, sentence: str) -> None:
        """Say something on the side (standard error)."""
        self.notes.append(sentence)
        if self.talks:
            print(sentence, file=sys.stderr)

    def show(self, *parts: Any) -> None:
        """Show text (Rich markup) or tables on standard output."""
        if self.talks:
            from rich.console import Console

            console = Console(highlight=False, soft_wrap=True)
            for part in parts:
                console.print(part)

    def result(self, facts: dict[str, Any]) -> None:
        """End with the facts: the one JSON object, if that was asked for."""
        if self.as_json:
            print(json.dumps(_plain({**facts, "notes": self.notes}), allow_nan=False))

    @contextlib.contextmanager
    def progress(self) -> Iterator[None]:
        """Bars for long work, when a person is watching."""
        import sidelight

        with sidelight.progress(show=self.talks and sys.stderr.isatty()):
            yield


def table(*headers: str, rows: Sequence[Sequence[object]], title: str | None = None) -> Any:
    """Lay out a table; columns after the first are numbers, to the right."""
    from rich import box
    from rich.table import Table as RichTable

    laid_out = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, header in enumerate(headers):
        laid_out.add_column(header, justify="right" if position else "left")
    for row in rows:
        laid_out.add_row(*(plain_text(cell) for cell in row))
    return laid_out


def plain_text(value: object) -> str:
    """Text that Rich shows as it is: ids may hold square brackets."""
    from rich.markup import escape

    return escape(str(value))


def number(value: float) -> str:
    """A number for people."""
    return f"{value:,.6g}"


def counted(n: int, thing: str) -> str:
    """``1 row``, ``2 rows``, ``1,000 rows``."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def read_knowledge(
    data: Table,
    *,
    constraints: Path | None = None,
    must_link: Path | None = None,
    cannot_link: Path | None = None,
) -> Constraints:
    """Everything that is known about the rows, from all the places where it was given."""
    place: dict[str, Any] = {"n_samples": data.n_rows, "ids": data.ids}
    known = Constraints(**place)
    if constraints is not None:
        known |= Constraints.read(constraints, **place)
    pairs = {
        kind: _as_ids(read_pairs(file, data.row_ids), data)
        for kind, file in (("must_link", must_link), ("cannot_link", cannot_link))
        if file is not None
    }
    if pairs:
        known |= Constraints(**pairs, **place)
    if data.labels is not None:
        known |= Constraints(labels=data.labels, **place)
    return known


def _as_ids(positions: Any, data: Table) -> Any:
    return positions if data.ids is None else data.ids[positions]


def knowledge_facts(known: Constraints) -> dict[str, int]:
    """How much is known, of each kind."""
    return {
        "must_link": len(known.must_link),
        "cannot_link": len(known.cannot_link),
        "labels": _n_known(known.labels),
        "groups": _n_known(known.groups),
    }


def knowledge_text(known: Constraints) -> str:
    """How much is known, in words."""
    words = {
        "must_link": "must-link",
        "cannot_link": "cannot-link",
        "labels": "labelled row",
        "groups": "grouped row",
    }
    facts = knowledge_facts(known)
    return ", ".join(counted(n, words[kind]) for kind, n in facts.items() if n) or "nothing"


def violation_facts(known: Constraints, labels: Any) -> dict[str, Any]:
    """What a clustering violates, by the ids of the user."""
    violations = known.violations(labels)
    ids = np.arange(known.n_samples) if known.ids is None else known.ids
    return {
        "n": violations.n,
        "n_stated": violations.n_stated,
        "satisfied": violations.satisfied,
        "must_link": ids[violations.must_link],
        "cannot_link": ids[violations.cannot_link],
        "labels": ids[violations.labels],
        "groups": ids[violations.groups],
    }


def show_violations(known: Constraints, labels: Any, screen: Screen) -> None:
    """Say how much of what is known a clustering keeps, and some of what it does not."""
    violations = known.violations(labels)
    kept = violations.n_stated - violations.n
    screen.show(
        f"Known: {knowledge_text(known)}; {kept:,} of {violations.n_stated:,} kept "
        f"({violations.satisfied:.1%})",
        *(f"  {plain_text(told)}" for told in violations.describe(SHOWN_VIOLATIONS)),
    )


def _n_known(codes: Any) -> int:
    return 0 if codes is None else int(np.count_nonzero(codes >= 0))


def class_codes(classes: Any) -> Any:
    """Classes as 0, 1, 2 ..., unknown ones as -1: so that a class may be called anything."""
    unknown = classes == ("" if classes.dtype.kind == "U" else -1)
    codes = np.full(len(classes), -1, dtype=np.int64)
    codes[~unknown] = np.unique(classes[~unknown], return_inverse=True)[1].reshape(-1)
    return codes


def check_output(path: Path | None, suffixes: Sequence[str]) -> None:
    """Complain about a place where a file cannot be written before the work, not after it."""
    if path is None:
        return
    if not path.name.lower().endswith(tuple(suffixes)):
        raise SidelightError(f"{path} should end in {' or '.join(suffixes)}.")
    check_writable(path)


def write_all(outputs: dict[Path, Callable[[Path], None]]) -> None:
    """Write several files, or none: all are written beside before the first is renamed."""
    with contextlib.ExitStack() as stack:
        temporary = {path: stack.enter_context(atomic_write(path)) for path in outputs}
        for path, write in outputs.items():
            write(temporary[path])


def _plain(value: Any) -> Any:
    """Values that JSON knows; what is not a finite number becomes null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
