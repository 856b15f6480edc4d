"""What the docstring of a class describes, read line by line."""

from __future__ import annotations

import inspect
from itertools import pairwise


def entries_by_section(cls: type) -> dict[str, list[str]]:
    """Names of the entries of every section with a title, in their order."""
    lines = (inspect.getdoc(cls) or "").split("\n")
    sections: dict[str, list[str]] = {}
    names: list[str] = []
    for line, below in pairwise([*lines, ""]):
        if line and below and set(below) == {"-"}:
            names = sections.setdefault(line, [])
        elif " : " in line and not line.startswith(" "):
            names += line.partition(" : ")[0].split(", ")
    return sections
