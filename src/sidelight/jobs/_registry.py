"""All jobs: a row each. ``sidelight --help`` reads nothing else of them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sidelight._words import listed
from sidelight.exceptions import InvalidRequest

if TYPE_CHECKING:
    from sidelight.jobs._options import Option, Request
    from sidelight.jobs._result import Result

#: Questions under which jobs stand, in the order in which they are shown.
GROUPS = "Which groups are there?"
SAME = "What is the same?"
CLASSES = "Which class?"
MAPS = "Near and far"
KNOWLEDGE = "What do I know?"
RESULTS = "What came out?"
PUBLISH = "Publish"
START = "Start"
QUESTIONS = (GROUPS, SAME, CLASSES, MAPS, KNOWLEDGE, RESULTS, PUBLISH, START)


@dataclass(frozen=True)
class Job:
    """One row of the registry.

    Attributes
    ----------
    name : str
        Name of the command, and of the folder of :mod:`sidelight.jobs` that holds the job.
    panel : str
        Question under which it stands.
    summary : str
        One line for a list.
    example : str
        A command line.
    text : str
        More sentences for the help of the command.
    hidden : bool
        Whether it is left out of lists.
    can_be_quiet : bool
        Whether its command may print nothing; one that asks questions may not.
    """

    name: str
    panel: str
    summary: str
    example: str
    text: str = ""
    hidden: bool = False
    can_be_quiet: bool = True

    def _module(self, module: str) -> Any:
        return importlib.import_module(f"sidelight.jobs.{self.name}.{module}")

    @property
    def request(self) -> type[Request]:
        """Class of its requests."""
        found: type[Request] = self._module("_request").REQUEST
        return found

    @property
    def outputs(self) -> Mapping[str, Option]:
        """Files that it writes, by kind, the main one first."""
        found: Mapping[str, Option] = getattr(self._module("_request"), "OUTPUTS", {})
        return found

    def load(self) -> None:
        """Import what the job is done with."""
        self._module("_run")

    def prepare(self, request: Request) -> Any:
        """Do what comes before the long part of the work.

        The value has ``notes`` and ``tell()``, which are shown, and ``run()``, which does the
        rest and returns the result. Where nothing is shown in between, it is the result itself.
        """
        if importlib.util.find_spec(f"sidelight.jobs.{self.name}._run") is None:
            raise InvalidRequest(
                f"{self.name} talks to a person, which only the terminal does: `sidelight "
                f"{self.name}`. In Python, sidelight.active.ActiveClusterer asks."
            )
        return self._module("_run").prepare(request)

    def run(self, request: Request) -> Result:
        """Do the work."""
        prepared = self.prepare(request)
        found: Result = prepared.run() if hasattr(prepared, "run") else prepared
        return found


JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job(
            "cluster",
            GROUPS,
            "Cluster the rows of a table.",
            "sidelight cluster customers.csv -k 4 --constraints known.csv -o labels.csv",
        ),
        Job(
            "compare",
            GROUPS,
            "Find the method and the number of clusters that suit, and whether knowledge helps.",
            "sidelight compare customers.csv -c known.csv -k 2:8 --budget 2m -o labels.csv",
            "Every candidate is scored on statements that were held back from it, on stability and "
            "on time, beside the same method without the knowledge; the best is written as "
            "`sidelight cluster` does.",
        ),
        Job(
            "alternatives",
            GROUPS,
            "Find splits of the rows that differ from the known ones, one after the other.",
            "sidelight alternatives customers.csv -k 3 --avoid country --number 2 -o splits.csv",
            "Without --avoid the first split is a plain clustering, and the following differ from "
            "it. `sidelight predict` gives the clusters of new rows in every split by what --save "
            "keeps.",
        ),
        Job(
            "regions",
            GROUPS,
            "Cluster rows so that every cluster is one connected piece of a graph: regions of a "
            "map.",
            "sidelight regions areas.csv --edges borders.csv -k 8 --coordinates x,y -o regions.csv",
        ),
        Job(
            "cocluster",
            GROUPS,
            "Cluster the rows and the columns of a 0/1 table at once: who buys what, and when.",
            "sidelight cocluster sales.csv -k 3 --ordered-columns --max-column-gap 0 -o rows.csv",
        ),
        Job(
            "resolve",
            SAME,
            "Find out which references of a table mean the same: people, products, places.",
            "sidelight resolve authors.csv --group-column paper --compare name:name "
            "-o entities.csv",
        ),
        Job(
            "correlate",
            SAME,
            "Cluster objects by scored pairs, such as those of a pair classifier.",
            "sidelight correlate pairs.csv -o clusters.csv --report clusters.html",
            "Positive scores ask for the same cluster, negative ones for different clusters; the "
            "number of clusters follows. What is known for certain always holds.",
        ),
        Job(
            "consensus",
            SAME,
            "Combine several partitions of the same objects into the one nearest to all of them.",
            "sidelight consensus votes.csv --columns ann,bob,cid -o consensus.csv",
        ),
        Job(
            "classify",
            CLASSES,
            "Learn classes from the rows whose class is known, and predict those of all others.",
            "sidelight classify customers.csv --label-column segment -o classes.csv",
            "Rows without a label, and pairs, are learned from too; the same method on the labels "
            "alone is always fitted beside it, to tell whether they helped.",
        ),
        Job(
            "categorize",
            CLASSES,
            "Tidy a category system: merge double classes, move documents that stand in the wrong "
            "one.",
            "sidelight categorize pages.csv --text-column title,text --label-column category "
            "-o categories.csv --report categories.html --save categories.skops",
            "The given classes are only the start; words decide. `sidelight predict` ranks the "
            "categories of new documents by what --save keeps.",
        ),
        Job(
            "embed",
            MAPS,
            "Place the rows on a map, or in a learned distance, and write their coordinates.",
            "sidelight embed customers.csv -m isomap --color orders -o map.csv --report map.html",
        ),
        Job(
            "select",
            MAPS,
            "Rank the features by what is known about the rows, and keep the best.",
            "sidelight select genes.csv -m constraint-score -n 50 -c known.csv -o fewer.csv",
        ),
        Job(
            "ask",
            KNOWLEDGE,
            "Ask a person which rows belong together, then cluster or classify with the answers.",
            "sidelight ask customers.csv -k 4 --questions 50 -o labels.csv",
            can_be_quiet=False,
        ),
        Job(
            "check",
            KNOWLEDGE,
            "Check constraints against data: contradictions, feasibility, quality.",
            "sidelight check customers.csv -c known.csv -k 4",
            "The exit code is 1 if the constraints contradict each other, or K clusters cannot "
            "satisfy them.",
        ),
        Job(
            "explain",
            RESULTS,
            "Say what clusters of a saved model are: what sets them apart, typical rows, rules.",
            "sidelight explain model.skops customers.csv -o explanation.csv",
        ),
        Job(
            "predict",
            RESULTS,
            "Give new rows what a saved model gives: clusters, classes, entities, coordinates.",
            "sidelight predict model.skops new.csv -o labels.csv",
        ),
        Job(
            "evaluate",
            RESULTS,
            "Score clusters against known classes.",
            "sidelight evaluate labels.csv --truth customers.csv --truth-column segment",
        ),
        Job(
            "sample",
            RESULTS,
            "Draw constraints from a column of known classes, for experiments.",
            "sidelight sample iris.csv --label-column class --number 100 -o constraints.csv",
            hidden=True,
        ),
        Job(
            "anonymize",
            PUBLISH,
            "Make a table that can be published: every row like at least K - 1 others.",
            "sidelight anonymize people.csv --quasi age,zip,sex --sensitive diagnosis -k 5 -l 2 "
            "--identifiers name -o published.csv --report published.html",
            "`sidelight anonymize published.csv --quasi age,zip,sex --check` counts how many rows "
            "of a published table are alike, whoever made it.",
        ),
        Job(
            "demo",
            START,
            "Run the main job on the bundled example and write its report.",
            "sidelight demo",
        ),
        Job(
            "methods",
            START,
            "List the methods, or describe one with its parameters.",
            "sidelight methods pckmeans",
            can_be_quiet=False,
        ),
    )
}


def by_question() -> dict[str, list[Job]]:
    """Return the jobs that are listed, under their questions."""
    shown = [job for job in JOBS.values() if not job.hidden]
    found = {panel: [job for job in shown if job.panel == panel] for panel in QUESTIONS}
    return {panel: jobs for panel, jobs in found.items() if jobs}


def get(name: str) -> Job:
    """Find a job by its name."""
    if name not in JOBS:
        raise InvalidRequest(f"there is no job {name!r}; there are {listed(sorted(JOBS))}.")
    return JOBS[name]


def make_request(name: str, fields: Mapping[str, Any]) -> Request:
    """Make the request of a job, and explain which fields it has where one is unknown."""
    from sidelight.jobs._options import REQUIRED, fields_of

    kind = get(name).request
    known = fields_of(kind)
    for field in fields:
        if field not in known:
            raise InvalidRequest(f"{name} has no {field}=; it has {listed(sorted(known))}.")
    for field, one in known.items():
        if one.default is REQUIRED and field not in fields:
            raise InvalidRequest(f"{name} needs {field}=: {one.option.help}")
    return kind(**fields)


def run(job: str | Any, /, **fields: Any) -> Any:
    """Do a job, as the command of the same name does.

    Parameters
    ----------
    job : str or Request
        Name of the job: ``"cluster"``, ``"cocluster"``, ``"resolve"`` ...; ``sidelight --help``
        and the page of commands list them. Or a request, which knows its job.
    **fields : object
        What is asked for, by the names of the fields of its request. Files may be given as data
        frames, arrays or :class:`~sidelight.Constraints` in memory.

    Returns
    -------
    Result
        What came out: ``tell()`` says it in sentences and tables, ``facts()`` in plain values,
        ``write(...)`` writes files; a notebook shows it.

    Examples
    --------
    >>> from sidelight import jobs
    >>> from sidelight.datasets import make_purchases
    >>> bought = make_purchases(30, 9, noise=0.0, random_state=0)
    >>> found = jobs.run("cocluster", data=bought.X, k=3)
    >>> len(found.labels), len(found.column_labels)
    (30, 9)
    """
    request = job if not isinstance(job, str) else make_request(job, fields)
    return get(request.job).run(request)


def prepare(job: str | Any, /, **fields: Any) -> Any:
    """Do what comes before the long part of a job: read rows and knowledge, make the estimator.

    Parameters
    ----------
    job : str or Request
        Name of the job, or a request.
    **fields : object
        What is asked for, as for :func:`run`.

    Returns
    -------
    object
        What was read, with ``notes``, ``tell()`` and ``run()``, which does the rest; the result
        itself where a job has no such stage.
    """
    request = job if not isinstance(job, str) else make_request(job, fields)
    return get(request.job).prepare(request)
