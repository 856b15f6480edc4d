"""Known splits: forms, missing values, product, design, files, slices, and refusals in words."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sidelight import KnownSplits
from sidelight.constraints import as_known_splits
from sidelight.exceptions import ConstraintFileError, SidelightError, UnknownIds

WORDS = ["it", "no", "it", "se"]


def decoded(known: KnownSplits, split: int = 0) -> list[str]:
    return known.class_names[split][known.codes[:, split]].astype(str).tolist()


@pytest.mark.parametrize(
    "form",
    [
        WORDS,
        np.array(WORDS),
        np.array(WORDS, dtype=object)[:, None],
        [WORDS],
        (WORDS,),
        {"known": WORDS},
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="category"),
        pl.Series("known", WORDS),
        pa.array(WORDS),
        pd.DataFrame({"known": WORDS}),
        pl.DataFrame({"known": WORDS}),
        pa.table({"known": WORDS}),
    ],
    ids=lambda form: type(form).__name__,
)
def test_one_split_in_every_form(form: object) -> None:
    known = KnownSplits(form)
    assert known == KnownSplits(WORDS)
    assert known.names == ("known",)
    assert known.n_samples == 4
    assert decoded(known) == WORDS
    assert as_known_splits(form, 4) == known


def test_several_splits_keep_their_names_and_order() -> None:
    table = {"size": [1, 2, 1], "age": [1.5, 2.5, 4.0], "color": ["r", "g", "r"]}
    for form in (table, pd.DataFrame(table), pl.DataFrame(table), pa.table(table)):
        known = KnownSplits(form)
        assert known.names == ("size", "age", "color")
        assert known.categorical == (True, False, True)
        assert known.split_names == ("size", "color")
        assert known.number_names == ("age",)
        assert known.codes.tolist() == [[0, 1], [1, 0], [0, 1]]
        assert known.numbers.ravel().tolist() == [1.5, 2.5, 4.0]
        assert "'age' holds fractions and was taken for numbers" in known.notes[0]
    lists = KnownSplits([[1, 2, 1], ["r", "g", "r"]])
    assert lists.names == ("known 1", "known 2")
    assert np.array_equal(
        lists.codes, KnownSplits(np.array([[1, 0], [2, 1], [1, 0]])).codes * [1, -1] + [0, 1]
    )


def test_numbers_are_told_or_given_beside() -> None:
    ages = [31, 40, 28]
    told = KnownSplits({"age": ages, "size": [1, 2, 1]}, numbers=["age"])
    beside = KnownSplits({"size": [1, 2, 1]}, numbers={"age": ages})
    assert told.number_names == beside.number_names == ("age",)
    np.testing.assert_array_equal(told.numbers, beside.numbers)
    assert not KnownSplits({"x": [0.5, 1.5, 0.5]}, numbers=[]).has_numbers
    assert KnownSplits(numbers=np.array([[1, 2], [3, 4]])).names == ("number 1", "number 2")
    with pytest.raises(SidelightError, match="numbers names 'ago', which is not one of"):
        KnownSplits({"age": ages}, numbers=["ago"])
    with pytest.raises(SidelightError, match="'age' is to hold numbers, but there is 'old'"):
        KnownSplits({"age": [1, "old", 3]}, numbers=["age"])
    with pytest.raises(
        SidelightError, match=r"'age' has no finite number in row 1 \(1 row in all\)"
    ):
        KnownSplits({"age": [1.5, np.nan, 3]})


@pytest.mark.parametrize("nothing", [None, np.nan, "", pd.NaT, pd.NA, "  "])
def test_missing_values_are_a_class_of_their_own_and_told(nothing: object) -> None:
    known = KnownSplits({"country": ["it", nothing, "no", nothing]})
    assert decoded(known) == ["it", "(missing)", "no", "(missing)"]
    assert known.notes == (
        "The known split 'country' is missing in 2 rows: these are a class of their own.",
    )


def test_missing_numbers_of_classes_and_the_name_of_the_class() -> None:
    assert decoded(KnownSplits([1.0, np.nan, 2.0])) == ["1", "(missing)", "2"]
    taken = KnownSplits(["(missing)", None, "x"])
    assert decoded(taken) == ["(missing)", "((missing))", "x"]


@pytest.mark.parametrize(
    "labels", [[0, -1, 1], np.array([0, -1, 1]), ["0", "-1", "1"], [0, -1.0, 1]]
)
def test_noise_is_a_label_like_the_others(labels: object) -> None:
    known = KnownSplits(labels)
    assert decoded(known) == ["0", "-1", "1"]
    assert known.notes == ()


def test_labels_of_any_type() -> None:
    day = pd.Timestamp("2024-02-03")
    assert decoded(KnownSplits([True, False, True])) == ["True", "False", "True"]
    assert decoded(KnownSplits([day, None, day])) == ["2024-02-03", "(missing)", "2024-02-03"]
    assert decoded(KnownSplits([("a", 1), ("b", 2)])) == ["('a', 1)", "('b', 2)"]


# --- product and design ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.booleans()), min_size=1))
def test_rows_share_a_cell_if_they_agree_in_every_split(rows: list[tuple[int, str, bool]]) -> None:
    columns = list(map(list, zip(*rows, strict=True)))
    cells = KnownSplits(dict(zip("xyz", columns, strict=True))).product(max_cells=100)
    assert set(cells) == set(range(len(set(rows))))
    same = np.array([[one == other for other in rows] for one in rows])
    np.testing.assert_array_equal(cells[:, None] == cells, same)


def test_too_many_cells_are_refused_with_advice() -> None:
    rng = np.random.default_rng(0)
    many = KnownSplits({f"s{i}": rng.integers(0, 4, 60) for i in range(3)})
    with pytest.raises(
        SidelightError, match=r"cut the 60 rows into \d+ cells .*'s0' 4.* at most 20"
    ):
        many.product()
    assert many.product(max_cells=64).max() > 20
    with pytest.raises(SidelightError, match="'zip' has 30 classes for 60 rows, and at most 20"):
        KnownSplits({"zip": np.arange(60) % 30}).product()
    with pytest.raises(SidelightError, match="'age' holds numbers, and this method avoids classes"):
        KnownSplits({"age": [0.5, 1.5, 2.5]}).product()


def test_nothing_known_is_one_cell() -> None:
    known = KnownSplits(n_samples=5)
    assert known.is_empty
    assert known.product().tolist() == [0] * 5
    assert known.design().shape == (5, 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000))
def test_design_spans_the_classes_and_the_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, ages = rng.integers(0, 3, 20), rng.normal(40, 10, 20)
    known = KnownSplits({"class": labels, "age": ages})
    design = np.column_stack([np.ones(20), known.design()])
    full = np.column_stack([np.eye(3)[labels], ages])
    assert np.linalg.matrix_rank(design) == design.shape[1] == np.linalg.matrix_rank(full)
    coefficients = np.linalg.lstsq(design, full, rcond=None)[0]
    np.testing.assert_allclose(design @ coefficients, full, atol=1e-8)
    assert known.design()[:, -1].mean() == pytest.approx(0, abs=1e-12)
    assert known.design()[:, -1].std() == pytest.approx(1)


def test_constant_numbers_give_no_column() -> None:
    assert KnownSplits(numbers={"x": [3.0, 3.0]}).design().shape == (2, 0)


# --- an object that never changes -----------------------------------------------------------------


def mixed(ids: bool = True) -> KnownSplits:
    return KnownSplits(
        {"country": ["it", None, "no", "it"], "age": [1.5, 2.5, 4.0, 0.5], "k": [3, 1, 3, 1]},
        ids=["a", "b", "c", "d"] if ids else None,
    )


def test_nothing_can_be_changed() -> None:
    known = mixed()
    with pytest.raises(AttributeError, match="cannot be changed"):
        known.names = ()
    with pytest.raises(AttributeError, match="stays"):
        del known.codes
    for array in (known.codes, known.numbers, *known.class_names):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_pickles_copies_and_hashes() -> None:
    known = mixed()
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert again.notes == known.notes
    assert hash(again) == hash(known)
    assert not again.codes.flags.writeable
    assert copy.deepcopy(known) is known
    assert known != mixed(ids=False)
    assert known != known.adding("more", [0, 0, 1, 1])
    assert known != "known"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["x", "y", "10", "9", None]), min_size=1, max_size=9), st.data())
def test_a_slice_is_what_the_slice_would_have_given(
    labels: list[str | None], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(labels) - 1), unique=True))
    known = KnownSplits(np.array(labels, dtype=object), ids=range(len(labels)))
    taken = known[np.array(rows, dtype=int)]
    assert taken == KnownSplits(np.array([labels[i] for i in rows], dtype=object), ids=rows)
    assert known[np.array(rows, dtype=int), ...] == taken


def test_more_splits() -> None:
    known = mixed()
    more = known.adding("country", [0, 0, 1, 1])
    assert more.names == ("country", "age", "k", "country 2")
    assert more.ids is not None
    joined = known | KnownSplits({"k": [1, 2, 1, 2]}, ids=known.ids)
    assert joined.names == ("country", "age", "k", "k 2")
    assert joined.notes == known.notes
    with pytest.raises(SidelightError, match="4 and 3 rows"):
        known | KnownSplits([0, 1, 0])
    with pytest.raises(SidelightError, match="'more' has 3 values for 4 rows"):
        known.adding("more", [0, 1, 0])


def test_shown_in_words() -> None:
    assert (
        repr(mixed())
        == "<KnownSplits of 4 rows: 'country' (3 classes), 'age' (numbers), 'k' (2 classes)>"
    )
    assert "country: it 2, no 1, (missing) 1" in mixed().summary()
    assert repr(KnownSplits(n_samples=2)) == "<KnownSplits of 2 rows: none>"


# --- ids ------------------------------------------------------------------------------------------


def test_ids_find_the_rows_of_a_data_frame() -> None:
    series = pd.Series(["it", "no", "se", "it"], index=["a", "b", "c", "d"])
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}, index=["c", "a", "d", "b"])
    for form in (series, series.to_frame("known"), {"known": series}, KnownSplits(series)):
        assert decoded(as_known_splits(form, 4, rows)) == ["se", "it", "it", "no"]
    assert decoded(as_known_splits(series, 4, rows.to_numpy())) == ["it", "no", "se", "it"]
    with pytest.raises(UnknownIds, match="of X is not among the ids"):
        as_known_splits(series, 4, rows.rename(index={"c": "z"}))
    other = pd.Series([1, 2, 1, 2], index=["b", "a", "c", "d"])
    with pytest.raises(SidelightError, match="another index than the ones before"):
        KnownSplits({"one": series, "two": other})


def test_ids_are_unique() -> None:
    with pytest.raises(SidelightError, match="'a'"):
        KnownSplits([0, 1], ids=["a", "a"])


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"s": ["it", "it", "it"]}, "'s' is 'it' in all 3 rows, so that there is nothing to avoid"),
        ({"s": [None, None, None]}, r"'s' is '\(missing\)' in all 3 rows"),
        ({"s": ["a", "b", "c"]}, "'s' differs in all 3 rows: it is an id, not a split"),
        ([0, 1], "about 2 rows, and there are 3 rows"),
        ({"s": "it"}, "'s' has to hold one label per row, got str"),
        ({"a": 1, "b": 2, "c": 1}, "'a' has to hold one label per row, got int"),
        ("splits.csv", r"KnownSplits.read\(path\)"),
        (sparse.eye(3), "not a sparse matrix"),
        (np.zeros((3, 2, 2)), "one label per row"),
        ({"s": [[1], [2], [1]]}, "one label per row"),
        ({"s": [0, 1, 0], "t": [0, 1]}, "'t' has 2 values for 3 rows"),
        (pd.DataFrame([[1, 2]] * 3, columns=["x", "x"]), "called 'x'"),
    ],
)
def test_wrong_splits_are_refused_in_words(given_: object, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        as_known_splits(given_, 3)


def test_nothing_in_every_form() -> None:
    for nothing in (None, [], {}, (), KnownSplits(n_samples=3)):
        assert as_known_splits(nothing, 3) == KnownSplits(n_samples=3)


def test_two_rows_may_differ() -> None:
    assert as_known_splits(["a", "b"], 2).codes.ravel().tolist() == [0, 1]
    with pytest.raises(SidelightError, match="in the only row"):
        as_known_splits(["a"], 1)


# --- tables and files -----------------------------------------------------------------------------

LABEL = st.one_of(
    st.none(),
    st.integers(-3, 12),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
)


def is_plain(label: object) -> bool:
    """Labels that a text file can tell from missing ones and from each other."""
    return label is None or (
        str(label).strip() == str(label) and str(label) not in ("nan", "NaN", "NaT", "<NA>", "")
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".json", ".parquet"])
@settings(max_examples=25, deadline=None)
@given(labels=st.lists(LABEL.filter(is_plain), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, ending: str, labels: list, seed: int
) -> None:
    ages = np.random.default_rng(seed).normal(size=len(labels))
    known = KnownSplits(
        {"s": np.array([*labels, None], dtype=object)[:-1], "age": ages},
        ids=[f"r{i}" for i in range(len(labels))],
        numbers=["age"],
    )
    path = tmp_path_factory.mktemp("splits") / f"splits{ending}"
    known.write(path)
    read = KnownSplits.read(path, ids=known.ids, numbers=known.number_names)
    assert read == known
    assert KnownSplits.read(path, numbers=["age"]) == known


def put(folder: Path, text: str, name: str = "s.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_read_by_id(tmp_path: Path) -> None:
    path = put(tmp_path, "country,id,age\nno,b,1.5\nit,a,2\n")
    known = KnownSplits.read(path, ids=["a", "b"])
    assert decoded(known) == ["it", "no"]
    assert known.numbers.ravel().tolist() == [2.0, 1.5]
    first = KnownSplits.read(put(tmp_path, "who;s\n7;x\n3;y\n"), ids=[3, 7])
    assert decoded(first) == ["y", "x"]
    assert first.names == ("s",)
    alone = KnownSplits.read(put(tmp_path, "s\nx\ny\n"))
    assert alone.ids is None
    assert decoded(alone) == ["x", "y"]
    named = KnownSplits.read(put(tmp_path, "s,who\nx,a\ny,b\n"), id_column="who", ids=["b", "a"])
    assert decoded(named) == ["y", "x"]


def test_rows_that_a_file_leaves_out_are_missing_and_told(tmp_path: Path) -> None:
    known = KnownSplits.read(put(tmp_path, "id,s\na,x\nc,y\n"), ids=["a", "b", "c"])
    assert decoded(known) == ["x", "(missing)", "y"]
    assert "missing in 1 row" in known.notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,s\na,x\nz,y\n", "line 3: the id 'z' does not occur in the data"),
        ("id,s\na,x\nA,y\n", "Did you mean 'a'"),
        ("id,s\na,x\na,y\n", "line 3: the id 'a' occurs twice"),
        ("id\na\n", "for each of the 2 rows, and has 1"),
        ("", "is empty"),
        ("id,s\na\n", "1 fields where the header has 2"),
        ("id,age\na,1.5\n", "'age' has no finite number"),
    ],
)
def test_files_with_mistakes(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        KnownSplits.read(put(tmp_path, text), ids=["a", "b"])


def test_places_and_endings(tmp_path: Path) -> None:
    with pytest.raises(ConstraintFileError, match="no file"):
        KnownSplits.read(tmp_path / "nowhere.csv")
    with pytest.raises(ConstraintFileError, match="endings"):
        mixed().write(tmp_path / "splits.xyz")
    with pytest.raises(ConstraintFileError, match="not an object"):
        KnownSplits.read(put(tmp_path, json.dumps([1, 2]), "s.json"))
    with pytest.raises(SidelightError, match="called 'ID'"):
        KnownSplits({"ID": [1, 2]}).write(tmp_path / "s.csv")


def test_tables_with_a_column_of_ids() -> None:
    table = pd.DataFrame({"who": ["b", "a"], "s": ["x", "y"]})
    for form in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        known = KnownSplits.from_table(form, id_column="who", ids=["a", "b"])
        assert decoded(known) == ["y", "x"]
    assert KnownSplits.from_table(table, id_column="who").ids.tolist() == ["b", "a"]
    with pytest.raises(SidelightError, match="no column 'whom' of ids"):
        KnownSplits.from_table(table, id_column="whom")
    with pytest.raises(SidelightError, match="no split besides the ids"):
        KnownSplits.from_table({"who": ["a"]}, id_column="who")
    assert KnownSplits.from_table(table).names == ("who", "s")
