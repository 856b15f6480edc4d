"""Starts that run at once: the same results, a clean end."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sidelight
from sidelight import cluster
from sidelight._fit import restarts as _restarts
from sidelight._progress import FitProgress
from sidelight.cluster._core._lloyd import _CentersBase
from sidelight.constraints import Constraints
from sidelight.engine import as_rows, get_threads, threads

RNG = np.random.default_rng(0)
Y = RNG.integers(5, size=240)
X = RNG.normal(size=(240, 4)) + 2 * RNG.normal(size=(5, 4))[Y]
PAIRS = Constraints.sample(Y, 60, random_state=0)
LABELS = Constraints(labels=np.where((np.arange(240) % 6 == 0) & (Y < 3), Y, -1))

ESTIMATORS: list[tuple[Any, Constraints | None]] = [
    (cluster.KMeans(5), None),
    (cluster.SphericalKMeans(5), None),
    (cluster.SeededKMeans(5), LABELS),
    (cluster.ConstrainedKMeans(5, penalty=3.0), LABELS),
    (cluster.COPKMeans(5), PAIRS),
    (cluster.COPKMeans(5, variant="exact"), PAIRS),
    (cluster.PCKMeans(5), PAIRS),
    (cluster.PCKMeans(5), LABELS),
    (cluster.MPCKMeans(5), PAIRS),
    (cluster.MPCKMeans(5, metric_type="shared", max_distance="exact"), PAIRS),
    (cluster.HMRFKMeans(5), PAIRS),
    (cluster.HMRFKMeans(5, divergence="cosine"), PAIRS),
    (cluster.HMRFKMeans(5, divergence="kl"), PAIRS),
    (cluster.LCVQE(5), PAIRS),
    (cluster.SizeConstrainedKMeans(5, min_size=40), None),
    (cluster.SizeConstrainedKMedians(5, max_size=60), None),
    (cluster.BalancedKMeans(5, sample_size=120), None),
    (cluster.SoftBalancedKMeans(5), None),
    (cluster.FrequencySensitiveKMeans(5), None),
    (cluster.FrequencySensitiveKMeans(5, mode="partial"), None),
]


@pytest.fixture(autouse=True)
def small_tables_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts run at once on tables that would not be worth it."""
    monkeypatch.setattr(_restarts, "FEW_NUMBERS", 0)


def fitted(estimator: Any, known: Constraints | None, n_threads: int) -> list[Any]:
    """Where every start ended, and what was kept."""
    estimator.set_params(n_init=6, random_state=3, max_iter=30)
    rows = np.abs(X) if getattr(estimator, "divergence", None) == "kl" else X
    starts: list[Any] = []
    run_restarts = _restarts.run_restarts

    def watched(*args: Any, **settings: Any) -> list[Any]:
        starts.extend(run_restarts(*args, **settings))
        return starts

    with threads(n_threads), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_restarts, "run_restarts", watched)
        model = estimator.fit(rows, constraints=known)
    assert len(starts) == 6
    ends = [part for start in starts for part in (start.labels, start.centers, start.history)]
    return [*ends, model.labels_, model.cluster_centers_, model.objective_, model.n_iter_]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "known"), ESTIMATORS, ids=lambda value: repr(value)[:40])
