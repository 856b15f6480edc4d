"""How a map grew while rows came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._typing import Array


@dataclass(frozen=True)
class Stage:
    """A map at some time.

    Attributes
    ----------
    n_rows : int
        Number of rows that had come.
    rows : ndarray of int
        Numbers of the rows that were on the map.
    places : ndarray of shape (n, 2)
        Their first two coordinates.
    """

    n_rows: int
    rows: Array
    places: Array


@dataclass
class Growth:
    """How a map grew.

    Attributes
    ----------
    n_start : int
        Number of rows with which the map began.
    seconds : list of float
        Time that each later row took.
    stages : list of Stage
        The map, whenever it had doubled, and at the end.
    """

    n_start: int = 0
    seconds: list[float] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def record(self, n_rows: int, estimator: Any, *, last: bool = False) -> None:
        """Keep the coordinates where the map has doubled since the stage before."""
        before = self.stages[-1].n_rows if self.stages else 0
        if last and n_rows == before:
            self.stages.pop()
        if last or n_rows >= 2 * before:
            places = np.array(estimator.embedding_[:, :2])
            rows = getattr(estimator, "row_ids_", np.arange(n_rows - len(places), n_rows))
            self.stages.append(Stage(n_rows, np.array(rows), places))
