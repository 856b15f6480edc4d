"""What the experiments share: arguments, means with their errors, verdicts, Markdown, pictures.

An experiment is a module with a ``TITLE``, a function ``run(runs, quick) -> list of Section`` that
puts the published figure beside ours, and ``VERDICTS``: a :class:`Verdict` for every table, by its
title. ``python -m experiments.harness [--quick] [--keep]`` runs all of them; with ``--keep`` the
tables become pages of the docs (:mod:`benchmarks.pages`).
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.pages import refresh, table, write_page

from sidelight.datasets import load_uci
from sidelight.exceptions import SidelightError

HERE = Path(__file__).parent
EXPERIMENTS = {
    path.stem: path
    for path in sorted(HERE.rglob("[!_]*.py"), key=lambda path: path.stem)
    if path != HERE / "harness.py" and path.parent != HERE / "recipes"
}

#: What can be said of a table beside the published one.
WORDS = ("agrees", "better", "differs", "cannot be had", "no published figure")


@dataclass(frozen=True)
class Verdict:
    """How a table compares with the published one, and why."""

    word: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"a verdict is one of {WORDS}, not {self.word!r}")
        if self.word in ("differs", "cannot be had") and not self.why:
            raise ValueError(f"say why it {self.word}")

    def markdown(self) -> str:
        return f"Verdict: **{self.word}**" + (f": {self.why}" if self.why else "")


@dataclass(frozen=True)
class Section:
    """A heading, some words, a table, and perhaps a picture."""

    title: str
    text: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    picture: Callable[[Path], None] | None = field(default=None, repr=False)
    picture_name: str = ""

    def markdown(self, verdicts: Mapping[str, Verdict]) -> str:
        """Write the section; the verdict of its table is found by the title."""
        parts = [f"## {self.title}", self.text]
        if self.header:
            parts.append(verdict_of(self.title, verdicts).markdown())
        if self.header:
            parts.append(table(self.header, self.rows))
        if self.picture is not None:
            parts.append(f"![{self.title}](/results/published/{self.picture_name}.png)")
        return "\n\n".join(parts)


def verdict_of(title: str, verdicts: Mapping[str, Verdict]) -> Verdict:
    """Find the verdict of a table: titles that depend on the data are given as patterns."""
    for pattern, verdict in verdicts.items():
        if fnmatch.fnmatchcase(title, pattern):
            return verdict
    raise ValueError(f"the table {title!r} has no verdict in VERDICTS")


@dataclass(frozen=True)
class Data:
    """Rows with their true classes."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))


def uci_or_none(name: str) -> Any:
    """Load a set as it is; None, and a word about it, where no source has it."""
    try:
        return load_uci(name)
    except SidelightError as error:
        print(f"{name} is left out: {error}")
        return None


def mean_and_error(values: Sequence[float], *, digits: int = 3, scale: float = 1.0) -> str:
    """Write the mean and its standard error; NaN stands for a run that does not count."""
    figures = scale * np.asarray(values, dtype=float)
    figures = figures[~np.isnan(figures)]
    if len(figures) == 0:
        return "–"
    error = figures.std(ddof=1) / np.sqrt(len(figures)) if len(figures) > 1 else 0.0
    return f"{figures.mean():.{digits}f} ± {error:.{digits}f}"


def keep(name: str, title: str, body: str, sections: Sequence[Section], quick: bool) -> Path:
    """Write the sections as a page of the docs, with its pictures."""
    path = write_page("published", name, title, EXPERIMENTS[name], body, quick=quick)
    for section in sections:
        if section.picture is not None:
            section.picture(path.with_name(f"{section.picture_name}.png"))
    refresh()
    return path


def load(name: str) -> Any:
    """Import the module of an experiment."""
    path = EXPERIMENTS[name].relative_to(HERE.parent).with_suffix("")
    return importlib.import_module(".".join(path.parts))


def main(name: str, arguments: Sequence[str] | None = None) -> None:
    """Run one experiment from the command line."""
    module = load(name)
    parser = argparse.ArgumentParser(description=module.__doc__)
    parser.add_argument("--runs", type=int, default=50, help="runs per figure (default 50)")
    parser.add_argument("--quick", action="store_true", help="few runs, small sets")
    parser.add_argument("--keep", action="store_true", help="write the page of the docs anew")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    runs = min(options.runs, 3) if options.quick else options.runs
    sections = list(module.run(runs, options.quick))
    body = "\n\n".join(section.markdown(module.VERDICTS) for section in sections)
    print(f"# {module.TITLE}\n\n{body}")
    if options.keep:
        print(keep(name, module.TITLE, body, sections, options.quick))
    print(f"({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    import sys

    for experiment in EXPERIMENTS:
        main(experiment, sys.argv[1:])
