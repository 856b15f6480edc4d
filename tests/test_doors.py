"""Doors of packages: what they name is there, documented and typed, and nothing else is used."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_origin

import pytest

import sidelight
from sidelight import catalog

ROOT = Path(__file__).parent.parent
PACKAGE = Path(sidelight.__file__).parent
INNER = sorted(PACKAGE.glob("*/inner.pyi"))
DOORS = sorted(PACKAGE.rglob("__init__.pyi")) + INNER


class Use(NamedTuple):
    """An import of one package from another: by whom, of which module, of which name."""

    user: str
    module: str
    name: str

    @property
    def packages(self) -> tuple[str, str]:
        """Names of the two packages below ``sidelight``."""
        return self.user.split(".")[1], self.module.split(".")[1]


def dotted(path: Path) -> str:
    """Name of the module of a ``.py`` or ``.pyi`` file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_of(door: Path) -> set[str]:
    """Public names that the lines of a door give; those of a room's door where it has a star."""
    names: set[str] = set()
    for line in ast.parse(door.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            for alias in line.names:
                if alias.name == "*":
                    assert line.module is not None
                    names |= names_of(door.parent.joinpath(*line.module.split("."), door.name))
                else:
                    assert alias.asname == alias.name  # what a type checker re-exports
                    names.add(alias.name)
    return names


@pytest.mark.parametrize("door", DOORS, ids=dotted)
def test_every_name_of_a_door_is_there_and_documented(door: Path) -> None:
    package = importlib.import_module(dotted(door))
    assert set(package.__all__) == names_of(door)
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        member: Any = getattr(package, name)
        if inspect.ismodule(member) or (callable(member) and get_origin(member) is None):
            assert inspect.getdoc(member), f"{name} has no docstring"


@pytest.mark.parametrize("door", DOORS, ids=dotted)
def test_a_door_refuses_other_names(door: Path) -> None:
    package = importlib.import_module(dotted(door))
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        _ = package.nothing_of_this_name


@functools.cache
def uses() -> tuple[Use, ...]:
    """All imports between packages of Sidelight, also those inside of functions."""
    return tuple(
        use
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE
        for use in imports_of(path)
        if len(set(use.packages)) == 2
    )


def imports_of(path: Path) -> Iterator[Use]:
    """Imports of Sidelight's modules in a file; a module that is imported by name is the module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: relative import"
            found = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if is_module(f"{module}.{name}"):
                module, name = f"{module}.{name}", ""
            if module.startswith("sidelight."):
                yield Use(dotted(path), module, name)


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def is_open(use: Use) -> bool:
    """Whether a use goes through a door, or into a room that is for all of Sidelight."""
    _, package, *inside = use.module.split(".")
    if any(part.startswith("_") for part in (*inside, use.name)):
        return False
    return package.startswith("_") or inside in ([], ["inner"])


def test_a_package_uses_the_doors_of_others() -> None:
    """A private module belongs to its package; what others share stands in its inner door."""
    closed = [use for use in uses() if not is_open(use)]
    assert not closed, "\n".join(f"{use.user} imports {use.name} of {use.module}" for use in closed)


@pytest.mark.parametrize("door", INNER, ids=dotted)
def test_an_inner_door_names_what_others_use_and_users_do_not(door: Path) -> None:
    assert names_of(door) == {use.name for use in uses() if use.module == dotted(door)}
    assert not names_of(door) & names_of(door.with_name("__init__.pyi"))


def test_every_package_with_a_public_name_has_a_door() -> None:
    """Packages without one hold private modules only, or are private themselves."""
    for source in PACKAGE.rglob("__init__.py"):
        path = source.relative_to(PACKAGE)
        if not source.with_suffix(".pyi").exists() and not any(
            part.startswith("_") for part in path.parts[:-1]
        ):
            public = [one.name for one in source.parent.glob("[!_]*.py")]
            assert not public, f"{path.parent} has {public} but no door"


def test_what_editors_see_is_checked_for_every_family() -> None:
    """``make types`` checks what a type checker sees through the doors: tests/seen_types.py."""
    seen = ast.parse((ROOT / "tests" / "seen_types.py").read_text(encoding="utf-8"))
    asserted = {
        call.args[1].id
        for call in ast.walk(seen)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id == "assert_type" and isinstance(call.args[1], ast.Name)
    }
    for family in catalog.FAMILIES:
        assert asserted & {method.cls.__name__ for method in catalog.methods(family=family)}, family
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "tests/seen_types.py" in project["tool"]["mypy"]["files"]
