"""``sidelight methods``: the catalog."""

from __future__ import annotations

from dataclasses import asdict

from sidelight import catalog
from sidelight.cli._common import Screen, plain_text


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
    from rich.table import Table

    laid_out = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("Name", "What it does", "Uses", "How", "Sparse", "On disk", "Source"):
        laid_out.add_column(header)
    for method in found:
        tags = method.tags
        cells = (
            method.name,
            tags.summary,
            ", ".join(tags.knowledge) or "nothing",
            tags.enforcement if tags.knowledge else "",
            "yes" if tags.sparse else "",
            "yes" if tags.out_of_core else "",
            tags.source,
        )
        laid_out.add_row(*(plain_text(cell) for cell in cells))
    return laid_out
