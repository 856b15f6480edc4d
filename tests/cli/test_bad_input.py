"""Every mistake is one clear sentence and an exit code."""

import contextlib
import errno
import io
import json
import os
import sys

import numpy as np
import pytest

from sidelight.cli._app import app
from sidelight.exceptions import InvalidRequest
from sidelight.jobs import JOBS, ClusterRequest, Prepared
from sidelight.jobs.inner import fields_of, output_fields

GOOD = "id,a,b\n" + "".join(f"p{i},{i % 3},{i // 3}\n" for i in range(9))
HEADER = "i,j,kind\n"
CLUSTER = ("cluster", "data.csv", "-k", "2")
RAW = (*CLUSTER, "--raw")
WITH = (*CLUSTER, "-c", "known.csv")
CHECK = ("check", "data.csv", "-c", "known.csv")

# (files, arguments, words that the sentence must hold, exit code)
BAD = {
    "no such file": ({}, ("cluster", "none.csv", "-k", "2"), ["no file none.csv"], 1),
    "folder": ({}, ("embed", ".", "-d", "2"), [". is a folder"], 1),
    "empty": ({"data.csv": ""}, CLUSTER, ["data.csv is empty"], 1),
    "suffix": ({"data.xyz": "a\n1\n"}, ("cluster", "data.xyz", "-k", "2"), ["'.xyz'", ".npy"], 1),
    "ragged": ({"data.csv": "a,b\n1,2\n3\n"}, CLUSTER, ["Line 3 of data.csv"], 1),
    "missing": ({"data.csv": "id,a\np,1\nq,\n"}, RAW, ["'a'", "row 'q'", "--drop a"], 1),
    "text": ({"data.csv": "a,c\n1,x\n2,x\n"}, RAW, ["'c'", "numbers", "--drop c"], 1),
    "nothing left": (
        {"data.csv": "id,a,b\np,1,\nq,1,\n"},
        CLUSTER,
        ["No column of the table is left", "'a', always the same (1)", "'b', empty", "--as"],
        1,
    ),
    "one row": ({"data.csv": "id,a\np,1\n"}, CLUSTER, ["One row", "give more rows"], 1),
    "infinite": ({"data.csv": "id,a\np,1\nq,inf\n"}, CLUSTER, ["'a'", "row 'q'", "infini"], 1),
    "kind of column": ({}, (*CLUSTER, "--as", "a=colour"), ["a='colour'", "category"], 1),
    "no kind": ({}, (*CLUSTER, "--as", "a"), ["--as a", "name=value"], 2),
    "kind of no column": ({}, (*CLUSTER, "--as", "aa=text"), ["no column 'aa'"], 1),
    "cannot be read": (
        {"data.csv": "id,a,c\np,1,x\nq,2,y\n"},
        (*CLUSTER, "--as", "c=number"),
        ["'c' should hold numbers", "'x' in row 'p'"],
        1,
    ),
    "order": (
        {"data.csv": "id,a,c\np,1,lo\nq,2,hi\nr,3,mid\n"},
        (*CLUSTER, "--as", "c=ordered:lo<hi"),
        ["'c'", "'mid'", "lo < hi"],
        1,
    ),
    "weight": ({}, (*CLUSTER, "--weight", "a=much"), ["--weight a=much", "number"], 2),
    "negative weight": ({}, (*CLUSTER, "--weight", "a=-1"), ["'a'", "at least 0", "-1"], 1),
    "weight of no column": ({}, (*CLUSTER, "--weight", "aa=2"), ["no column 'aa'"], 1),
    "scale": ({}, (*CLUSTER, "--scale", "big"), ["scale", "robust", "big"], 2),
    "kinds of raw": ({}, (*RAW, "--as", "a=log"), ["--as", "--raw"], 2),
    "weights of raw": ({}, (*RAW, "--weight", "a=2"), ["--weight", "--raw"], 2),
    "scale of raw": ({}, (*RAW, "--scale", "robust"), ["--scale", "--raw"], 2),
    "twice": ({"data.csv": "id,a\np,1\np,2\n"}, CLUSTER, ["'id'", "'p'"], 1),
    "column": ({}, (*CLUSTER, "--label-column", "aa"), ["no column 'aa'"], 1),
    "k too large": ({}, ("cluster", "data.csv", "-k", "10"), ["10", "9"], 1),
    "k zero": ({}, ("cluster", "data.csv", "-k", "0"), ["-k must be", "at least 1"], 1),
    "k missing": ({}, ("cluster", "data.csv"), ["how many clusters", "-k"], 2),
    "k not a number": ({}, ("cluster", "data.csv", "-k", "two"), ["-k", "write a number"], 2),
    "method": ({}, (*CLUSTER, "-m", "kmeanz"), ["'kmeanz'", "kmeans"], 1),
    "parameter": ({}, (*CLUSTER, "--set", "speed=9"), ["'speed'", "max_iter", "KMeans"], 2),
    "setting": ({}, (*CLUSTER, "--set", "max_iter"), ["max_iter", "name=value"], 2),
    "own option": ({}, (*CLUSTER, "--set", "n_clusters=3"), ["use -k"], 2),
    "value": ({}, (*CLUSTER, "--set", "max_iter=no"), ["max_iter", "'no'", "whole number"], 1),
    "range": ({}, (*CLUSTER, "--set", "tol=-1"), ["tol", "of at least 0", "-1"], 1),
    "choice": ({}, (*CLUSTER, "--set", "init=best"), ["init", "'k-means++'", "'random'"], 1),
    "option": ({}, (*CLUSTER, "--frobnicate"), ["--frobnicate"], 2),
    "command": ({}, ("clusterize",), ["clusterize", "cluster"], 2),
    "no constraints file": ({}, WITH, ["known.csv"], 1),
    "unknown id": ({"known.csv": HEADER + "p0,zz,must-link\n"}, WITH, ["zz"], 1),
    "kind": ({"known.csv": HEADER + "p0,p1,maybe\n"}, WITH, ["known.csv", "line 2", "maybe"], 1),
    "ragged constraints": (
        {"known.csv": HEADER + "p0,p1,must-link\np0\n"},
        WITH,
        ["known.csv", "line 3"],
        1,
    ),
    "contradiction": (
        {"known.csv": HEADER + "p0,p1,must-link\np1,p4,must-link\np4,p0,cannot-link\n"},
        (*WITH, "-m", "copkmeans"),
        ["'p0'", "'p1'", "'p4'"],
        1,
    ),
    "infeasible": (
        {"known.csv": HEADER + "p0,p1,cannot-link\np1,p2,cannot-link\np2,p0,cannot-link\n"},
        (*WITH, "-m", "copkmeans"),
        ["'p0'", "'p1'", "'p2'", "3"],
        1,
    ),
    "apart from itself": ({"known.csv": HEADER + "p0,p0,cannot-link\n"}, CHECK, ["'p0'"], 1),
    "pairs": ({"m.csv": "p0,p1\np0\n"}, (*CLUSTER, "--must-link", "m.csv"), ["Line 2 of m.csv"], 1),
    "pair id": ({"m.csv": "p0,zz\n"}, (*CLUSTER, "--must-link", "m.csv"), ["'zz'", "m.csv"], 1),
    "nothing to check": ({}, ("check", "data.csv"), ["--constraints"], 2),
    "protocol": (
        {},
        (
            "sample",
            "data.csv",
            "--label-column",
            "a",
            "--number",
            "3",
            "--protocol",
            "p",
            "-o",
            "s.csv",
        ),
        ["'p'", "random"],
        2,
    ),
    "too many pairs": (
        {},
        ("sample", "data.csv", "--label-column", "a", "--number", "999", "-o", "s.csv"),
        ["999"],
        1,
    ),
    "labels": (
        {"labels.csv": "id,group\np0,1\n"},
        ("evaluate", "labels.csv", "--truth", "data.csv", "--truth-column", "a"),
        ["labels.csv", "'cluster'"],
        1,
    ),
    "model": ({"m.skops": "x"}, ("predict", "m.skops", "data.csv"), ["m.skops", "model"], 1),
}


