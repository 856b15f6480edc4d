"""What is asked for: which scored pairs, by which method, and what is known for certain."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import GOAL, Request, infile, real, table, word
from sidelight.jobs._shared import (
    LABELS,
    REPORT,
    Fit,
    Ids,
    KnownPairs,
    Sources,
    Truth,
    method,
    request,
)

DEFAULT = "correlation-clustering"


@request
class CorrelateRequest(Fit, Ids, Truth, Sources, KnownPairs, Request):
    """Which scored pairs, by which method, and what is known for certain.

    ``pairs`` also takes :class:`~sidelight.Relations` or a table in memory (as
    ``Relations.from_table`` does), ``constraints`` a :class:`~sidelight.Constraints`. Where the
    pairs have probabilities, the setting ``absent`` is ``"auto"`` by default: pairs that were not
    compared count against joining.

    Examples
    --------
    >>> from sidelight.jobs import CorrelateRequest
    >>> CorrelateRequest("pairs.csv", prior=0.1).command_line()
    'sidelight correlate pairs.csv --prior 0.1'
    """

    job: ClassVar[str] = "correlate"

    pairs: Annotated[
        Any,
        table(
            "Table of scored pairs: two columns of ids (i and j, or as Splink and others call "
            "them) and a column score, or probability (.csv, .tsv, .json, .parquet).",
            metavar="PAIRS",
        ),
    ] = field(kw_only=False)
    method: Annotated[
        str, method("correlation-clustering, or cluster-editing for edges without scores.")
    ] = DEFAULT
    prior: Annotated[
        float | None,
        real(
            "Probability that two objects belong together before they were looked at, by which "
            "probabilities become scores; by default they are taken unchanged.",
            metavar="P",
            range=Interval(0, 1, open_low=True, open_high=True),
        ),
    ] = None
    duplicates: Annotated[
        str,
        word(
            "What becomes of a pair with several scores that differ: refuse, mean, sum, max or "
            "min.",
            metavar="HOW",
            choices=("refuse", "mean", "sum", "max", "min"),
        ),
    ] = "refuse"
    nodes: Annotated[
        Any,
        infile(
            "Table of all objects; those in no pair are clusters of their own. --id-column, "
            "--source-column and --truth-column name columns of it.",
            panel=GOAL,
        ),
    ] = None


REQUEST = CorrelateRequest
OUTPUTS = {"labels": LABELS, "report": REPORT}
