"""Attributes that all estimators of a kind have, described once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping


def add_attributes(cls: type, common: Mapping[str, str]) -> None:
    """Add the entries to the docstring of a class that its section "Attributes" does not have.

    Parameters
    ----------
    cls : type
        A class with a numpydoc docstring of its own.
    common : mapping of str to str
        Head of an entry (``"n_iter_ : int"``) to its text.
    """
    if "__doc__" not in vars(cls) or not cls.__doc__ or "Attributes\n" not in cls.__doc__:
        return
    text = inspect.cleandoc(cls.__doc__)
    before, title, rest = text.partition("Attributes\n----------\n")
    entries, *others = re.split(r"\n\n(?=[^\n]+\n-{3,}\n)", rest, maxsplit=1)
    described = set(re.findall(r"^([\w, ]+?) :", entries, flags=re.MULTILINE))
    names = {name.strip() for head in described for name in head.split(",")}
    for head, meaning in common.items():
        if head.partition(" :")[0] not in names:
            entries += f"\n{head}\n    {meaning}"
    cls.__doc__ = before + title + "\n\n".join([entries, *others])
