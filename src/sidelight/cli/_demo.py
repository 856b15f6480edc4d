"""``sidelight demo``: the main job on the bundled example, without and with what is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sidelight.cli._run import claim, work
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.datasets import customers_paths, example_paths
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io._atomic import check_apart, check_writable, write_together
from sidelight.jobs import Request

K = 3
TRUTH = "variety"
METHODS = ("kmeans", "pckmeans", "copkmeans")
STORY = """\
Apples of three varieties grew in two orchards, and by the river they grow larger:
clusters by the measurements alone are partly orchards. A taster compared some of
the apples: {same} pairs are the same variety, {different} pairs are not."""


def run(folder: Path, screen: Screen, *, force: bool) -> None:
    """Cluster the example by three methods, compare them, name the files."""
    _make_folder(folder)
    copies = {folder / path.name: path for path in (*example_paths(), *customers_paths())}
    data, links, customers, known_customers = copies
    outputs = {
        method: {
            "labels": folder / f"{method}-labels.csv",
            "report": folder / f"{method}-report.html",
        }
        for method in METHODS
    }
    _check_copies(copies, force=force)
    for method in METHODS:
        claim(screen, [*copies, *copies.values()], force=force, **outputs[method])
    write_together({copy: _copier(path) for copy, path in copies.items()})
    facts = {}
    for method in METHODS:
        request = Request(data, k=K, method=method, constraints=links, truth=TRUTH, prepare=True)
        facts[method] = work(request, Screen(quiet=True), spreadsheet_safe=False, **outputs[method])
    known = facts[METHODS[0]]["knowledge"]
    story = STORY.format(same=known["must_link"], different=known["cannot_link"])
    screen.show(f"[bold]The bundled example[/]\n{story}")
    _show(facts, data, links, screen)
    screen.show(
        "A table with dates, categories, texts and gaps lies beside them; which method suits it?",
        f"  sidelight compare {plain_text(customers)} -k 2:4 --constraints "
        f"{plain_text(known_customers)} --truth-column segment --report compare.html",
    )
    screen.result(
        {
            "command": "demo",
            "folder": str(folder),
            "data": str(data),
            "constraints": str(links),
            "customers": str(customers),
            "runs": facts,
        }
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SidelightError(f"{folder} is a file; name a folder with --output.") from None


def _check_copies(copies: dict[Path, Path], *, force: bool) -> None:
    """Refuse to replace a file that is not the bundled one."""
    check_apart(copies, copies.values())
    for copy, path in copies.items():
        check_writable(copy)
        if copy.is_file() and copy.read_bytes() != path.read_bytes() and not force:
            raise InvalidRequest(
                f"{copy} exists and is not the bundled example; name another folder with "
                "--output, or replace it with --force."
            )


def _copier(source: Path) -> Any:
    return lambda target: shutil.copyfile(source, target)


def _show(facts: dict[str, dict[str, Any]], data: Path, links: Path, screen: Screen) -> None:
    if not screen.prints_text:
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
