"""``sidelight embed --stream``: each row is placed when it comes, whatever comes."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight import catalog, jobs
from sidelight._fit.parameters import Count, estimator
from sidelight.base import Embedding
from sidelight.exceptions import InvalidRequest, PreparationWarning, SidelightError
from sidelight.jobs import EmbedRequest, MapStream

ROWS = np.random.default_rng(0).normal(size=(12, 3)).round(3)
LINES = ["id,a,b,c", *(f"p{i},{a},{b},{c}" for i, (a, b, c) in enumerate(ROWS))]


@estimator
class Shifted(Embedding):
    """Places rows by their first columns, minus the mean of all rows so far: all of them move.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    window : int
        Number of rows that are kept.
    """

    n_components: Count = 2
    window: Count = 1000

    def __sidelight_tags__(self):
        return self._method_tags(summary="shifted columns", source="none", complexity="O(n)")

    def fit(self, X, y=None, *, constraints=None):
        self._kept = self._check_rows(X, reset=True)
        return self._place()

    def partial_fit(self, X, y=None):
        if not hasattr(self, "_kept"):
            return self.fit(X)
        rows = self._check_rows(X, reset=False)
        self._kept = np.vstack([self._kept, rows])[-self.window :]
        return self._place()

    def _place(self):
        self.mean_ = self._kept.mean(axis=0)[: self.n_components]
        self.embedding_ = self._transform(self._kept)
        return self

    def _transform(self, rows):
        return rows[:, : self.n_components] - self.mean_


@pytest.fixture
def shifted(tmp_path, monkeypatch):
    """The method ``shifted`` in the catalog, and an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    method = catalog.Method("shifted", "manifold", Shifted, Shifted().__sidelight_tags__())
    get = catalog.get

    def with_shifted(name, *, kind=None):
        return method if name == "shifted" else get(name, kind=kind)

    monkeypatch.setattr(catalog, "get", with_shifted)


@pytest.fixture
def pipe(shifted, run, monkeypatch):
    """Run ``sidelight embed --stream -m shifted --raw`` with lines on standard input."""

    def pipe(lines, *arguments, encoding="utf-8"):
        given = "\n".join([*lines, ""]) if isinstance(lines, list) else lines
        content = given.encode(encoding) if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return run("embed", "--stream", "-m", "shifted", "--raw", *arguments)

    return pipe


def placed(start=5, rows=ROWS, n=2):
    """Coordinates as the rows came."""
    first = rows[:start, :n] - rows[:start, :n].mean(axis=0)
    later = [rows[i, :n] - rows[: i + 1, :n].mean(axis=0) for i in range(start, len(rows))]
    return np.vstack([first, *later])


def read(text, **options):
    return pd.read_csv(io.StringIO(text), index_col="id", **options)


def test_each_row_is_written_as_the_map_was_when_it_came(pipe):
    ended = pipe(LINES, "--start", 5)
    assert ended.code == 0, ended.err
    found = read(ended.out)
    assert found.index.tolist() == [f"p{i}" for i in range(12)]
    assert found.columns.tolist() == ["shifted0", "shifted1"]
    np.testing.assert_allclose(found, placed(), atol=1e-12)
    assert "The column 'id' names the rows." in ended.err
    assert "Shifted on standard input: 12 rows, 3 columns" in ended.err


def test_the_final_coordinates_are_others(pipe):
    ended = pipe(LINES, "--start", 5, "-o", "came.csv", "--final", "final.csv", "-d", 3)
    assert ended.code == 0, ended.err
    assert "Written: came.csv, final.csv" in ended.out
    came, final = (pd.read_csv(name, index_col="id") for name in ("came.csv", "final.csv"))
    np.testing.assert_allclose(came, placed(n=3), atol=1e-12)
    np.testing.assert_allclose(final, ROWS - ROWS.mean(axis=0), atol=1e-12)
    again = pipe(LINES, "--start", 5, "--final", "final.csv", "--json", "--force")
    facts = again.out.splitlines()
    assert json.loads(facts[0]) == pytest.approx(
        {"id": "p0", "shifted0": placed()[0, 0], "shifted1": placed()[0, 1]}
    )
    assert len(facts) == 13
    told = json.loads(facts[-1])
    assert (told["n_rows"], told["left_out"], told["interrupted"]) == (12, 0, False)
    assert told["outputs"] == {"coordinates": "final.csv"}


