"""Run us and our peers on the same work in one run, and write the ratios down.

A benchmark is a module ``benchmarks/<family>/bench_<name>.py`` with a function

    run(quick: bool) -> list of rows

where a row is a dict of what to print: ``case`` (what was run), ``peer``, ``ours`` and ``theirs``
(seconds), ``ratio`` (ours / theirs), ``limit`` (the largest ratio we want to see) and whatever
else belongs to it; :func:`compare` makes one. Rows with the same keys become one table. A function
``picture(rows, path)`` of the module draws something else than the ratios.

    python -m benchmarks.harness [--quick] [--keep] [name ...]

prints the tables; with ``--keep`` they become pages of the docs (:mod:`benchmarks.pages`).
"""

from __future__ import annotations

import argparse
import importlib
import re
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.pages import refresh, write_page

Row = dict[str, Any]
Result = TypeVar("Result")

HERE = Path(__file__).parent


def clock(work: Callable[[], Any]) -> float:
    """Seconds that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def apart(work: Callable[..., Result], *args: Any, **params: Any) -> Result:
    """Run a function of a module in a process of its own, which stays for the next one.

    Peers run there and tell the seconds of their fit alone: some change the settings of NumPy for
    the whole process, in which our fits would then fail.
    """
    return _other_process().submit(work, *args, **params).result()


@cache
def _other_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def most_memory() -> float:
    """Megabytes that this process had at most.

    Linux lets a new process begin with what its parent had in ``ru_maxrss``, but not in ``VmHWM``.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if found is not None:
        return int(found[1]) / 1024
    import resource  # not on Windows

    unit = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def compare(
    case: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    peer: str,
    seconds_of: Callable[[Any], float] | None = None,
    limit: float | None = None,
    repeats: int = 3,
    **facts: Any,
) -> Row:
    """Time both sides by turns, so that a busy moment of the machine hits both.

    The ratio is that of the best times; ``median ratio`` is that of the medians. A peer that runs
    :func:`apart` returns its own seconds; ``seconds_of`` finds them in what ``theirs`` returns.
    """
    our_times, their_times = [], []
    for _ in range(repeats):
        our_times.append(clock(ours))
        their_times.append(clock(theirs) if seconds_of is None else seconds_of(theirs()))
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


def report(name: str, rows: list[Row], source: Path, quick: bool, keep: bool) -> str:
    """Return the rows of one benchmark as Markdown; keep them as a page of the docs if asked."""
    body = f"Seconds, and ratio = ours / theirs.\n\n{tables(rows)}\n"
    draw = picture_of(source, rows)
    if keep:
        if draw is not None:
            body += f"\n![Picture of {name}](/results/speed/{name}.png)\n"
        path = write_page("speed", name, name.replace("_", " "), source, body, quick=quick)
        if draw is not None:
            draw(path.with_suffix(".png"))
        refresh()
    return body


def picture_of(source: Path, rows: list[Row]) -> Callable[[Path], None] | None:
    """Return what draws the picture of a benchmark: its own, or its ratios if it has some."""
    own = getattr(load(source), "picture", None)
    ratios = [row for row in rows if "ratio" in row]
    if own is not None:
        return lambda path: own(rows, path)
    return (lambda path: draw_ratios(ratios, path)) if ratios else None


def load(source: Path) -> Any:
    """Import the module of a benchmark."""
    return importlib.import_module(f"benchmarks.{source.parent.name}.{source.stem}")


def draw_ratios(rows: list[Row], path: Path) -> None:
    """Draw the ratios as bars on a logarithmic axis, each with its limit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 0.6 + 0.34 * len(rows)), layout="constrained")
    names = [textwrap.shorten(str(row["case"]), 62, placeholder=" ...") for row in rows]
    places = range(len(rows))[::-1]
    axis.barh(places, [row["ratio"] for row in rows], color="#4477aa", height=0.62)
    for place, row in zip(places, rows, strict=True):
        if "limit" in row:
            axis.plot([row["limit"]] * 2, [place - 0.42, place + 0.42], color="#ee6677", lw=2)
    axis.axvline(1, color="0.6", lw=0.8)
    axis.set(
        xscale="log", yticks=places, yticklabels=names, xlabel="our time / theirs (red: limit)"
    )
    axis.tick_params(labelsize=7)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed side by side with peers.")
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, a few minutes")
    parser.add_argument("--keep", action="store_true", help="write the pages of the docs anew")
    options = parser.parse_args()
    known = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.rglob("bench_*.py"))}
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    names = options.names or list(known)
    if len(names) > 1:
        # Each in a process of its own, whose memory is that of this benchmark alone.
        flags = [flag for flag in ("--quick", "--keep") if getattr(options, flag[2:])]
        command = [sys.executable, "-m", "benchmarks.harness"]
        failed = [name for name in names if subprocess.run([*command, name, *flags]).returncode]
        sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
    (name,) = names
    print(f"running {name} ...", flush=True)
    rows = load(known[name]).run(options.quick)
    print(report(name, rows, known[name], options.quick, options.keep), flush=True)
    for row in above_limit(rows):
        print(f"ABOVE THE LIMIT: {row['case']}: {row['ratio']:.3g} > {row['limit']}")


if __name__ == "__main__":
    main()
