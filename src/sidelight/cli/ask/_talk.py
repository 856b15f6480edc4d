"""A whole dialogue: what is said before, the questions, and the constraints that it brings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from sidelight.active import Answers
from sidelight.cli._perform import Files
from sidelight.cli._screen import Screen, plain_text
from sidelight.cli.ask._dialogue import HELP, Dialogue
from sidelight.constraints import Constraints
from sidelight.jobs import AskRequest
from sidelight.jobs.inner import replaced_notes

ENDINGS = {
    "quit": "",
    "budget": "That was the last question. ",
    "nothing left to ask": "Nothing is left to ask. ",
}


def answer_files(request: AskRequest, files: Files) -> dict[str, Path]:
    """Return where answers are kept, and where they are written as constraints."""
    name = Path(request.data).name.removesuffix(".gz")
    answers = files.outputs["answers"] or Path(f"{Path(name).stem}.answers.jsonl")
    return {"answers": answers, "constraints": answers.with_suffix(".constraints.csv")}


def talk(
    request: AskRequest,
    known: Constraints,
    make: Callable[[Answers], tuple[Any, Any]],
    about: str,
    files: Files,
    screen: Screen,
) -> dict[str, Any]:
    """Hold a dialogue, write what it brought as constraints, and return its facts.

    Parameters
    ----------
    request : AskRequest
        What was asked for.
    known : Constraints
        What is known before.
    make : callable
        Makes what chooses the pairs, and what shows them, out of the answers.
    about : str
        What the questions are about, in words.
    files : Files
        Where to write.
    screen : Screen
        Where the questions go, unless the JSON object does.
    """
    kept = answer_files(request, files)
    # Standard output belongs to the JSON object, if that was asked for.
    console = Console(highlight=False, stderr=screen.as_json)
    with Answers.open(kept["answers"], known=known) as answers:
        strategy, view = make(answers)
        dialogue = Dialogue(answers, strategy, view, console, request.questions)
        resumed = f" ({dialogue.tally()})" if len(answers) else ""
        console.print(
            f"[bold]{plain_text(request.data)}[/]: {about}. Every answer is kept at once in "
            f"{plain_text(kept['answers'])}{resumed}\n{plain_text(HELP)}"
        )
        ended = dialogue.run()
        path = kept["constraints"]
        old = {"constraints": path} if path.is_file() else {}
        answers.constraints.write(path, spreadsheet_safe=files.spreadsheet_safe)
        screen.note(*replaced_notes(old, kept))
        console.print(f"\n{ENDINGS[ended]}{dialogue.tally()} Written: {plain_text(path)}")
        return {
            "ended": ended,
            "asked": dialogue.n_asked,
            "same": answers.n_same,
            "different": answers.n_different,
            "skipped": answers.n_skipped,
            "saved": answers.n_saved,
            "file": str(kept["answers"]),
            "constraints": str(path),
        }