def test_the_scale_is_that_of_the_first_rows(shifted, run, put):
    put("rows.csv", "\n".join(LINES))
    ended = run("embed", "rows.csv", "--stream", "-m", "shifted", "--start", 5)
    assert ended.code == 0, ended.err
    scaled = (ROWS - ROWS[:5].mean(axis=0)) / ROWS[:5].std(axis=0)
    np.testing.assert_allclose(read(ended.out), placed(rows=scaled), atol=1e-9)
    assert "scaled by the first 5 rows; the scale stays the same from then on." in ended.err


def test_a_map_that_forgets_places_the_newest(pipe):
    ended = pipe(LINES, "--start", 5, "--set", "window=6", "--final", "final.csv")
    assert ended.code == 0, ended.err
    expected = ROWS[-1, :2] - ROWS[-6:, :2].mean(axis=0)
    np.testing.assert_allclose(read(ended.out).iloc[-1], expected, atol=1e-12)
    final = pd.read_csv("final.csv", index_col="id")
    np.testing.assert_allclose(final, ROWS[:, :2] - ROWS[-6:, :2].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize(
    "lines",
    [
        [line.replace(",", ";").replace(".", ",") for line in LINES],
        [line.replace(",", "\t") for line in LINES],
        ["", *LINES[:4], "", "   ", *LINES[4:], ""],
        "\ufeff" + "\r\n".join([*LINES, ""]),
        "\n".join(LINES),  # the last line does not end
        [json.dumps({"id": f"p{i}", "a": a, "b": b, "c": c}) for i, (a, b, c) in enumerate(ROWS)],
        [
            LINES[0].replace("b", '"b"'),
            *(line.replace("p", '"p').replace(",", '",', 1) for line in LINES[1:]),
        ],
    ],
    ids=["semicolons", "tabs", "empty lines", "windows", "no end", "json", "quoted"],
)
def test_lines_as_people_have_them(pipe, lines):
    ended = pipe(lines, "--start", 5)
    assert ended.code == 0, ended.err
    found = read(ended.out)
    assert found.index.tolist() == [f"p{i}" for i in range(12)]
    np.testing.assert_allclose(found, placed(), atol=1e-12)


@pytest.mark.parametrize("value", ["abc", "", "nan", "inf"])
def test_a_row_without_a_number_is_left_out_and_told(pipe, value):
    lines = [*LINES[:8], f"bad,1,{value},2", *LINES[8:]]
    ended = pipe(lines, "--start", 5, "--json")
    assert ended.code == 0, ended.err
    assert f"Line 9 of standard input is left out: {value!r} in the column 'b'" in ended.err
    assert json.loads(ended.out.splitlines()[-1])["left_out"] == 1
    assert "bad" not in ended.out
    early = pipe([*LINES[:2], "bad,1,x,2", *LINES[2:]], "--start", 5)
    assert "Line 3 of standard input is left out" in early.err
    assert len(read(early.out)) == 12


@pytest.mark.parametrize("position", [3, 8])  # among the first rows, and behind them
@pytest.mark.parametrize("raw", [True, False])
def test_a_number_that_cannot_be_squared_is_left_out_and_told(shifted, run, put, position, raw):
    put("rows.csv", "\n".join([*LINES[:position], "bad,1,-1e300,2", *LINES[position:]]))
    options = ["--raw"] if raw else []
    ended = run("embed", "rows.csv", "--stream", "-m", "shifted", "--start", 5, *options)
    assert ended.code == 0, ended.err
    line = f"Line {position + 1} of rows.csv is left out: '-1e300' in the column 'b' is too large"
    assert line in ended.err
    first = 4 if position == 3 else 5  # the row left out was to be one of the first
    scaled = ROWS if raw else (ROWS - ROWS[:first].mean(axis=0)) / ROWS[:first].std(axis=0)
    np.testing.assert_allclose(read(ended.out), placed(first, scaled), atol=1e-9)


def test_an_error_of_the_method_names_the_line_and_keeps_the_rows_before(pipe, monkeypatch):
    def partial_fit(self, X, y=None, before=Shifted.partial_fit):
        if X[0, 0] == 99:
            raise SidelightError("This row cannot be placed.")
        return before(self, X)

    monkeypatch.setattr(Shifted, "partial_fit", partial_fit)
    ended = pipe([*LINES, "bad,99,1,1"], "--start", 5, "--final", "final.csv")
    assert ended.code == 1
    assert "Line 14 of standard input ends the stream: This row cannot be placed." in ended.err
    assert "The map has the 12 rows that came before." in ended.err
    assert len(read(ended.out)) == len(pd.read_csv("final.csv")) == 12


def test_files_are_called_replaced_once_they_are(pipe, put):
    outputs = ("-o", "came.csv", "--final", "final.csv", "--force")
    assert pipe(LINES, "--start", 5, *outputs).code == 0
    before = {name: Path(name).read_bytes() for name in ("came.csv", "final.csv")}
    refused = pipe([*LINES[:3], "x"], "--start", 5, *outputs)
    assert (refused.code, "Replac" in refused.err) == (1, False)
    assert {name: Path(name).read_bytes() for name in before} == before
    ended = pipe(LINES[:10], "--start", 5, *outputs)
    assert "Replaced what was in came.csv." in ended.err
    assert "Replaced what was in final.csv." in ended.err
    assert all(len(pd.read_csv(name)) == 9 for name in before)


def test_many_rows_without_a_number_are_counted(pipe):
    ended = pipe([*LINES, *["bad,1,x,2"] * 9], "--start", 5)
    assert ended.err.count("is left out") == 5
    assert (
        "9 rows were left out, since a value is no number, or one that is too large." in ended.err
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("p,1,2", "Line 14 of standard input has 3 values, but the header names 4 columns."),
        ("p,1,2,3,4", "Line 14 of standard input has 5 values"),
        ('p,1,"2,3', "Line 14 of standard input has a quotation mark that is not closed"),
        (b"p\xff,1,2,3", "Line 14 of standard input is not UTF-8 text"),
    ],
)
def test_a_line_that_is_no_row_ends_the_stream(pipe, line, words):
    text = "\n".join([*LINES, ""]).encode() + (line if isinstance(line, bytes) else line.encode())
    ended = pipe(text, "--start", 5, "--final", "final.csv")
    assert ended.code == 1
    assert words in ended.err
    assert "The map has the 12 rows that came before." in ended.err
    assert len(read(ended.out)) == len(pd.read_csv("final.csv")) == 12


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "No row came from standard input."),
        (["id,a,b"], "No row came from standard input."),
        (["1,2,3", "4,5,6"], "Line 1 of standard input should name the columns, but holds numbers"),
        (["a,a", "1,2"], "names 'a' twice"),
        (["id,a", "x,red", "y,blue"], "has no column of numbers"),
        (["id,a", "x,1", "y,1"], "The first 2 rows are all the same; a map begins with rows"),
        (["id,a", "x,1"], "A map needs at least 2 rows; only 1 came from standard input."),
        (["a,b", "1,2", "x"], "Line 3 of standard input has 1 value, but"),
        (['{"a": 1}', "[1]"], "Line 2 of standard input is no JSON object"),
        (['{"a": 1, "b": 2}', '{"a": 1}'], "has no 'b', which the first row has"),
        (["a,b", "x,1", "2,y", "3,z", "w,4"], "has no column of numbers"),
        (
            ["a,b,c", "x,1,1", "2,y,1", "3,4,z"],
            "None of the first 3 rows has numbers in all columns ('a', 'b', 'c'); --columns",
        ),
    ],
)
def test_a_stream_that_cannot_begin(pipe, lines, words):
    ended = pipe(lines, "-o", "out.csv", "--save", "m.skops")
    assert ended.code == 1
    assert words in ended.err
    assert not Path("out.csv").exists()


