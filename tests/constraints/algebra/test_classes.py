"""Labels, groups and ids of any type: classes are used as they are, missing values are unknown."""

import datetime
import enum
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidelight import Constraints
from sidelight.active import LabelOracle
from sidelight.cluster import SeededKMeans
from sidelight.constraints.inner import plain, read_classes
from sidelight.evaluation import partition_scores
from sidelight.exceptions import ConstraintWarning, SidelightError, UnknownIds
from sidelight.jobs import ClusterRequest, run


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(str, enum.Enum):  # noqa: UP042 - what many programs still have
    ONE = "one"
    TWO = "two"


DAYS = [datetime.date(2020, 1, 1), datetime.date(2021, 5, 6)]
NOON = [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2021, 5, 6, 7, 8, 9)]

#: Two values of one type, a missing value of it (or None), the names they go by.
VALUES = {
    "bytes": ((b"a", b"b"), None, ["a", "b"]),
    "decimals": ((Decimal("1.50"), Decimal("2.25")), Decimal("NaN"), ["1.5", "2.25"]),
    "whole decimals": ((Decimal("1.0"), Decimal(2)), Decimal("sNaN"), [1, 2]),
    "fractions": ((Fraction(1, 3), Fraction(1, 2)), None, ["1/2", "1/3"]),
    "dates": (DAYS, None, ["2020-01-01", "2021-05-06"]),
    "times": (NOON, pd.NaT, ["2020-01-01 12:00:00", "2021-05-06 07:08:09"]),
    "timestamps": (list(map(pd.Timestamp, DAYS)), pd.NaT, ["2020-01-01", "2021-05-06"]),
    "numpy days": (
        list(map(np.datetime64, DAYS)),
        np.datetime64("NaT"),
        ["2020-01-01", "2021-05-06"],
    ),
    "durations": (
        [np.timedelta64(1, "h"), np.timedelta64(2, "h")],
        np.timedelta64("NaT"),
        ["1:00:00", "2:00:00"],
    ),
    "tuples": ((("a", 1), ("a", 2)), None, ["('a', 1)", "('a', 2)"]),
    "sets": ((frozenset("ab"), frozenset("c")), None, ["{'a', 'b'}", "{'c'}"]),
    "periods": (
        [pd.Period("2020-01", "M"), pd.Period("2020-02", "M")],
        pd.NaT,
        ["2020-01", "2020-02"],
    ),
    "intervals": (
        [pd.Interval(0.0, 1.0), pd.Interval(1.0, 2.0)],
        np.nan,
        ["(0.0, 1.0]", "(1.0, 2.0]"],
    ),
    "members": ((Color.BLUE, Color.RED), None, ["BLUE", "RED"]),
    "numbered members": ((Level.LOW, Level.HIGH), pd.NA, [1, 2]),
    "worded members": ((Word.ONE, Word.TWO), None, ["one", "two"]),
    "booleans": ((False, True), pd.NA, ["False", "True"]),
    "numpy booleans": ((np.False_, np.True_), None, ["False", "True"]),
    "words": (("a", "b"), np.nan, ["a", "b"]),
}


def rows_of(values, unknown):
    first, second = values
    return [first, unknown, second, first]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("make", [list, pd.Series, lambda v: np.fromiter(v, object, len(v))])
def test_no_type_of_class_is_dropped(kind, make):
    values, unknown, names = VALUES[kind]
    given = make(rows_of(values, unknown))
    swapped = names != [plain([v])[0] for v in values] and kind == "fractions"
    expected = [1, -1, 0, 1] if swapped else [0, -1, 1, 0]
    for known, codes, found in (
        ((c := Constraints.from_labels(given)), c.labels, c.label_names),
        ((c := Constraints.from_groups(given)), c.groups, c.group_names),
    ):
        assert not known.is_empty
        assert codes.tolist() == expected
        assert found.tolist() == names
    assert partition_scores(given, [0, 1, 1, 0])["n_rows"] == 3
    assert partition_scores(given, [0, 1, 1, 0])["adjusted_rand_index"] == 1
    oracle = LabelOracle(given)
    assert (oracle.query(0, 3), oracle.query(0, 2), oracle.query(0, 1)) == (True, False, None)
    assert Constraints([(0, 3)], [(0, 2)], n_samples=4).violations(given).n == 0
    assert Constraints([(0, 2)], [(0, 3)], n_samples=4).violations(given).n == 2


@pytest.mark.parametrize("kind", VALUES)
def test_estimators_and_runs_take_every_type_of_class(kind):
    values, unknown, names = VALUES[kind]
    y = rows_of(values, unknown)
    X = np.array([[0.0], [0.2], [5.0], [0.1]])
    model = SeededKMeans(n_clusters=2, random_state=0).fit(X, y)
    assert sorted(map(str, model.classes_.tolist())) == sorted(map(str, names))
    assert model.labels_[0] == model.labels_[1] == model.labels_[3] != model.labels_[2]
    found = run(ClusterRequest(X, k=2, labels=y, truth=y, method="seeded-kmeans", raw=True))
    assert found.knowledge.counts["labels"] == 3
    assert found.scores["all"]["adjusted_rand_index"] == 1


