"""Rows of files are decoded once: they stay in memory, or in a temporary file."""

from __future__ import annotations

import errno
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.preparation.tables import mixed_table

from sidelight.cluster import KMeans
from sidelight.engine import RowSource, memory, open_rows, threads
from sidelight.engine._files import FileRows
from sidelight.engine._pieces import pieces_of
from sidelight.engine._store import BlockStore, _is_memory, open_file
from sidelight.manifold import Isomap
from sidelight.preparation import TablePreparer, prepared_rows

X = np.random.default_rng(0).normal(size=(5000, 3))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of the test, which is taken for one on a disk."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr("sidelight.engine._store.IN_MEMORY", set())
    monkeypatch.setattr("sidelight.engine._store.LEFT_FREE", 0)
    return folder


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one for every stretch of a file that is decoded."""
    stretches = []
    real = FileRows._stream

    def stream(rows: FileRows, chunk: int) -> Iterator[Any]:
        stretches.append(chunk)
        return real(rows, chunk)

    monkeypatch.setattr(FileRows, "_stream", stream)
    return stretches


def write(folder: Path, n_files: int = 4) -> Path:
    """Write the rows in row groups of 700, some rows in every file."""
    folder.mkdir()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for number, rows in enumerate(np.array_split(np.arange(5000), n_files)):
        some = frame.iloc[rows].reset_index(drop=True)
        some.to_parquet(folder / f"{number}.parquet", row_group_size=700)
    return folder


def on_disk(tmp_path: Path, n_files: int = 4) -> RowSource:
    """The rows, of which about 78 are in a block."""
    return open_rows(write(tmp_path / "rows", n_files), memory_budget=X.nbytes // 2)


def values(source: RowSource) -> Any:
    """All rows, read in a pass."""
    return source.map_reduce(lambda block: ((), (block,)))[1][0]


def open_temporary(folder: Path) -> list[str]:
    """Files in a folder that this process has open, where the system lists them."""
    if not Path("/proc/self/fd").exists():
        return []
    links = [Path("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    named = [os.readlink(link) for link in links if link.is_symlink()]
    return [name for name in named if name.startswith(str(folder))]


@pytest.mark.parametrize("n_files", [1, 4])
@pytest.mark.parametrize("budget", [None, X.nbytes, X.nbytes // 2])
def test_rows_are_decoded_once(
    tmp_path: Path, decoded: list[int], budget: int | None, n_files: int
) -> None:
    source = open_rows(write(tmp_path / "rows", n_files), memory_budget=budget)
    model = KMeans(3, random_state=0).fit(source)
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(X).labels_)
    assert len(decoded) == 8
    del decoded[:]
    for n_threads in (1, 2, 3):
        with threads(n_threads):
            (total,), (rows,) = source.map_reduce(lambda b: ((b.sum(axis=0),), (b,)))
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_allclose(total, X.sum(axis=0))
        some = np.random.default_rng(1).permutation(5000)[:40]
        np.testing.assert_array_equal(source.take(some), X[some])
        np.testing.assert_array_equal(source.largest(), np.abs(X).max(axis=0))
    np.testing.assert_array_equal(values(source.with_missing()), X)
    assert decoded == []


def test_sums_are_the_same_to_the_last_bit_once_rows_are_kept(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    sums = [source.map_reduce(lambda b: ((b.sum(axis=0),), ()))[0][0] for _ in range(3)]
    assert np.array_equal(sums[0], sums[1])
    assert np.array_equal(sums[0], sums[2])


def test_a_copy_elsewhere_decodes_itself(tmp_path: Path, decoded: list[int]) -> None:
    source = on_disk(tmp_path)
    values(source)
    sent = pickle.dumps(source)
    assert len(sent) < X.nbytes / 4
    copy = pickle.loads(sent)
    n_decoded = len(decoded)
    np.testing.assert_array_equal(values(copy), X)
    assert len(decoded) == 2 * n_decoded
    np.testing.assert_array_equal(values(copy), X)
    assert len(decoded) == 2 * n_decoded


def test_pieces_keep_their_own_rows(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidelight.engine._pieces.PIECE_BYTES", X.nbytes // 8)
    source = on_disk(tmp_path, n_files=2)
    names = pieces_of(source)[1]
    values(source)
    pieces, same = pieces_of(source)  # whatever the source itself has kept
    assert same == names
    assert len(pieces) > 4
    sent = [pickle.loads(pickle.dumps(piece)) for piece in pieces]
    sizes = [piece._source._store._n_bytes for piece in sent]
    assert sizes == [piece.n_rows * 24 for piece in sent]
    for _ in range(2):
        n_decoded = len(decoded)
        np.testing.assert_array_equal(np.concatenate([values(piece) for piece in sent]), X)
    assert len(decoded) == n_decoded


def test_a_temporary_folder_without_room(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidelight.engine._store.ROOM", 10**15)
    source = on_disk(tmp_path)
    for _ in range(3):
        del decoded[:]
        np.testing.assert_array_equal(values(source), X)
        assert len(decoded) == 8


def test_a_full_disk_changes_no_result(
    tmp_path: Path, temporary: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = os.pwrite, []

    def pwrite(*args: Any) -> int:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(args)
        return real(*args)

    monkeypatch.setattr(os, "pwrite", pwrite)
    source = on_disk(tmp_path)
    for _ in range(3):
        del decoded[:]
        np.testing.assert_array_equal(values(source), X)
        assert len(decoded) == 8
    np.testing.assert_array_equal(source.take([4999, 0]), X[[4999, 0]])
    assert open_temporary(temporary) == []  # the room is given back


def test_a_write_may_be_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: real(file, content[:100], at))
    source = on_disk(tmp_path)
    values(source)
    np.testing.assert_array_equal(values(source), X)


def test_a_file_that_cannot_be_read_back_is_decoded(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = on_disk(tmp_path)
    values(source)
    monkeypatch.setattr(os, "preadv", lambda *args: 0)
    np.testing.assert_array_equal(values(source), X)
    assert len(decoded) > 8


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists open files")
def test_the_file_has_no_name_and_goes_with_the_rows(tmp_path: Path, temporary: Path) -> None:
    source = on_disk(tmp_path)
    values(source)
    assert len(open_temporary(temporary)) == 1  # for all four files of the table
    assert list(temporary.iterdir()) == []
    del source
    gc.collect()
    assert open_temporary(temporary) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills like this")
def test_a_killed_process_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    folder = write(tmp_path / "rows")
    code = f"""
