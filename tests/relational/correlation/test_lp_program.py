"""The growing program: after every addition its optimum is that of all rows from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._lp_parts import CoveringProgram


class Grown:
    """A program to which random columns and rows are added, and the same rows as a matrix."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = CoveringProgram()
        self.weights = np.empty(0)
        self.rows: list[np.ndarray] = []

    def grow(self, n_columns: int, n_rows: int) -> None:
        new = self.rng.uniform(0.1, 3.0, n_columns)
        self.weights = np.append(self.weights, new)
        n = len(self.weights)
        rows = [self.rng.choice(n, self.rng.integers(1, 6), replace=False) for _ in range(n_rows)]
        self.program.add_columns(new)
        self.program.add_rows(np.array([len(row) for row in rows]), np.concatenate(rows))
        self.rows += rows

    def matrix(self) -> np.ndarray:
        matrix = np.zeros((len(self.rows), len(self.weights)))
        for i, row in enumerate(self.rows):
            matrix[i, row] = 1.0
        return matrix

    def check(self, z: np.ndarray, duals: np.ndarray) -> None:
        matrix = self.matrix()
        scratch = linprog(self.weights, A_ub=-matrix, b_ub=-np.ones(len(matrix)), bounds=(0, 1))
        assert self.weights @ z == pytest.approx(scratch.fun, abs=1e-7)
        assert np.all(matrix @ z >= 1 - 1e-7)
        assert np.all((z >= -1e-7) & (z <= 1 + 1e-7))
        # Strong duality: what is above the weight of a column is paid by its bound of 1.
        assert np.all(duals >= -1e-7)
        excess = np.maximum(matrix.T @ duals - self.weights, 0.0)
        assert duals.sum() - excess.sum() == pytest.approx(scratch.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_added_to_the_last_solution(seed):
    grown = Grown(seed)
    for _ in range(4):
        grown.grow(8, 12)
        grown.check(*grown.program.solve(np.inf))


def test_columns_may_stay_as_they_are():
    grown = Grown(0)
    grown.grow(10, 5)
    grown.program.solve(np.inf)
    grown.grow(0, 20)
    grown.check(*grown.program.solve(np.inf))


def test_the_same_steps_find_the_same_solution():
    """To the last bit: of several optima always the same one."""
    found = []
    for _ in range(2):
        grown = Grown(3)
        grown.grow(40, 60)
        grown.program.solve(np.inf)
        grown.grow(20, 60)
        found.append(grown.program.solve(np.inf))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_another_method_takes_over(monkeypatch):
    original = CoveringProgram._run
    tried = []

    def stumbles(self, method, seconds):
        tried.append(method)
        status = original(self, method, seconds)
        return self._status.kUnknown if method == "simplex" else status

    monkeypatch.setattr(CoveringProgram, "_run", stumbles)
    grown = Grown(1)
    grown.grow(10, 15)
    grown.check(*grown.program.solve(np.inf))
    assert tried == ["simplex", "ipm"]


def test_a_program_that_no_method_solves(monkeypatch):
    monkeypatch.setattr(
        CoveringProgram, "_run", lambda self, method, seconds: self._status.kUnknown
    )
    grown = Grown(1)
    grown.grow(10, 15)
    with pytest.raises(SidelightError, match=r"15 rows; .*rescale them, or use method='local'"):
        grown.program.solve(np.inf)


def test_time_runs_out(monkeypatch):
    monkeypatch.setattr(
        CoveringProgram, "_run", lambda self, method, seconds: self._status.kTimeLimit
    )
    grown = Grown(1)
    grown.grow(10, 15)
    assert grown.program.solve(1.0) is None


def test_seconds_of_earlier_solutions_do_not_count(monkeypatch):
    """HiGHS adds up the seconds of all runs; a limit is one of the next run alone."""
    grown = Grown(2)
    grown.grow(10, 15)
    grown.program.solve(5.0)
    highs = grown.program._highs
    monkeypatch.setattr(type(highs), "getRunTime", lambda self: 1000.0)
    grown.grow(5, 5)
    grown.check(*grown.program.solve(5.0))
    assert highs.getOptionValue("time_limit")[1] == 1005.0


def test_another_user_of_highs_may_choose_the_threads():
    """The number of threads belongs to the process: asking for another one fails."""
    import highspy

    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(1.0, 2.0)
    try:
        assert other.run() == highspy.HighsStatus.kOk
        grown = Grown(0)
        grown.grow(10, 15)
        grown.check(*grown.program.solve(np.inf))
    finally:
        highspy.Highs.resetGlobalScheduler(True)


def test_highs_and_or_tools_live_in_one_process():
    """Both wheels may bring a shared library of HiGHS, of which a process loads only one."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.catch_sigint_signal = False  # which would end later tests of Ctrl-C
    assert solver.Solve(cp_model.CpModel()) == cp_model.OPTIMAL
    grown = Grown(0)
    grown.grow(10, 15)
    grown.check(*grown.program.solve(np.inf))