def test_arrays_of_dates_and_bytes_keep_their_classes():
    days = np.array(["2020-01-01", "NaT", "2021-05-06", "2020-01-01"], dtype="M8[ns]")
    for given in (
        days,
        pd.DatetimeIndex(days),
        pl.Series([DAYS[0], None, DAYS[1], DAYS[0]]),
        pa.array([DAYS[0], None, DAYS[1], DAYS[0]]),
        np.ma.masked_array([5, -7, 6, 5], mask=[False, True, False, False]),
        np.array([b"x", b"", b"y", b"x"]),
    ):
        assert Constraints.from_labels(given).labels.tolist() == [0, -1, 1, 0]
    fine = np.array(["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000002"], "M8[ns]")
    assert len(Constraints.from_labels(fine).label_names) == 2  # nothing is rounded


@pytest.mark.parametrize(
    "given",
    [np.array(["a", np.nan, "b"]), ["a", "nan", "b"], pd.Series(["a", np.nan, "b"]).astype(str)],
)
def test_a_missing_value_turned_into_text_is_no_class(given):
    with pytest.warns(ConstraintWarning, match="the word 'nan' in 1 row"):
        known = Constraints.from_labels(given)
    assert known.label_names.tolist() == ["a", "b"]
    assert known.labels.tolist() == [0, -1, 1]
    with pytest.warns(ConstraintWarning, match="labels_true"):
        assert partition_scores(given, [0, 1, 1])["n_rows"] == 2


def test_a_list_with_a_missing_value_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Constraints.from_labels(["a", np.nan, "b"]).labels.tolist() == [0, -1, 1]
        model = SeededKMeans(n_clusters=2).fit([[0.0], [1.0], [9.0]], ["a", float("nan"), "b"])
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("value", [[1, 2], {1: 2}, {1}, np.zeros(2), object()])
def test_what_cannot_be_a_class_is_refused(value):
    with pytest.raises(SidelightError, match="labels must hold one label per row"):
        Constraints.from_labels(np.fromiter([value, "a"], object))


def test_a_class_in_a_table_that_is_missing_is_refused():
    with pytest.raises(SidelightError, match="missing in j"):
        Constraints.from_table({"i": [0], "j": ["nan"], "kind": ["label"]}, n_samples=2)


def test_both_readers_of_labels_are_one():
    rng = np.random.default_rng(0)
    pool = [value for values, _, _ in VALUES.values() for value in values] + [None, "", -1]
    mixed = np.fromiter((pool[place] for place in rng.integers(0, len(pool), 300)), object)
    codes, names = read_classes(mixed, "labels")
    known = Constraints.from_labels(mixed)
    assert known.label_names[known.labels[known.labels >= 0]].astype(str).tolist() == [
        names[code] for code in codes if code >= 0
    ]
    scores = partition_scores(mixed, codes)
    assert scores["n_rows"] == np.count_nonzero(codes >= 0)
    assert scores["adjusted_rand_index"] == 1


# ------------------------------------------------------------------------------------- ids


def test_dates_stay_dates_as_ids():
    index = pd.date_range("2020-01-01", periods=4, freq="D")
    known = Constraints([(index[0], index[2])], ids=index)
    assert known.ids.tolist() == index.to_list()
    assert known.name_rows([0]) == ["Timestamp('2020-01-01 00:00:00')"]
    day = datetime.date(2020, 1, 3)
    for same in (day, np.datetime64(day), np.datetime64(day, "ns"), pd.Timestamp(day)):
        assert known.position(same) == 2
    assert known.position(datetime.datetime(2020, 1, 3)) == 2
    with pytest.raises(UnknownIds, match="2020"):
        known.position(datetime.date(2020, 2, 3))
    as_array = Constraints(np.array([[index[0], index[2]]], dtype="M8[ns]"), ids=index.to_numpy())
    assert as_array.must_link.tolist() == [[0, 2]]


def test_dates_as_ids_survive_a_file(tmp_path):
    index = pd.date_range("2020-01-01", periods=4, freq="D")
    known = Constraints([(index[0], index[2])], [(index[1], index[3])], ids=index)
    for name in ("known.csv", "known.json", "known.parquet"):
        known.write(tmp_path / name)
        assert Constraints.read(tmp_path / name, ids=index) == known
    (tmp_path / "by_time.csv").write_text("i,j,kind\n2020-01-01 00:00:00,2020-01-03,ML\n")
    assert Constraints.read(tmp_path / "by_time.csv", ids=index).must_link.tolist() == [[0, 2]]


def test_missing_dates_are_no_ids():
    with pytest.raises(SidelightError, match="position 1 is missing"):
        Constraints(ids=pd.DatetimeIndex(["2020-01-01", None]))


def test_nanoseconds_tell_ids_apart():
    index = pd.DatetimeIndex(np.array([1, 2], dtype="M8[ns]"))
    for ids in (index, index.to_numpy()):
        assert Constraints([(ids[0], ids[1])], ids=ids).must_link.tolist() == [[0, 1]]


@pytest.mark.parametrize("values", [{0: "a", 1: "b"}, {"a", "b"}])
def test_values_of_rows_have_an_order(values):
    for read in (
        lambda: SeededKMeans(2).fit([[0.0], [1.0]], values),
        lambda: partition_scores(values, [0, 1]),
        lambda: Constraints(ids=values),
    ):
        with pytest.raises(SidelightError, match="One value per row"):
            read()


def test_classes_in_files_are_read_alike(tmp_path):
    table = pa.table({"x": [0.0, 0.1, 5.0, 5.1], "kind": [b"low", None, b"high", b"<NA>"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = run(ClusterRequest(tmp_path / "rows.parquet", k=2, labels="kind", raw=True))
    assert found.knowledge.label_names.tolist() == ["high", "low"]
    assert found.knowledge.counts["labels"] == 2
