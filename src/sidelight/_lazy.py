"""Names that import their module on first use, so that ``import sidelight`` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def attach(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package with lazy contents.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    names : mapping of str to sequence of str
        Module of the package (``"_kmeans"``) to the public names that it defines. An empty
        sequence makes the module itself the public name.
    """
    home = {name: module for module, public in names.items() for name in public}
    modules = {module for module, public in names.items() if not public}

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in home:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    everything = sorted({*home, *modules})
    return get, lambda: everything, everything
