"""Excel workbooks and Feather files are tables like others."""

import builtins
import datetime as dt
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from sidelight.exceptions import SidelightError
from sidelight.io import read_labels, read_table, write_labels, write_table
from sidelight.io.formats._formats import read_excel, read_feather
from sidelight.io.inner import column_names, table_format


def workbook(path, sheets):
    """Write rows of cells, for each sheet; the first cell is at the given place."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, (rows, top, left) in sheets.items():
        sheet = book.create_sheet(title)
        for i, row in enumerate(rows, start=top):
            for j, value in enumerate(row, start=left):
                if value is not None:
                    sheet.cell(i, j, value)
    book.save(path)
    return path


def sheet(path, rows, top=1, left=1):
    return workbook(path, {"Data": (rows, top, left)})


DAY, MOMENT = dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 1, 14, 5)
ROWS = [
    ["id", "n", "price", "day", "moment", "clock", "yes", "word", "mixed", "text"],
    ["a", 1, 2.5, DAY, MOMENT, dt.time(5, 6), True, "x", 3, "1.234,5"],
    ["b", 2, None, DAY, DAY, dt.time(7, 8), False, None, "n/a", "0,5"],
    ["c", 3, "#N/A", None, MOMENT, None, None, "y", 4.5, "?"],
]


def test_types_are_kept(tmp_path):
    raw = read_excel(sheet(tmp_path / "t.xlsx", ROWS), keep_types=True)
    kinds = {name: str(raw.column(name).type) for name in raw.names}
    assert kinds == {
        "id": "string",
        "n": "double",
        "price": "double",
        "day": "date32[day]",
        "moment": "timestamp[us]",
        "clock": "time64[us]",
        "yes": "bool",
        "word": "string",
        "mixed": "string",
        "text": "string",
    }
    assert raw.column("price").to_pylist() == [2.5, None, None]
    assert raw.column("mixed").to_pylist() == ["3", "n/a", "4.5"]
    assert raw.column("moment").to_pylist() == [MOMENT, DAY, MOMENT]
    assert raw.notes == ()


def test_texts_that_spell_numbers_become_numbers(tmp_path):
    path = sheet(tmp_path / "t.xlsx", ROWS)
    table = read_table(path, columns=["n", "mixed", "text"], allow_missing=True)
    np.testing.assert_array_equal(table.X, [[1, 3, 1234.5], [2, np.nan, 0.5], [3, 4.5, np.nan]])
    assert table.ids.tolist() == ["a", "b", "c"]
    assert any("decimal comma, thousands point: 'text'" in note for note in table.notes)
    with pytest.raises(SidelightError, match=r"Column 'word' .* not hold numbers"):
        read_table(path, columns=["word"])


@pytest.mark.parametrize(("top", "left"), [(1, 1), (4, 3)])
def test_a_table_may_stand_anywhere_and_have_gaps(tmp_path, top, left):
    rows = [["a", "b"], [1, 2], [None, " "], [3, 4]]
    path = sheet(tmp_path / "t.xlsx", rows, top, left)
    table = read_table(path)
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.feature_names == ("a", "b") == tuple(column_names(path))
    assert "1 empty row" in table.notes[0]


def test_the_first_sheet_with_something_in_it(tmp_path):
    sheets = {"Empty": ([], 1, 1), "Data": ([["a"], [1], [2]], 1, 1), "Other": ([["b"], [3]], 1, 1)}
    table = read_table(workbook(tmp_path / "t.xlsm", sheets))
    assert table.feature_names == ("a",)
    assert table.notes[0] == "Read the sheet 'Data', and not 'Other'."


def test_codes_and_ids_that_are_text_stay_text(tmp_path):
    rows = [["customer", "zip", "n"], ["1001", "01234", 1], ["1002", "98765", 2]]
    path = sheet(tmp_path / "t.xlsx", rows)
    table = read_table(path, drop=["zip"])
    assert table.ids.tolist() == [1001, 1002]
    assert read_excel(path).column("zip").to_pylist() == ["01234", "98765"]


def test_formulas_that_nobody_computed_are_not_taken_for_gaps(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
    with pytest.raises(SidelightError, match=r"'b' .* formulas that were never computed"):
        read_excel(path)
    path = sheet(tmp_path / "t.xlsx", [["a", "b"], [1, None], [2, None]])
    assert read_excel(path).column("b").to_pylist() == [None, None]


def test_books_that_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    path.write_text("nonsense")
    with pytest.raises(SidelightError, match=r"t\.xlsx is not a readable Excel file"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something.xml", "<a/>")
    with pytest.raises(SidelightError, match=r"t\.xlsx is not a readable Excel file"):
        read_table(path)
    for rows, words in (([], "is empty"), ([["a", "b"]], "no rows"), ([["a", "a"], [1, 2]], "'a'")):
        with pytest.raises(SidelightError, match=words):
            read_table(sheet(path, rows))
    with pytest.raises(SidelightError, match=r"Column 2 of .* has no name"):
        read_table(sheet(path, [["a", None], [1, 2]]))
    one_column = sheet(path, [["a"], [1]])  # some releases import their package while they write
    load = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "openpyxl":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SidelightError, match=r'pip install "sidelight\[excel\]"'):
        read_table(one_column)


@pytest.mark.parametrize("suffix", [".xls", ".ods", ".xlsb"])
def test_other_spreadsheets_are_to_be_saved_as_xlsx(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_text("anything")
    with pytest.raises(SidelightError, match=r"save it as \.xlsx or \.csv"):
        read_table(path)


@pytest.mark.parametrize("name", ["out.arrow", "out.feather"])
def test_files_that_are_read_and_not_written(tmp_path, name):
    with pytest.raises(SidelightError, match="Tables are written as"):
        write_table(tmp_path / name, [[1.0]], ["a"])
    with pytest.raises(SidelightError, match="Labels are kept in"):
        write_labels(tmp_path / name, None, [0])


def test_what_is_written_as_xlsx_is_read_again(tmp_path):
    ids = np.array(["007", "=1+1", "b"])
    write_table(tmp_path / "t.xlsx", [[1.5], [np.nan], [-2.0]], ["a"], ids=ids)
    again = read_table(tmp_path / "t.xlsx", id_column="id", allow_missing=True)
    assert again.ids.tolist() == ids.tolist()
    np.testing.assert_array_equal(again.X, [[1.5], [np.nan], [-2.0]])
    write_labels(tmp_path / "l.xlsx", ids, [2, 0, 1], spreadsheet_safe=True)
    names, labels = read_labels(tmp_path / "l.xlsx")
    assert (names.tolist(), labels.tolist()) == (["007", "'=1+1", "b"], [2, 0, 1])


@pytest.mark.parametrize("suffix", [".feather", ".arrow", ".ipc"])
def test_files_of_arrow(tmp_path, suffix):
    table = pa.table({"name": ["x", "y"], "a": [1, 2], "day": pa.array([0, 1], pa.date32())})
    path = tmp_path / f"t{suffix}"
    feather.write_feather(table, path)
    assert table_format(path) == "feather"
    assert read_feather(path).table.equals(table)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    assert read_feather(path).table.equals(table)
    assert read_table(path, drop=["day"]).X.tolist() == [[1], [2]]
    path.write_text("nonsense")
    with pytest.raises(SidelightError, match="not a readable Feather file"):
        read_table(path)
