"""Docstrings of displays: what recurs stands here once, and ``help`` shows all of it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sidelight._fit.docstrings import split_at

_FEATURES = "Names of the features; by default those of the data frame, or of the fit."

#: Type and meaning of the parameters that several displays have.
SHARED = {
    "ax": ("matplotlib Axes, default=None", "Axes to draw in; a new figure by default."),
    "color": (
        "array-like, str or int, default=None",
        "A value for every row, labels or clusters of the rows, or the name or number of a column "
        "of ``X``.",
    ),
    "constraints": (
        "Constraints, default=None",
        "What was known; where it has ids and ``X`` has an index, rows are found by it.",
    ),
    "coordinates": ("sequence of two ints, default=(0, 1)", "Which coordinates to draw."),
    "estimator": ("fitted estimator", "What to draw, or a pipeline that ends in it."),
    "feature_names": ("sequence of str, default=None", _FEATURES),
    "features": (
        "sequence of two names or numbers, default=None",
        "Features to draw; by default both of two, or principal components of more.",
    ),
    "ids": (
        "sequence of shape (n_samples,), default=None",
        "Names of the rows; at most 150 are written.",
    ),
    "labels": (
        "array-like of shape (n_samples,)",
        "Cluster or class of every row, of any type; -1 for none.",
    ),
    "like": (
        "display of points or array-like of shape (n_samples,), default=None",
        "Another display of the same rows, or labels of them, from which clusters take their "
        "colors: each that of the cluster or class with which it shares most rows.",
    ),
    "n_neighbors": (
        "int, default=None",
        "Number of nearest rows for which neighbors that the map loses and finds are drawn; none "
        "by default.",
    ),
    "title": ('str, default=""', "Written above the picture."),
    "X": (
        "array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)",
        "The rows of the fit.",
    ),
}


def entry(name: str, kind: str, meaning: str) -> str:
    """An entry of a section: what it is about, its type and its meaning."""
    return f"{name} : {kind}\n" + textwrap.indent(textwrap.fill(meaning, 96), "    ")


def entries_of(text: str, section: str) -> dict[str, str]:
    """Entries of a section of a docstring, by their names, without the stars of these.

    Parameters
    ----------
    text : str
        A docstring without its indentation.
    section : str
        Title of the section.

    Returns
    -------
    dict of str to str
        The entries, whole; none where there is no such section.
    """
    found = split_at(text, section)
    parts = [] if found is None else re.split(r"\n(?=\S)", found.body)
    return {
        name.lstrip("*"): part
        for part in parts
        for name in part.partition(" :")[0].split(", ")
        if part
    }


def put_section(text: str, section: str, entries: Sequence[str]) -> str:
    """Replace a section of a docstring; a new one stands before "Returns", or "Examples"."""
    block = f"{section}\n{'-' * len(section)}\n" + "\n".join(entries)
    old = split_at(text, section)
    if old is not None:
        before = old.before.rpartition(f"{section}\n{'-' * len(section)}\n")[0]
        return "\n\n".join(part for part in (before.rstrip(), block, old.after) if part)
    for title in ("Returns", "Examples"):
        before, line, after = text.partition(f"{title}\n{'-' * len(title)}\n")
        if line:
            return f"{before}{block}\n\n{line}{after}"
    return f"{text.rstrip()}\n\n{block}"


def complete_class(cls: type, kinds: Sequence[type], drawn: Sequence[type]) -> None:
    """Describe the picture that a display holds, and the artists that it has once it is drawn.

    Parameters
    ----------
    cls : type
        A display.
    kinds : sequence of type
        Kinds of its pictures.
    drawn : sequence of type
        What their renderers return, whose docstrings describe the artists.
    """
    text = inspect.cleandoc(cls.__doc__ or "")
    names = " or ".join(f":class:`~sidelight.pictures.{kind.__name__}`" for kind in kinds)
    text = put_section(text, "Parameters", [entry("picture", names, "What is drawn, as data.")])
    own = entries_of(text, "Attributes")
    own["ax_"] = own.get("ax_") or entry(
        "ax_, figure_", "matplotlib Axes and Figure", "Where it was drawn."
    )
    artists = "\n\n".join(
        textwrap.indent("\n".join(entries_of(_doc(one), "Attributes").values()), "    ")
        for one in drawn
    )
    kept = " or ".join(one.__name__ for one in drawn)
    own["drawn_"] = f"drawn_ : {kept}\n    The artists:\n\n{artists}"
    text = put_section(text, "Attributes", list(dict.fromkeys(own.values())))
    cls.__doc__ = text


def complete_methods(cls: type, methods: Mapping[str, Any], options: dict[str, str]) -> None:
    """Describe every parameter of the methods that draw, and the display that they return.

    Parameters
    ----------
    cls : type
        A display.
    methods : dict of str to function
        The methods by name. Their own docstrings describe what is special: what is said of
        ``plot``, or of a parameter that no other display has, holds for all of them.
    options : dict of str to str
        Entries of the options of the renderer.
    """
    shared = {name: entry(name, *about) for name, about in SHARED.items()}
    shared["options"] = _options(options)
    for name, method in methods.items():
        own = entries_of(_doc(method), "Parameters")
        shared |= own if name == "plot" else {k: v for k, v in own.items() if k not in SHARED}
    for method in methods.values():
        text = _doc(method)
        described = shared | entries_of(text, "Parameters")
        entries = [described[name] for name in list(inspect.signature(method).parameters)[1:]]
        # One entry may describe several parameters.
        text = put_section(text, "Parameters", list(dict.fromkeys(entries)))
        returned = f"{cls.__name__}\n    The drawn display."
        method.__doc__ = put_section(text, "Returns", [returned])


def _options(options: dict[str, str]) -> str:
    if not options:
        return "**options : dict\n    None: there is one way to draw this kind of picture."
    # Stars within an entry would be markup that never ends.
    texts = [re.sub(r"^\*\*\w+ : dict$", "any other", one, flags=re.M) for one in options.values()]
    listed = textwrap.indent("\n".join(texts), "    ")
    return f"**options : dict\n    How it is drawn:\n\n{listed}"


def options_of(renderer: Callable[..., Any]) -> dict[str, str]:
    """Options of a renderer: what it takes besides the axes, the picture and the inks."""
    entries = entries_of(_doc(renderer), "Parameters")
    return {name: text for name, text in entries.items() if name not in ("ax", "picture", "inks")}


def _doc(described: Any) -> str:
    return inspect.cleandoc(described.__doc__ or "")
