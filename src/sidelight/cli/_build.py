"""Commands of the terminal, made from the declared options of jobs when they are asked for."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sidelight.cli._errors import UsageError, filled, write_panel
from sidelight.jobs import Job
from sidelight.jobs.inner import (
    ALL_METHODS,
    OWN_METHODS,
    REQUIRED,
    SCREEN,
    WRITE,
    Field,
    Option,
    fields_of,
    flag,
    output_fields,
    panel_of,
    place_in_help,
)

FORCE = "force"
SPREADSHEET_SAFE = "spreadsheet_safe"
AS_JSON = "as_json"
QUIET = "quiet"

#: Options of every command that writes files.
OF_FILES = {
    SPREADSHEET_SAFE: flag(
        "In .csv and .xlsx files, put an apostrophe in front of texts that begin with =, +, - or "
        "@, which a spreadsheet would run as formulas.",
        panel=WRITE,
    ),
    FORCE: flag("Replace existing files also where Sidelight did not write them.", panel=WRITE),
}
#: Options of every command.
OF_SCREEN = {
    AS_JSON: flag(
        "Print one JSON object on standard output, for machines.", "--json", panel=SCREEN
    ),
    QUIET: flag("Print nothing but errors.", "--quiet", "-q", panel=SCREEN),
}


class JobCommand(TyperCommand):
    """A command that reads its job's request when its parameters are needed, not before."""

    def __init__(self, job: Job, run: Callable[..., Any]) -> None:
        self._job, self._run = job, run
        super().__init__(
            job.name,
            help=job.summary,
            short_help=job.summary,
            hidden=job.hidden,
            rich_markup_mode=None,
            rich_help_panel=job.panel,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    @cached_property
    def _built(self) -> Any:
        return build(self._job, self._run)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does, and an example that can be copied."""
        for part in filter(None, (self._job.summary, self._job.text, "For example:")):
            formatter.write("\n" + filled(part, formatter.width))
        formatter.write("\n" + example_text(self._job.example, formatter.width - 2))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options panel by panel."""
        fields = fields_of(self._job.request)
        panels: dict[str, list[Any]] = {}
        for one in self.get_params(ctx):
            if one.param_type_name == "argument":
                panel = panel_of(fields[one.name])
                text = fields[one.name].option.help
                panels.setdefault(panel, []).append((one.metavar, text))
            elif (record := one.get_help_record(ctx)) is not None:
                panel = getattr(one, "rich_help_panel", None) or SCREEN
                panels.setdefault(panel, []).append(record)
        for panel, records in panels.items():
            write_panel(formatter, panel, records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an empty text is no value (a path would become the folder)."""
        fields = [*fields_of(self._job.request).values(), *output_fields(self._job.outputs)]
        names = {name: one for one in fields if not one.option.blank for name in one.names}
        for name, value in itertools.zip_longest(args, args[1:]):
            before, equals, behind = name.partition("=")
            given = behind if equals else value
            if given == "" and before in names:
                raise UsageError(names[before].is_empty)
        return list(super().parse_args(ctx, args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands behind the name of the command: options, then the arguments."""
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(argument.metavar) for argument in arguments)]

    @property
    def params(self) -> Any:
        """Arguments and options."""
        return self._built.params

    @params.setter
    def params(self, params: Any) -> None:
        """Ignore what the base class begins with: the job declares the parameters."""

    @property
    def callback(self) -> Any:
        """What runs the job."""
        return self._built.callback

    @callback.setter
    def callback(self, callback: Any) -> None:
        """Ignore what the base class begins with: the job says what is run."""


def example_text(command: str, width: int) -> str:
    """Break a command between its options, as a shell takes it."""
    lines = ["   "]
    for part in re.split(r" (?=-)", command):
        if len(lines[-1]) + len(part) > width:
            lines.append("     ")
        lines[-1] += f" {part}"
    return " \\\n".join(lines) + "\n"


def build(job: Job, run: Callable[..., Any]) -> Any:
    """Make the command of a job; ``run`` gets job, request, files and screen."""
    own = fields_of(job.request)
    outputs = {f"output_{one.name}": one for one in output_fields(job.outputs)}
    common = {
        name: Field(name, option, False)
        for name, option in {**(OF_FILES if outputs else {}), **OF_SCREEN}.items()
        if name != QUIET or job.can_be_quiet
    }
    everything = sorted({**own, **outputs, **common}.items(), key=lambda one: place_in_help(one[1]))
    parameters = [_parameter(name, one, job) for name, one in everything]

    def command(**given: Any) -> None:
        from sidelight.cli._perform import Files
        from sidelight.cli._screen import Screen

        screen = Screen(as_json=given.pop(AS_JSON, False), quiet=given.pop(QUIET, False))
        paths = {one.name: given.pop(name) for name, one in outputs.items()}
        files = Files(paths, **{name: given.pop(name) for name in OF_FILES if name in common})
        run(job, job.request(**read_fields(own, given)), files, screen)

    command.__name__ = job.name
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name=job.name)(command)
    return typer.main.get_command(alone)


def read_fields(fields: Mapping[str, Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the values of a request from what was typed; what was not typed is left out."""
    found = {}
    for name, one in fields.items():
        value = given.get(name)
        if value is None or value == []:
            continue
        try:
            found[name] = one.option.read(value)
        except ValueError as problem:
            raise UsageError(f"{one.names[0]} {problem}") from None
    return found


def _parameter(name: str, one: Field, job: Job) -> inspect.Parameter:
    """Declare an argument or option to Typer."""
    option = one.option
    kind: Any = list[option.kind] if option.many else option.kind  # type: ignore[name-defined]
    required = one.default is REQUIRED
    details: dict[str, Any] = {"help": _help_text(option), "readable": False}
    if option.kind is not bool:
        details["metavar"] = option.metavar
    if option.kind in (int, float):
        details["parser"] = _number_parser(one)
    if option.completes:
        details["autocompletion"] = _completion(job, option)
    elif option.choices:
        details["autocompletion"] = lambda: list(option.choices)
    if option.argument:
        hint: Any = typer.Argument(**details)
    else:
        shown = option.kind is not bool and isinstance(one.default, int | float | str)
        hint = typer.Option(*one.names, rich_help_panel=option.panel, show_default=shown, **details)
    default: Any = inspect.Parameter.empty
    if not required:
        shown_default = isinstance(one.default, bool | int | float | str)
        default = one.default if shown_default else None
        kind = kind if shown_default else kind | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, hint]
    )


def _help_text(option: Option) -> str:
    named = all(choice in option.help for choice in option.choices)
    return option.help if named else f"{option.help} One of {', '.join(option.choices)}."


def _number_parser(one: Field) -> Callable[[Any], int | float]:
    """Make what reads the number of an option."""
    kind, noun = one.option.kind, "whole number" if one.option.kind is int else "number"

    def parse(text: Any) -> int | float:
        try:
            number: int | float = kind(text)
        except ValueError:
            raise UsageError(f"{one.names[0]} {text}: write a {noun}.") from None
        return number

    return parse


def _completion(job: Job, option: Option) -> Callable[[str], list[str]]:
    """Make what offers names of methods, also behind others and a comma."""
    jobs = {job.name} if option.completes == OWN_METHODS else set(option.completes.split())

    def names(incomplete: str) -> list[str]:
        from sidelight import catalog

        before, comma, _ = incomplete.rpartition(",") if option.many else ("", "", "")
        everything = option.completes == ALL_METHODS
        return [
            f"{before}{comma}{one.name}"
            for one in catalog.methods()
            if everything or one.kind.command in jobs
        ]

    return names