def test_a_stream_that_ends_early_has_a_map_of_what_came(pipe):
    ended = pipe(LINES, "--start", 50)
    assert ended.code == 0, ended.err
    assert "The rows ended before there were 50: the map has 12 rows." in ended.err
    np.testing.assert_allclose(read(ended.out), placed(12), atol=1e-12)


def test_columns_of_other_kinds_are_told(pipe):
    lines = [f"{line},{'kind' if i == 0 else 'red'}" for i, line in enumerate(LINES)]
    ended = pipe(lines, "--start", 5, "--columns", "b,a")
    np.testing.assert_allclose(read(ended.out), placed(rows=ROWS[:, [1, 0]]), atol=1e-12)
    ended = pipe(lines, "--start", 5, "--drop", "a", "--json")
    facts = json.loads(ended.out.splitlines()[-1])
    assert facts["features_in"] == ["b", "c"]
    assert "Not used, since they do not hold numbers: 'kind'." in facts["notes"]
    assert "has no column 'zz'" in pipe(lines, "--columns", "zz").err
    unnamed = pipe([line.partition(",")[2] for line in LINES], "--start", 5)
    assert read(unnamed.out).index.tolist() == list(range(12))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-c", "known.csv"), "--constraints has no use for a stream"),
        (("--label-column", "a"), "--label-column has no use"),
        (("--as", "a=category"), "--as has no use"),
        (("-o", "out.parquet"), "should end in .csv or .tsv or .jsonl"),
        (("--start", "1"), "--start must be a whole number of at least 2"),
        (("-m", "sammon-mapping"), "sammon-mapping cannot add rows to a map that is there"),
    ],
)
def test_what_a_stream_has_no_use_for(pipe, options, words):
    ended = pipe(LINES, *options)
    assert ended.code in (1, 2)
    assert words in ended.err


