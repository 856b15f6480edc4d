"""What is asked for: which statements to check, about which rows, for which numbers of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import table
from sidelight.jobs._shared import KnownPairs, PreparedColumns, request, several_clusters
from sidelight.jobs._table._asked import ROWS, Rows


@request
class CheckRequest(PreparedColumns, KnownPairs, Rows):
    """Which statements to check, about which rows, for which numbers of clusters."""

    job: ClassVar[str] = "check"

    data: Annotated[Any, table(ROWS)] = field(kw_only=False)
    k: Annotated[
        int | Sequence[int] | None,
        several_clusters(
            "Number of clusters that should satisfy the constraints, or several, such as 2:8 or "
            "2,3,5.",
            sets="k",
        ),
    ] = None

    @classmethod
    def options(cls) -> dict[str, str]:
        """Return which options set what messages speak of: bounds call the number otherwise."""
        return {**super().options(), "n_clusters": "-k"}


REQUEST = CheckRequest
