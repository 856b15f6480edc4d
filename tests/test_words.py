"""Names, sentences and comments: a reader who knows the field needs no other words than its own."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidelight

ROOT = Path(sidelight.__file__).parent
#: Folders of the command line and of reports, which have rules of their own.
FRONT = ("cli", "runs", "report", "display")
MODULES = [p for p in sorted(ROOT.rglob("*.py")) if p.relative_to(ROOT).parts[0] not in FRONT]

#: Functions of more lines than this have comments, one for so many lines of code at least.
LONG, LINES_PER_COMMENT = 80, 30

#: Words with which no docstring opens: they say that something is said, not what it is.
OPENINGS = re.compile(r"(told|tells?|says?|know|anew)\b|so many\b|as it is\b", re.IGNORECASE)

#: Words that no first sentence of a docstring holds.
DIALECT = re.compile(r"\b(anew|so many|so much|told)\b", re.IGNORECASE)

#: Class names that may occur more than once in the package.
MAX_REPEATED = 20


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


def _lines_of_code(function: ast.FunctionDef) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    n_documentation = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - n_documentation


def _comment_lines(source: str) -> list[int]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.start[0] for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("package", sorted({p.relative_to(ROOT).parts[0] for p in MODULES}))
def test_first_sentences_can_be_read_alone(package):
    found = []
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] != package:
            continue
        for name, text in _docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            summary = text.split("\n\n")[0]
            if OPENINGS.match(summary) or DIALECT.search(summary):
                found.append(f"{path.relative_to(ROOT)} {name}: {summary}")
    assert not found, "\n".join(found)


def test_long_functions_have_comments():
    bare = []
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        lines = _comment_lines(source)
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef):
                continue
            last = node.end_lineno or 0
            if last - node.lineno < LONG:
                continue
            n_comments = sum(node.lineno <= line <= last for line in lines)
            if n_comments * LINES_PER_COMMENT < _lines_of_code(node):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not bare, "\n".join(bare)


def test_class_names_are_names_of_one_class():
    names = Counter(
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    repeated = sorted(name for name, number in names.items() if number > 1)
    assert len(repeated) <= MAX_REPEATED, repeated
