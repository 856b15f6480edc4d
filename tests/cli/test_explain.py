"""``sidelight explain MODEL DATA``."""

from __future__ import annotations

import csv

import pyarrow.parquet as pq
import pytest

from sidelight.explanation._table import COLUMNS


@pytest.fixture
def model(orchard, run):
    data, links = orchard
    options = ("-k", 3, "-c", links, "--drop", "variety", "--save", "model.skops", "-q")
    assert run("cluster", data, *options).code == 0
    return "model.skops"


def test_it_tells_what_the_clusters_are(model, orchard, run):
    ended = run("explain", model, orchard[0])
    assert ended.code == 0
    for words in (
        "PCKMeans on ",
        "Cluster 0",
        "What sets it apart",
        "higher hue_deg",
        "Typical rows: ",
        "Rule: ",
        "of held-out rows",
        "-o explanation.csv keeps all of it as one table",
    ):
        assert words in ended.out
    assert "features alone" not in ended.err  # these are the rows of the fit


def test_other_rows_than_those_of_the_fit_go_by_their_features(model, orchard, run, put):
    put("some.csv", "\n".join(orchard[0].read_text(encoding="utf-8").splitlines()[:99]) + "\n")
    ended = run("explain", model, "some.csv")
    assert ended.code == 0
    assert "rows are assigned by their features alone" in ended.err


def test_it_writes_the_plain_table(model, orchard, run):
    first = run("explain", model, orchard[0], "-o", "explanation.csv")
    assert first.code == 0
    assert "Written: explanation.csv" in first.out
    with open("explanation.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert {row["about"] for row in rows} == {
        "size",
        "trait",
        "typical row",
        "doubtful row",
        "rule",
    }
    # What we wrote may be replaced, anything else may not.
    assert run("explain", model, orchard[0], "-o", "explanation.csv").code == 0
    assert run("explain", model, orchard[0], "-o", orchard[1]).code == 2
    assert run("explain", model, orchard[0], "-o", "explanation.parquet").code == 0
    assert pq.read_table("explanation.parquet").num_rows == len(rows)
    assert run("explain", model, orchard[0], "-o", "explanation.npy").code == 1


def test_json_has_all_of_it(model, orchard, run):
    facts = run("explain", model, orchard[0], "--json").json
    assert facts["command"] == "explain"
    assert sum(cluster["size"] for cluster in facts["clusters"]) == facts["n_rows"] == 240
    assert 0.5 < facts["fidelity"] <= 1.0
    trait = facts["clusters"][0]["traits"][0]
    assert trait["low"] <= trait["effect"] <= trait["high"]
    assert all(
        (trait["lift"] is None)
        == (trait["about"] == "value" or 0.0 in (trait["inside"], trait["rest"]))
        for cluster in facts["clusters"]
        for trait in cluster["traits"]
    )
    assert trait["text"].startswith(trait["what"])
    assert run("explain", model, orchard[0], "-q").out == ""


def test_rows_go_by_the_chosen_column(model, orchard, run, put):
    lines = orchard[0].read_text(encoding="utf-8").splitlines()
    named = [f"name,{lines[0]}", *(f"fruit {n},{line}" for n, line in enumerate(lines[1:]))]
    data = put("named.csv", "\n".join(named) + "\n")
    facts = run("explain", model, data, "--id-column", "name", "--json").json
    assert all(row.startswith("fruit ") for row in facts["clusters"][0]["typical"])


def test_odd_names_are_shown_as_they_are(run, put):
    rows = [f"r[{n}],{n % 2 * 9 + n / 100},{'[b]x[/b]' if n % 2 else 'y'}" for n in range(60)]
    data = put("odd.csv", "id,[red]size,kind\n" + "\n".join(rows) + "\n")
    assert run("cluster", data, "-k", 2, "--save", "m.skops", "-q").code == 0
    out = run("explain", "m.skops", data).out
    assert "[red]size" in out
    assert "kind = [b]x[/b]" in out
    assert "r[" in out


def test_a_method_without_predict_points_to_the_report(orchard, run, put):
    options = ("-k", 3, "-m", "constrained-agglomeration", "--drop", "variety")
    assert run("cluster", orchard[0], *options, "--save", "m.skops", "-q").code == 0
    assert run("explain", "m.skops", orchard[0]).code == 0  # the rows that it was fitted to
    put("some.csv", "\n".join(orchard[0].read_text(encoding="utf-8").splitlines()[:99]) + "\n")
    ended = run("explain", "m.skops", "some.csv")
    assert ended.code == 1
    assert "--report" in ended.err


def test_what_is_not_there_is_said(model, orchard, run):
    assert "There is no file none.csv" in run("explain", model, "none.csv").err
    assert run("explain", orchard[0], orchard[0]).code == 1
