"""Results as pages of the docs: Markdown with pictures, and where every figure comes from.

``docs/results/speed`` holds a page for every benchmark, ``docs/results/published`` one for every
experiment; ``docs/speed.md`` and ``docs/published.md`` put them together. ``make figures`` runs
everything and writes all of them.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
PACKAGES = ("sidelight", "numpy", "scipy", "scikit-learn", "numba")

INTRODUCTIONS = {
    "speed": (
        "# Speed against peers\n\n"
        "Both sides run on the same data, from the same start where there is one, by turns in one "
        "run. The ratio is our time over theirs, so smaller is better; the limit is the largest "
        "ratio we want to see. `make bench` prints the figures of your machine, `make figures` "
        "refreshes this page.\n"
    ),
    "published": (
        "# Published figures beside ours\n\n"
        "Every table of the sources that we ran again, with a verdict: it **agrees** (within the "
        "errors of both), ours is **better**, it **differs** (and why), it **cannot be had** (the "
        "data or the details are not public), or there is **no published figure**. "
        "`make experiments` prints them, `make figures` refreshes this page.\n"
    ),
}


def provenance(source: Path, *, quick: bool) -> str:
    """Say where figures come from: module, kind of run, date, machine, versions."""
    versions = ", ".join(f"{package} {_version(package)}" for package in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"Source: `{source.resolve().relative_to(ROOT)}` · "
        f"{'quick run (smaller inputs, few repetitions)' if quick else 'full run'} · "
        f"{datetime.date.today().isoformat()} · {platform.machine()}, {cores} processors, "
        f"{platform.system()} · Python {platform.python_version()}, {versions}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write_page(kind: str, name: str, title: str, source: Path, body: str, *, quick: bool) -> Path:
    """Write the page of one benchmark or experiment."""
    folder = RESULTS / kind
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(f"# {title}\n\n{provenance(source, quick=quick)}\n\n{body.strip()}\n", "utf-8")
    return path


def assemble(kind: str) -> str:
    """Put the pages of a kind together: introduction, overview, and the pages themselves."""
    pages = sorted((RESULTS / kind).glob("*.md"))
    parts = [INTRODUCTIONS[kind], overview(kind, pages)]
    for page in pages:
        parts.append(f"```{{include}} results/{kind}/{page.name}\n:heading-offset: 1\n```")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def overview(kind: str, pages: Sequence[Path]) -> str:
    """One row for every case with a limit, or for every table with a verdict."""
    rows: list[Sequence[str]] = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        if kind == "speed":
            rows += [[title, *cells] for cells in _ratios(text)]
        else:
            for section in text.split("\n## ")[1:]:
                verdict = re.search(r"^Verdict: \*\*(.+?)\*\*(.*)$", section, re.MULTILINE)
                if verdict is not None:
                    word, why = verdict.groups()
                    rows.append([title, section.partition("\n")[0], word, why.strip(" .:")])
    if kind == "speed":
        return table(("benchmark", "case", "peer", "ratio", "limit"), rows)
    return table(("experiment", "table", "verdict", "why"), rows)


def _ratios(text: str) -> list[list[str]]:
    """Case, peer, ratio and limit of the tables that have these columns."""
    found = []
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif set(line) > set("|- ") and {"case", "peer", "ratio"} <= set(header):
            row = dict(zip(header, cells, strict=False))
            found.append([row["case"], row["peer"], row["ratio"], row.get("limit", "")])
    return found


def refresh() -> None:
    """Write the two pages anew from the results that are there."""
    for kind in INTRODUCTIONS:
        (DOCS / f"{kind}.md").write_text(assemble(kind), encoding="utf-8")


if __name__ == "__main__":
    refresh()
