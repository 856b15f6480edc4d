"""What the experiments share: arguments, means with their errors, Markdown, pictures.

An experiment is a module with a function ``run(runs, quick) -> list of Section``; it prints the
published figure beside ours. ``python -m experiments.harness [--quick]`` runs all of them and
writes Markdown and pictures to ``experiments/results``.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.datasets import load_uci
from sidelight.exceptions import SidelightError
from sidelight.io import atomic_write

HERE = Path(__file__).parent
EXPERIMENTS = {path.stem: path for path in sorted(HERE.glob("*/[!_]*.py"))}
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Section:
    """A heading, some words, a table, and perhaps a picture."""

    title: str
    text: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    picture: Callable[[Path], None] | None = field(default=None, repr=False)
    picture_name: str = ""

    def markdown(self) -> str:
        parts = [f"## {self.title}", self.text]
        if self.header:
            parts.append(table(self.header, self.rows))
        if self.picture is not None:
            parts.append(f"![{self.title}]({self.picture_name}.png)")
        return "\n\n".join(parts)


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


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def mean_and_error(values: Sequence[float], *, digits: int = 3, scale: float = 1.0) -> str:
    """Write the mean and its standard error; NaN stands for a run that does not count."""
    figures = scale * np.asarray(values, dtype=float)
    figures = figures[~np.isnan(figures)]
    if len(figures) == 0:
        return "–"
    error = figures.std(ddof=1) / np.sqrt(len(figures)) if len(figures) > 1 else 0.0
    return f"{figures.mean():.{digits}f} ± {error:.{digits}f}"


def write(name: str, title: str, sections: Sequence[Section]) -> Path:
    """Write the sections as one Markdown file with its pictures; print it too."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([f"# {title}", *(section.markdown() for section in sections)]) + "\n"
    for section in sections:
        if section.picture is not None:
            with atomic_write(RESULTS / f"{section.picture_name}.png") as temporary:
                section.picture(Path(temporary))
    path = RESULTS / f"{name}.md"
    with atomic_write(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")
    print(text)
    return path


def main(name: str, arguments: Sequence[str] | None = None) -> None:
    """Run one experiment from the command line."""
    module: Any = importlib.import_module(f"experiments.{EXPERIMENTS[name].parent.name}.{name}")
    parser = argparse.ArgumentParser(description=module.__doc__)
    parser.add_argument("--runs", type=int, default=50, help="runs per figure (default 50)")
    parser.add_argument("--quick", action="store_true", help="few runs, small sets")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    runs = min(options.runs, 3) if options.quick else options.runs
    path = write(name, module.TITLE, module.run(runs, options.quick))
    print(f"{path} ({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    import sys

    for experiment in EXPERIMENTS:
        main(experiment, sys.argv[1:])
