"""``sidelight demo``: the main job on the bundled example, without and with what is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sidelight.cli._run import run as run_request
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.datasets import example_paths
from sidelight.exceptions import SidelightError
from sidelight.io._atomic import write_together
from sidelight.runs import Request

K = 3
TRUTH = "variety"
METHODS = ("kmeans", "pckmeans", "copkmeans")
STORY = """\
Apples of three varieties grew in two orchards, and by the river they grow larger:
clusters by the measurements alone are partly orchards. A taster compared some of
the apples: {same} pairs are the same variety, {different} pairs are not."""


def run(folder: Path, screen: Screen) -> None:
    """Cluster the example by three methods, compare them, name the files."""
    _make_folder(folder)
    data, links = (folder / path.name for path in example_paths())
    write_together(dict(zip((data, links), map(_copy, example_paths()), strict=True)))
    facts = {}
    for method in METHODS:
        request = Request(data, k=K, method=method, constraints=links, truth=TRUTH)
        outputs = {
            "labels": folder / f"{method}-labels.csv",
            "report": folder / f"{method}-report.html",
        }
        facts[method] = run_request(request, Screen(quiet=True), **outputs)
    known = facts[METHODS[0]]["knowledge"]
    story = STORY.format(same=known["must_link"], different=known["cannot_link"])
    screen.show(f"[bold]The bundled example[/]\n{story}")
    _show(facts, folder, data, links, screen)
    screen.result(
        {
            "command": "demo",
            "folder": str(folder),
            "data": str(data),
            "constraints": str(links),
            "runs": facts,
        }
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SidelightError(f"{folder} is a file; name a folder with --output.") from None


def _copy(source: Path) -> Any:
    return lambda target: shutil.copyfile(source, target)


def _show(
    facts: dict[str, dict[str, Any]], folder: Path, data: Path, links: Path, screen: Screen
) -> None:
    if not screen.talks:
        return
    rows = []
    for method, fact in facts.items():
        violations, scores = fact["violations"], fact["scores"]
        rows.append(
            (
                method,
                f"{violations['n_stated'] - violations['n']} of {violations['n_stated']}",
                f"{scores['all']['clustering_accuracy']:.1%}",
                f"{scores['unconstrained']['clustering_accuracy']:.1%}",
            )
        )
    screen.show(
        table(
            "Method",
            "Comparisons kept",
            "Right variety",
            "of the untasted",
            rows=rows,
        ),
        "Look at the reports in a browser:",
        *(f"  {plain_text(fact['outputs']['report'])}" for fact in facts.values()),
        "The clusters are in the labels files beside them. By hand, or with data of your own:",
        f"  sidelight cluster {plain_text(data)} -k {K} --constraints {plain_text(links)} "
        f"--truth-column {TRUTH} -o labels.csv --report report.html",
    )
