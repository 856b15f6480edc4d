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
    screen.note(*check_outputs_free(request.inputs, force=force, **outputs))
    with set_by(request.options()):
        found = run_and_show(job, request, screen)
        # What no machine will read is not worked out: an explanation takes longer than a small fit.
        facts = {"command": job.name, **found.facts()} if screen.wants_facts else {}
        paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.tell(*found.tell())
    advice = _advice(outputs) if found.advice is None else found.advice
    written = screen.written(paths, advice)
    if screen.wants_facts:
        facts |= {**found.written_facts(), "outputs": written}
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
