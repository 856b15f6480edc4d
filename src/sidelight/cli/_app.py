"""What a user can type. Nothing here imports NumPy: each command imports its own work."""

from __future__ import annotations

from typing import Annotated

import typer

from sidelight.cli._errors import Commands
from sidelight.jobs import JOBS
from sidelight.jobs.inner import by_question

app = typer.Typer(
    cls=Commands,
    name="sidelight",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Clustering with what you already know about your data.",
    epilog="Try `sidelight demo`. Exit codes: 0 fine, 1 a problem in data or constraints, 2 wrong "
    "usage, 130 interrupted.",
)


#: Jobs whose examples stand in the overview.
EXAMPLES = ("demo", "cluster", "explain")


def overview() -> str:
    """Return what there is to do, on one screen: questions, their commands, a few examples."""
    questions = by_question()
    width = max(map(len, questions)) + 2
    lines = ["Clustering with what you already know about your data.", ""]
    lines += [
        f"{question:{width}}{', '.join(job.name for job in jobs)}"
        for question, jobs in questions.items()
    ]
    lines += ["", "For example:", *(f"  {JOBS[name].example}" for name in EXAMPLES), ""]
    lines += ["`sidelight --help` shows what each does, `sidelight cluster --help` its options."]
    return "\n".join(lines)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sidelight import __version__

        print(f"sidelight {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _everything(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(overview())
