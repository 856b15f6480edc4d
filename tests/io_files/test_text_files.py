"""Text files as people have them: encodings, delimiters, ends of lines, and what Excel adds."""

import codecs
import csv
import gzip
import io
import itertools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.io import read_pairs, read_table
from sidelight.io.formats._formats import read_csv
from sidelight.io.formats._text import HEAD_BYTES, delimiter_of
from sidelight.io.inner import column_names, encoding_of, layout_of

ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8-sig",
    "utf-16": "utf-16",
    "utf-16-be": "utf-16",
    "cp1252": "cp1252",
}


def encoded(text, encoding):
    """Text in an encoding, with a mark where the encoding needs one."""
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    return mark + text.encode(encoding)


def put(folder, content, name="data.csv"):
    path = Path(folder) / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- every encoding, delimiter and end of lines ---------------------------------------------------

words = st.text("aä öü,;\t|\"\n\r'éß", max_size=6).map("t{}".format)
rows = st.lists(st.tuples(words, st.floats(-1e6, 1e6), words), min_size=1, max_size=8)


@settings(max_examples=80)
@given(
    rows,
    st.sampled_from(sorted(ENCODINGS)),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n\n", "\r\n"]),
    st.sampled_from(["", "\n\n", "\n  \n"]),
    st.booleans(),
)
def test_a_table_is_read_however_it_is_written(rows, encoding, mark, end, top, bottom, packed):
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["text one", "amount", " größe "])
    writer.writerows(rows)
    content = encoded(top + buffer.getvalue() + bottom, encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, content)
        if packed:
            path = put(folder, gzip.compress(content), "data.csv.gz")
        raw = read_csv(path)
        kept = read_csv(path, keep_types=True)
        names = column_names(path)
    assert names == raw.names == kept.names == ["text one", "amount", "größe"]
    for found in (raw, kept):
        assert found.column("text one").to_pylist() == [row[0] for row in rows]
        assert found.column("amount").to_pylist() == [row[1] for row in rows]
        assert found.column("größe").to_pylist() == [row[2] for row in rows]
        assert bool(found.notes) == (encoding == "cp1252")


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize("mark", [",", ";", "|"])
def test_constraints_and_pairs_are_written_in_the_same_ways(tmp_path, encoding, mark):
    ids = ["Jörg", "Zoë", "Ann"]
    pairs = put(tmp_path, encoded(f"Jörg{mark}Zoë\r\nAnn{mark}Jörg\r\n", encoding), "same.csv")
    assert read_pairs(pairs, ids).tolist() == [[0, 1], [2, 0]]
    text = "i,j,kind\r\nJörg,Zoë,must-link\r\nAnn,größe,label\r\n".replace(",", mark)
    known = Constraints.read(put(tmp_path, encoded(text, encoding), "known.csv"), ids=ids)
    assert known.must_link.tolist() == [[0, 1]]
    entries = '[{"i": "Jörg", "j": "Zoë", "kind": "cannot-link"}]'
    known = Constraints.read(put(tmp_path, encoded(entries, encoding), "known.json"), ids=ids)
    assert known.cannot_link.tolist() == [[0, 1]]


def test_lines_are_counted_behind_blank_ones_and_the_hint_of_excel(tmp_path):
    path = put(tmp_path, "\nsep=;\ni;j;kind\na;b;ML\na;b;maybe\n", "known.csv")
    with pytest.raises(SidelightError, match="line 5: the kind 'maybe'"):
        Constraints.read(path, ids=["a", "b"])
    pairs = put(tmp_path, "sep=;\na;b\na;c;d\n", "pairs.csv")
    with pytest.raises(SidelightError, match=r"Line 3 of .* two ids"):
        read_pairs(pairs, ["a", "b", "c"])
    with pytest.raises(SidelightError, match=r"Line 4 of .* has 3 values"):
        read_csv(put(tmp_path, "\nsep=;\na;b\n1;2;3\n"))


