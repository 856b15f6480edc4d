"""Ids of rows on disk: a column that names rows is no feature, and constraints find rows by it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from sidelight import Constraints
from sidelight.cluster import COPKMeans, PCKMeans
from sidelight.engine import open_rows
from sidelight.exceptions import ConstraintWarning, SidelightError, UnknownIds


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    ids = rng.permutation(np.arange(1000, 1060))
    X = rng.normal(size=(60, 2)) + 6 * (np.arange(60) % 3)[:, None]
    return pd.DataFrame({"customer_id": ids, "a": X[:, 0], "b": X[:, 1]})


def written(tmp_path, table, **kwargs):
    path = tmp_path / "rows.parquet"
    table.to_parquet(path, row_group_size=17, **kwargs)
    return path


def test_a_column_of_ids_is_no_feature_and_names_the_rows(tmp_path, table):
    rows = open_rows(written(tmp_path, table))
    assert rows.columns == ["a", "b"]
    np.testing.assert_array_equal(rows.ids, table["customer_id"])
    # The constraints are made of the ids in their own order, not that of the file.
    ids = np.sort(table["customer_id"].to_numpy())
    named = table["customer_id"].to_numpy()
    known = Constraints([(named[0], named[1])], [(named[2], named[5])], ids=ids)
    model = COPKMeans(3, random_state=0).fit(rows, constraints=known)
    memory = COPKMeans(3, random_state=0).fit(table.set_index("customer_id"), constraints=known)
    np.testing.assert_array_equal(model.labels_, memory.labels_)
    assert model.labels_[0] == model.labels_[1]
    assert model.labels_[2] != model.labels_[5]  # two rows of one blob


def test_ids_that_are_not_those_of_the_file_are_refused(tmp_path, table):
    rows = open_rows(written(tmp_path, table))
    known = Constraints([(0, 1)], ids=np.arange(60))
    with pytest.raises(UnknownIds, match=r"do not agree.*ids=X.ids.*open_rows\(path, id_column"):
        PCKMeans(3).fit(rows, constraints=known)


def test_positions_that_could_be_ids_are_pointed_out(tmp_path, table):
    table["customer_id"] = np.arange(60)[::-1]
    rows = open_rows(written(tmp_path, table))
    with pytest.warns(ConstraintWarning, match=r"numbers are positions.*ids=X\.ids"):
        PCKMeans(3, random_state=0).fit(rows, constraints=Constraints([(0, 1)], n_samples=60))


def test_the_index_of_pandas_is_no_feature(tmp_path, table):
    frame = table.set_index("customer_id").rename_axis(None)
    rows = open_rows(written(tmp_path, frame))
    assert rows.columns == ["a", "b"]
    np.testing.assert_array_equal(rows.ids, frame.index)


def test_ids_that_are_declared(tmp_path, table):
    table = table.rename(columns={"customer_id": "who"})
    table["word"] = [f"w{i}" for i in range(60)]
    path = written(tmp_path, table)
    assert open_rows(path).columns == ["who", "a", "b"]  # nothing says that it names the rows
    for name, columns in (("who", ["a", "b"]), ("word", ["who", "a", "b"])):
        rows = open_rows(path, id_column=name)
        assert rows.columns == columns
        np.testing.assert_array_equal(rows.ids, table[name])
    with pytest.raises(SidelightError, match="cannot be a feature and name the rows"):
        open_rows(path, columns=["who", "a"], id_column="who")
    with pytest.raises(SidelightError, match="has no column 'whom'; did you mean 'who'"):
        open_rows(path, id_column="whom")
    with pytest.raises(SidelightError, match=r"'a' of .* does not name the rows"):
        open_rows(path, id_column="a")


def test_named_features_are_used_as_they_are(tmp_path, table):
    rows = open_rows(written(tmp_path, table), columns=["customer_id", "a"])
    assert rows.columns == ["customer_id", "a"]
    assert rows.ids is None


def test_ids_that_repeat_go_by_position_with_a_warning(tmp_path, table):
    table["customer_id"] //= 2
    path = written(tmp_path, table)
    with pytest.warns(ConstraintWarning, match=r"'customer_id' of .* is called like .* ids"):
        rows = open_rows(path)
    assert rows.ids is None
    assert "customer_id" in rows.columns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_rows(path, columns=["a", "b"])
