"""All jobs: a row each. ``sidelight --help`` reads nothing else of them."""

from __future__ import annotations

import importlib
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
    """

    name: str
    panel: str
    summary: str
    example: str
    text: str = ""
    hidden: bool = False

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
        found: Mapping[str, Option] = self._module("_request").OUTPUTS
        return found

    def prepare(self, request: Request) -> Any:
        """Do what comes before the long part of the work.

        The value has ``notes`` and ``tell()``, which are shown, and ``run()``, which does the
        rest and returns the result. Where nothing is shown in between, it is the result itself.
        """
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
            "Find the partition that is nearest to several ones.",
            "sidelight consensus votes.csv --columns ann,bob,cid -o consensus.csv",
        ),
    )
}


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
    >>> sorted(found.sizes.values())
    [10, 10, 10]
    """
    if isinstance(job, str):
        return get(job).run(make_request(job, fields))
    if not hasattr(job, "job"):  # until all jobs have requests of their own
        from sidelight.jobs._table._request import run as run_table

        return run_table(job)
    return get(job.job).run(job)
