"""The tail of every command: check outputs, run the job, write its files, show what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight._words import set_by
from sidelight.cli._screen import Screen
from sidelight.jobs import Job, Result
from sidelight.jobs.inner import KINDS, check_outputs_free, replaced_notes

#: Kinds of files of which only the result knows what they are to hold.
LATE = ("predicted",)


@dataclass(frozen=True)
class Files:
    """Files that a command writes.

    Attributes
    ----------
    outputs : mapping of str to (Path or None)
        Where to write, by kind; None for what is not wanted.
    force : bool
        Whether files that Sidelight did not write may be replaced.
    spreadsheet_safe : bool
        Whether texts that a spreadsheet would run get an apostrophe in front.
    """

    outputs: Mapping[str, Path | None]
    force: bool = False
    spreadsheet_safe: bool = False

    def check_free(self, inputs: Iterable[Any], *, folders: bool = False) -> dict[str, Path]:
        """Refuse to replace what is not ours, and return what is to be replaced, by kind."""
        return check_outputs_free(inputs, force=self.force, folders=folders, **self.outputs)

    def write(self, found: Result) -> dict[str, Path]:
        """Write what came out."""
        return found.write(spreadsheet_safe=self.spreadsheet_safe, **self.outputs)


def perform(job: Job, request: Any, files: Files, screen: Screen) -> Result:
    """Do a job from its request to files and screen."""
    outputs = files.outputs
    old = files.check_free(request.inputs, folders=hasattr(request, "memory"))
    late = {kind: path for kind, path in old.items() if kind in LATE}
    with set_by(request.options()):
        found = run_and_show(job, request, screen)
        if late and not files.force:
            found.check_replaced(**late)
        # What no machine will read is not worked out: an explanation takes longer than a small fit.
        facts = {"command": job.name, **found.facts()} if screen.wants_facts else {}
        paths = files.write(found)
    if screen.prints_text:
        screen.tell(*found.tell())
    screen.note(*replaced_notes(old, paths))
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
        screen.note(*prepared.notes)
        if isinstance(prepared, Result):
            return prepared
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
