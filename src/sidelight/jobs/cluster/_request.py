"""What is asked for: which rows, how many clusters, and what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import KNOWN, texts
from sidelight.jobs._shared import (
    LABELS_OR_FOLDER,
    METHODS,
    MODEL,
    REPORT,
    Elsewhere,
    method,
    request,
    several_clusters,
)
from sidelight.jobs._table._asked import MethodRequest


@request
class ClusterRequest(Elsewhere, MethodRequest):
    """Which rows, how many clusters, and what is known about them.

    ``conditions`` may also be a :class:`~sidelight.constraints.Conditions`.

    Examples
    --------
    >>> from sidelight.jobs import ClusterRequest
    >>> ClusterRequest("rows.csv", k=3, weights={"age": 2}).command_line()
    'sidelight cluster rows.csv -k 3 --weight age=2'
    """

    job: ClassVar[str] = "cluster"

    k: Annotated[
        int | Sequence[int] | None,
        several_clusters("Number of clusters, or several to choose from, such as 2:8 or 2,3,5."),
    ] = None
    method: Annotated[
        str | None,
        method(
            f"{METHODS}. By default pckmeans where something is known about the rows, else kmeans."
        ),
    ] = None
    conditions: Annotated[
        Any,
        texts(
            "What every cluster has to hold, such as 'count(*) >= 50', 'count(income_eur >= 50000) "
            ">= 3' or 'max(orders) >= 9', on any columns of the table; repeatable. Then the method "
            "is existential-kmeans, unless --method names another one.",
            "--at-least",
            metavar="CONDITION",
            panel=KNOWN,
        ),
    ] = ()


REQUEST = ClusterRequest
OUTPUTS = {"labels": LABELS_OR_FOLDER, "report": REPORT, "model": MODEL}
