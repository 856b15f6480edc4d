"""Parameters and attributes that many estimators have, described once.

Docstrings of classes describe what is their own; :func:`complete` adds the entries of everything
that means the same everywhere, so that ``help`` and the reference show all of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

#: Parameters that mean the same in every method that has them.
COMMON_PARAMETERS = {
    "n_clusters": "Number of clusters.",
    "n_init": "Number of restarts with different seeds; the best is kept. A given start is run "
    "once.",
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
    title = f"{section}\n{'-' * len(section)}\n"
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    if title not in text:
        return
    before, _, rest = text.partition(title)
    body, *others = re.split(r"\n\n(?=[^\n]+\n-{3,}\n)", rest, maxsplit=1)
    described = re.findall(r"^(\w[\w, ]*?) :", body, flags=re.MULTILINE)
    names = {name.strip() for head in described for name in head.split(",")}
    for head, meaning in entries.items():
        if head.partition(" :")[0] not in names:
            body += f"\n{head}\n    {meaning}"
    cls.__doc__ = before + title + "\n\n".join([body.lstrip("\n"), *others])
