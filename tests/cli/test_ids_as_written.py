"""Ids and separators as people and spreadsheets write them."""

import csv
import io
import itertools

import pytest

from sidelight.constraints import Constraints
from sidelight.io import read_pairs, read_table

ROWS = ("C-1001", "C-1002", "C-1003", "C-1004", "C-1005", "C-1006")
TABLE = "customer,a,b\n" + "".join(f"{n},{i // 3 * 9},{i % 3}\n" for i, n in enumerate(ROWS))
KNOWN = "i,j,kind\nC-1001,C-1003,must-link\nC-1002,C-1004,cannot-link\n"


# --- separators -------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_constraints_and_pairs_are_read_by_the_rule_for_tables(put, run, mark, suffix):
    mark = "\t" if suffix == "tsv" else mark
    put(f"rows.{suffix}", TABLE.replace(",", mark))
    put(f"known.{suffix}", KNOWN.replace(",", mark))
    put(f"same.{suffix}", f"C-1001{mark}C-1003\n\nC-1004{mark}C-1006\n")
    files = (f"rows.{suffix}", "-k", "2", "-c", f"known.{suffix}", "--must-link", f"same.{suffix}")
    ended = run("cluster", *files, "--json")
    assert ended.code == 0, ended.out
    assert ended.json["knowledge"] == {"must_link": 2, "cannot_link": 1, "labels": 0, "groups": 0}


def test_a_comma_in_quotation_marks_separates_nothing(put):
    put("known.csv", '"i";"j";"kind"\n"a,1";"b;2";ML\n')
    known = Constraints.read("known.csv", ids=["a,1", "b;2"])
    assert known.must_link.tolist() == [[0, 1]]
    assert read_pairs(put("same.csv", '"a,1";"b;2"\n'), ["a,1", "b;2"]).tolist() == [[0, 1]]
    assert read_table(put("rows.csv", '"x,1";y\n1;2\n3;4\n')).feature_names == ("x,1", "y")


def test_the_line_of_a_mistake_is_found_between_semicolons(put, run):
    put("rows.csv", TABLE)
    put("known.csv", KNOWN.replace(",", ";") + "C-1001;C-1002;maybe\n")
    ended = run("check", "rows.csv", "-c", "known.csv")
    assert ended.code == 1
    assert "known.csv, line 4" in ended.err
    assert "'maybe'" in ended.err


# --- ids that are there twice -----------------------------------------------------------------


TWICE = "names rows twice: 'C-1002' in data rows 2 and 5;"


@pytest.mark.parametrize("name", ["name", "customer", "customer_id", "id"])
@pytest.mark.parametrize("asked", [("--raw",), ("--id-column", "NAME")])
def test_a_repeated_id_is_named_with_its_rows(put, run, name, asked):
    text = TABLE.replace("customer", name).replace("C-1005", "C-1002")
    put("rows.csv", text)
    asked = [name if word == "NAME" else word for word in asked]
    ended = run("cluster", "rows.csv", "-k", "2", *asked)
    assert ended.code == 1
    assert f"{name!r} of rows.csv" in ended.err
    assert TWICE in ended.err
    assert "does not hold numbers" not in ended.err


@pytest.mark.parametrize("name", ["name", "customer", "customer_id"])
def test_a_repeated_id_of_a_prepared_table_is_told_and_rows_are_numbered(put, run, name):
    put("rows.csv", TABLE.replace("customer", name).replace("C-1005", "C-1002"))
    ended = run("cluster", "rows.csv", "-k", "2", "--json")
    assert ended.code == 0
    (note,) = ended.json["notes"]
    assert note.startswith(f"Column {name!r} looks like ids, but {TWICE}")
    assert "rows go by their numbers, counted from 0" in note
    assert ended.json["ids"] == list(range(6))
    assert "looks like ids" in run("cluster", "rows.csv", "-k", "2").err
    # A column that is called id, and nothing else, is meant to name the rows.
    put("rows.csv", TABLE.replace("customer", "id").replace("C-1005", "C-1002"))
    ended = run("cluster", "rows.csv", "-k", "2")
    assert (ended.code, TWICE in ended.err) == (1, True)


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_many_repeated_ids_are_counted(put, run, raw):
    names = ["x"] * 8 + ["y"] * 2 + [f"n{i}" for i in range(40)]
    put("rows.csv", "name,a\n" + "".join(f"{name},{i % 9}\n" for i, name in enumerate(names)))
    ended = run("cluster", "rows.csv", "-k", "2", *raw)
    assert ended.code == len(raw)
    assert "'x' in data rows 1, 2, 3, 4, 5 and 3 more, and 'y' likewise;" in ended.err


