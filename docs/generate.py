"""What the docs and the README take from the code: tables of methods, the chooser, the layers.

``python docs/generate.py`` brings the files up to date that are kept (:func:`kept`: the table of
the README, the tables of names, the page of commands, the picture of the layers); the documentation
calls :func:`write_includes` when it is built.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import chooser
import commands
import home_picture
import layers
import name_tables

from sidelight import catalog

HERE = Path(__file__).parent
BETWEEN_MARKS = re.compile(r"(<!-- families[^>]*-->\n).*?(<!-- /families -->)", flags=re.DOTALL)
YES = {True: "yes", False: "–"}


def method_table() -> str:
    """Return the catalog as a reStructuredText table."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: auto",
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
            f"   * - :class:`~sidelight.{method.family}.{method.cls.__name__}`",
            f"     - {tags.summary}",
            f"     - {', '.join(tags.knowledge) or 'nothing'}",
            f"     - {tags.enforcement}",
            f"     - {YES[tags.sparse]}",
            f"     - {YES[tags.out_of_core]}",
            f"     - {tags.source}",
        ]
    return "\n".join(lines) + "\n"


def family_table() -> str:
    """Return the families with the number of their methods, as a Markdown table."""
    lines = ["| Family | Methods | What they do |", "| --- | --- | --- |"]
    for family in catalog.FAMILIES:
        says = (importlib.import_module(f"sidelight.{family}").__doc__ or "").split("\n")[0]
        lines.append(
            f"| `sidelight.{family}` | {len(catalog.methods(family=family))} | {says.rstrip('.')} |"
        )
    return "\n".join(lines) + "\n"


def readme_with_table(text: str) -> str:
    """Return the README's text with the table of families as the catalog has it now."""
    return BETWEEN_MARKS.sub(rf"\1\n{family_table()}\n\2", text)


def write_includes() -> None:
    """Write the files that the pages include."""
    for name, text in (
        ("methods_table.rst.inc", method_table()),
        ("choose_trees.rst.inc", chooser.page()),
        ("home_picture.rst.inc", home_picture.figure()),
    ):
        (HERE / name).write_text(text, encoding="utf-8")


def kept() -> dict[Path, str]:
    """Return the files of the repository that are made from the code, and what is to be in them."""
    readme = HERE.parent / "README.md"
    page = HERE / "conventions.rst"
    return {
        readme: readme_with_table(readme.read_text(encoding="utf-8")),
        page: name_tables.page_with_tables(page.read_text(encoding="utf-8")),
        HERE / "commands.rst": commands.page(),
        HERE / "_static" / "layers.svg": layers.picture(),
        HERE / "_static" / "rooms_table.inc": layers.table(),
    }


if __name__ == "__main__":
    for path, text in kept().items():
        path.write_text(text, encoding="utf-8")
