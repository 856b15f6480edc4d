"""An output is never an input; what is there already is replaced with words, or not at all."""

import gzip
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from sidelight import Constraints, jobs
from sidelight.active import Answers
from sidelight.exceptions import SidelightError
from sidelight.io._atomic import atomic_write, check_apart, check_writable
from sidelight.jobs import ClusterRequest, EmbedRequest, apply_model

#: Commands with the inputs that each of them reads and the options that name what it writes.
COMMANDS = {
    "cluster": (
        ("cluster", "rows.csv", "-k", 2, "-c", "known.csv", "--must-link", "pairs.csv"),
        ("rows.csv", "known.csv", "pairs.csv"),
        {"-o": ".csv", "--report": ".html", "--save": ".skops"},
    ),
    "embed": (
        ("embed", "rows.csv", "-m", "rca", "-c", "known.csv"),
        ("rows.csv", "known.csv"),
        {"-o": ".csv", "--report": ".html", "--save": ".skops"},
    ),
    "select": (
        ("select", "rows.csv", "-m", "constraint-score", "-n", 1, "-c", "known.csv"),
        ("rows.csv", "known.csv"),
        {"-o": ".csv", "--report": ".html", "--save": ".skops"},
    ),
    "ask": (
        ("ask", "rows.csv", "-k", 2, "-c", "known.csv", "--questions", 0),
        ("rows.csv", "known.csv"),
        {"-o": ".csv", "--report": ".html", "--answers": ".jsonl"},
    ),
    "predict": (("predict", "kept.skops", "rows.csv"), ("kept.skops", "rows.csv"), {"-o": ".csv"}),
    "apply": (
        ("predict", "map.skops", "rows.csv"),
        ("map.skops", "rows.csv"),
        {"-o": ".csv"},
    ),
    "labeled": (
        ("cluster", "named.csv", "-k", 3, "--label-column", "kind"),
        ("named.csv",),
        {"-o": ".csv"},
    ),
    "sample": (
        ("sample", "rows.csv", "--label-column", "a", "--number", 3),
        ("rows.csv",),
        {"-o": ".csv"},
    ),
}
CASES = [
    (command, option, source, way)
    for command, (_, inputs, options) in COMMANDS.items()
    for option in options
    for source in inputs
    for way in ("itself", "symlink", "hard link", "folder link")
]


@pytest.fixture
def files(put):
    """Rows and knowledge in a folder of their own, and models fitted to them."""
    rows = [f"p{i},{i % 3},{i // 3}" for i in range(9)]
    put("rows.csv", "\n".join(["id,a,b", *rows, ""]))
    named = [f"{row},{'xyz'[i % 3]}" for i, row in enumerate(rows)]
    put("named.csv", "\n".join(["id,a,b,kind", *named, ""]))
    put("known.csv", "i,j,kind\np0,p1,must-link\np2,p3,must-link\np0,p8,cannot-link\n")
    put("pairs.csv", "p4,p5\n")
    known = Constraints.read("known.csv", ids=[f"p{i}" for i in range(9)])
    jobs.run(ClusterRequest("rows.csv", k=2, raw=True)).save("kept.skops")
    jobs.run(EmbedRequest("rows.csv", method="rca", constraints=known, raw=True)).save("map.skops")
    return {name: Path(name).read_bytes() for name in os.listdir()}


def other_name(source: str, way: str, ending: str) -> str:
    """Another path that leads to a file, where it can have the ending of the output."""
    if way == "itself":
        return source
    if way == "folder link":
        os.symlink(".", "beside")
        return f"beside/{source}"
    name = f"again{ending}"
    (os.symlink if way == "symlink" else os.link)(source, name)
    return name


@pytest.mark.parametrize(("command", "option", "source", "way"), CASES)
def test_an_output_is_never_an_input(run, files, command, option, source, way):
    arguments, _, options = COMMANDS[command]
    name = other_name(source, way, options[option])
    ended = run(*arguments, option, name, "--force")
    suffix_is_wrong = not name.endswith(options[option]) and option != "--answers"
    assert ended.code == (1 if suffix_is_wrong else 2), ended
    if not suffix_is_wrong:
        assert name in ended.err
        assert "name another file" in ended.err
    assert {name: Path(name).read_bytes() for name in files} == files


