"""Ids of rows in partitions: read beside each, joined here."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.engine._source import as_rows


def read_ids(partition: Any, order: Any) -> Array:
    """Return the names of the rows of a partition."""
    return np.asarray(as_rows(partition).ids)
