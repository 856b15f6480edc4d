"""``sidelight methods``: the catalog."""

from __future__ import annotations

from dataclasses import asdict

from sidelight import catalog
from sidelight.cli._common import Screen, plain_text

WIDE = 120  # columns of a terminal that has room for everything


def run(*, knowledge: str | None, hard: bool | None, screen: Screen) -> None:
    """List the methods that fit."""
    enforcement = None if hard is None else "hard" if hard else "soft"
    found = catalog.methods(knowledge=knowledge, enforcement=enforcement)
    if screen.talks:
        screen.show(_table(found) if found else "No method fits this description.")
    screen.result(
        {
            "command": "methods",
            "methods": [{**asdict(method.tags), "class": method.cls.__name__} for method in found],
        }
    )


def _table(found: tuple[catalog.Method, ...]) -> object:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    columns = {
        "Name": lambda tags: tags.name,
        "What it does": lambda tags: tags.summary,
        "Uses": lambda tags: ", ".join(tags.knowledge) or "nothing",
        "How": lambda tags: tags.enforcement if tags.knowledge else "",
    }
    if Console().width >= WIDE:
        columns |= {
            "Sparse": lambda tags: "yes" if tags.sparse else "",
            "On disk": lambda tags: "yes" if tags.out_of_core else "",
            "Source": lambda tags: tags.source,
        }
    laid_out = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in columns:
        laid_out.add_column(header, no_wrap=header == "Name")
    for method in found:
        laid_out.add_row(*(plain_text(cell(method.tags)) for cell in columns.values()))
    return laid_out
