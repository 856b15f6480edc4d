"""The tail of every command: check outputs, run the job, write its files, show what came out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidelight._words import set_by
from sidelight.cli._screen import Screen
from sidelight.jobs._outputs import KINDS, check_outputs_free
from sidelight.jobs._registry import Job
from sidelight.jobs._result import Result

#: Kinds of files of which only the result knows what they are to hold.
LATE = ("predicted",)


def perform(
    job: Job,
    request: Any,
    outputs: Mapping[str, Path | None],
    screen: Screen,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> Result:
    """Do a job from its request to files and screen."""
    replacing = check_outputs_free(request.inputs, force=force, **outputs)
    late = {kind: path for kind, path in outputs.items() if kind in LATE and path and replacing}
    if not late:
        screen.note(*replacing)
    with set_by(request.options()):
        found = run_and_show(job, request, screen)
        if late:
            if not force:
                found.check_replaced(**late)
            screen.note(*replacing)
        facts = {"command": job.name, **found.facts()}
        paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.tell(*found.tell())
    advice = _advice(outputs) if found.advice is None else found.advice
    facts |= found.written_facts()
    facts["outputs"] = screen.written(paths, advice)
    if outputs and next(iter(outputs)) not in paths:
        facts |= found.row_values()
    screen.result(facts)
    return found


def run_and_show(job: Job, request: Any, screen: Screen) -> Result:
    """Run a job; what is decided before its long part is shown before it."""
    with screen.progress():
        prepared = job.prepare(request)
        if isinstance(prepared, Result):
            screen.note(*prepared.notes)
            return prepared
        screen.note(*prepared.notes)
        if not screen.knows_columns:
            screen.tell(*prepared.tell())
        found: Result = prepared.run()
    screen.note(*(note for note in found.notes if note not in prepared.notes))
    return found


def _advice(outputs: Mapping[str, Any]) -> str:
    """Return how to keep what came out, where nothing was written."""
    if not outputs:
        return ""
    kind = next(iter(outputs))
    report = ", --report a report" if "report" in outputs else ""
    return f"Nothing was written; -o {kind}.csv keeps {KINDS[kind].holds or f'the {kind}'}{report}."
