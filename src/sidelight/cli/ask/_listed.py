"""``sidelight ask --pairs``: ask about the pairs of a file, such as those in doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.active import Answers
from sidelight.cli._errors import UsageError
from sidelight.cli._perform import Files
from sidelight.cli._screen import Screen
from sidelight.cli.ask._pair_view import PairView
from sidelight.cli.ask._talk import answer_files, talk
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
from sidelight.jobs import AskRequest
from sidelight.jobs.inner import read_knowledge

ENDS = ("i", "j")
REASON = "reason"


class ListedPairs:
    """Asks the pairs of a list, without those whose answer follows or that were skipped."""

    def __init__(self, pairs: Sequence[tuple[int, int]], answers: Answers) -> None:
        self._pairs, self._answers = pairs, answers

    def next_pair(self) -> tuple[int, int] | None:
        """The next pair to ask; None when nothing is left."""
        for i, j in self._pairs:
            if not self._answers.is_settled(i, j) and not self._answers.was_skipped(i, j):
                return i, j
        return None


def run_listed(request: AskRequest, files: Files, screen: Screen) -> None:
    """Ask about the listed pairs, and write the answers as constraints."""
    _check_no_clusters(request, files.outputs)
    kept: Any = answer_files(request, files)
    replace(files, outputs=kept).check_free(request.inputs)
    data = read_table(request.data, id_column=request.id_column, as_columns=True)
    screen.note(*data.notes)
    pairs, reasons = read_listed(Path(request.pairs), data)
    view = PairView(data, reasons=dict(zip(map(frozenset, pairs), reasons, strict=True)))
    facts = talk(
        request,
        read_knowledge(data, request),
        lambda answers: (ListedPairs(pairs, answers), view),
        f"{counted(len(pairs), 'pair')} to ask about",
        files,
        screen,
    )
    screen.tell(f"Next: sidelight resolve {request.data} --constraints {kept['constraints']} ...")
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


def read_listed(path: Path, data: Table) -> tuple[list[tuple[int, int]], list[str]]:
    """Read the pairs by the ids of the rows, and why they are asked about."""
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
    ends = (_positions(column_texts(raw.column(name)), places, file) for name in ENDS)
    pairs = list(zip(*ends, strict=True))
    for one, other in pairs:
        if one == other:
            raise SidelightError(f"{file} pairs {data.row_ids[one]!r} with itself.")
    return pairs, column_texts(raw.column(REASON)) if REASON in header else [""] * len(pairs)


def _positions(names: list[str], places: dict[str, int], path: Path) -> list[int]:
    found = []
    for row, name in enumerate(names, start=1):
        place = position_of(name, places)
        if place is None:
            hint = alike_hint(name, places)
            raise SidelightError(f"{path}, data row {row}: there is no row called {name!r}.{hint}")
        found.append(place)
    return found
