"""How much is read of rows that are not in memory, and how fast, where somebody watches."""

from __future__ import annotations

import numpy as np

import sidelight
from sidelight._progress import reading
from sidelight.cluster import KMeans
from sidelight.engine import checkpoint, memory, open_rows


def test_passes_of_all_restarts_are_counted_and_shown(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(900, 3)))
    with sidelight.progress(), memory(20_000):
        counted = reading()
        rows = open_rows(tmp_path / "rows.npy")
        assert len(rows.blocks) > 1
        KMeans(2, n_init=2, random_state=0).fit(rows)
    shown = capsys.readouterr().err
    assert counted.n_rows == 900 * counted.n_passes
    assert counted.n_passes > 4
    assert f"{counted.n_passes} passes" in shown.replace("\n", "")
    assert "rows/s" in shown


def test_partitions_are_counted_once(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(900, 3)))
    with sidelight.progress(), checkpoint(tmp_path / "fit.journal"):
        counted = reading()
        KMeans(2, n_init=1, random_state=0).fit(tmp_path / "rows.npy")
    assert counted.n_rows == 900 * counted.n_passes


def test_nothing_is_counted_in_memory_or_unwatched(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(90, 3))
    with sidelight.progress():
        counted = reading()
        KMeans(2, n_init=1, random_state=0).fit(X)
    assert counted.n_passes == 0
    assert "rows/s" not in capsys.readouterr().err
    with sidelight.progress(show=False):
        assert reading() is None
    assert reading() is None


def test_a_checkpoint_can_be_kept_and_values_come_by_partition(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 3))
    plain = KMeans(2, n_init=1, random_state=0).fit(X)
    for resume in (False, True):
        with checkpoint(tmp_path / "fit.journal", keep=True, resume=resume):
            model = KMeans(2, n_init=1, random_state=0).fit(X)
        size = (tmp_path / "fit.journal").stat().st_size
        ((start, stop, values),) = model.labels_.parts()
        assert (start, stop) == (0, 90)
        np.testing.assert_array_equal(values, plain.labels_)
        np.testing.assert_array_equal(np.asarray(model.labels_), plain.labels_)
        assert (tmp_path / "fit.journal").stat().st_size == size  # nothing is added at the end
