"""Ids of rows in partitions: read beside each, joined here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.engine._source import as_rows
from sidelight.exceptions import SidelightError


def read_ids(partition: Any, order: Any) -> Array:
    """Return the names of the rows of a partition."""
    return np.asarray(as_rows(partition).ids)


def join_ids(names: Sequence[str], ids: Sequence[Array]) -> Array:
    """Return the ids of all partitions; raise where one occurs twice.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    ids : sequence of ndarray
        Ids of their rows.
    """
    joined = np.concatenate(ids)
    order = np.argsort(joined, kind="stable")
    ascending = joined[order]
    twice = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(twice):
        ends = np.cumsum([len(one) for one in ids])
        first, second = (
            names[int(np.searchsorted(ends, order[twice[0] + k], "right"))] for k in (0, 1)
        )
        where = f"in {first} and in {second}" if first != second else f"twice in {first}"
        raise SidelightError(
            f"The id {ascending[twice[0]]!r} occurs {where}: an id names one row. Name another "
            "column (id_column=...), or make the ids different."
        )
    return joined
