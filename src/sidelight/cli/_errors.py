"""Whatever goes wrong becomes one sentence and an exit code; no traceback unless asked for."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from sidelight._words import at_the_terminal
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.jobs import JOBS, Job
from sidelight.jobs.inner import by_question

OK, PROBLEM, USAGE, INTERRUPTED = 0, 1, 2, 130

# Older versions of Typer raise the errors of click, newer ones their own copy; only
# BadParameter is public in all of them.
UsageError: type[Exception]
ClickError: type[Exception]
UsageError, ClickError = typer.BadParameter.__mro__[1:3]


class Commands(TyperGroup):
    """The commands of all jobs; every failure ends with a sentence."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the registry."""
        return [*self.commands, *JOBS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command; what it takes is read when it is used."""
        if cmd_name not in JOBS:
            return super().get_command(ctx, cmd_name)
        from sidelight.cli._build import JobCommand

        return JobCommand(JOBS[cmd_name], _perform)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands question by question, then the options."""
        width = max(map(len, JOBS))
        for question, jobs in by_question().items():
            write_panel(formatter, question, [(f"{job.name:{width}}", job.summary) for job in jobs])
        records = (one.get_help_record(ctx) for one in self.get_params(ctx))
        write_panel(formatter, "Options", [record for record in records if record is not None])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Parse the arguments, run the command, exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        _prepare_streams()

        def command() -> Any:
            return super(Commands, self).main(
                arguments, prog_name, complete_var, False, windows_expand_args, obj=arguments
            )

        with at_the_terminal(), warnings.catch_warnings():
            warnings.showwarning = _sayer()
            code = _run(command, arguments)
        sys.exit(code)


#: Widest column of names in a help.
MAX_NAMES = 30


def write_panel(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write names and what they mean under a title; a question has no colon behind it."""
    width = min(max(len(name) for name, _ in rows), MAX_NAMES)
    formatter.write(f"\n{title}\n" if title.endswith("?") else f"\n{title}:\n")
    for name, text in rows:
        formatter.write(filled(text, formatter.width, f"  {name:{width}}  ", width + 4))


def filled(text: str, width: int, start: str = "  ", indent: int = 2) -> str:
    """Break a text into lines between words, and never at the hyphens of a name."""
    rules: Any = {"break_on_hyphens": False, "break_long_words": False}
    rules |= {"initial_indent": start, "subsequent_indent": " " * indent}
    return textwrap.fill(text, width, **rules) + "\n"


#: Jobs that talk to a person or a pipe, and what runs them in place of ``perform``.
LOOPS = {"ask": "sidelight.cli.ask._command:run", "embed": "sidelight.cli._stream:run"}


def _perform(job: Job, *given: Any) -> None:
    """Do a job; its result may be that something is wrong."""
    module, _, name = LOOPS.get(job.name, "sidelight.cli._perform:perform").partition(":")
    with quick_imports():
        perform = getattr(importlib.import_module(module), name)
        if job.name not in LOOPS:  # these import what they go on with
            job.load()
    found = perform(job, *given)
    if found is not None and found.exit_code:
        raise typer.Exit(found.exit_code)


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """End the pause of the garbage collector that ``main`` began, and spare what was imported."""
    yield
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _prepare_streams() -> None:
    """Let streams that are closed lead nowhere, and letters that a terminal lacks be ``?``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _run(command: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command and give its exit code."""
    as_json = "--json" in arguments
    debug = os.environ.get("SIDELIGHT_DEBUG", "") not in ("", "0")
    try:
        code = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return _fail("Interrupted; no output was written.", as_json, INTERRUPTED)
    except (UsageError, InvalidRequest) as error:
        return _fail(_usage_sentence(error, arguments), as_json, USAGE)
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return OK
    except Exception as error:
        if debug:
            raise
        return _fail(_sentence(error), as_json, PROBLEM)
    if code == INTERRUPTED:  # Typer has turned Ctrl-C into an exit code
        return _fail("Interrupted; no output was written.", as_json, INTERRUPTED)
    return code if isinstance(code, int) else OK


def _fail(sentence: str, as_json: bool, code: int) -> int:
    if as_json:
        try:
            print(json.dumps({"error": sentence}), flush=True)
            return code
        except OSError:  # nobody can hear it there
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    print(f"Error: {sentence}", file=sys.stderr)
    return code


def _sentence(error: Exception) -> str:
    """One line for an error: ours as they are, the system's in plain words."""
    if isinstance(error, SidelightError):
        return _one_line(str(error))
    if isinstance(error, ClickError):
        return _one_line(error.format_message())  # type: ignore[attr-defined]
    if isinstance(error, OSError):
        return _system_sentence(error)
    if isinstance(error, MemoryError):
        return f"The data does not fit into memory: {_one_line(str(error)) or 'no more is free'}"
    if isinstance(error, ValueError | TypeError):  # what scikit-learn's conventions ask us to raise
        return _one_line(str(error))
    return (
        f"Something unexpected happened ({type(error).__name__}: {_one_line(str(error))}); this is "
        "a mistake in Sidelight, and SIDELIGHT_DEBUG=1 shows where."
    )


def _usage_sentence(error: Exception, arguments: Sequence[str]) -> str:
    where = "sidelight"
    if arguments and arguments[0] in JOBS:
        where = f"sidelight {arguments[0]}"
    text = error.format_message() if isinstance(error, ClickError) else str(error)  # type: ignore[attr-defined]
    return f"{_one_line(text)} (`{where} --help` shows what there is)"


def _system_sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return f"{reason}; what was there before is unchanged. Make room and run it again."
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sayer() -> Callable[..., None]:
    """Make what shows warnings: each sentence once."""
    said: set[str] = set()

    def say(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        sentence = _one_line(str(message))
        if issubclass(category, RuntimeWarning) and " encountered in " in sentence:  # of NumPy
            sentence = (
                "Numbers became too large or too small on the way, so look at the result with "
                "care; bring the features to similar scales, and settings near to their defaults."
            )
        if sentence not in said:
            said.add(sentence)
            print(f"Warning: {sentence}", file=sys.stderr)

    return say