def test_starts_at_once_give_the_same_bits(
    estimator: Any, known: Constraints | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = fitted(estimator, known, 1)
    seen: set[str] = set()
    step = FitProgress.step

    def watched(self: FitProgress, objective: float | None = None, **how: Any) -> None:
        seen.add(threading.current_thread().name)
        step(self, objective, **how)

    monkeypatch.setattr(FitProgress, "step", watched)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that starts meet wherever they can
    try:
        at_once = fitted(estimator, known, 3)
    finally:
        sys.setswitchinterval(interval)
    # How many threads get a start depends on the machine: one may take all while others begin.
    assert seen - {threading.main_thread().name}, "starts should have run in threads"
    for value, expected in zip(at_once, alone, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_every_estimator_with_restarts_is_tested() -> None:
    tested = {type(estimator) for estimator, _ in ESTIMATORS}
    for name in cluster.__all__:
        found = getattr(cluster, name)
        if isinstance(found, type) and issubclass(found, _CentersBase):
            assert found in tested or "n_init" not in found._get_param_names(), name


def test_workers_use_one_thread_each_and_rows_on_disk_none(tmp_path: Any) -> None:
    inner: list[int] = []

    class Done:
        objective, interrupted = 0.0, False

    def run(number: int, random_state: np.random.RandomState) -> Done:
        inner.append(get_threads())
        return Done()

    with threads(4):
        _restarts.run_restarts(run, [1, 2, 3], X.size, description="", verbose=0)
        assert inner == [1, 1, 1]
        np.save(tmp_path / "rows.npy", X)
        disk = as_rows(tmp_path / "rows.npy")
        _restarts.run_restarts(run, [1, 2], _restarts.numbers_in(disk), description="", verbose=0)
    assert inner[3:] == [4, 4]


def test_rows_that_keep_all_threads_busy_have_no_number(tmp_path: Any) -> None:
    assert _restarts.numbers_in(as_rows(X)) == X.size
    many = as_rows(np.broadcast_to(np.float64(0), (10**6, 2)))
    assert len(many.blocks) > _restarts.FEW_BLOCKS
    assert _restarts.numbers_in(many) is None
    np.save(tmp_path / "rows.npy", X)
    assert _restarts.numbers_in(as_rows(tmp_path / "rows.npy")) is None


def test_small_tables_are_not_worth_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    class Done:
        objective, interrupted = 0.0, False

    def run(number: int, random_state: np.random.RandomState) -> Done:
        seen.add(threading.current_thread().name)
        return Done()

    for least, name in ((X.size + 1, "MainThread"), (X.size, "sidelight_0")):
        seen.clear()
        monkeypatch.setattr(_restarts, "FEW_NUMBERS", least)
        with threads(2):
            _restarts.run_restarts(run, [1, 2], X.size, description="", verbose=0)
        assert name in seen


def test_the_first_failing_start_is_reported() -> None:
    barrier = threading.Barrier(2)

    def run(number: int, random_state: np.random.RandomState) -> Any:
        barrier.wait(timeout=10)
        raise ValueError(f"start {number}")

    with threads(2), pytest.raises(ValueError, match="start 0"):
        _restarts.run_restarts(run, [1, 2], X.size, description="", verbose=0)


# ------------------------------------------------------------------ Ctrl-C


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, at: int) -> Any:
    """Send the signal during the given iteration, counted over all starts.

    No start goes on before the main thread has learnt of it, however busy the machine is.
    """
    step, steps = FitProgress.step, itertools.count(1)

    def watched(self: FitProgress, objective: float | None = None, **how: Any) -> None:
        number = next(steps)
        if number == at:
            os.kill(os.getpid(), signal.SIGINT)
        if number >= at and isinstance(self, _restarts._OneStart):
            assert self._end.wait(timeout=60), "the main thread should have ended all starts"
        step(self, objective, **how)

    monkeypatch.setattr(FitProgress, "step", watched)
    return steps


def endless() -> Any:
    """k-means that would go on for very long."""
    rows = np.random.default_rng(0).normal(size=(20_000, 2))
    return cluster.KMeans(60, n_init=40, tol=0, random_state=0), rows


def test_ctrl_c_keeps_the_best_of_what_was_running(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = endless()
    steps = press_ctrl_c(monkeypatch, at=7)
    with (
        threads(2),
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted after 0 of them") as caught,
    ):
        model.fit(rows)
    assert len([w for w in caught if "interrupted" in str(w.message)]) == 1
    assert next(steps) < 12, "no start goes on, none begins"
    assert not model.converged_
    assert model.n_iter_ == len(model.history_)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_ctrl_c_is_raised_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = endless()
    steps = press_ctrl_c(monkeypatch, at=7)
    with threads(2), pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert next(steps) < 12
    assert not hasattr(model, "labels_")


def test_ctrl_c_after_some_starts_keeps_the_best_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = X[:, :2]
    model = cluster.KMeans(5, n_init=200, tol=0, random_state=0)
    step = FitProgress.step

    def watched(self: FitProgress, objective: float | None = None, **how: Any) -> None:
        step(self, objective, **how)
        if isinstance(self, _restarts._AllStarts) and self.n_steps == 20:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(FitProgress, "step", watched)
    with (
        threads(2),
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted after 20 of them"),
    ):
        model.fit(rows)
    first = cluster.KMeans(5, n_init=1, tol=0, random_state=0).fit(rows)
    assert model.objective_ <= first.objective_


def test_one_bar_for_starts_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    model = cluster.KMeans(5, n_init=4, random_state=0, verbose=1)
    with threads(2):
        model.fit(X)
    told = capsys.readouterr().err
    assert "KMeans, 4 starts" in told
    assert "4/4" in told
    with threads(1):
        model.fit(X)
    assert "starts" not in capsys.readouterr().err
