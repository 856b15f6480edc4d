"""What jobs on the rows of a table ask for in common; no NumPy here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from sidelight.jobs._options import FORMATS, Request, table
from sidelight.jobs._shared import (
    Fit,
    KnownRows,
    PreparedColumns,
    Seed,
    Truth,
    method,
    request,
)

#: Help of the table of rows.
ROWS = f"Table of rows: {FORMATS}."


class Rows(Request):
    """Rows of a table, as requests about them give them.

    Jobs declare as fields which of the following they ask for.
    """

    data: Any
    k: Any = None
    method: Any = None
    settings: Mapping[str, Any] = MappingProxyType({})
    seed: int = 0
    constraints: Any = None
    must_link: Any = None
    cannot_link: Any = None
    labels: Any = None
    truth: Any = None
    id_column: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    kinds: Mapping[str, Any] = MappingProxyType({})
    weights: Mapping[str, float] = MappingProxyType({})
    scale: str | None = None
    raw: bool = False
    conditions: Any = ()

    @property
    def path(self) -> Path | None:
        """The file of the rows; None for rows in memory."""
        return Path(self.data) if isinstance(self.data, str | os.PathLike) else None

    @property
    def prepare(self) -> bool:
        """Whether columns go through a :class:`~sidelight.preparation.TablePreparer`."""
        return not self.raw


@request
class TableRequest(Seed, PreparedColumns, Truth, KnownRows, Rows):
    """Which rows, and what is known about them.

    Fields that name files or columns also take values in memory: ``data`` an array, CSR matrix,
    data frame or :class:`~sidelight.io.Table`, ``constraints`` a :class:`~sidelight.Constraints`,
    ``labels`` and ``truth`` one value per row.
    """

    data: Annotated[Any, table(ROWS)] = field(kw_only=False)


@request
class MethodRequest(Fit, TableRequest):
    """Which rows, by which method, and what is known about them."""

    method: Annotated[str | None, method()] = None
