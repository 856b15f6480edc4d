"""Rows on disk for methods that work in memory: read whole, where they fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from sidelight._fit import loading
from sidelight.cluster import ConstrainedAgglomeration, KMeans
from sidelight.engine import as_rows, open_rows
from sidelight.exceptions import SidelightError
from sidelight.metric import RCA

X = np.random.default_rng(0).normal(size=(40, 3)) + 5 * (np.arange(40) % 2)[:, None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


def test_what_fits_is_read(path: Path) -> None:
    memory = ConstrainedAgglomeration(2).fit(X)
    for rows in (path, open_rows(path), as_rows(X)):
        np.testing.assert_array_equal(ConstrainedAgglomeration(2).fit(rows).labels_, memory.labels_)


def test_what_does_not_fit_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "largest_size", lambda: X.nbytes - 1)
    with pytest.raises(SidelightError, match=r"Constr.* needs all rows in memory.*40 rows of 3"):
        ConstrainedAgglomeration(2).fit(path)
    ConstrainedAgglomeration(2).fit(open_rows(path).to_memory())
    KMeans(2).fit(path)  # block by block


def test_the_limit_is_a_share_of_what_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "meminfo"
    found.write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(loading, "MEMINFO", found)
    assert loading.largest_size() == 1000 * 1024
    monkeypatch.setattr(loading, "MEMINFO", tmp_path / "nowhere")
    assert loading.largest_size() == 2 * 10**9


def test_bad_values_and_missing_rows_are_named(tmp_path: Path) -> None:
    bad = X.copy()
    bad[7, 2] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(SidelightError, match=r"bad\.npy holds .*infinity in row 7, column 2"):
        ConstrainedAgglomeration(2).fit(tmp_path / "bad.npy")
    np.save(tmp_path / "none.npy", X[:0])
    for method in (ConstrainedAgglomeration(2), KMeans(2)):
        with pytest.raises(ValueError, match="0 sample"):
            method.fit(tmp_path / "none.npy")


def test_sparse_sources_are_refused_where_sparse_rows_are() -> None:
    with pytest.raises(TypeError, match=r"takes no sparse|[Ss]parse"):
        RCA().fit(as_rows(sparse.csr_array(X)))


def test_memory_maps_that_would_be_copied_stay_on_disk(path: Path) -> None:
    whole = np.round(X).astype(np.int32)
    np.save(path, np.asfortranarray(whole))
    mapped = np.load(path, mmap_mode="r")
    model = KMeans(2, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(mapped), model.fit_predict(whole))
