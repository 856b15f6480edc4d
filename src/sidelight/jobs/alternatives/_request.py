"""What is asked for: which rows, which splits to avoid, and how many other ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import KNOWN, number, texts
from sidelight.jobs._shared import MODEL, REPORT, TABLES, clusters, main_output, method, request
from sidelight.jobs._table._asked import MethodRequest

#: Method by default: its second and third split differ from the first as well as from the known.
DEFAULT = "conditional-information-bottleneck"


@request
class AlternativesRequest(MethodRequest):
    """Which rows, which splits to avoid, and how many other ones.

    ``avoid`` also takes splits in memory: a :class:`~sidelight.KnownSplits`, or labels or a table
    that it can be made of. Without it the first split is a plain clustering.

    Examples
    --------
    >>> from sidelight.jobs import AlternativesRequest
    >>> AlternativesRequest("rows.csv", k=3, avoid=["country"], number=3).command_line()
    'sidelight alternatives rows.csv -k 3 --number 3 --avoid country'
    """

    job: ClassVar[str] = "alternatives"

    k: Annotated[int | None, clusters("Number of clusters of every split.")] = None
    avoid: Annotated[
        Any,
        texts(
            "A split that is known already: a column of DATA, which is then no feature, or a file "
            "with ids and a column per split (.csv, .tsv, .json, .parquet), such as the output of "
            "an earlier run; repeatable.",
            metavar="NAME|FILE",
            panel=KNOWN,
        ),
    ] = ()
    number: Annotated[
        int,
        number(
            "How many splits to find, each different from those before.",
            range=Interval(1),
            sets="n_alternatives",
        ),
    ] = 2
    method: Annotated[
        str, method("conditional-information-bottleneck, or cond-ens, which is faster.")
    ] = DEFAULT

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        from sidelight.jobs.alternatives._avoided import as_list, columns_and_files

        return [*super().inputs, *columns_and_files(as_list(self.avoid), self)[1]]


REQUEST = AlternativesRequest
OUTPUTS = {
    "splits": main_output(f"Where to write id and cluster, a column per split ({TABLES})."),
    "report": REPORT,
    "model": MODEL,
}
