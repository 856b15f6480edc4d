"""What is asked for: which rows, how many features to keep, and what is known about the rows."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sidelight.jobs._options import number
from sidelight.jobs._shared import MODEL, REPORT, main_output, request
from sidelight.jobs._table._asked import MethodRequest


@request
class SelectRequest(MethodRequest):
    """Which rows, how many features to keep, and what is known about the rows."""

    job: ClassVar[str] = "select"

    k: Annotated[int | None, number("Number of features to keep.", "-n", "--features")] = None


REQUEST = SelectRequest
OUTPUTS = {
    "features": main_output("Where to write the features (.csv, .xlsx, .parquet, .npy)."),
    "report": REPORT,
    "model": MODEL,
}