def test_two_outputs_are_two_files(run, files):
    os.symlink("one.html", "model.skops")
    ended = run("cluster", "rows.csv", "-k", 2, "--report", "one.html", "--save", "model.skops")
    assert (ended.code, "same file" in ended.err) == (2, True)
    Path("old.html").write_text("")
    os.link("old.html", "old.skops")
    ended = run("cluster", "rows.csv", "-k", 2, "--report", "old.html", "--save", "old.skops")
    assert (ended.code, "same file" in ended.err) == (2, True)
    ended = run("ask", "rows.csv", "-k", 2, "--answers", "t.jsonl", "-o", "t.constraints.csv")
    assert (ended.code, "twice" in ended.err) == (2, True)


def test_the_same_rule_holds_in_python(files):
    found = jobs.run(ClusterRequest("rows.csv", k=2, constraints="known.csv", raw=True))
    for name in ("rows.csv", "known.csv"):
        with pytest.raises(SidelightError, match="name another file"):
            found.write(labels=name)
    with pytest.raises(SidelightError, match="twice"):
        found.write(labels="x.csv", features="x.csv")
    again = apply_model(jobs.load_model("kept.skops"), "rows.csv")
    with pytest.raises(SidelightError, match="name another file"):
        again.write(labels="rows.csv")
    assert {name: Path(name).read_bytes() for name in files} == files


@pytest.mark.parametrize(
    ("command", "option", "ending", "again"),
    [
        ("cluster", "-o", ".csv", True),
        ("cluster", "-o", ".csv.gz", True),
        ("cluster", "-o", ".tsv", True),
        ("cluster", "-o", ".parquet", True),
        ("labeled", "-o", ".csv", True),
        ("cluster", "--report", ".html", True),
        ("cluster", "--save", ".skops", True),
        ("embed", "-o", ".csv", True),
        ("embed", "-o", ".parquet", True),
        ("embed", "-o", ".npy", False),  # numbers only: nobody can tell whose they are
        ("select", "-o", ".csv", False),  # the names are the user's
        ("predict", "-o", ".csv", True),
        ("apply", "-o", ".csv", True),
        ("sample", "-o", ".csv", True),
        ("sample", "-o", ".json", True),
        ("sample", "-o", ".parquet", True),
    ],
)
def test_what_we_wrote_is_replaced_with_a_line(run, files, command, option, ending, again):
    arguments = (*COMMANDS[command][0], option, f"out{ending}")
    first = run(*arguments)
    assert (first.code, "Replaced" in first.err) == (0, False), first
    before = Path(f"out{ending}").read_bytes()
    second = run(*arguments)
    if again:
        assert (second.code, f"Replaced what was in out{ending}." in second.err) == (0, True)
    else:
        assert (second.code, "--force" in second.err) == (2, True), second
        assert Path(f"out{ending}").read_bytes() == before
    facts = run(*arguments, "--force", "--json").json
    assert f"Replaced what was in out{ending}." in facts["notes"]


def test_nothing_is_called_replaced_that_was_kept(run, files):
    arguments = ("cluster", "rows.csv", "-k", 2, "-o", "out.csv")
    assert run(*arguments).code == 0
    before = Path("out.csv").read_bytes()
    failed = run("cluster", "rows.csv", "-k", 5000, "-o", "out.csv", "--seed", 1)
    assert (failed.code, "Replac" in failed.err) == (1, False), failed.err
    assert Path("out.csv").read_bytes() == before


