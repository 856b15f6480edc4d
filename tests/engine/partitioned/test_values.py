"""Values of rows beside partitions behave as the array they stand for, and move only when asked."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.partitions import cut

from sidelight.engine.partitioned._beside import kept
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows

X = np.arange(60.0).reshape(20, 3)


def rows_and_values(n_parts: int = 3) -> tuple[PartitionedRows, Any, np.ndarray]:
    rows = PartitionedRows(LocalEngine(cut(X, n_parts)))
    _, (values, wide) = rows.map_reduce(lambda b: ((), (b.sum(axis=1), b * 2)))
    return rows, values, wide


def pulls_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    pulls: list[Any] = []
    plain = PartitionedRows.pull_values
    monkeypatch.setattr(
        PartitionedRows, "pull_values", lambda self, v: pulls.append(v) or plain(self, v)
    )
    return pulls


def test_they_are_the_array_of_the_pass() -> None:
    _, values, wide = rows_and_values()
    np.testing.assert_array_equal(values, X.sum(axis=1))
    np.testing.assert_array_equal(wide, X * 2)
    assert (values.shape, values.dtype, len(values)) == ((20,), np.float64, 20)
    assert (wide.shape, wide.ndim, wide.size, wide.nbytes) == ((20, 3), 2, 60, 480)
    np.testing.assert_array_equal(values + 1, X.sum(axis=1) + 1)
    np.testing.assert_array_equal(np.concatenate([values, values])[:20], X.sum(axis=1))
    assert values.max() == X.sum(axis=1).max()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(values)), X.sum(axis=1))


def test_a_few_rows_are_fetched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, values, wide = rows_and_values()
    pulls = pulls_of(monkeypatch)
    np.testing.assert_array_equal(values[[19, 0, 7, 7]], X.sum(axis=1)[[19, 0, 7, 7]])
    np.testing.assert_array_equal(wide[np.array([-1, 3])], X[[-1, 3]] * 2)
    assert values[4] == X[4].sum()
    assert not pulls
    with pytest.raises(IndexError, match="There is no row 20; there are 20"):
        values[[3, 20]]
    np.testing.assert_array_equal(values[X[:, 0] > 30], X.sum(axis=1)[X[:, 0] > 30])
    assert len(pulls) == 1


CHANGES = st.lists(
    st.tuples(st.lists(st.integers(-20, 19), min_size=1, max_size=6), st.floats(-5, 5)), max_size=6
)


@given(CHANGES, st.integers(1, 5), st.booleans())
def test_changes_of_rows_are_those_of_an_array(changes: Any, n_parts: int, lost: bool) -> None:
    rows, values, _ = rows_and_values(n_parts)
    expected, before = X.sum(axis=1), values.copy()
    for places, new in changes:
        values[places] = new
        expected[places] = new
    if lost:
        kept.clear()
    (total,), (again,) = rows.map_reduce(
        lambda block, v: ((v.sum(),), (v + block[:, 0],)), aligned=(values,)
    )
    assert total == pytest.approx(expected.sum())
    np.testing.assert_allclose(again, expected + X[:, 0])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(before, X.sum(axis=1))


def test_copies_do_not_change_each_other() -> None:
    _, values, _ = rows_and_values()
    other = copy.deepcopy(values)
    other[[1, 2]] = 0.0
    values[[3]] = -1.0
    assert other[3] == X[3].sum()
    assert values[1] == X[1].sum()
    other[X[:, 0] > 30] = 7.0  # not a few: now they are those of the client
    assert other.is_here
    assert other[19] == 7.0
    assert values[19] == X[19].sum()


def test_chains_of_passes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, values, _ = rows_and_values()
    pulls = pulls_of(monkeypatch)
    for _ in range(40):
        _, (values,) = rows.map_reduce(lambda block, v: ((), (v + 1,)), aligned=(values,))
    assert values.record.lineage < 20
    assert 0 < len(pulls) < 5
    kept.clear()
    np.testing.assert_allclose(values, X.sum(axis=1) + 40)


def test_a_file_is_written_beside_each_partition(tmp_path: Any) -> None:
    _, values, wide = rows_and_values(3)
    files = values.write(tmp_path / "sums")
    assert [path.name for path in files] == ["part-1.npy", "part-3.npy", "part-4.npy"]
    np.testing.assert_array_equal(np.concatenate([np.load(f) for f in files]), X.sum(axis=1))
    wide[[5]] = 0.0
    found = np.concatenate([np.load(f) for f in wide.write(tmp_path / "wide")])
    np.testing.assert_array_equal(found, np.asarray(wide))
