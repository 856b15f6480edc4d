"""Run us and our peers on the same work in one run, and write the ratios down.

A benchmark is a module ``benchmarks/<family>/bench_<name>.py`` with a function

    run(quick: bool) -> list of rows

where a row is a dict of what to print: ``case`` (what was run), ``peer``, ``ours`` and ``theirs``
(seconds), ``ratio`` (ours / theirs), ``limit`` (the largest ratio we want to see) and whatever
else belongs to it; :func:`compare` makes one. Rows with the same keys become one table.

    python -m benchmarks.harness [--quick] [name ...]

writes ``benchmarks/results/<name>.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Row = dict[str, Any]

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PACKAGES = ("sidelight", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")


def clock(work: Callable[[], Any]) -> float:
    """Seconds that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(
    case: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    peer: str,
    limit: float | None = None,
    repeats: int = 3,
    **facts: Any,
) -> Row:
    """Time both sides by turns, so that a busy moment of the machine hits both.

    The ratio is that of the best times; ``median ratio`` is that of the medians.
    """
    our_times, their_times = [], []
    for _ in range(repeats):
        our_times.append(clock(ours))
        their_times.append(clock(theirs))
    row: Row = {
        "case": case,
        "peer": peer,
        "ours": min(our_times),
        "theirs": min(their_times),
        "ratio": min(our_times) / min(their_times),
        "median ratio": statistics.median(our_times) / statistics.median(their_times),
    }
    if limit is not None:
        row["limit"] = limit
    return {**row, **facts}


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "python": platform.python_version(),
        "processors": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        **versions,
    }


def show(value: Any) -> str:
    """Print a figure with the digits that mean something."""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def tables(rows: list[Row]) -> str:
    """Rows as Markdown, one table per set of keys."""
    parts: list[str] = []
    keys: tuple[str, ...] = ()
    for row in rows:
        if tuple(row) != keys:
            keys = tuple(row)
            parts += ["", "| " + " | ".join(keys) + " |", "|" + " --- |" * len(keys)]
        parts.append("| " + " | ".join(show(row[key]) for key in keys) + " |")
    return "\n".join(parts[1:])


def above_limit(rows: list[Row]) -> list[Row]:
    """Rows whose ratio is larger than we want."""
    return [row for row in rows if "limit" in row and row["ratio"] > row["limit"]]


def report(name: str, rows: list[Row], quick: bool) -> str:
    """Write the rows of one benchmark as Markdown and JSON; return the Markdown."""
    facts = machine()
    lines = [
        f"# {name}",
        "",
        "Seconds; ratio = ours / theirs." + (" Short run: smaller inputs." if quick else ""),
        "",
        tables(rows),
        "",
        ", ".join(f"{key} {value}" for key, value in facts.items()),
        "",
    ]
    RESULTS.mkdir(exist_ok=True)
    text = "\n".join(lines)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    content = {"name": name, "quick": quick, "machine": facts, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2, default=str) + "\n")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed side by side with peers.")
    parser.add_argument("names", nargs="*", help="benchmarks to run; all unless told")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, a few minutes")
    options = parser.parse_args()
    known = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.rglob("bench_*.py"))}
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    missed = []
    for name in options.names or known:
        print(f"running {name} ...", flush=True)
        rows = importlib.import_module(f"benchmarks.{known[name].parent.name}.bench_{name}").run(
            options.quick
        )
        print(report(name, rows, options.quick), flush=True)
        missed += above_limit(rows)
    for row in missed:
        print(f"ABOVE THE LIMIT: {row['case']}: {row['ratio']:.3g} > {row['limit']}")


if __name__ == "__main__":
    main()
