"""The page of all commands, made from the registry of jobs and the options of their requests."""

from __future__ import annotations

from itertools import groupby

from sidelight.jobs import JOBS
from sidelight.jobs._options import Field, fields_of, output_fields, panel_of, place_in_help
from sidelight.jobs._registry import Job

HEAD = """\
Commands
========

.. made by ``python docs/generate.py`` from the registry of jobs

Every command is a job: ``sidelight NAME ...`` in a terminal and ``jobs.run("NAME", ...)`` in Python
do the same; only ``ask`` needs a terminal and a person (in Python: :doc:`/active/index`). Fields in
Python have the names in parentheses where they differ from the option. Every command has ``--json``
(one JSON object on standard output), those that write files ``--spreadsheet-safe`` and ``--force``;
``--help`` shows what stands here.
"""


def page() -> str:
    """Return the page as reStructuredText."""
    shown = [job for job in JOBS.values() if not job.hidden]
    parts = [HEAD]
    for panel, jobs in groupby(shown, key=lambda job: job.panel):
        parts.append(f"{panel}\n{'-' * len(panel)}\n")
        parts += [_command(job) for job in jobs]
    return "\n".join(parts)


def _command(job: Job) -> str:
    title = f"sidelight {job.name}"
    lines = [f".. _command-{job.name}:\n", title, "~" * len(title), "", job.summary, ""]
    if job.text:
        lines += [job.text.replace("`", "``"), ""]
    lines += [".. code-block:: console\n", f"   $ {job.example}", ""]
    everything = [*fields_of(job.request).values(), *output_fields(job.outputs)]
    for panel, fields in groupby(sorted(everything, key=place_in_help), key=panel_of):
        lines += [f"*{panel}*", ""]
        for one in fields:
            lines += [_heading(one), f"   {_help(one)}", ""]
    return "\n".join(lines)


def _heading(one: Field) -> str:
    option = one.option
    if option.argument:
        return f"``{option.metavar}`` (``{one.name}=``)"
    names = ", ".join(f"``{name}``" for name in one.names)
    value = f" *{option.metavar}*" if option.metavar and option.kind is not bool else ""
    is_output = option.role == "output"
    plain = one.names[0] == "--" + one.name.replace("_", "-")
    return f"{names}{value}" + ("" if plain or is_output else f" (``{one.name}=``)")


def _help(one: Field) -> str:
    text = one.option.help.replace("`", "``").replace("*", r"\*")
    if one.option.range is not None:
        text += f" {one.option.range.symbols('A number')}."
    return text
