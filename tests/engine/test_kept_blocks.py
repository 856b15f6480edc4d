"""Rows of a Parquet file that fit into the memory budget are decoded once."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight.cluster import KMeans
from sidelight.engine import open_rows
from sidelight.engine._files import FileRows

X = np.random.default_rng(0).normal(size=(5000, 3))


@pytest.mark.parametrize("n_files", [1, 4])
@pytest.mark.parametrize(("budget", "stays"), [(None, True), (X.nbytes, False)])
def test_blocks_are_kept_where_those_of_all_files_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int | None, stays: bool, n_files: int
) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for number, rows in enumerate(np.array_split(np.arange(5000), n_files)):
        frame.iloc[rows].reset_index(drop=True).to_parquet(
            tmp_path / f"{number}.parquet", row_group_size=1500
        )
    source = open_rows(tmp_path, memory_budget=budget)
    model = KMeans(3, random_state=0).fit(source)
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(X).labels_)
    opened = []
    real = FileRows._stream
    monkeypatch.setattr(FileRows, "_stream", lambda *args: opened.append(1) or real(*args))
    for _ in range(3):
        (total,), (rows,) = source.map_reduce(lambda block: ((block.sum(axis=0),), (block,)))
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_allclose(total, X.sum(axis=0))
        some = np.random.default_rng(1).permutation(5000)[:40]
        np.testing.assert_array_equal(source.take(some), X[some])
    assert (len(opened) == 0) == stays
    copy = pickle.loads(pickle.dumps(source))
    assert len(pickle.dumps(source)) < X.nbytes / 4
    np.testing.assert_array_equal(copy.to_memory(), X)
