"""``sidelight methods``: the catalog, or one method with its parameters."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

from sidelight import catalog
from sidelight.cli._common import Screen, plain_text
from sidelight.cli._settings import command_for
from sidelight.tags import KNOWLEDGE

#: How the methods of a command are introduced, in the order in which they are listed.
COMMANDS = {
    "cluster": "Clusters: sidelight cluster DATA -k K -m NAME",
    "transform": "Distances and projections: sidelight transform DATA -m NAME",
    "select": "Features: sidelight select DATA -n N -m NAME",
}

#: What stands for a kind of knowledge in a narrow column.
LETTERS = {knowledge.name: knowledge.letter for knowledge in KNOWLEDGE.values()}


def run(name: str | None, *, knowledge: str | None, hard: bool | None, screen: Screen) -> None:
    """List the methods that fit, or tell all about one."""
    if name is not None:
        found: tuple[catalog.Method, ...] = (catalog.get(name),)
        screen.show(*_about(found[0]))
    else:
        enforcement = None if hard is None else "hard" if hard else "soft"
        found = catalog.methods(knowledge=knowledge, enforcement=enforcement)
        screen.show(*(_lists(found) if found else ["No method fits this description."]))
    screen.result({"command": "methods", "methods": [_facts(method) for method in found]})


def _facts(method: catalog.Method) -> dict[str, Any]:
    parameters = inspect.signature(method.cls).parameters
    return {
        "name": method.name,
        "family": method.family,
        **asdict(method.tags),
        "class": method.cls.__name__,
        "for": command_for(method),
        "parameters": {
            name: None if parameter.default is parameter.empty else parameter.default
            for name, parameter in parameters.items()
        },
    }


def _lists(found: tuple[catalog.Method, ...]) -> list[object]:
    parts: list[object] = []
    for command, title in COMMANDS.items():
        chosen = [method for method in found if command_for(method) == command]
        if chosen:
            parts.append(_table(chosen, title))
    letters = ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items())
    parts.append(f"Uses: {letters}. `sidelight methods NAME` tells the parameters of one.")
    return parts


def _table(chosen: list[catalog.Method], title: str) -> object:
    from rich import box
    from rich.table import Table

    laid_out = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    laid_out.add_column("Name", no_wrap=True)
    laid_out.add_column("What it does")
    laid_out.add_column("Uses", no_wrap=True)
    laid_out.add_column("How", no_wrap=True)
    for method in chosen:
        tags = method.tags
        uses = "".join(
            letter if kind in tags.knowledge else "·" for kind, letter in LETTERS.items()
        )
        how = tags.enforcement if tags.knowledge else ""
        laid_out.add_row(*(plain_text(cell) for cell in (method.name, tags.summary, uses, how)))
    return laid_out


def _about(method: catalog.Method) -> list[str]:
    tags = method.tags
    command = COMMANDS[command_for(method)].split(": ")[1].replace("NAME", method.name)
    takes = [
        what
        for what, can in (
            ("sparse rows", tags.sparse),
            ("rows on disk", tags.out_of_core),
            ("gaps", tags.missing),
        )
        if can
    ]
    lines = [
        f"[bold]{method.name}[/] (sidelight.{method.family}.{method.cls.__name__}): "
        f"{plain_text(tags.summary)}",
        f"Uses {', '.join(tags.knowledge) or 'nothing but the rows'}"
        + (f"; {tags.enforcement}" if tags.knowledge else "")
        + (f"; takes {', '.join(takes)}." if takes else "."),
        f"Source: {plain_text(tags.source)}. Cost: {plain_text(tags.complexity)}.",
        "",
        plain_text(command + " --set PARAMETER=VALUE"),
        "",
        plain_text(_parameters(method.cls)),
    ]
    return ["\n".join(lines)]


def _parameters(cls: type) -> str:
    """Return the parameters as the docstring of the class tells them."""
    text = inspect.getdoc(cls) or ""
    _, _, rest = text.partition("Parameters\n----------\n")
    lines = rest.splitlines()
    ends = (at for at, line in enumerate(lines) if line.startswith("---"))
    return "\n".join(lines[: next(ends, len(lines) + 1) - 1]).strip().replace("``", "")