# --- encodings ------------------------------------------------------------------------------------


def test_letters_of_windows_far_down_the_file(tmp_path):
    """The first block is plain; only the last line tells the encoding."""
    n = 2 * HEAD_BYTES
    lines = ["name,a", *(f"row {i},1" for i in range(n)), "Müller “&” Söhne,2"]
    for end in ("\n", "\r\n"):
        path = put(tmp_path, end.join(lines).encode("cp1252"))
        table = read_table(path)
        assert table.ids[-1] == "Müller “&” Söhne"
        assert table.n_rows == n + 1
        assert "Windows-1252" in table.notes[0]
    numbers = ["a;b", *["1;2"] * n, "1\u00a0234;3"]  # a no-break space in a column of numbers
    table = read_table(put(tmp_path, "\n".join(numbers).encode("latin-1")))
    assert table.X[-1].tolist() == [1234, 3]


def test_which_of_two_western_encodings(tmp_path):
    assert encoding_of(put(tmp_path, "a\n5 €\n".encode("cp1252"))) == "cp1252"
    assert encoding_of(put(tmp_path, b"a\n\x81\xe9\n")) == "latin-1"
    assert encoding_of(put(tmp_path, "a\né\n")) == "utf-8"


def test_damaged_utf8_is_not_taken_for_another_encoding(tmp_path):
    path = put(tmp_path, "name,a\nJörg,1\nZoë,2\nÅsa,3\n".encode() + b"Andr\xe9,4\n")
    with pytest.raises(SidelightError, match=r"Line 5 of .* is not UTF-8 text, but most"):
        read_csv(path)


def test_bytes_that_are_no_text(tmp_path):
    for content in (b"PK\x03\x04\0\0\0\0,a\n1,2\n", "a,b\n1,2\n".encode("utf-32")):
        with pytest.raises(SidelightError, match=r"data\.csv is not text"):
            read_csv(put(tmp_path, content))
    with pytest.raises(SidelightError, match="one encoding"):
        read_csv(put(tmp_path, "a,b\n1,2\n".encode("utf-16") + b"\n"))


# --- delimiters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "mark"),
    [
        (['name;"Dupont, Jean"', "1;2"], ";"),
        (["a;b,c", "1;2", "3;4"], ";"),
        (["a;b,c", "1;x,2", "3;y,4"], ","),  # both fit, and commas are more frequent
        (["date;price (EUR, net);n", "d;12,5;3", "d;3,5;4"], ";"),
        (["a|b;c", "1|2", "3|4"], "|"),
        (["a,b\tc,d", "1,5\t2,5", "1\t2"], "\t"),
        (["a b", "1 2"], ","),
        (['"two\n', 'lines";b\n', "1;2\n"], ";"),
        (['"x;y",z', "1,2"], ","),
        (["a,b;c", "1,2", "3", "4,5"], ","),
    ],
)
def test_what_is_between_the_values(lines, mark):
    assert delimiter_of(lines, Path("data.csv")) == mark
    assert delimiter_of(lines, Path("data.tsv.gz")) == "\t"


def test_excel_says_what_is_between_the_values(tmp_path):
    for hint in ("sep=;", '"sep=;"', "SEP=;"):
        raw = read_csv(put(tmp_path, f"{hint}\r\na,x;b\r\n1;2\r\n"))
        assert raw.names == ["a,x", "b"]
    assert layout_of(put(tmp_path, "sep=:\na:b\n1:2\n")).header == ["a", "b"]


def test_a_header_may_have_line_breaks_but_must_close_its_quotation_marks(tmp_path):
    raw = read_csv(put(tmp_path, '"size\n(cm)","weight"\n1,2\n3,4\n'))
    assert raw.names == ["size\n(cm)", "weight"]
    assert raw.column("weight").to_pylist() == [2, 4]
    with pytest.raises(SidelightError, match=r"Line 1 of .* not closed"):
        read_csv(put(tmp_path, 'a,"b\n' + "1,2\n" * 20))


