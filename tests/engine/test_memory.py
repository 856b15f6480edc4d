"""Memory of fits to rows elsewhere: the peak resident set of a process of its own.

What a process takes before it has rows (imports, compiled kernels) is measured by the same fit to a
few rows first; it counts for nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak is read from /proc"
)

ROOT = Path(__file__).parents[2]

N, D = 300_000, 256
MEGABYTE = 2**20
BUDGET = 64 * MEGABYTE

#: What a fit takes beside its blocks: labels and bounds of all rows, what is known about them,
#: buffers of two threads. The rows themselves would be 293 MB more.
CONSTANT = 64 * MEGABYTE

PEAK = """
import re
from pathlib import Path


def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024
"""

FIT = (
    PEAK
    + """
import sys
import numpy as np
from sidelight import Constraints
from sidelight.cluster import PCKMeans
from sidelight.engine import open_rows, threads

folder, budget = sys.argv[1], int(sys.argv[2])


def fit(path, n):
    pairs = np.random.default_rng(0).integers(n, size=(500, 2))
    known = Constraints(cannot_link=pairs[pairs[:, 0] != pairs[:, 1]], n_samples=n)
    rows = open_rows(path, memory_budget=budget)
    assert len(rows) == n
    start = rows.take(np.arange(8))
    with threads(2):
        PCKMeans(8, init=start, max_iter=2, random_state=0).fit(rows, constraints=known)


fit(f"{folder}/few", 2000)
before = peak()
fit(f"{folder}/rows", int(sys.argv[3]))
print(peak() - before)
"""
)

PARTITIONS = (
    PEAK
    + """
import sys
import tempfile
import numpy as np
from sidelight.cluster import KMeans
from tests.engine.processes import ProcessEngine
from sidelight.engine.partitioned._rows import PartitionedRows


class Load:
    def __init__(self, n):
        self.n = n

    def __call__(self):
        return np.random.default_rng(0).standard_normal((self.n, 2), dtype=np.float32)


def fit(n):
    engine = ProcessEngine([Load(n // 4)] * 4, 1)
    try:
        rows = PartitionedRows(engine)
        model = KMeans(3, init=np.eye(3, 2, dtype=np.float32), max_iter=3).fit(rows)
        with tempfile.TemporaryDirectory() as folder:
            files = model.labels_.write(folder)
            assert sum(len(np.load(file)) for file in files) == n
            assert sum(model.cluster_sizes_) == n
    finally:
        engine.close()


if __name__ == "__main__":
    fit(4000)
    before = peak()
    fit(int(sys.argv[1]))
    print(peak() - before)
"""
)


def run(script: str, *args: object) -> int:
    """Return what a script prints: bytes."""
    command = [sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (found,) = re.findall(r"^\d+$", done.stdout, flags=re.MULTILINE)
    return int(found)


def piece(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, D), dtype=np.float32)


def write_npy(path: Path, n: int) -> None:
    np.save(path, piece(n))


def write_parquet(path: Path, n: int) -> None:
    table = pa.table({f"x{i}": column for i, column in enumerate(piece(n // 2).T)})
    for half in ("first", "second"):
        pq.write_table(table, path / f"{half}.parquet", row_group_size=20_000, compression="none")


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_fit_to_files_stays_within_its_budget(tmp_path: Path, kind: str) -> None:
    for name, n in (("few", 2000), ("rows", N)):
        folder = tmp_path / name
        folder.mkdir()
        if kind == "npy":
            write_npy(folder / "rows.npy", n)
        else:
            write_parquet(folder, n)
    taken = run(FIT, tmp_path, BUDGET, N)
    assert taken < BUDGET + CONSTANT


def test_a_client_whose_labels_are_written_keeps_nothing_of_the_rows() -> None:
    n_rows = 4_000_000
    assert run(PARTITIONS, n_rows) < 8 * MEGABYTE < n_rows * np.dtype(np.int32).itemsize
