"""What a user can type. Nothing here imports NumPy: each command imports its own work."""

from __future__ import annotations

from typing import Annotated

import typer

from sidelight.cli._errors import USAGE, Commands

app = typer.Typer(
    cls=Commands,
    name="sidelight",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Clustering with what you already know about your data.",
    epilog="Try `sidelight demo`. Exit codes: 0 fine, 1 a problem in data or constraints, 2 wrong "
    "usage, 130 interrupted.",
)


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
        print(context.get_help())
        raise typer.Exit(USAGE)
