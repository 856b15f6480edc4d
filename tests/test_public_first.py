"""Tests of a method begin with what it promises; those of what it is made of stand below."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import NamedTuple

import pytest

from sidelight import catalog

TESTS = Path(__file__).parent
DIVIDER = "# --- what it is made of ---"
FILES = sorted(file for family in catalog.FAMILIES for file in TESTS.glob(f"{family}/**/test_*.py"))


def is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def private_names(code: ast.AST) -> set[str]:
    """Names that a file or a function imports from behind a door of Sidelight."""
    return {
        alias.asname or alias.name
        for line in ast.walk(code)
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("sidelight")
        for alias in line.names
        if is_private(f"{line.module}.{alias.name}")
    }


def names_in(code: ast.AST) -> set[str]:
    """Names that a statement reads, the fixtures of a function included."""
    return {
        part.id if isinstance(part, ast.Name) else part.arg
        for part in ast.walk(code)
        if isinstance(part, (ast.Name, ast.arg))
    }


def defined_by(line: ast.stmt) -> set[str]:
    """Names that a statement of a module gives a meaning."""
    if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
        return {line.name}
    targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    return {part.id for target in targets if target for part in ast.walk(target)
            if isinstance(part, ast.Name)}  # fmt: skip


class Read(NamedTuple):
    """A test: its line, what it uses itself or through helpers, and whether that is private."""

    line: int
    used: frozenset[str]
    private: bool


@functools.cache
def read_tests(source: str) -> tuple[Read, ...]:
    """Read every test of a file, a class of tests being one."""
    module = ast.parse(source)
    private = private_names(module)
    read = {line: names_in(line) for line in module.body}
    helpers = {name: read[line] for line in module.body for name in defined_by(line)}
    found = []
    for test in module.body:
        if not isinstance(test, (ast.FunctionDef, ast.ClassDef)):
            continue
        if not test.name.lower().startswith("test"):
            continue
        used: set[str] = set()
        new = read[test]
        while new:
            used |= new
            new = set().union(*(helpers.get(name, ()) for name in new)) - used
        behind = bool(used & private or private_names(test))
        found.append(Read(test.lineno, frozenset(used), behind))
    return tuple(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_no_private_name_above_the_line(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    found = read_tests(source)
    lines = source.split("\n")
    private = [test.line for test in found if test.private]
    public = [test.line for test in found if not test.private]
    if not (private and public):  # of a method alone, or of a part alone
        assert DIVIDER not in lines
        return
    assert lines.count(DIVIDER) == 1, f"no line {DIVIDER!r}"
    divider = lines.index(DIVIDER) + 1
    assert [line for line in private if line < divider] == [], "private names above the line"
    assert [line for line in public if line > divider] == [], "public names alone below the line"


@pytest.mark.parametrize("family", catalog.FAMILIES)
def test_every_method_has_a_test_of_public_names_alone(family: str) -> None:
    used: set[str] = set()
    for file in (TESTS / family).rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if file.name.startswith("test_"):
            used.update(*(test.used for test in read_tests(source) if not test.private))
        else:  # tables of methods that several files of tests go through
            used |= names_in(ast.parse(source))
    methods = {method.cls.__name__ for method in catalog.methods(family=family)}
    assert methods - used == set()


def test_what_behindis_seen_through_helpers_and_fixtures() -> None:
    source = """
from sidelight.cluster import KMeans
from sidelight.cluster._core import lloyd

def helper():
    return lloyd

def test_public():
    KMeans()

def test_by_a_fixture(helper):
    helper
"""
    assert [test.private for test in read_tests(source)] == [False, True]
