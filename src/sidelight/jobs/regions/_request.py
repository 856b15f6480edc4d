"""What is asked for: which rows, the graph between them, and how many clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import (
    GOAL,
    columns,
    infile,
)
from sidelight.jobs._shared import LABELS, MODEL, REPORT, method, request, several_clusters
from sidelight.jobs._table._asked import MethodRequest

DEFAULT = "connected-kmeans"


@request
class RegionsRequest(MethodRequest):
    """Which rows, the graph between them, and how many clusters.

    Besides what all jobs on rows take from memory, ``edges`` takes
    :class:`~sidelight.Relations`, a matrix or pairs of positions, and ``coordinates`` an array of
    shape (n_rows, 2).

    Examples
    --------
    >>> from sidelight.jobs import RegionsRequest
    >>> RegionsRequest("areas.csv", edges="borders.csv", k=range(2, 9)).command_line()
    'sidelight regions areas.csv -k 2:8 --edges borders.csv'
    """

    job: ClassVar[str] = "regions"

    k: Annotated[
        Any,
        several_clusters(
            "Number of clusters, or several to choose from, such as 2:8; by default the method "
            "chooses."
        ),
    ] = None
    edges: Annotated[
        Any,
        infile(
            "Table of the edges: two columns of ids, and perhaps a score (.csv, .tsv, .json, "
            ".parquet); by default every row is next to every other.",
            panel=GOAL,
        ),
    ] = None
    coordinates: Annotated[
        Any,
        columns(
            "Columns with the place of a row on the map of the report; no features, unless "
            "--columns names them.",
            metavar="X,Y",
        ),
    ] = ()
    method: Annotated[str, method("connected-kmeans, net-scan or connected-k-center.")] = DEFAULT

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        """Columns of the coordinates; empty where they are given as numbers, or not at all."""
        given = self.coordinates
        if isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
            return tuple(given)
        return ()


REQUEST = RegionsRequest
OUTPUTS = {"labels": LABELS, "report": REPORT, "model": MODEL}
