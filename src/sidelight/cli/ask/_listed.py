"""``sidelight ask --pairs``: ask about the pairs of a file, such as those in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.active import Answers
from sidelight.cli._errors import UsageError
from sidelight.cli._screen import Screen, plain_text
from sidelight.cli.ask._command import answer_files
from sidelight.cli.ask._dialogue import Dialogue
from sidelight.cli.ask._pair_view import _cells, _other_columns, _text
from sidelight.cli.ask._talk import talk
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_table
from sidelight.io.inner import (
    alike_hint,
    check_readable,
    column_names,
    column_texts,
    position_of,
    quoted,
    read_raw,
)
from sidelight.jobs._outputs import check_outputs_free
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs.ask._request import AskRequest

ENDS = ("i", "j")
REASON = "reason"


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs to ask about, in their order, and why."""

    pairs: IntArray
    reasons: list[str]


class ListedPairs:
    """Asks the pairs of a list, without those whose answer follows or that were skipped."""

    def __init__(self, pairs: IntArray, answers: Answers) -> None:
        self._pairs, self._answers = pairs.tolist(), answers

    def next_pair(self) -> tuple[int, int] | None:
        """The next pair to ask; None when nothing is left."""
        for i, j in self._pairs:
            if not self._answers.is_settled(i, j) and not self._answers.was_skipped(i, j):
                return i, j
        return None


class RowsView:
    """Shows two rows of a table side by side, and why they are asked about."""

    def __init__(self, data: Table, listed: Listed) -> None:
        self._data = data
        self._columns = _other_columns(data, {data.id_column})
        found = zip(map(tuple, listed.pairs.tolist()), listed.reasons, strict=True)
        self._reasons = {frozenset(pair): reason for pair, reason in found}

    def table(self, i: int, j: int) -> Any:
        """Lay out two rows for Rich."""
        from rich import box
        from rich.table import Table as RichTable

        laid_out = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        laid_out.add_column("")
        for row in (i, j):
            laid_out.add_column(plain_text(self._data.row_ids[row]))
        laid_out.add_column("")
        for name, column in self._columns.items():
            one, other = (_text(column[row].as_py()) for row in (i, j))
            laid_out.add_row(*_cells(name, one, other, "" if one == other else "≠"))
        if reason := self._reasons.get(frozenset((i, j))):
            laid_out.caption = plain_text(reason)
        return laid_out


def run_listed(
    request: AskRequest,
    outputs: Mapping[str, Path | None],
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
) -> None:
    """Ask about the listed pairs, and write the answers as constraints."""
    _check_no_clusters(request, outputs)
    files = answer_files(request, outputs)
    screen.note(*check_outputs_free(request.inputs, force=force, **files))
    data = read_table(request.data, id_column=request.id_column, as_columns=True)
    screen.note(*data.notes)
    facts = _talk(
        data,
        read_knowledge(data, request),
        read_listed(Path(request.pairs), data),
        request.questions,
        files,
        as_json=screen.as_json,
        spreadsheet_safe=spreadsheet_safe,
    )
    constraints = files["constraints"]
    screen.tell(f"Next: sidelight resolve {request.data} --constraints {constraints} ...")
    screen.result({"command": "ask", "data": str(request.data), "answers": facts})


def _check_no_clusters(request: AskRequest, outputs: Mapping[str, Path | None]) -> None:
    """Refuse what has no use where the questions are given and nothing is clustered."""
    given = {
        "-k": request.k,
        "--method": request.method,
        "--label-column": request.labels,
        "--strategy": request.strategy,
        "-o": outputs["labels"],
        "--report": outputs["report"],
    }
    useless = [option for option, value in given.items() if value is not None]
    if useless:
        raise UsageError(
            f"{useless[0]} has no use with --pairs, which asks about these pairs and writes the "
            "answers as constraints."
        )


def read_listed(path: Path, data: Table) -> Listed:
    """Read the pairs by the ids of the rows."""
    file = check_readable(path)
    header = column_names(file)
    missing = [name for name in ENDS if name not in header]
    if missing:
        raise SidelightError(
            f"{file} has no column {quoted(missing)}; a list of pairs has the columns 'i' and 'j', "
            f"its columns are {quoted(header)}."
        )
    raw = read_raw(file, text_columns=ENDS)
    places = {str(name): place for place, name in enumerate(data.row_ids.tolist())}
    ends = [_positions(column_texts(raw.column(name)), places, file) for name in ENDS]
    pairs = np.column_stack(ends).astype(np.int64).reshape(-1, 2)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise SidelightError(f"{file} pairs {data.row_ids[pairs[same[0], 0]]!r} with itself.")
    reasons = column_texts(raw.column(REASON)) if REASON in header else [""] * len(pairs)
    return Listed(pairs, reasons)


def _positions(names: list[str], places: dict[str, int], path: Path) -> list[int]:
    found = []
    for row, name in enumerate(names, start=1):
        place = position_of(name, places)
        if place is None:
            hint = alike_hint(name, places)
            raise SidelightError(f"{path}, data row {row}: there is no row called {name!r}.{hint}")
        found.append(place)
    return found


def _talk(
    data: Table,
    knowledge: Any,
    listed: Listed,
    questions: int | None,
    files: Mapping[str, Path],
    *,
    as_json: bool,
    spreadsheet_safe: bool,
) -> dict[str, Any]:
    """Hold the dialogue and write what it brought, with what was known before, as constraints."""
    from rich.console import Console

    # Standard output belongs to the JSON object, if that was asked for.
    console = Console(highlight=False, stderr=as_json)
    with Answers.open(files["answers"], known=knowledge) as answers:
        strategy: Any = ListedPairs(listed.pairs, answers)
        view: Any = RowsView(data, listed)
        dialogue = Dialogue(answers, strategy, view, console, questions)
        return talk(
            dialogue,
            f"{counted(len(listed.pairs), 'pair')} to ask about",
            data.path,
            files["answers"],
            files["constraints"],
            spreadsheet_safe=spreadsheet_safe,
        )