def test_categories_are_not_taken_for_ids(put, run):
    put("rows.csv", "color,a\n" + "".join(f"{c},{i}\n" for i, c in enumerate(["red", "blue"] * 5)))
    ended = run("cluster", "rows.csv", "-k", "2", "--raw")
    assert ended.code == 1
    assert "does not hold numbers" in ended.err
    facts = run("cluster", "rows.csv", "-k", "2", "--json").json
    assert facts["notes"] == []
    told = {row["column"]: row["used_as"] for row in facts["preparation"]}
    assert told == {"color": "category", "a": "number"}


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_repeated_numbers_are_named_in_the_note(put, run, raw):
    put("rows.csv", "order_id,a\n7,1\n8,2\n7,9\n9,8\n")
    ended = run("cluster", "rows.csv", "-k", "2", *raw)
    assert ended.code == 0
    expected = "values occur twice (" if raw else "names rows twice: "
    assert f"{expected}'7' in data rows 1 and 3" in ended.err


# --- ids that are nearly right ----------------------------------------------------------------

ALIKE = [
    (ROWS, "c-1003", "'C-1003'"),
    (ROWS, "C - 1003", "'C-1003'"),
    (("1", "2", "3", "4"), "3.0", "3"),
    (("1.0", "2.0", "3.0", "4.0"), "3", "'3.0'"),
    (("001", "002", "003", "004"), "3", "'003'"),
]


@pytest.mark.parametrize(("ids", "name", "meant"), ALIKE)
@pytest.mark.parametrize("how", ["-c", "--must-link", "evaluate"])
def test_an_unknown_id_is_answered_with_the_one_that_was_meant(put, run, ids, name, meant, how):
    put("rows.csv", "id,a,c\n" + "".join(f"{row},{i},x\n" for i, row in enumerate(ids)))
    if how == "evaluate":
        put("labels.csv", f"id,cluster\n{ids[0]},0\n{name},1\n")
        ended = run("evaluate", "labels.csv", "--truth", "rows.csv", "--truth-column", "c")
    else:
        text = f"{ids[0]},{name}" + (",must-link\n" if how == "-c" else "\n")
        put("known.csv", ("i,j,kind\n" if how == "-c" else "") + text)
        ended = run("cluster", "rows.csv", "-k", "2", "--drop", "c", how, "known.csv")
    assert ended.code == 1
    assert f"Did you mean {meant}?" in ended.err


def test_a_hint_is_given_in_python_too_and_names_at_most_three():
    ids = ["A1", "a1 ", "a 1", " A1", "b"]
    with pytest.raises(ValueError, match=r"Did you mean 'A1', 'a1 ', 'a 1' and 1 more\?"):
        Constraints(must_link=[("a1", "b")], ids=ids)
    with pytest.raises(ValueError, match=r"drop these pairs\.$"):
        Constraints(must_link=[("c", "b")], ids=ids)


def test_ids_that_differ_in_case_only_are_different_rows(put, run):
    put("rows.csv", "id,a\nx,1\nX,5\ny,6\n")
    put("known.csv", "i,j,kind\nx,X,cannot-link\nX,y,must-link\n")
    assert run("check", "rows.csv", "-c", "known.csv").code == 0


# --- ids that a spreadsheet would run ---------------------------------------------------------

FORMULAS = ("=1+1", "+49 30", "-x", "@me", "-5", "'=1+1", "plain", "it's")
SAFE = ("'=1+1", "'+49 30", "'-x", "'@me", "-5", "'=1+1", "plain", "it's")