# --- columns and rows that are not there ----------------------------------------------------------


def test_lines_that_end_in_a_delimiter(tmp_path):
    path = put(tmp_path, "a;b;;\n1;2;;\n3;4; ;\n")
    raw = read_csv(path)
    assert raw.names == column_names(path) == ["a", "b"]
    assert raw.notes == ("Left out 2 empty columns without a name at the end.",)
    with pytest.raises(SidelightError, match=r"Column 3 of .* has no name"):
        read_csv(put(tmp_path, "a;b;\n1;2;\n3;4;5\n"))


def test_lines_of_blanks_are_no_rows(tmp_path):
    raw = read_csv(put(tmp_path, "\n  \na,b\n1,2\n   \n3,4\n\n \x1a"))
    assert raw.table.to_pydict() == {"a": [1, 3], "b": [2, 4]}


# --- numbers --------------------------------------------------------------------------------------

GERMAN = "kunde;umsatz;quote;menge;rabatt\nA;1.234;0,5;7;10 %\nB;12.500;12,25;8;5 %\n"


def test_a_file_with_decimal_commas_is_a_file_of_numbers(tmp_path):
    table = read_table(put(tmp_path, GERMAN))
    assert table.ids.tolist() == ["A", "B"]
    np.testing.assert_array_equal(table.X, [[1234, 0.5, 7, 10], [12500, 12.25, 8, 5]])
    told = " ".join(table.notes)
    assert "decimal comma: 'quote'" in told
    assert "thousands point (point read as thousands mark, as in other columns): 'umsatz'" in told
    assert "percent: 'rabatt'" in told


def test_other_columns_tell_the_decimal_mark_also_where_types_are_kept(tmp_path):
    text = GERMAN.replace("7;", "7,125;").replace("8;", "8,250;")
    raw = read_csv(put(tmp_path, text), keep_types=True)
    assert raw.column("umsatz").to_pylist() == [1234, 12500]
    assert raw.column("menge").to_pylist() == [7.125, 8.25]
    assert raw.column("quote").to_pylist() == ["0,5", "12,25"]  # tells by itself
    assert len(raw.notes) == 2
    assert read_table(put(tmp_path, text)).X[:, 2].tolist() == [7.125, 8.25]


def test_commas_in_quotation_marks_tell_nothing_about_other_columns(tmp_path):
    path = put(tmp_path, 'answers,n,x\n"1,3","1,234",1.234\n"2,4","2,345",12.500\n')
    assert read_table(path).X.tolist() == [[1.3, 1234, 1.234], [2.4, 2345, 12.5]]


def test_points_are_decimal_points_without_decimal_commas(tmp_path):
    table = read_table(put(tmp_path, GERMAN.replace("0,5", "5").replace("12,25", "12")))
    np.testing.assert_array_equal(table.X[:, 0], [1.234, 12.5])


def test_a_first_column_of_numbers_does_not_name_the_rows(tmp_path):
    table = read_table(put(tmp_path, "a;b\n1,5;2\n2,5;3\n3,5;4\n"))
    assert table.ids is None
    assert table.X[:, 0].tolist() == [1.5, 2.5, 3.5]


def test_the_value_that_is_no_number_is_named_not_its_neighbors(tmp_path):
    lines = [f"1;{i},5" for i in range(99)]
    path = put(tmp_path, "\n".join(["b;a", *lines, "1;none at all"]))
    with pytest.raises(SidelightError, match="'a' is 'none at all' in row 99"):
        read_table(path)


def test_ids_and_labels_stay_as_they_are_written(tmp_path):
    path = put(tmp_path, "order_no;a;class\n1.000;1;1,5\n2.000;2;2,5\n")
    table = read_table(path, truth_column="class")
    assert table.ids.tolist() == ["1.000", "2.000"]
    assert table.truth.tolist() == ["1,5", "2,5"]
    assert read_table(path, columns=["order_no", "a"]).X.tolist() == [[1, 1], [2, 2]]


