"""Parameters and attributes that many estimators have, described once.

Docstrings of classes describe what is their own; :func:`complete` adds the entries of everything
that means the same everywhere, so that ``help`` and the reference show all of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

#: Parameters that mean the same in every method that has them.
COMMON_PARAMETERS = {
    "n_clusters": "Number of clusters.",
    "n_init": "Number of restarts with different seeds; the best is kept. A given start is run "
    'once. "auto" takes 10 where starts are random, and 1 otherwise, as in scikit-learn.',
    "max_iter": "Largest number of iterations of a restart.",
    "random_state": "Seed or generator for the random initialization; pass an int for "
    "reproducible results.",
    "verbose": "Whether to show a progress bar.",
}


def complete(cls: type, section: str, entries: Mapping[str, str]) -> None:
    """Add the entries to a section of the docstring of a class that the section does not have.

    Parameters
    ----------
    cls : type
        A class with a numpydoc docstring of its own.
    section : {"Parameters", "Attributes"}
        Title of the section. A docstring without the section stays as it is.
    entries : mapping of str to str
        Head of an entry (``"n_iter_ : int"``) to its text.
    """
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    found = split_at(text, section)
    if found is None:
        return
    body = found.body
    described = re.findall(r"^(\w[\w, ]*?) :", body, flags=re.MULTILINE)
    names = {name.strip() for head in described for name in head.split(",")}
    for head, meaning in entries.items():
        if head.partition(" :")[0] not in names:
            body += f"\n{head}\n    {meaning}"
    parts = [found.before + body.lstrip("\n"), found.after]
    cls.__doc__ = "\n\n".join(part for part in parts if part)


class Section(NamedTuple):
    """A section of a docstring, and what stands around it.

    Attributes
    ----------
    before : str
        Everything up to the title of the section, and the title.
    body : str
        Its entries; empty if there are none.
    after : str
        The sections that follow.
    """

    before: str
    body: str
    after: str


def split_at(text: str, section: str) -> Section | None:
    """Split a numpydoc docstring at the section with this title; None if it has no such section."""
    before, title, rest = text.partition(f"{section}\n{'-' * len(section)}\n")
    if not title:
        return None
    # The line break before the first entry is also the one before the next title, if there is none.
    body, *after = re.split(r"\n\n(?=[^\n]+\n-{3,}\n)", f"\n{rest}", maxsplit=1)
    return Section(before + title, body.strip("\n"), "".join(after))
