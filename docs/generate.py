"""Pages that are made from the code: the table of methods."""

from __future__ import annotations

from pathlib import Path

from sidelight import catalog

YES = {True: "yes", False: "–"}


def write_method_table(path: Path) -> None:
    """Write the catalog as a reStructuredText table."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 16 34 20 10 8 8 24",
        "",
        "   * - method",
        "     - what it does",
        "     - takes",
        "     - how",
        "     - sparse",
        "     - on disk",
        "     - source",
    ]
    for method in catalog.methods():
        tags = method.tags
        lines += [
            f"   * - :class:`~sidelight.{tags.family}.{method.cls.__name__}`",
            f"     - {tags.summary}",
            f"     - {', '.join(tags.knowledge) or 'nothing'}",
            f"     - {tags.enforcement}",
            f"     - {YES[tags.sparse]}",
            f"     - {YES[tags.out_of_core]}",
            f"     - {tags.source}",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
