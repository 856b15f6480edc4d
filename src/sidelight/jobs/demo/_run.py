"""``sidelight demo``: the main job on the bundled example, without and with what is known."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight.datasets import customers_paths, example_paths
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import check_apart, check_writable, write_together
from sidelight.jobs._outputs import check_outputs_free, replaced_notes
from sidelight.jobs._registry import run
from sidelight.jobs._result import Result
from sidelight.jobs.demo._request import DemoRequest
from sidelight.report.inner import Strong, Told, text_table

K = 3
TRUTH = "variety"
METHODS = ("kmeans", "pckmeans", "copkmeans")
STORY = """\
Apples of three varieties grew in two orchards, and by the river they grow larger:
clusters by the measurements alone are partly orchards. A taster compared some of
the apples: {same} pairs are the same variety, {different} pairs are not."""


@dataclass(frozen=True, eq=False)
class DemoRun(Result):
    """The bundled example clustered by three methods.

    Attributes
    ----------
    folder : Path
        Where everything was written.
    files : tuple of Path
        The copies of data and links, customers and links.
    runs : dict of str to dict
        Facts of every method, by its name.
    """

    folder: Path
    files: tuple[Path, ...]
    runs: dict[str, dict[str, Any]]
    notes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return the facts of all three runs, and where everything is."""
        data, links, customers, _ = self.files
        return {
            "folder": str(self.folder),
            "data": str(data),
            "constraints": str(links),
            "customers": str(customers),
            "runs": self.runs,
        }

    def tell(self) -> list[Told]:
        """Return the story, the comparison of the methods, and what to try next."""
        data, links, customers, known_customers = self.files
        known = self.runs[METHODS[0]]["knowledge"]
        story = STORY.format(same=known["must_link"], different=known["cannot_link"])
        rows = []
        for method, fact in self.runs.items():
            violations, scores = fact["violations"], fact["scores"]
            kept = f"{violations['n_stated'] - violations['n']} of {violations['n_stated']}"
            right = (f"{scores[of]['clustering_accuracy']:.1%}" for of in ("all", "unconstrained"))
            rows.append((method, kept, *right))
        headers = ("Method", "Comparisons kept", "Right variety", "of the untasted")
        return [
            (Strong("The bundled example"), f"\n{story}"),
            text_table(*headers, rows=rows),
            "Look at the reports in a browser:",
            *(f"  {fact['outputs']['report']}" for fact in self.runs.values()),
            "The clusters are in the labels files beside them. By hand, or with data of your own:",
            f"  sidelight cluster {data} -k {K} --constraints {links} --truth-column {TRUTH} "
            "-o labels.csv --report report.html",
            "A table with dates, categories, texts and gaps lies beside them; which method suits "
            "it?",
            f"  sidelight compare {customers} -k 2:4 --constraints {known_customers} "
            "--truth-column segment --report compare.html",
        ]


def prepare(request: DemoRequest) -> DemoRun:
    """Cluster the example by three methods, and write labels and reports."""
    folder = Path(request.folder)
    _make_folder(folder)
    copies = {folder / path.name: path for path in (*example_paths(), *customers_paths())}
    files = tuple(copies)
    outputs: dict[str, Any] = {
        method: {
            "labels": folder / f"{method}-labels.csv",
            "report": folder / f"{method}-report.html",
        }
        for method in METHODS
    }
    _check_copies(copies, force=request.force)
    inputs = [*copies, *copies.values()]
    old = {
        method: check_outputs_free(inputs, force=request.force, **outputs[method])
        for method in METHODS
    }
    write_together({copy: _copier(path) for copy, path in copies.items()})
    facts = {}
    for method in METHODS:
        found = run("cluster", data=files[0], k=K, method=method, constraints=files[1], truth=TRUTH)
        written = found.write(**outputs[method])
        paths = {kind: str(path) for kind, path in written.items()}
        facts[method] = {"command": "cluster", **found.facts(), "outputs": paths}
    notes = [note for method in METHODS for note in replaced_notes(old[method], outputs[method])]
    return DemoRun(folder, files, facts, tuple(notes))


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
