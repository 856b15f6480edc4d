"""Packages whose names import their module on first use, so that ``import sidelight`` stays fast.

The door of a package is its ``__init__.pyi``: one line for every public name. Its inner door, if it
has one, is ``inner.pyi``: one line for every name that other packages of Sidelight share and users
do not. Editors and type checkers read these files; :func:`attach` reads the same lines at run time.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(door: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a door from the ``.pyi`` file beside it.

    Parameters
    ----------
    door : str
        ``__name__`` of a package, or of its module ``inner``. The file holds lines of three forms:
        ``from ._module import Name as Name`` for a name, ``from . import module as module`` for a
        module, and ``from .room import *`` for everything that the door of a room names.
    """
    home = _read_door(door)

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        module, attribute = home[name]
        found = importlib.import_module(module)
        return found if attribute is None else getattr(found, attribute)

    everything = sorted(home)
    return get, lambda: everything, everything


def _read_door(door: str) -> dict[str, tuple[str, str | None]]:
    """Names of a door to the module that defines each, and its name there (none for a module)."""
    spec = importlib.util.find_spec(door)
    assert spec is not None
    assert spec.origin is not None
    package = spec.parent  # what the relative imports of the lines begin at
    lines = ast.parse(Path(spec.origin).with_suffix(".pyi").read_text(encoding="utf-8")).body
    home: dict[str, tuple[str, str | None]] = {}
    for line in lines:
        if not isinstance(line, ast.ImportFrom):
            continue
        for alias in line.names:
            if alias.name == "*":
                home |= _read_door(f"{package}.{line.module}")
            elif line.module is None:
                home[alias.name] = (f"{package}.{alias.name}", None)
            else:
                home[alias.name] = (f"{package}.{line.module}", alias.name)
    return home
