"""Reading and writing files: nothing is guessed silently, nothing is half-written."""

import errno
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from sidelight.exceptions import ConstraintFileError, SidelightError, UnknownIds
from sidelight.io import read_labels, read_pairs, read_table, write_labels
from sidelight.io.inner import atomic_write


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# --- atomic_write ---------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = put(tmp_path, "out.csv", "old")

    def write():
        with atomic_write(target) as temporary:
            temporary.write_text("half of the n")
            raise error

    with pytest.raises(type(error)):
        write()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_good_write_replaces_and_keeps_permissions_and_links(tmp_path):
    target = put(tmp_path, "out.csv", "old")
    target.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with atomic_write(link) as temporary:
        assert temporary.suffix == ".csv"
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "out.csv"]


def test_new_files_have_the_usual_permissions(tmp_path):
    usual = put(tmp_path, "usual.txt", "")
    with atomic_write(tmp_path / "out.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "out.txt").stat().st_mode == usual.stat().st_mode


def test_atomic_write_to_a_device_writes_there():
    with atomic_write(os.devnull) as temporary:
        temporary.write_text("gone")
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize(
    ("target", "words"), [("", "is a folder"), ("no/such/file.csv", "no/such does not exist")]
)
def test_atomic_write_names_a_target_that_cannot_be(tmp_path, target, words):
    with pytest.raises(SidelightError, match=words), atomic_write(tmp_path / target):
        pytest.fail("the block must not run")


# --- read_table -----------------------------------------------------------------------------------

NUMBERS = np.array([[1.0, 2.5], [3.0, -4.0], [5.5, 6.0]])


def write_as(folder: Path, suffix: str, *, ids: bool) -> Path:
    path = folder / f"data{suffix}"
    columns = {"name": ["u", "v", "w"]} if ids else {}
    columns |= {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}
    if suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
        return path
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    separator = "\t" if suffix == ".tsv" else ","
    text = "\n".join(separator.join(str(value) for value in line) for line in lines)
    if suffix == ".csv.gz":
        import gzip

        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
@pytest.mark.parametrize("ids", [True, False])
def test_the_same_table_in_every_format(tmp_path, suffix, ids):
    table = read_table(write_as(tmp_path, suffix, ids=ids))
    np.testing.assert_array_equal(table.X, NUMBERS)
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous
    assert table.feature_names == ("a", "b")
    assert table.row_ids.tolist() == (["u", "v", "w"] if ids else [0, 1, 2])
    assert (table.ids is not None) == ids
    assert len(table.notes) == ids


def test_npy_is_mapped_not_loaded_and_keeps_float32(tmp_path):
    np.save(tmp_path / "data.npy", NUMBERS.astype(np.float32))
    table = read_table(tmp_path / "data.npy")
    assert isinstance(table.X, np.memmap)
    assert table.X.dtype == np.float32
    assert table.feature_names == ("x0", "x1")
    np.save(tmp_path / "ints.npy", np.array([[3, 7, 1], [4, 8, 0]]))
    table = read_table(tmp_path / "ints.npy", id_column="x0", truth_column="x2")
    assert table.X.tolist() == [[7.0], [8.0]]
    assert table.ids.tolist() == [3, 4]
    assert table.truth.tolist() == [1, 0]


def test_parquet_keeps_float32_only_if_all_columns_are(tmp_path):
    single = pa.array([1.0, 2.0], type=pa.float32())
    pq.write_table(pa.table({"a": single, "b": single}), tmp_path / "single.parquet")
    pq.write_table(pa.table({"a": single, "b": [1, 2]}), tmp_path / "mixed.parquet")
    assert read_table(tmp_path / "single.parquet").X.dtype == np.float32
    assert read_table(tmp_path / "mixed.parquet").X.dtype == np.float64


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("suffix", [".libsvm", ".svm", ".svmlight"])
def test_libsvm_is_sparse_and_counts_features_as_the_file_does(tmp_path, zero_based, suffix):
    X = sparse.csr_matrix([[0.0, 2.0, 0.0], [1.5, 0.0, 0.0], [0.0, 0.0, -1.0]])
    path = tmp_path / f"data{suffix}"
    dump_svmlight_file(X, [1, -1, 1], str(path), zero_based=zero_based)
    table = read_table(path, truth_column="label")
    assert sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    assert table.zero_based is zero_based
    assert table.truth.tolist() == ["1", "-1", "1"]
    assert read_table(path, label_column="label").labels.tolist() == [1, -1, 1]
    assert table.feature_names == ("x0", "x1", "x2")


def test_a_libsvm_file_without_its_first_feature_is_not_shifted_when_told(tmp_path):
    path = put(tmp_path, "data.svm", "1 1:2.0 2:3.0\n0 2:1.0\n")
    assert read_table(path).X.shape == (2, 2)
    told = read_table(path, zero_based=True)
    np.testing.assert_array_equal(told.X.toarray(), [[0, 2, 3], [0, 0, 1]])


def test_whole_numbers_may_turn_into_fractions_far_down_the_file(tmp_path):
    lines = ["a,b", *["1,2"] * 400_000, "1.5,2"]  # longer than the block Arrow guesses types from
    table = read_table(put(tmp_path, "long.csv", "\n".join(lines)))
    assert table.X[-1].tolist() == [1.5, 2.0]


def test_text_far_down_the_file_is_found_and_named(tmp_path):
    lines = ["id,a,b", *[f"{i},1,2" for i in range(300_000)], "last,oops,2"]
    path = put(tmp_path, "long.csv", "\n".join(lines))
    with pytest.raises(SidelightError, match=r"Column 'a' .* 'oops' in row 'last'"):
        read_table(path)
    table = read_table(path, drop=["a"])
    assert table.X.shape == (300_001, 1)
    assert table.ids[7] == "7"


def test_roles_and_selection_of_columns(tmp_path):
    text = "a,key,b,class,known,c\n1,k1,2,A,,9\n3,k2,4,B,B,9\n"
    path = put(tmp_path, "data.csv", text)
    table = read_table(
        path, id_column="key", label_column="known", truth_column="class", drop=["c"]
    )
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.ids.tolist() == ["k1", "k2"]
    assert table.labels.tolist() == ["", "B"]
    assert table.truth.tolist() == ["A", "B"]
    chosen = read_table(path, columns=["c", "a"])
    assert chosen.X.tolist() == [[9, 1], [9, 3]]
    assert chosen.feature_names == ("c", "a")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["1", "", "2"], [1, -1, 2]),
        (["1.0", "", "2.0"], [1, -1, 2]),
        (["-1", "0", "1"], [-1, 0, 1]),
        (["A", "", "NA"], ["A", "", ""]),
        (["07", "7", ""], ["07", "7", ""]),
        (["1.5", "2", ""], ["1.5", "2", ""]),
    ],
)
def test_labels_are_whole_numbers_or_text_with_gaps(tmp_path, column, expected):
    text = "\n".join(["a,label", *(f"{i},{value}" for i, value in enumerate(column))])
    table = read_table(put(tmp_path, "data.csv", text), label_column="label")
    assert table.labels.tolist() == expected


