"""The first look at partitions names the one that cannot be read, or does not fit to the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sidelight.cluster import KMeans
from sidelight.engine import open_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError
from sidelight.mixture import GaussianMixture

X = np.random.default_rng(0).normal(size=(12, 3))


def rows_of(*partitions: Any) -> PartitionedRows:
    return PartitionedRows(LocalEngine(partitions, [f"file-{i}" for i in range(len(partitions))]))


def test_element_types_are_joined_and_empty_partitions_have_none() -> None:
    rows = rows_of(X[:0].astype(np.float32), X[:5].astype(np.float32), X[5:])
    assert rows.dtype == np.float64
    assert rows.shape == (12, 3)
    assert rows_of(X[:4].astype(np.float32), X[:0]).dtype == np.float32


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ((X, X[:, :2]), "file-1 has 2 columns, file-0 has 3 columns: all partitions need the same"),
        ((X, sparse.csr_array(X)), "file-1 is sparse, file-0 is dense"),
        ((X, X[0]), "file-1 cannot be read: Rows must be a matrix"),
        ((X[:0], X[:0]), "There are no rows: all partitions are empty"),
        ((X, "nowhere.npy"), "file-1 cannot be read: .*nowhere.npy"),
    ],
)
def test_partitions_that_do_not_fit_are_named(partitions: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        rows_of(*partitions)


def test_other_columns_and_broken_files_are_named(tmp_path: Any) -> None:
    for name, columns in (("a", "xyz"), ("b", "xyw")):
        pd.DataFrame(X, columns=list(columns)).to_parquet(tmp_path / f"{name}.parquet")
    files = [open_rows(tmp_path / f"{name}.parquet") for name in "ab"]
    with pytest.raises(SidelightError, match="file-1 has the columns 'x', 'y', 'w', file-0 has"):
        rows_of(*files)
    whole = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:4] + b"\0" * 300 + whole[304:])
    with pytest.raises(SidelightError, match="file-1 cannot be read"):
        rows_of(files[0], open_rows(tmp_path / "b.parquet", columns=["x", "y"]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_value_is_named_by_partition_row_and_column(bad: float) -> None:
    broken = X.copy()
    broken[9, 1] = broken[10, 0] = bad
    rows = rows_of(broken[:4], broken[4:])
    with pytest.raises(SidelightError, match="file-1 holds NaN or infinity in row 9, column 1"):
        KMeans(2).fit(rows)
    if np.isnan(bad):
        GaussianMixture(2, random_state=0).fit(rows)
    else:
        with pytest.raises(SidelightError, match="file-1 holds infinity in row 9, column 1"):
            GaussianMixture(2, random_state=0).fit(rows)