#: Cases that only the fit can know, when it has been told what becomes of the columns.
IN_THE_FIT = {"k too large", "k zero", "contradiction", "infeasible"}
PREPARED = "2 columns of numbers, scaled to variance 1 (--raw takes them as they are)\n"


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_is_explained(case, as_json, run, put):
    files, arguments, words, code = BAD[case]
    put("data.csv", GOOD)
    for name, text in files.items():
        put(name, text)
    before = sorted(os.listdir())
    ended = run(*arguments, *(["--json"] if as_json else []))
    assert ended.code == code, ended
    if as_json:
        sentence = ended.json["error"]
        assert ended.err == ""
    else:
        assert ended.out == (PREPARED if case in IN_THE_FIT else "")
        *notes, last = ended.err.strip().splitlines()
        assert last.startswith("Error: ")
        assert all("names the rows" in note for note in notes)
        sentence = last
    for word in words:
        assert word.lower() in sentence.lower()
    assert sorted(os.listdir()) == before


def test_a_file_that_may_not_be_read(run, put, monkeypatch):
    put("data.csv", GOOD)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    ended = run(*CLUSTER)
    assert (ended.code, "permission denied" in ended.err) == (1, True)


def test_our_own_mistakes_are_told_without_a_traceback(run, put, monkeypatch):
    put("data.csv", GOOD)

    def broken(*args, **kwargs):
        raise KeyError("lost")

    monkeypatch.setattr(Prepared, "run", broken)
    ended = run(*CLUSTER)
    assert ended.code == 1
    assert "KeyError" in ended.err
    assert "SIDELIGHT_DEBUG=1" in ended.err
    monkeypatch.setenv("SIDELIGHT_DEBUG", "1")
    with pytest.raises(KeyError, match="lost"):
        app(list(CLUSTER))


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_is_130_and_writes_nothing(run, put, monkeypatch, as_json):
    put("data.csv", GOOD)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Prepared, "run", interrupted)
    ended = run(*CLUSTER, "-o", "labels.csv", *(["--json"] if as_json else []))
    assert ended.code == 130
    assert "Interrupted" in (ended.json["error"] if as_json else ended.err)
    assert os.listdir() == ["data.csv"]