def test_files_and_formats(shifted, run, put):
    put("rows.csv", "\n".join(LINES))
    common = ("embed", "--stream", "-m", "shifted", "--raw", "--start", 5)
    assert run(*common, "rows.csv", "-o", "out.tsv").code == 0
    assert Path("out.tsv").read_text().startswith("id\tshifted0\tshifted1\n")
    assert run(*common, "rows.csv", "-o", "out.jsonl").code == 0
    assert json.loads(Path("out.jsonl").read_text().splitlines()[4])["id"] == "p4"
    assert "There is no file no.csv." in run(*common, "no.csv").err
    put("rows.xlsx", "x")
    assert "rows.xlsx is not read as a stream" in run(*common, "rows.xlsx").err
    refused = run(*common, "rows.csv", "--final", "rows.csv")
    assert (refused.code, "it is read here and would be lost" in refused.err) == (2, True)
    put("own.csv", "mine,x\n1,2\n")
    assert "replace it with --force" in run(*common, "rows.csv", "-o", "own.csv").err
    put("odd.csv", "id,a,b\n=1+1,1,2\n-,3,5\n")
    safe = run(*common, "odd.csv", "--spreadsheet-safe")
    assert [line.partition(",")[0] for line in safe.out.splitlines()[1:]] == ["'=1+1", "'-"]


def test_the_same_from_python(shifted):
    lines = [f"{line},{'kind' if i == 0 else 'rb'[i % 2]}" for i, line in enumerate(LINES)]
    stream = MapStream(EmbedRequest(lines, method="shifted", color="kind", k=2, raw=True), start=5)
    came = dict(stream)
    np.testing.assert_allclose(np.array(list(came.values())), placed(), atol=1e-12)
    found = stream.finish()
    np.testing.assert_allclose(found.features, ROWS[:, :2] - ROWS[:, :2].mean(axis=0), atol=1e-12)
    assert found.data.ids.tolist() == list(came)
    assert found.color[1].tolist() == list("brbrbrbrbrbr")
    assert [stage.n_rows for stage in found.growth.stages] == [5, 10, 12]
    assert (found.growth.n_start, len(found.growth.seconds)) == (5, 7)
    found.report("growth.html")
    page = Path("growth.html").read_text(encoding="utf-8")
    assert "How the map grew" in page
    assert "began with 5 rows and grew by 7 rows" in page
    with pytest.raises(SidelightError, match="No row came"):
        MapStream(EmbedRequest(lines, method="shifted", raw=True)).finish()
    with pytest.raises(InvalidRequest, match="labels= has no use for a stream"):
        MapStream(EmbedRequest(lines, method="shifted", labels="kind", raw=True))
    with pytest.warns(PreparationWarning, match="Line 3 of rows in memory is left out"):
        list(
            MapStream(
                EmbedRequest([*LINES[:2], "x,,1,2", *LINES[2:]], method="shifted", raw=True),
                start=5,
            )
        )


