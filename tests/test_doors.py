"""Doors of packages: what ``__init__.pyi`` names is there, documented, and typed for editors."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sidelight
from sidelight import catalog

ROOT = Path(__file__).parent.parent
PACKAGE = Path(sidelight.__file__).parent
DOORS = sorted(PACKAGE.rglob("__init__.pyi"))


def dotted(door: Path) -> str:
    return ".".join(door.parent.relative_to(PACKAGE.parent).parts)


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
        if inspect.ismodule(member) or inspect.isclass(member) or callable(member):
            assert inspect.getdoc(member), f"{name} has no docstring"


@pytest.mark.parametrize("door", DOORS, ids=dotted)
def test_a_door_refuses_other_names(door: Path) -> None:
    package = importlib.import_module(dotted(door))
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        _ = package.nothing_of_this_name


def test_every_package_with_a_public_name_has_a_door() -> None:
    """Packages without one hold private modules only, or are private themselves."""
    for source in PACKAGE.rglob("__init__.py"):
        path = source.relative_to(PACKAGE)
        if not source.with_suffix(".pyi").exists() and not any(
            part.startswith("_") for part in path.parts[:-1]
        ):
            public = [one.name for one in source.parent.glob("[!_]*.py")]
            assert not public, f"{path.parent} has {public} but no door"


#: One estimator of every family, and what else a user's script begins with.
REVEALED = [
    ("from sidelight import Constraints", "Constraints(n_samples=3)", "Constraints"),
    *(
        (
            f"from sidelight.{family} import {method.cls.__name__}",
            f"{method.cls.__name__}()",
            method.cls.__name__,
        )
        for family in catalog.FAMILIES
        for method in catalog.methods(family=family)[:1]
    ),
    ("from sidelight.cluster import PCKMeans", "PCKMeans(n_clusters=3, penalty=2.0)", "PCKMeans"),
    ("from sidelight.cluster import KMeans", "KMeans().fit([[0.0]])", "KMeans"),
    ("from sidelight.engine import as_rows", "as_rows([[0.0]])", "RowSource"),
    ("from sidelight.cluster import KMeans", "KMeans().summary()", "str"),
]


def test_editors_see_the_types(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = [f"{imported}; reveal_type({expression})" for imported, expression, _ in REVEALED]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, str(script)],
        cwd=ROOT,
        # The same paths as `make types` has, and therefore its results.
        env={"MYPYPATH": os.path.relpath(PACKAGE.parent, ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    seen = re.findall(r'script\.py:(\d+): note: Revealed type is "([\w.]+)"', done.stdout)
    found = {int(number): name.rpartition(".")[2] for number, name in seen}
    assert found == {number + 1: wanted for number, (_, _, wanted) in enumerate(REVEALED)}
    assert "script.py: error" not in re.sub(r":\d+:", ":", done.stdout), done.stdout
