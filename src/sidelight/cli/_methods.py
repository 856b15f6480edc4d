"""``sidelight methods``: the catalog, or one method with its parameters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.jobs._table._classes import BASE
from sidelight.tags import KINDS, KNOWLEDGE, Kind

#: What a command takes first, and an option that most want, by the kind of the methods.
USAGE = {
    "classifier": ("DATA", "--label-column C "),
    "graph-clusterer": ("PAIRS", ""),
    "consensus": ("PARTITIONS", ""),
    "regionalizer": ("NODES", "--edges EDGES "),
    "resolver": ("REFERENCES", ""),
    "alternative": ("DATA", "--avoid C "),
    "coclusterer": ("TABLE", ""),
    "categorizer": ("DOCUMENTS", "--label-column C "),
    "anonymizer": ("TABLE", "--quasi A,B "),
}


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
    return {
        "name": method.name,
        "family": method.family,
        **asdict(method.tags),
        "class": method.cls.__name__,
        "for": method.kind.command,
        "parameters": {
            name: {
                "type": parameter.type_text,
                "default": parameter.default,
                "help": parameter.help,
            }
            for name, parameter in declared(method.cls).items()
        },
    }


def _lists(found: tuple[catalog.Method, ...]) -> list[object]:
    """One table for every kind of method, in the order of the kinds."""
    parts: list[object] = []
    for kind in KINDS.values():
        rows = [
            (method.name, method.tags.summary, _uses(method), _how(method))
            for method in found
            if method.tags.kind == kind.name
        ]
        if rows:
            title = f"{kind.title}: {_usage(kind, 'NAME', sized=True)}"
            headers = ("Name", "What it does", "Uses", "How")
            parts.append(table(*headers, rows=rows, title=title, justify=("left",)))
    letters = ", ".join(f"{kind.letter} {kind.name}" for kind in KNOWLEDGE.values())
    return [*parts, f"Uses: {letters}. `sidelight methods NAME` tells the parameters of one."]


def _usage(kind: Kind, name: str, *, sized: bool) -> str:
    """The command that runs a method; ``sized`` if it has a number to choose."""
    data, option = USAGE.get(kind.name, ("DATA", ""))
    if sized and kind.option:
        option = f"{option}{kind.option} N "
    return f"sidelight {kind.command} {data} {option}-m {name}"


def _uses(method: catalog.Method) -> str:
    return "".join(
        kind.letter if kind.name in method.tags.knowledge else "·" for kind in KNOWLEDGE.values()
    )


def _how(method: catalog.Method) -> str:
    return method.tags.enforcement if method.tags.knowledge else ""


def _about(method: catalog.Method) -> list[object]:
    tags = method.tags
    abilities = {
        "sparse": "sparse rows",
        "out_of_core": "rows on disk",
        "missing": "missing values",
    }
    takes = [text for name, text in abilities.items() if getattr(tags, name)]
    sized = method.size_parameter is not None
    lines = [
        f"[bold]{method.name}[/] (sidelight.{method.family}.{method.cls.__name__}): "
        f"{plain_text(tags.summary)}",
        f"Uses {', '.join(tags.knowledge) or 'nothing but the rows'}"
        + (f"; {tags.enforcement}" if tags.knowledge else "")
        + (f"; takes {', '.join(takes)}." if takes else "."),
        f"Source: {plain_text(tags.source)}. Cost: {plain_text(tags.complexity)}.",
        "",
        plain_text(f"{_usage(method.kind, method.name, sized=sized)} --set PARAMETER=VALUE"),
        "",
    ]
    for name, parameter in declared(method.cls).items():
        help_text = plain_text(parameter.help.replace("``", ""))
        kind = plain_text(f"{parameter.type_text}, by default {parameter.default!r}")
        option = " (--base)" if name == BASE and tags.kind == "classifier" else ""
        lines += [f"[bold]{name}[/]{option} : {kind}", f"    {help_text}"]
    return ["\n".join(lines)]
