"""What is asked for: which methods to list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar

from sidelight.jobs._options import ALL_METHODS, GOAL, Option, Request, flag, word
from sidelight.jobs._shared import request


@request
class MethodsRequest(Request):
    """Which methods to list, or the one to describe."""

    job: ClassVar[str] = "methods"

    name: Annotated[
        str | None,
        word(
            "Describe this method, its parameters too; by default all are listed.",
            metavar="[NAME]",
            argument=True,
            completes=ALL_METHODS,
        ),
    ] = field(default=None, kw_only=False)
    knowledge: Annotated[
        str | None,
        word("Only those that use this: must-link, cannot-link, labels ...", metavar="KIND"),
    ] = None
    hard: Annotated[bool, flag("Only those that never violate a statement.", panel=GOAL)] = False
    soft: Annotated[bool, flag("Only those that weigh statements.", panel=GOAL)] = False


REQUEST = MethodsRequest
OUTPUTS: Mapping[str, Option] = {}