def test_minus_one_is_a_class_among_true_classes_but_unknown_among_labels(tmp_path):
    path = put(tmp_path, "data.csv", "a,y\n1,-1\n2,1\n3,\n")
    assert read_table(path, truth_column="y").truth.tolist() == ["-1", "1", ""]
    assert read_table(path, label_column="y").labels.tolist() == [-1, 1, -1]
    path = put(tmp_path, "data.csv", "a,y\n1,0\n2,1\n3,\n")
    assert read_table(path, truth_column="y").truth.tolist() == [0, 1, -1]


def test_only_ids_and_classes_when_no_columns_are_asked_for(tmp_path):
    path = put(tmp_path, "data.csv", "id,a,y\nu,red,A\nv,red,B\n")
    table = read_table(path, truth_column="y", columns=[])
    assert table.X.shape == (2, 0)
    assert table.ids.tolist() == ["u", "v"]
    assert table.truth.tolist() == ["A", "B"]


def test_parquet_labels_stored_as_floats_or_categories(tmp_path):
    columns = {
        "a": [1.0, 2.0, 3.0],
        "f": [1.0, None, 2.0],
        "n": [1.0, float("nan"), 2.0],
        "d": pa.array(["x", None, "y"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    for name, expected in [("f", [1, -1, 2]), ("n", [1, -1, 2]), ("d", ["x", "", "y"])]:
        drop = [other for other in "fnd" if other != name]
        table = read_table(tmp_path / "data.parquet", label_column=name, drop=drop)
        assert table.labels.tolist() == expected


@pytest.mark.parametrize(
    ("text", "ids", "features"),
    [
        ("ID,a\n7,1\n9,2\n", [7, 9], ("a",)),
        ("a,id\n1,007\n2,8\n", ["007", "8"], ("a",)),
        (",a\n0,1\n1,2\n", [0, 1], ("a",)),
        ("city,a\nRome,1\nOslo,2\n", ["Rome", "Oslo"], ("a",)),
        ("a,b\n1,2\n3,4\n", None, ("a", "b")),
        ("flag,a\ntrue,2\nfalse,4\n", None, ("flag", "a")),
        ("id ; a\nx;1\ny;2\n", ["x", "y"], ("a",)),
        ("\ufeffid,a\nx,1\ny,2\n", ["x", "y"], ("a",)),
        ('id,a\n"x, y",1\nz,2\n', ["x, y", "z"], ("a",)),
        ("0,1\n1,2\n3,4\n", None, ("0", "1")),
    ],
)
def test_which_column_names_the_rows(tmp_path, text, ids, features):
    table = read_table(put(tmp_path, "data.csv", text))
    assert (None if table.ids is None else table.ids.tolist()) == ids
    assert table.feature_names == features
    assert len(table.notes) == (ids is not None)


BAD_TABLES = [
    ("data.csv", "", {}, ["is empty"]),
    ("data.csv", "a,b\n", {}, ["header line but no rows"]),
    ("data.csv", "a,b\n1,2\n3\n", {}, ["Line 3", "1 values", "2 columns"]),
    ("data.csv", 'a,b\n1,"x\ny"\n3,4,5\n', {}, ["Line 4", "3 values"]),
    ("data.csv", "5.1,3.5\n4.9,3.0\n", {}, ["first line", "looks like data"]),
    ("data.csv", "5,3\n4,3\n", {}, ["looks like data"]),
    ("data.csv", "a,a\n1,2\n", {}, ["several columns called 'a'"]),
    ("data.csv", "a,,b\n1,2,3\n", {}, ["Column 2", "no name"]),
    ("data.csv", "id,a\nx,1\ny,\nz,\n", {}, ["Column 'a'", "2 missing", "row 'y'", "--drop a"]),
    ("data.csv", "a,b\n1,2\n,\n", {}, ["Column 'a'", "1 missing", "row 1", "1 more column"]),
    ("data.csv", "a,b\n1,inf\n2,1\n", {}, ["Column 'b'", "infinite", "row 0"]),
    ("data.csv", "id,a,c\nx,1,red\ny,2,red\n", {}, ["Column 'c'", "'red'", "row 'x'", "--drop c"]),
    ("data.csv", "a,c,d\n1,red,?\n2,red,?\n", {}, ["Columns 'c', 'd'", "--columns"]),
    ("data.csv", "id,a\nx,1\nx,2\ny,3\n", {}, ["names rows twice", "'x'"]),
    ("data.csv", "id,a\nx,1\n,2\n", {}, ["empty in 1 of 2 rows", "data row 2"]),
    ("data.csv", "a,b\n1,2\n", {"id_column": "c"}, ["no column 'c'", "'a', 'b'"]),
    ("data.csv", "age,b\n1,2\n", {"label_column": "Age"}, ["no column 'Age'", "mean 'age'"]),
    ("data.csv", "a,b\n1,2\n", {"drop": ["a", "b"]}, ["no columns left"]),
    ("data.csv", "a,b\n1,2\n", {"columns": ["a"], "drop": ["a"]}, ["'a'", "at once"]),
    ("data.txt", "a,b\n1,2\n", {}, ["suffix '.txt'", ".parquet"]),
    ("data.json.gz", "a,b\n1,2\n", {}, ["suffix '.gz'"]),
    ("data.npy", "nonsense", {}, ["not a NumPy"]),
    ("data.parquet", "nonsense", {}, ["not a readable Parquet"]),
    ("data.svm", "1 1:2\nx 1:3\n", {}, ["Line 2", "'x'", "a number"]),
    ("data.svm", "1 1:2\n1 3\n", {}, ["Line 2", "'3'", "number:value"]),
    ("data.svm", "1 1:2\n1 2:nan\n", {}, ["Column 'x1'", "1 missing", "row 1"]),
    ("data.csv.gz", "a,b\n1,2\n", {}, ["gzip"]),
]


@pytest.mark.parametrize(("name", "text", "options", "words"), BAD_TABLES)
def test_bad_tables_are_explained(tmp_path, name, text, options, words):
    with pytest.raises(SidelightError) as caught:
        read_table(put(tmp_path, name, text), **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in [name, *words]:
        assert word in message


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(SidelightError, match="no file"):
        read_table(tmp_path / "data.csv")
    with pytest.raises(SidelightError, match="is a folder"):
        read_table(tmp_path)


def test_text_in_another_encoding(tmp_path):
    (tmp_path / "data.csv").write_bytes("id,a\né,1\nb,2\n".encode("latin-1"))
    table = read_table(tmp_path / "data.csv")
    assert table.ids.tolist() == ["é", "b"]
    assert "not UTF-8" in table.notes[0]
    assert "Windows-1252" in table.notes[0]


def test_npy_that_is_not_a_table(tmp_path):
    for values, words in [
        (np.zeros(3), "shape"),
        (np.zeros((0, 3)), "no rows"),
        (np.array([["a", "b"]]), "table of numbers"),
    ]:
        np.save(tmp_path / "data.npy", values)
        with pytest.raises(SidelightError, match=words):
            read_table(tmp_path / "data.npy")
    X = np.zeros((5, 2))
    X[3, 1] = np.nan
    np.save(tmp_path / "data.npy", X)
    with pytest.raises(SidelightError, match=r"Column 'x1' .* 1 missing number, .* row 3"):
        read_table(tmp_path / "data.npy")


def test_numbers_whose_sum_overflows_are_finite(tmp_path):
    np.save(tmp_path / "data.npy", np.full((4, 2), 1.7e308))
    assert read_table(tmp_path / "data.npy").n_rows == 4


# --- labels and pairs -----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
@pytest.mark.parametrize("ids", [["a", "b,c", 'd"e'], [5, 3, 4], None])
def test_labels_come_back_as_written(tmp_path, suffix, ids):
    path = tmp_path / f"labels{suffix}"
    write_labels(path, ids, np.array([2, 0, 1], dtype=np.int32))
    read_ids, labels = read_labels(path)
    assert read_ids.tolist() == ([0, 1, 2] if ids is None else ids)
    assert labels.tolist() == [2, 0, 1]
    assert len(list(tmp_path.iterdir())) == 1


def test_labels_need_a_format_and_columns(tmp_path):
    with pytest.raises(SidelightError, match=r"not in .*labels.npy"):
        write_labels(tmp_path / "labels.npy", None, [0])
    with pytest.raises(SidelightError, match="no column 'cluster'"):
        read_labels(put(tmp_path, "labels.csv", "id,group\na,1\n"))


def test_pairs_with_and_without_header(tmp_path):
    ids = np.array(["a", "b", "c"])
    for text in ("a,b\nc,a\n", "i,j\na,b\n\nc , a\n"):
        assert read_pairs(put(tmp_path, "p.csv", text), ids).tolist() == [[0, 1], [2, 0]]
    assert read_pairs(put(tmp_path, "p.csv", "From,To\n10,12\n"), [10, 11, 12]).tolist() == [[0, 2]]
    pq.write_table(pa.table({"one": [10], "two": [11]}), tmp_path / "p.parquet")
    assert read_pairs(tmp_path / "p.parquet", [10, 11, 12]).tolist() == [[0, 1]]


def test_header_names_that_are_ids_are_data(tmp_path):
    assert read_pairs(put(tmp_path, "p.csv", "a,b\n"), ["a", "b"]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("name", "text", "error", "words"),
    [
        ("p.csv", "a,b\nb,zz\n", UnknownIds, ["Line 2", "'zz'"]),
        ("p.csv", "one,two\na,b\n", UnknownIds, ["Line 1", "'one'", "header"]),
        ("p.csv", "a,b\na,b,c\n", ConstraintFileError, ["Line 2", "two ids", "'a,b,c'"]),
        ("p.csv", "a,b\na,\n", ConstraintFileError, ["Line 2"]),
        ("p.npy", "x", ConstraintFileError, [".parquet"]),
        ("p.csv", "", SidelightError, ["empty"]),
    ],
)
def test_bad_pairs_are_explained(tmp_path, name, text, error, words):
    with pytest.raises(error) as caught:
        read_pairs(put(tmp_path, name, text), ["a", "b"])
    for word in [name, *words]:
        assert word in str(caught.value)


def test_wide_tables_are_read_as_others_are(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(5, 1200)), 3)
    header = ",".join(f"f{i}" for i in range(1200))
    lines = [",".join(map(str, row)) for row in X]
    numbers, mixed = tmp_path / "numbers.csv", tmp_path / "mixed.csv"
    numbers.write_text("\n".join([header, *lines]) + "\n")
    names = [f"row {i}" for i in range(5)]
    ids = [
        f"{name},{line},{i % 2 == 0}"
        for i, (name, line) in enumerate(zip(names, lines, strict=True))
    ]
    mixed.write_text("\n".join([f"name,{header},flag", *ids]).replace("True", "true") + "\n")

    table = read_table(mixed, drop=["flag"])
    np.testing.assert_array_equal(table.X, X)
    assert table.ids.tolist() == names

    def guess(*args, **options):
        raise AssertionError("guessing takes longer than reading")

    monkeypatch.setattr("pyarrow.csv.open_csv", guess)
    np.testing.assert_array_equal(read_table(numbers).X, X)
