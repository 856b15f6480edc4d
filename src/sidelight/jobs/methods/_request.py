"""What is asked for: which methods to list."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar

from sidelight.jobs._options import ALL_METHODS, Request, flag, word
from sidelight.jobs._shared import request


@request
class MethodsRequest(Request):
    """Which methods to list, or the one to describe."""

    job: ClassVar[str] = "methods"

    name: Annotated[
        str | None,
        word(
            "Describe this method and its parameters; by default all methods are listed.",
            metavar="[NAME]",
            argument=True,
            completes=ALL_METHODS,
        ),
    ] = field(default=None, kw_only=False)
    knowledge: Annotated[
        str | None,
        word(
            "List only methods that use this kind of knowledge, such as must-link or labels.",
            metavar="KIND",
        ),
    ] = None
    hard: Annotated[bool, flag("List only those that never violate a statement.")] = False
    soft: Annotated[bool, flag("List only those that weigh statements.")] = False


REQUEST = MethodsRequest
