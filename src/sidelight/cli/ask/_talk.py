"""A whole dialogue: what is said before, the questions, and the constraints that it brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight.cli._screen import plain_text
from sidelight.cli.ask._dialogue import HELP, Dialogue

ENDINGS = {
    "quit": "",
    "budget": "That was the last question. ",
    "nothing left to ask": "Nothing is left to ask. ",
}


def talk(
    dialogue: Dialogue,
    about: str,
    data: Path,
    answers_file: Path,
    constraints_file: Path,
    *,
    spreadsheet_safe: bool,
) -> dict[str, Any]:
    """Hold the dialogue, write what it brought as constraints, and return its facts.

    Parameters
    ----------
    dialogue : Dialogue
        Ready to ask.
    about : str
        What the questions are about, in words.
    data : Path
        The table.
    answers_file, constraints_file : Path
        Where answers are kept, and where to write the constraints.
    spreadsheet_safe : bool
        Whether texts that a spreadsheet would run get an apostrophe in front.
    """
    answers, console = dialogue.answers, dialogue.console
    resumed = f" ({dialogue.tally()})" if len(answers) else ""
    console.print(
        f"[bold]{plain_text(data)}[/]: {about}. Every answer is kept at once in "
        f"{plain_text(answers_file)}{resumed}\n{plain_text(HELP)}"
    )
    ended = dialogue.run()
    answers.constraints.write(constraints_file, spreadsheet_safe=spreadsheet_safe)
    console.print(f"\n{ENDINGS[ended]}{dialogue.tally()} Written: {plain_text(constraints_file)}")
    return {
        "ended": ended,
        "asked": dialogue.n_asked,
        "same": answers.n_same,
        "different": answers.n_different,
        "skipped": answers.n_skipped,
        "saved": answers.n_saved,
        "file": str(answers_file),
        "constraints": str(constraints_file),
    }
