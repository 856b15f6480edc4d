"""What is asked for: how many constraints to draw from which classes."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import KNOWN, Request, column, number, real, table, word
from sidelight.jobs._shared import Ids, Seed, main_output, request
from sidelight.jobs._table._asked import ROWS


@request
class SampleRequest(Seed, Ids, Request):
    """How many constraints to draw, from which classes, in which way."""

    job: ClassVar[str] = "sample"

    data: Annotated[Any, table(ROWS)] = field(kw_only=False)
    labels: Annotated[
        str, column("Column with the class of every row.", "--label-column", panel=KNOWN)
    ]
    n: Annotated[
        int | None, number("How many pairs (or points) to draw.", "--number", sets="n")
    ] = None
    protocol: Annotated[
        str,
        word(
            "How they are drawn: random, level, disjoint, balanced, chunklets or teachers.",
            sets="protocol",
            choices=("random", "level", "disjoint", "balanced", "chunklets", "teachers"),
        ),
    ] = "random"
    level: Annotated[
        float | None,
        real("With --protocol level: pairs per row, such as 0.1.", sets="level"),
    ] = None
    fraction: Annotated[
        float | None,
        real("With --protocol chunklets: share of the rows to group.", sets="fraction"),
    ] = None
    size: Annotated[
        int | None, number("With --protocol chunklets or teachers: rows in each.", sets="size")
    ] = None
    teachers: Annotated[
        int | None,
        number("With --protocol teachers: how many there are.", sets="n_teachers"),
    ] = None


REQUEST = SampleRequest
OUTPUTS = {"constraints": main_output("Where to write the constraints (.csv, .json, .parquet).")}
