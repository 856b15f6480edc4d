"""``sidelight methods``: the catalog, or one method with its parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._result import Result
from sidelight.jobs._table._estimator import BASE
from sidelight.jobs.methods._request import MethodsRequest
from sidelight.report.inner import Strong, Told, text_table
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


@dataclass(frozen=True, eq=False)
class MethodsRun(Result):
    """Methods of the catalog.

    Attributes
    ----------
    request : MethodsRequest
        What was asked for.
    methods : tuple of Method
        Those that fit.
    """

    request: MethodsRequest
    methods: tuple[catalog.Method, ...]
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the methods with their tags and parameters as plain values."""
        return {"methods": [_facts(method) for method in self.methods]}

    def tell(self) -> list[Told]:
        """Return one table for every kind of method, or all about the one that was named."""
        if self.request.name is not None:
            return _about(self.methods[0])
        return _lists(self.methods) if self.methods else ["No method fits this description."]


def prepare(request: MethodsRequest) -> MethodsRun:
    """Find the methods that fit."""
    if request.name is not None:
        return MethodsRun(request, (catalog.get(request.name),))
    if request.hard and request.soft:
        raise InvalidRequest("a method either never violates a statement or weighs it; name one.")
    enforcement = "hard" if request.hard else "soft" if request.soft else None
    return MethodsRun(
        request, catalog.methods(knowledge=request.knowledge, enforcement=enforcement)
    )


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


def _lists(found: tuple[catalog.Method, ...]) -> list[Told]:
    """One table for every kind of method, in the order of the kinds."""
    parts: list[Told] = []
    for kind in KINDS.values():
        rows = [
            (method.name, method.tags.summary, _uses(method), _how(method))
            for method in found
            if method.tags.kind == kind.name
        ]
        if rows:
            title = f"{kind.title}: {_usage(kind, 'NAME', sized=True)}"
            headers = ("Name", "What it does", "Uses", "How")
            parts.append(text_table(*headers, rows=rows, title=title, justify=("left",)))
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


def _about(method: catalog.Method) -> list[Told]:
    tags = method.tags
    abilities = {
        "sparse": "sparse rows",
        "out_of_core": "rows on disk",
        "missing": "missing values",
    }
    takes = [text for name, text in abilities.items() if getattr(tags, name)]
    sized = method.size_parameter is not None
    return [
        (
            Strong(method.name),
            f" (sidelight.{method.family}.{method.cls.__name__}): {tags.summary}",
        ),
        f"Uses {', '.join(tags.knowledge) or 'nothing but the rows'}"
        + (f"; {tags.enforcement}" if tags.knowledge else "")
        + (f"; takes {', '.join(takes)}." if takes else "."),
        f"Source: {tags.source}. Cost: {tags.complexity}.",
        "",
        f"{_usage(method.kind, method.name, sized=sized)} --set PARAMETER=VALUE",
        "",
        *_parameters(method),
    ]


def _parameters(method: catalog.Method) -> list[Told]:
    lines: list[Told] = []
    for name, parameter in declared(method.cls).items():
        kind = f"{parameter.type_text}, by default {parameter.default!r}"
        option = " (--base)" if name == BASE and method.tags.kind == "classifier" else ""
        help_text = parameter.help.replace("``", "")
        lines += [(Strong(name), f"{option} : {kind}"), f"    {help_text}"]
    return lines