def test_ids_that_come_again_and_ids_that_are_no_text(pipe):
    ended = pipe([*LINES, LINES[3], LINES[3]], "--start", 5, "--final", "final.csv")
    assert ended.code == 0, ended.err
    assert ended.err.count("The id 'p2' came again in line 14: it is another row.") == 1
    assert pd.read_csv("final.csv")["id"].tolist()[-3:] == ["p11", "p2", "p2"]
    lines = [json.dumps({"id": [i], "a": a, "b": b}) for i, (a, b, _) in enumerate(ROWS)]
    ended = pipe(lines, "--start", 5, "--final", "final.csv", "--force")
    assert ended.code == 0, ended.err
    assert read(ended.out).index.tolist() == [f"[{i}]" for i in range(12)]


# --- a process of its own -------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "sidelight", "embed", "--stream", "--start", "30"]
MANY = np.random.default_rng(1).normal(size=(40, 3))


def opened(*arguments, cwd):
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def test_rows_are_answered_while_the_pipe_is_open_and_ctrl_c_ends_them(tmp_path):
    process = opened("-", "--save", "map.skops", "--final", "final.csv", cwd=tmp_path)
    process.stdin.write("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in MANY[:30]))
    process.stdin.flush()
    begun = [process.stdout.readline() for _ in range(31)]
    assert begun[0] == "id,incrementalisomap0,incrementalisomap1\n"
    for i, (a, b, c) in enumerate(MANY[30:33], start=30):
        process.stdin.write(f"{a},{b},{c}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(f"{i},")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, ""), err
    assert "33 rows, 3 columns" in err
    assert "ended by Ctrl-C" in err
    assert len(pd.read_csv(tmp_path / "final.csv")) == 33
    model = jobs.load_model(tmp_path / "map.skops")
    table = pd.DataFrame(MANY[:33], columns=list("abc"))
    table.to_csv(tmp_path / "rows.csv", index=False)
    again = jobs.apply_model(model, tmp_path / "rows.csv").features
    final = pd.read_csv(tmp_path / "final.csv", index_col="id").to_numpy()
    np.testing.assert_allclose(again, final, atol=1e-5 * np.ptp(final))


def test_a_reader_that_has_seen_enough(tmp_path):
    text = "a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in MANY)
    (tmp_path / "rows.csv").write_text(text)
    process = opened("rows.csv", "--final", "final.csv", cwd=tmp_path)
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 0, err
    assert "Error" not in err
    assert (tmp_path / "final.csv").exists()


def test_a_full_disk_keeps_whole_lines_and_says_how_many(tmp_path):
    resource = pytest.importorskip("resource")
    text = "a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in MANY)
    (tmp_path / "rows.csv").write_text(text)
    ended = subprocess.run(
        [*COMMAND, "rows.csv", "-o", "came.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    written = (tmp_path / "came.csv").read_text().splitlines(keepends=True)
    assert ended.returncode == 1
    assert f"came.csv: File too large; it holds the first {len(written) - 1} rows." in ended.stderr
    assert len(written) > 10
    assert all(line.count(",") == 2 and line.endswith("\n") for line in written)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_what_never_ends_a_line_is_refused(tmp_path, run):
    endless = tmp_path / "endless.csv"
    endless.symlink_to("/dev/zero")
    ended = run("embed", "--stream", str(endless))
    assert ended.code == 1
    assert "goes on for millions of characters" in ended.err
    table = tmp_path / "table.csv"
    table.write_text("id,x,y\na,1,2\nb,2,1\nc,3,3\n")
    ended = run("embed", str(table), "--anchors", str(endless))
    assert ended.code == 1
    assert "is a pipe or a device" in ended.err
