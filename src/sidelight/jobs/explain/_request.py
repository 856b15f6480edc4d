"""What is asked for: which saved model, and which rows to explain its clusters by."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import Request, table
from sidelight.jobs._shared import TABLES, Ids, InBlocks, main_output, request
from sidelight.jobs._table._asked import ROWS


@request
class ExplainRequest(InBlocks, Ids, Request):
    """Which saved model, and which rows to explain its clusters by."""

    job: ClassVar[str] = "explain"

    model: Annotated[
        Any,
        table(
            "What `sidelight cluster --save` or `classify --save` wrote, or the folder of labels "
            "that `sidelight cluster -o` wrote.",
            metavar="MODEL",
        ),
    ] = field(kw_only=False)
    data: Annotated[Any, table(ROWS)] = field(kw_only=False)


REQUEST = ExplainRequest
OUTPUTS = {"explanation": main_output(f"Where to write the explanation as a table ({TABLES}).")}
