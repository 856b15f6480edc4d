"""What jobs on the rows of a table ask for in common; no NumPy here."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from sidelight.jobs._options import FORMATS, Request, table
from sidelight.jobs._shared import Fit, KnownRows, PreparedColumns, Truth, method, request

#: Help of the table of rows.
ROWS = f"Table of rows: {FORMATS}."


@request
class TableRequest(Fit, PreparedColumns, Truth, KnownRows, Request):
    """Which rows, by which method, and what is known about them.

    Fields that name files or columns also take values in memory: ``data`` an array, CSR matrix,
    data frame or :class:`~sidelight.io.Table`, ``constraints`` a :class:`~sidelight.Constraints`,
    ``labels`` and ``truth`` one value per row.
    """

    data: Annotated[Any, table(ROWS)] = field(kw_only=False)
    method: Annotated[str | None, method("See `sidelight methods`.")] = None

    # What only some jobs ask for: they declare these as fields.
    k = None
    base = None
    anchors = None
    ignore = ()
    color = None
    conditions = ()

    @property
    def path(self) -> Path | None:
        """The file of the rows; None for rows in memory."""
        return Path(self.data) if isinstance(self.data, str | os.PathLike) else None

    @property
    def prepare(self) -> bool:
        """Whether columns go through a :class:`~sidelight.preparation.TablePreparer`."""
        return not self.raw

    @property
    def map_options(self) -> bool:
        """Whether anything is asked for that only maps have."""
        return self.anchors is not None or bool(self.ignore) or self.color is not None
