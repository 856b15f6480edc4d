"""A covering program in HiGHS to which columns and rows are added between solutions.

A solution stays dual feasible when rows are added, so that the dual simplex method goes on from its
basis instead of from nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError

#: The serial simplex method takes the same steps everywhere. The number of threads is left alone: a
#: process has one, which whoever solves first with HiGHS decides, and asking for another fails.
OPTIONS = {"output_flag": False, "parallel": "off", "random_seed": 0}


class CoveringProgram:
    """``min wᵀz`` such that ``0 ≤ z ≤ 1`` and the entries of every row add up to 1 or more.

    No optimum needs an entry above 1; HiGHS is faster with that bound.
    """

    def __init__(self) -> None:
        import highspy  # most partitions need no linear program

        self._status = highspy.HighsModelStatus
        self._highs: Any = highspy.Highs()
        for name, value in OPTIONS.items():
            self._highs.setOptionValue(name, value)

    def add_columns(self, weights: FloatArray) -> None:
        """Add entries of ``z`` that are in no row so far."""
        n = len(weights)
        starts, rows, values = np.zeros(n, np.int32), np.empty(0, np.int32), np.empty(0)
        self._highs.addCols(n, weights, np.zeros(n), np.ones(n), 0, starts, rows, values)

    def add_rows(self, sizes: IntArray, columns: IntArray) -> None:
        """Add rows, given by their lengths and their columns one after the other."""
        n = len(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        self._highs.addRows(
            n,
            np.ones(n),
            np.full(n, np.inf),
            len(columns),
            starts,
            columns.astype(np.int32),
            np.ones(len(columns)),
        )

    def solve(self, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """Optimal ``z`` and dual values of the rows; None if the time was too short."""
        for method in ("simplex", "ipm"):  # the other one if the first fails
            status = self._run(method, seconds)
            if status == self._status.kOptimal:
                solution = self._highs.getSolution()
                return np.asarray(solution.col_value), np.asarray(solution.row_dual)
            if status == self._status.kTimeLimit:
                return None
            self._highs.clearSolver()
        raise SidelightError(
            f"HiGHS could not solve the linear program of {self._highs.getNumRow():,} rows; scores "
            "of very different sizes may be the reason: rescale them, or use method='local'."
        )

    def _run(self, method: str, seconds: float) -> Any:
        """Status of the model after a run; HiGHS counts the seconds of all runs together."""
        limit = self._highs.getRunTime() + max(seconds, 0.01)
        self._highs.setOptionValue("time_limit", limit)
        self._highs.setOptionValue("solver", method)
        self._highs.run()
        return self._highs.getModelStatus()
