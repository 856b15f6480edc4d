"""What is asked for: where to write the demonstration."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import WRITE, Option, Request, flag
from sidelight.jobs._shared import request


@request
class DemoRequest(Request):
    """Where to write the demonstration."""

    job: ClassVar[str] = "demo"

    folder: Annotated[
        Any,
        Option(
            "Where to write the results; by default the folder sidelight-demo.",
            ("--output", "-o"),
            "FOLDER",
            panel=WRITE,
            kind=Path,
        ),
    ] = field(default=Path("sidelight-demo"), kw_only=False)
    force: Annotated[
        bool,
        flag("Replace existing files also where Sidelight did not write them.", panel=WRITE),
    ] = False


REQUEST = DemoRequest