@pytest.fixture
def formulas(put):
    names = [name for name in FORMULAS if not name.startswith("'")]
    rows = enumerate(names)
    put("rows.csv", "id,a,b,=c\n" + "".join(f"{n},{i // 4 * 9},{i % 4},k{i}\n" for i, n in rows))
    put("known.csv", "i,j,kind\n=1+1,@me,must-link\n+49 30,-5,must-link\n-x,plain,cannot-link\n")
    return names, [
        f"'{name}" if name in ("=1+1", "+49 30", "-x", "@me") else name for name in names
    ]


def _column(path, place=0):
    with open(path, newline="") as file:
        return [record[place] for record in csv.reader(file)][1:]


COMMANDS = {
    "cluster": ("cluster", "rows.csv", "-k", "2", "--drop", "=c", "--save", "model.skops"),
    "predict": ("predict", "model.skops", "rows.csv"),
    "embed": ("embed", "rows.csv", "-m", "rca", "-c", "known.csv", "--drop", "=c"),
    "select": ("select", "rows.csv", "-m", "constraint-score", "-n", "1", "-c", "known.csv",
               "--drop", "=c"),
    "sample": ("sample", "rows.csv", "--label-column", "=c", "--number", "9"),
}  # fmt: skip


def test_every_command_that_writes_ids_can_make_them_harmless(formulas, run):
    names, safe = formulas
    for name, command in COMMANDS.items():
        for option, expected in (((), names), (("--spreadsheet-safe",), safe)):
            ended = run(*command, "-o", "out.csv", "--force", *option)
            assert ended.code == 0, ended.err
            written = _column("out.csv")
            if name == "sample":
                written = sorted({*written, *_column("out.csv", 1)})
                assert set(written) <= set(expected)
                assert len(written) > 3
            else:
                assert written == expected


def test_what_was_made_harmless_is_read_back(formulas, run):
    """Constraints, pairs and labels find their rows with the apostrophe and without."""
    assert run(*COMMANDS["sample"], "-o", "plain.csv").code == 0
    assert run(*COMMANDS["sample"], "-o", "safe.csv", "--spreadsheet-safe").code == 0
    names = formulas[0]
    one, other = (Constraints.read(f"{kind}.csv", ids=names) for kind in ("plain", "safe"))
    assert one == other
    assert one.n_pairs == 9
    assert run("check", "rows.csv", "-c", "safe.csv").code == 0
    assert run(*COMMANDS["cluster"], "-o", "labels.csv", "--spreadsheet-safe").code == 0
    scored = ("evaluate", "labels.csv", "--truth", "rows.csv", "--truth-column", "=c")
    assert run(*scored, "-c", "safe.csv").code == 0


def test_answers_are_written_harmless_and_used(formulas, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("d =1+1 plain\ns -x @me\nq\n"))
    ended = run("ask", "rows.csv", "-k", "2", "--drop", "=c", "-o", "out.csv", "--spreadsheet-safe")
    assert ended.code == 0, ended.err
    assert _column("out.csv") == formulas[1]
    assert set(_column("rows.answers.constraints.csv")) == {"'=1+1", "'-x"}
    labels = dict(zip(formulas[0], _column("out.csv", 1), strict=True))
    assert labels["=1+1"] != labels["plain"]
    assert labels["-x"] == labels["@me"]


def test_pairs_with_apostrophes_name_the_row_that_is_called_so_first(put):
    ids = ["=a", "'=a", "b", "=c"]
    for name, row in zip(("=a", "'=a", "'=c"), (0, 1, 3), strict=True):
        assert read_pairs(put("same.csv", f"{name},b\n"), ids).tolist() == [[row, 2]]
        known = Constraints.from_table({"i": [name], "j": ["b"], "kind": ["ML"]}, ids=ids)
        assert known.must_link.tolist() == [sorted([row, 2])]


def test_only_texts_that_a_spreadsheet_would_run_get_an_apostrophe():
    from sidelight.io._ids import as_typed, harmless

    assert tuple(map(harmless, FORMULAS)) == SAFE
    assert harmless(-5) == -5
    for text in map("".join, itertools.product("='+-@a1 .", repeat=3)):
        assert as_typed(harmless(text)) == text or harmless(text) == text
        if text.startswith(("=", "@")):
            assert harmless(text) == f"'{text}"
            assert as_typed(f"'{text}") == text