import os, signal
from sidelight.engine import _store, open_rows
_store.IN_MEMORY, _store.LEFT_FREE = set(), 0
source = open_rows({str(folder)!r}, memory_budget={X.nbytes // 2})
source.map_reduce(lambda block: ((), ()))
print(source.files[0].is_kept, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = os.environ | {"TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "True\n"), done.stderr
    assert [one.name for one in temporary.iterdir() if "numba" not in one.name] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_reads_what_was_kept_and_adds_nothing() -> None:
    store = BlockStore(4 * X.nbytes, budget=1)
    store.put(0, X)
    child = os.fork()
    if not child:
        store.put(1, 2 * X)
        os._exit(0 if np.array_equal(store.get(0), X) and 1 not in store else 1)
    assert os.waitpid(child, 0)[1] == 0
    store.put(1, 3 * X)
    np.testing.assert_array_equal(store.get(1), 3 * X)


@pytest.mark.parametrize("budget", [1, 10**9])
def test_threads_put_and_get_at_a_time(budget: int) -> None:
    blocks = [X[:500] + number for number in range(40)]
    store = BlockStore(40 * blocks[0].nbytes, budget)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).permutation(40).tolist():
            store.put(number, blocks[number])
            for other in range(40):  # a block is found whole, or not at all
                found = store.get(other)
                if found is not None and not np.array_equal(found, blocks[other]):
                    wrong.append(other)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    for number, block in enumerate(blocks):
        np.testing.assert_array_equal(store.get(number), block)
    assert store._end in (0, 40 * blocks[0].nbytes)  # every block is written once


def test_two_passes_at_a_time(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    found: list[Any] = []
    passes = [
        threading.Thread(target=lambda: found.extend(values(source) for _ in range(3)))
        for _ in range(2)
    ]
    for one in passes:
        one.start()
    for one in passes:
        one.join()
    assert len(found) == 6
    assert all(np.array_equal(rows, X) for rows in found)


def test_infinity_and_gaps_are_found_in_rows_that_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"])
    frame.iloc[3210, 1] = np.nan
    frame.to_parquet(tmp_path / "gap.parquet", row_group_size=700)
    source = open_rows(tmp_path / "gap.parquet", memory_budget=X.nbytes // 2)
    for _ in range(2):
        np.testing.assert_array_equal(values(source.with_missing()), frame.to_numpy())
        with pytest.raises(ValueError, match=r"NaN or infinity in row 3210, column 'b'"):
            values(source)


@pytest.mark.parametrize("budget", [None, 60_000])
def test_mixed_tables_are_prepared_once(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch, budget: int | None
) -> None:
    tables = [mixed_table(seed, 700, gaps=0.1) for seed in (1, 2)]
    for number, table in enumerate(tables):
        table.to_parquet(tmp_path / f"{number}.parquet", row_group_size=300)
    preparer = TablePreparer().fit(str(tmp_path / "*.parquet"))
    expected = preparer.transform(pd.concat(tables, ignore_index=True))
    prepared = []
    real = TablePreparer.features_of_block
    monkeypatch.setattr(
        TablePreparer,
        "features_of_block",
        lambda *args, **options: prepared.append(1) or real(*args, **options),
    )
    rows = prepared_rows(str(tmp_path / "*.parquet"), preparer, memory_budget=budget)
    np.testing.assert_allclose(values(rows), expected)
    once = len(prepared)
    assert once == len(rows.blocks)
    for _ in range(2):
        np.testing.assert_allclose(values(rows), expected)
        np.testing.assert_allclose(rows.take([1399, 5]), expected[[1399, 5]])
    assert len(prepared) == once


def test_where_a_file_is_opened(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert open_file(1) is not None
    monkeypatch.setattr("sidelight.engine._store.IN_MEMORY", {"tmpfs", "ramfs"})
    listed = tmp_path / "mounts"
    listed.write_text(f"disk / ext4 rw 0 0\nnone {temporary} tmpfs rw 0 0\n")
    monkeypatch.setattr("sidelight.engine._store.MOUNTS", listed)
    assert _is_memory(str(temporary / "below"))
    assert not _is_memory(str(tmp_path))
    assert open_file(1) is None
    listed.write_text(f"none / tmpfs rw 0 0\ndisk {temporary} ext4 rw 0 0\n")
    assert open_file(1) is not None
    listed.unlink()  # a system that has no such list
    assert open_file(1) is not None
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert open_file(1) is None


def test_a_prediction_reads_once_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, X = tmp_path / "rows.parquet", np.random.default_rng(1).normal(size=(5000, 3))
    pd.DataFrame(X, columns=["a", "b", "c"]).to_parquet(path, row_group_size=1500)
    opened = []
    monkeypatch.setattr("sidelight.engine._store.open_file", lambda n: opened.append(n))
    with memory(X.nbytes // 4):
        for model in (KMeans(3, random_state=0), Isomap(2)):
            model.fit(X[:300])
            verb = "predict" if hasattr(model, "predict") else "transform"
            here, there = (getattr(model, verb)(rows) for rows in (X, path))
            np.testing.assert_allclose(there, here, atol=1e-9)
            assert not opened
        KMeans(3, random_state=0).fit(path)
        assert opened