def test_a_system_error_names_the_file(run, put, monkeypatch):
    put("data.csv", GOOD)

    def broken(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error", "data.csv")

    monkeypatch.setattr(Prepared, "run", broken)
    assert "data.csv: Input/output error" in run(*CLUSTER).err


def test_warnings_are_sentences(run, put):
    put("data.csv", "a,b\n" + "1,1\n" * 5 + "2,2\n")
    ended = run("cluster", "data.csv", "-k", "3")
    assert ended.code == 0
    (line,) = [line for line in ended.err.splitlines() if "distinct clusters" in line]
    assert line.startswith("Warning: ")
    facts = run("cluster", "data.csv", "-k", "3", "--json")
    assert json.loads(facts.out)["n_rows"] == 6


def test_json_has_no_nan(run, put):
    np.save("data.npy", np.zeros((4, 1)))
    ended = run("cluster", "data.npy", "-k", "1", "--raw", "--json")
    assert ended.code == 0
    json.loads(ended.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


def test_closed_streams_lead_nowhere(put, monkeypatch):
    put("data.csv", GOOD)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as stop:
        app([*CLUSTER, "-o", "labels.csv"])
    assert stop.value.code == 0
    assert os.path.exists("labels.csv")


def test_a_terminal_without_our_letters(put, monkeypatch):
    put("data.csv", GOOD)
    put("known.csv", HEADER + "p0,p1,must-link\n")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    with pytest.raises(SystemExit) as stop:
        app(list(CHECK))
    sys.stdout.flush()
    assert (stop.value.code, b"? No contradiction" in shown.getvalue()) == (0, True)


def test_an_error_that_standard_output_cannot_take_is_told_beside(put, monkeypatch, capsys):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    put("data.csv", GOOD)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as stop:
            app([*CLUSTER, "--json"])
        monkeypatch.undo()
        assert (stop.value.code, "No space left" in capsys.readouterr().err) == (1, True)
        with contextlib.suppress(OSError):
            full.close()


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_names_that_are_no_text(run, put):
    put("data.csv", GOOD)
    os.link(b"data.csv", b"\xff.csv")
    for arguments in (("cluster", "\udcff.csv", "-k", "2"), (*CLUSTER, "-o", "\udcff.csv")):
        ended = run(*arguments)
        assert (ended.code, "not UTF-8" in ended.err) == (1, True)


@pytest.mark.parametrize("job", [name for name, job in JOBS.items() if not job.hidden])
def test_an_empty_text_is_no_value(run, job):
    """Only a column may be without a name; an empty path would be the current folder."""
    fields = [*fields_of(JOBS[job].request).values(), *output_fields(JOBS[job].outputs)]
    for one in fields:
        if one.option.argument or one.option.kind is bool or one.option.blank:
            continue
        for name in one.names:
            for typed in ((name, ""), (f"{name}=",)):
                ended = run(job, *typed)
                assert (ended.code, ended.out) == (2, ""), (name, ended)
                assert f"{one.names[0]} is empty: give it a value, or leave it out." in ended.err


def test_an_empty_text_is_no_value_in_python_either():
    for name in ("scale", "method", "columns", "drop", "settings"):
        with pytest.raises(InvalidRequest, match=f"{name} is empty"):
            ClusterRequest("rows.csv", k=2, **{name: ""})
    assert ClusterRequest("rows.csv", k=2, id_column="").id_column == ""  # pandas writes such names