# --- types that are kept --------------------------------------------------------------------------


def test_types_are_kept_on_demand(tmp_path):
    text = (
        "n,f,zip,day,moment,clock,yes,word,money,none\n"
        '1,1.5,01234,2024-01-31,2024-01-31 10:00:00,10:05,true,x,"1,5",\n'
        'NA,,98765,,2024-02-01 11:30:00,23:00,false,,"2,5",\n'
    )
    raw = read_csv(put(tmp_path, text), keep_types=True)
    kinds = {name: str(raw.column(name).type) for name in raw.names}
    assert kinds == {
        "n": "double",
        "f": "double",
        "zip": "string",
        "day": "date32[day]",
        "moment": "timestamp[s]",
        "clock": "time32[s]",
        "yes": "bool",
        "word": "string",
        "money": "string",
        "none": "double",
    }
    assert raw.column("n").to_pylist() == [1, None]
    assert raw.column("zip").to_pylist() == ["01234", "98765"]
    plain = read_csv(put(tmp_path, text))
    assert str(plain.column("day").type) == "string"
    assert plain.column("zip").to_pylist() == [1234, 98765]


@pytest.mark.parametrize("wide", [False, True])
def test_what_does_not_fit_the_first_block_is_not_lost(tmp_path, monkeypatch, wide):
    """Each column ends in something else than it began with; the last is as guessed."""
    if wide:
        monkeypatch.setattr("sidelight.io.formats._csv.WIDE", 1)
    n = 40_000  # longer than the block that Arrow guesses from
    first = ["1", "2", "2024-01-31", "true", "", "1.5", "x", "2024-01-31", "8"]
    last = ["A1", "007", "soon", "maybe", "late", "?", "3", "2024-02-01", "9"]
    names = [f"c{i}" for i in range(len(first))]
    lines = [",".join(names), *[",".join(first)] * n, ",".join(last)]
    raw = read_csv(put(tmp_path, "\n".join(lines)), keep_types=True)
    columns = [raw.column(name) for name in names]
    expected = ["A1", "007", "soon", "maybe", "late", "?", "3"]
    assert [column[n].as_py() for column in columns[:7]] == expected
    assert str(columns[7][n]) == "2024-02-01"
    assert columns[8][n].as_py() == 9.0
    assert columns[1][0].as_py() == "2"
    assert str(columns[7].type) == ("string" if wide else "date32[day]")


def test_codes_far_down_the_file_are_found(tmp_path):
    lines = ["zip,n", *(f"{10000 + i},{i}" for i in range(200_000)), "00501,1"]
    raw = read_csv(put(tmp_path, "\n".join(lines)), keep_types=True)
    assert raw.column("zip")[200_000].as_py() == "00501"
    assert pa.types.is_floating(raw.column("n").type)


def test_the_same_columns_from_every_way_of_reading(tmp_path, monkeypatch):
    """Numbers with gaps, whether Arrow guesses right, has to read again, or the table is wide."""
    values = [1.0, None, 2.5, -3e5]
    texts = ["" if v is None else repr(v) for v in values]
    found = []
    for wide, keep, again in itertools.product([False, True], repeat=3):
        monkeypatch.setattr("sidelight.io.formats._csv.WIDE", 1 if wide else 1000)
        lines = ["a,odd", *(f"{text},{i}" for i, text in enumerate(texts))]
        lines += [",1"] * (200_000 if again else 0) + (["7,x"] if again else ["7,1"])
        raw = read_csv(put(tmp_path, "\n".join(lines)), keep_types=keep)
        found.append(raw.column("a").to_pylist())
        assert pa.types.is_string(raw.column("odd").type) == again
    assert all(column[:4] == values and column[-1] == 7 for column in found)
