"""What is asked for: which saved model, and which new rows."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import Request, table
from sidelight.jobs._shared import Ids, InBlocks, main_output, request
from sidelight.jobs._table._asked import ROWS


@request
class PredictRequest(InBlocks, Ids, Request):
    """Which saved model, and which new rows."""

    job: ClassVar[str] = "predict"

    model: Annotated[Any, table("Model that --save of another command wrote.", metavar="MODEL")] = (
        field(kw_only=False)
    )
    data: Annotated[Any, table(ROWS)] = field(kw_only=False)


REQUEST = PredictRequest
OUTPUTS = {
    "predicted": main_output(
        "Where to write what the model gives: id and cluster, class and probabilities, ranked "
        "categories and why, entity and others that match, or coordinates (.csv, .xlsx, .parquet; "
        "coordinates also .npy); clusters of rows in several files also a folder, which gets a "
        "Parquet file for each."
    )
}
