"""What is asked for: a table with a column for every partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import GOAL, NAMED, Request, columns, table
from sidelight.jobs._shared import LABELS, REPORT, Fit, Ids, KnownPairs, Truth, method, request

DEFAULT = "consensus-clustering"


@request
class ConsensusRequest(Fit, Ids, Truth, KnownPairs, Request):
    """Which partitions, and what is known for certain.

    ``data`` also takes a data frame, ``constraints`` a :class:`~sidelight.Constraints`.

    Examples
    --------
    >>> from sidelight.jobs import ConsensusRequest
    >>> ConsensusRequest("votes.csv", columns=["ann", "bob"]).command_line()
    'sidelight consensus votes.csv --columns ann,bob'
    """

    job: ClassVar[str] = "consensus"

    data: Annotated[
        Any,
        table(f"Table with a column for every partition: {NAMED}.", metavar="PARTITIONS"),
    ] = field(kw_only=False)
    columns: Annotated[
        Sequence[str] | None,
        columns("Columns of the partitions; by default all others.", panel=GOAL),
    ] = None
    method: Annotated[str, method()] = DEFAULT


REQUEST = ConsensusRequest
OUTPUTS = {"labels": LABELS, "report": REPORT}
