"""Rows of the fit, assigned again: a line where what was known about them is not used again."""

import csv

import pytest
import skops.io

from sidelight.jobs import load_model

NOTE = "rows are assigned by their features alone"
ROWS = "id,a\n" + "".join(f"r{i},{i // 4 * 10 + i % 4}\n" for i in range(8))
KNOWN = "i,j,kind\nr0,r1,cannot-link\nr0,r4,must-link\n"


@pytest.fixture
def files(put):
    put("rows.csv", ROWS)
    put("known.csv", KNOWN)


def _clusters(path):
    with open(path, newline="") as file:
        return [row["cluster"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("method", ["copkmeans", "pckmeans"])
def test_constraints_that_predict_does_not_apply_are_mentioned(files, run, method):
    given = ("-k", "2", "-m", method, "-c", "known.csv", "-o", "fitted.csv", "--save", "m.skops")
    assert run("cluster", "rows.csv", *given).code == 0
    ended = run("predict", "m.skops", "rows.csv", "-o", "again.csv")
    assert ended.code == 0
    assert f"with 1 must-link and 1 cannot-link, but {NOTE}" in ended.err
    fitted, again = _clusters("fitted.csv"), _clusters("again.csv")
    assert fitted[0] == fitted[4]
    assert fitted[0] != fitted[1]
    assert again[0] == again[1]  # in spite of the cannot-link: 1 apart, and 10 from the others
    assert NOTE not in run("predict", "m.skops", "rows.csv", "--quiet").err


def test_bounds_on_sizes_are_mentioned(files, run, put):
    given = ("-k", "2", "-m", "size-constrained-kmeans", "--set", "max_size=4")
    assert run("cluster", "rows.csv", *given, "--save", "m.skops").code == 0
    assert NOTE not in run("predict", "m.skops", "rows.csv").err  # all have their cluster again
    put("new.csv", ROWS + "r8,5\n")
    assert f"with bounds on their sizes, but {NOTE}" in run("predict", "m.skops", "new.csv").err


@pytest.mark.parametrize(
    "given",
    [
        ("-m", "kmeans"),
        ("-m", "kmeans", "-c", "known.csv"),  # without use for it
        ("-m", "pckmeans"),
    ],
)
def test_nothing_is_said_where_nothing_was_used(files, run, given):
    assert (
        run("cluster", "rows.csv", "-k", "2", *given, "--save", "m.skops", "-o", "f.csv").code == 0
    )
    ended = run("predict", "m.skops", "rows.csv", "-o", "again.csv")
    assert ended.code == 0
    assert NOTE not in ended.err
    assert _clusters("f.csv") == _clusters("again.csv")


def test_models_saved_before_this_was_kept_are_read(files, run):
    assert run("cluster", "rows.csv", "-k", "2", "--save", "m.skops").code == 0
    types = skops.io.get_untrusted_types(file="m.skops")
    content = skops.io.load("m.skops", trusted=types)
    del content["knowledge"]
    skops.io.dump(content, "old.skops")
    assert load_model("old.skops").knowledge == {}
    assert run("predict", "old.skops", "rows.csv").code == 0
