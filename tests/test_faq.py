"""The messages that the FAQ quotes are messages of the library."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import sidelight

PACKAGE = Path(sidelight.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "faq.rst"
QUOTED = re.findall(r"^``(.+)``\n   \S", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
VARIES = "\0"


@cache
def messages() -> tuple[str, ...]:
    """Every text of the package, with one mark in the place of each value."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        left: list[ast.AST] = [tree]
        while left:
            node = left.pop()
            parts = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.JoinedStr):
                found.append("".join(map(_text, node.values)))
                parts = [part for part in parts if not isinstance(part, ast.Constant)]
            elif isinstance(node, ast.Constant):
                found.append(str(node.value))
            left += parts
    return tuple(found)


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else VARIES


def occurs(quoted: str) -> bool:
    """Whether one message has all parts of a quotation, in their order."""
    parts = [part.strip() for part in quoted.split("...") if part.strip()]
    pattern = re.compile(".*".join(map(re.escape, parts)), flags=re.DOTALL)
    return any(pattern.search(message) for message in messages())


def test_there_are_enough() -> None:
    assert 25 <= len(QUOTED) <= 70
    assert len(set(QUOTED)) == len(QUOTED)


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_one_of_the_library(quoted: str) -> None:
    assert len(re.sub(r"[.\s]", "", quoted)) > 14, "too short to find anything by"
    assert occurs(quoted)


def test_what_nobody_says_is_not_found() -> None:
    assert not occurs("The moon is made of ... cheese; eat it.")
    assert not occurs("allow more, or a larger tol ... did not converge")
