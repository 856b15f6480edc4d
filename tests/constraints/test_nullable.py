"""Columns of pandas and polars with gaps: whole numbers and words stay what they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sidelight import Constraints, jobs
from sidelight.cluster import ConstrainedKMeans
from sidelight.constraints import KnownSplits
from sidelight.evaluation import partition_scores

TRUTH = np.repeat([1, 2, 3], 20)
GAPS = np.arange(60) % 7 == 0
X = np.random.default_rng(0).normal(size=(60, 2)) + 6.0 * TRUTH[:, None]

#: A value for every class, and what its name is.
VALUES = {
    "Int64": ({1: 1, 2: 2, 3: 3}, [1, 2, 3]),
    "UInt8": ({1: 1, 2: 2, 3: 3}, [1, 2, 3]),
    "boolean": ({1: True, 2: False, 3: False}, ["False", "True"]),
    "string": ({1: "u", 2: "v", 3: "w"}, ["u", "v", "w"]),
    "category": ({1: "u", 2: "v", 3: "w"}, ["u", "v", "w"]),
    "int64[pyarrow]": ({1: 1, 2: 2, 3: 3}, [1, 2, 3]),
}


@pytest.fixture(params=[(kind, polars) for kind in VALUES for polars in (False, True)], ids=str)
def column(request):
    """A column with gaps, the names of its classes, and their codes (-1 in the gaps)."""
    kind, as_polars = request.param
    values, names = VALUES[kind]
    given = [None if gap else values[one] for one, gap in zip(TRUTH.tolist(), GAPS, strict=True)]
    series = pd.Series(given, dtype=kind)
    codes = np.array([-1 if one is None else [*map(str, names)].index(str(one)) for one in given])
    return pl.from_pandas(series) if as_polars else series, names, codes


def test_labels_and_groups(column):
    given, names, codes = column
    known = Constraints.from_labels(given)
    assert known.label_names.tolist() == names
    np.testing.assert_array_equal(known.labels, codes)
    assert Constraints(labels=given).label_names.tolist() == names
    grouped = Constraints.from_groups(given)
    assert grouped.closure().n_components == len(names) + GAPS.sum()


def test_classes_of_a_clusterer(column):
    given, names, codes = column
    model = ConstrainedKMeans(len(names), random_state=0).fit(X, given)
    stands_for = [str(model.cluster_names_[label]) for label in model.labels_[codes >= 0]]
    assert stands_for == [str(names[code]) for code in codes[codes >= 0]]


def test_known_splits_and_scores(column):
    given, names, codes = column
    (found,) = KnownSplits({"split": given}).class_names
    assert found.tolist() == [*map(str, names), "(missing)"]
    scores = partition_scores(given, np.where(codes < 0, 0, codes))
    assert scores["adjusted_rand_index"] == pytest.approx(1.0)


def test_label_columns_of_jobs(column):
    given, names, _ = column
    columns = {"a": X[:, 0], "b": X[:, 1], "y": given}
    frame = pl.DataFrame(columns) if isinstance(given, pl.Series) else pd.DataFrame(columns)
    found = jobs.run("cluster", data=frame, k=len(names), labels="y")
    assert found.knowledge.label_names.tolist() == names
    assert set(found.class_names.values()) == {*map(str, names)}