@pytest.mark.parametrize("command", ["cluster", "embed", "sample", "predict"])
@pytest.mark.parametrize(
    "content",
    [
        b"id,x0,x1\nann,1,2\n",
        b"id,cluster,age\nann,1,2\n",
        b"i,j,kind,note\na,b,must-link,!\n",
        b"dear diary",
        b"\xff\xfe\x00",
        gzip.compress(b"id,cluster\n", mtime=0)[:9],
    ],
)
def test_other_files_are_not_replaced_unless_forced(run, files, command, content):
    Path("mine.csv").write_bytes(content)
    arguments = (*COMMANDS[command][0], "-o", "mine.csv")
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "mine.csv exists" in ended.err
    assert "--force" in ended.err
    assert Path("mine.csv").read_bytes() == content
    assert run(*arguments, "--force").code == 0
    assert Path("mine.csv").read_bytes() != content


def test_an_output_of_another_kind_is_not_ours(run, files):
    assert run(*COMMANDS["sample"][0], "-o", "out.csv").code == 0
    assert run("cluster", "rows.csv", "-k", 2, "-o", "out.csv").code == 2
    Path("page.html").write_text("<html>of somebody else</html>")
    assert run("cluster", "rows.csv", "-k", 2, "--report", "page.html").code == 2
    np.savez("arrays.npz", a=[1])
    os.rename("arrays.npz", "arrays.skops")
    assert run("cluster", "rows.csv", "-k", 2, "--save", "arrays.skops").code == 2


def test_the_demo_twice_and_over_changed_files(run, put):
    assert run("demo").code == 0
    again = run("demo")
    assert (again.code, "Replaced" in again.err) == (0, True)
    changed = Path("sidelight-demo/orchard.csv")
    changed.write_text("mine")
    refused = run("demo")
    assert (refused.code, "orchard.csv exists" in refused.err) == (2, True)
    assert changed.read_text() == "mine"
    assert run("demo", "--force").code == 0


def test_a_text_of_one_line_is_no_torn_file_of_answers(tmp_path):
    path = tmp_path / "todo.txt"
    path.write_text("buy milk")
    with pytest.raises(SidelightError, match="not a file of answers"):
        Answers.open(path, ["a", "b"])
    assert path.read_text() == "buy milk"
    path.write_text('{"format": "sidelight-ans')
    Answers.open(path, ["a", "b"]).close()


def test_places_where_nothing_can_be_written(run, files):
    os.symlink("loop.csv", "loop.csv")
    os.symlink("nowhere/labels.csv", "dangling.csv")
    os.mkdir("folder.csv")
    for name, words in {
        "loop.csv": "symbolic links",
        "dangling.csv": "does not exist",
        "folder.csv": "is a folder",
        "rows.csv/labels.csv": "does not exist",
        f"{'x' * 300}.csv": "too long",
    }.items():
        ended = run("cluster", "rows.csv", "-k", 2, "-o", name)
        assert ended.code == 1
        assert "Cannot write" in ended.err
        assert words in ended.err


def test_a_read_only_folder_is_named(run, files, monkeypatch):
    access = os.access
    folder = os.path.realpath(".")
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode: access(path, mode) and not (mode == os.W_OK and str(path) == folder),
    )
    ended = run("cluster", "rows.csv", "-k", 2, "-o", "labels.csv")
    assert (ended.code, "read-only" in ended.err) == (1, True)


def test_the_longest_names_can_be_written(tmp_path):
    for name in ("字" * 83 + ".csv", "a." + "b" * 249 + ".csv", "a" * 251 + ".csv"):
        with atomic_write(tmp_path / name) as temporary:
            assert temporary.name.endswith(".csv")
            temporary.write_text("new")
        assert (tmp_path / name).read_text() == "new"


def test_a_pipe_is_an_output(run, files):
    os.mkfifo("pipe.csv")
    received = []
    reader = threading.Thread(target=lambda: received.append(Path("pipe.csv").read_text()))
    reader.start()
    ended = run("cluster", "rows.csv", "-k", 2, "-o", "pipe.csv")
    reader.join(timeout=30)
    assert ended.code == 0
    assert received[0].startswith("id,cluster\n")
    assert stat.S_ISFIFO(os.stat("pipe.csv").st_mode)


def test_apart_is_about_files_not_names(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("same")
    other.write_text("same")
    check_apart([one], [other])
    check_apart([tmp_path / "new"], [one, tmp_path / "none"])
    assert check_writable(one) == one
