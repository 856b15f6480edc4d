"""An interrupted fit goes on from its checkpoint, with the result of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.common.partitions import cut

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans, SoftBalancedKMeans, SphericalKMeans
from sidelight.engine import checkpoint, open_rows
from sidelight.engine.partitioned import _journal
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError
from sidelight.mixture import ChunkletMixture, FeatureSaliencyMixture, GaussianMixture
from sidelight.privacy import ExistentialKMeans

N = 400
Y = np.arange(N) % 3
X = np.random.default_rng(0).normal(size=(N, 4)) + 3.0 * np.eye(4)[Y]
KNOWN = Constraints.sample(Y, 40, random_state=1)

METHODS = [
    KMeans(3),  # without a seed
    KMeans(3, random_state=0, n_init=3),
    PCKMeans(3, random_state=0, n_init=2),
    MPCKMeans(3, random_state=0, n_init=1, max_iter=5),
    SphericalKMeans(3, random_state=np.random.RandomState(0), n_init=1),
    SoftBalancedKMeans(3, random_state=0, n_init=1),
    GaussianMixture(3, random_state=0, n_init=1),
    ChunkletMixture(3, random_state=0, n_init=1, max_iter=10),
    FeatureSaliencyMixture(3, random_state=0, n_init=1, max_iter=10),
    ExistentialKMeans(3, random_state=0, n_init=1),
]


class Killed(BaseException):
    """The end of the process."""


def kill_after(monkeypatch: pytest.MonkeyPatch, n_steps: int) -> None:
    """End the fit once so many more steps are in the file."""
    real, left = _journal.Journal._append, [n_steps]

    def append(self: Any, what: str, value: Any) -> None:
        real(self, what, value)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(_journal.Journal, "_append", append)


def fitted(method: Any, rows: Any) -> Any:
    used = "must-link" in method.__sidelight_tags__().knowledge
    params = method.get_params()
    if isinstance(params.get("random_state"), np.random.RandomState):
        params["random_state"] = np.random.RandomState(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return type(method)(**params).fit(rows, **({"constraints": KNOWN} if used else {}))


def assert_equal(there: Any, here: Any) -> None:
    """Labels and numbers are equal, and so are floats up to rounding.

    Densities that are computed anew have other shifts than those of the pass that was lost.
    """
    for name, value in vars(here).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float | int):
            found = np.asarray(getattr(there, name))
            if np.asarray(value).dtype.kind == "f":
                np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=name)
            else:
                np.testing.assert_array_equal(found, value, err_msg=name)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("every", [1, 7])
def test_a_fit_that_is_killed_again_and_again_gives_the_same(
    method: Any, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.random.seed(5)  # noqa: NPY002  (fits without a seed draw from NumPy's generator)
    with checkpoint(tmp_path / "whole"):
        here = fitted(method, X)
    n_kills = 0
    np.random.seed(5)  # noqa: NPY002
    while True:
        kill_after(monkeypatch, every if n_kills else 5)
        try:
            with checkpoint(tmp_path / "fit", resume=True):
                there = fitted(method, X)
            break
        except Killed:
            n_kills += 1
            np.random.seed(n_kills)  # noqa: NPY002
            if every == 1 and n_kills > 12:
                every = 10**6
        finally:
            monkeypatch.undo()
    assert n_kills > 1
    assert_equal(there, here)
    assert not (tmp_path / "fit").exists()


@pytest.mark.parametrize("method", METHODS[1:], ids=lambda method: type(method).__name__)
def test_a_checkpoint_changes_no_result(method: Any, tmp_path: Path) -> None:
    here = fitted(method, X)
    with checkpoint(tmp_path / "fit"):
        there = fitted(method, X)
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)


def test_rows_of_files_and_of_partitions_go_on_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "rows.npy", X)
    here = fitted(METHODS[2], X)
    sources = [
        lambda: open_rows(tmp_path / "rows.npy", memory_budget=20_000),
        lambda: PartitionedRows(LocalEngine(cut(X, 3))),
    ]
    for number, rows in enumerate(sources):
        kill_after(monkeypatch, 9)
        with pytest.raises(Killed), checkpoint(tmp_path / f"fit{number}"):
            fitted(METHODS[2], rows())
        monkeypatch.undo()
        with checkpoint(tmp_path / f"fit{number}", resume=True):
            there = fitted(METHODS[2], rows())
        np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)


SCRIPT = """
import sys
import numpy as np
from sidelight.cluster import KMeans
from sidelight.engine import checkpoint
with checkpoint(sys.argv[1], resume=True):
    model = KMeans(5, random_state=0, n_init=40).fit(np.load(sys.argv[2]))
    np.save(sys.argv[3], np.asarray(model.labels_))
"""


def test_a_process_that_is_killed_is_continued_by_another(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", X)
    files = [str(tmp_path / name) for name in ("fit", "rows.npy", "labels.npy")]
    first = subprocess.Popen([sys.executable, "-c", SCRIPT, *files])
    while not (os.path.exists(files[0]) and os.path.getsize(files[0]) > 20_000):
        assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    n_bytes = os.path.getsize(files[0])
    assert n_bytes > 20_000
    assert not os.path.exists(files[2])
    subprocess.run([sys.executable, "-c", SCRIPT, *files], check=True)
    model = KMeans(5, random_state=0, n_init=40).fit(X)
    np.testing.assert_array_equal(np.load(files[2]), model.labels_)


def test_an_entry_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "steps"
    journal = _journal.Journal(path, resume=False)
    values = [(np.arange(3.0), [2, "text", None]), np.float64(1.5), np.zeros((2, 0))]
    for number, value in enumerate(values):
        assert journal.step(f"step {number}", lambda value=value: value) is value
    journal.close()
    whole = path.read_bytes()
    for length in range(len(_journal.MAGIC), len(whole) + 1, 7):
        path.write_bytes(whole[:length])
        again = _journal.Journal(path, resume=True)
        found = [
            again.step(f"step {number}", lambda value=value: value)
            for number, value in enumerate(values)
        ]
        again.close()
        np.testing.assert_array_equal(found[0][0], values[0][0])
        assert (found[0][1], found[1]) == (values[0][1], 1.5)
        assert found[2].shape == (2, 0)
        assert path.read_bytes() == whole


def test_what_does_not_belong_to_the_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit"
    kill_after(monkeypatch, 8)
    with pytest.raises(Killed), checkpoint(path):
        KMeans(3, random_state=0).fit(X)
    monkeypatch.undo()
    with pytest.raises(SidelightError, match=r"There is a checkpoint .*resume"), checkpoint(path):
        pass
    with pytest.raises(SidelightError, match="of another fit"), checkpoint(path, resume=True):
        KMeans(4, random_state=0).fit(X)
    other = X.copy()
    other[7, 1] += 0.5
    with pytest.raises(SidelightError, match="of other rows"), checkpoint(path, resume=True):
        KMeans(3, random_state=0).fit(other)
    (tmp_path / "text").write_text("something else")
    with (
        pytest.raises(SidelightError, match="is no checkpoint"),
        checkpoint(tmp_path / "text", resume=True),
    ):
        pass
    assert (tmp_path / "text").read_text() == "something else"
