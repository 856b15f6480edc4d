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
            "random, level, disjoint, balanced, chunklets or teachers.",
            sets="protocol",
            choices=("random", "level", "disjoint", "balanced", "chunklets", "teachers"),
        ),
    ] = "random"
    level: Annotated[
        float | None,
        real("Protocol level: pairs per row, 0.1 for 10 per cent.", sets="level"),
    ] = None
    fraction: Annotated[
        float | None,
        real("Protocol chunklets: fraction of the rows to group.", sets="fraction"),
    ] = None
    size: Annotated[
        int | None, number("Protocols chunklets and teachers: rows in each.", sets="size")
    ] = None
    teachers: Annotated[
        int | None, number("Protocol teachers: how many there are.", sets="n_teachers")
    ] = None


REQUEST = SampleRequest
OUTPUTS = {"constraints": main_output("Where to write them (.csv, .json, .parquet).")}
