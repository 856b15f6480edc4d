"""``check``, ``sample``, ``evaluate``, ``methods``, ``demo``."""

import re
from pathlib import Path

import numpy as np
import pytest

from sidelight import Constraints, catalog
from sidelight._fit.parameters import declared
from sidelight.evaluation import adjusted_rand_index
from sidelight.io import read_table, write_labels

SQUARE = "id,a,b\n" + "".join(f"p{i},{i % 2},{i // 2}\n" for i in range(8))


def constraints_file(put, *rows):
    return put("known.csv", "i,j,kind\n" + "".join(f"{i},{j},{kind}\n" for i, j, kind in rows))


# --- check ---------------------------------------------------------------------------------------


def test_check_of_a_good_set(orchard, run):
    data, links = orchard
    ended = run("check", data, "-c", links, "-k", 3, "--drop", "variety")
    assert ended.code == 0
    known = Constraints.read(links, ids=read_table(data, drop=["variety"]).ids)
    counts = f"{len(known.must_link)} must-links, {len(known.cannot_link)} cannot-links"
    assert f"{counts} on 240 rows" in ended.out
    assert "No contradiction" in ended.out
    assert "3 clusters can satisfy everything" in ended.out
    facts = run("check", data, "-c", links, "-k", 3, "--drop", "variety", "--json").json
    assert facts["ok"] is True
    closure = known.closure()
    assert facts["closure"]["components"] == closure.n_components
    assert facts["closure"]["entailed_must_links"] == closure.n_entailed_must_link
    assert facts["feasibility"]["answer"] == "yes"
    assert 0 < facts["quality"]["informativeness"] < 1
    assert facts["quality"]["coverage"] == pytest.approx(
        len(np.unique(np.concatenate([known.must_link, known.cannot_link]))) / 240
    )


def test_check_needs_no_numbers_for_what_is_about_ids(orchard, run):
    data, links = orchard
    common = ("check", data, "-c", links, "--raw")
    ended = run(*common, "-k", 3)  # the column 'variety' holds words
    assert ended.code == 0
    assert "3 clusters can satisfy everything" in ended.out
    assert "quality of the constraints was not measured" in ended.err
    assert "variety" in ended.err
    assert run(*common, "--json").json["quality"] is None
    asked_for = run(*common, "--columns", "variety")
    assert asked_for.code == 1
    assert "does not hold numbers" in asked_for.err


def test_check_measures_a_prepared_table_and_does_without_features(orchard, run, put):
    data, links = orchard
    ended = run("check", data, "-c", links, "-k", 3)
    assert ended.code == 0
    assert re.search(r"variety +category", ended.out)
    plain = run("check", data, "-c", links, "-k", 3, "--drop", "variety", "--json").json
    words = run("check", data, "-c", links, "-k", 3, "--json").json
    # The words that the constraints were made from let k-means keep more of them.
    assert words["quality"]["informativeness"] < plain["quality"]["informativeness"]
    put("same.csv", "id,a\np0,1\np1,1\np2,1\n")
    constraints_file(put, ("p0", "p1", "must-link"), ("p1", "p2", "cannot-link"))
    ended = run("check", "same.csv", "-c", "known.csv", "-k", 2, "--json")
    assert ended.code == 0
    assert ended.json["feasibility"]["answer"] == "yes"
    assert ended.json["quality"] is None
    assert "not measured. No column of the table is left" in ended.json["notes"][-1]


def test_check_shows_the_chain_of_a_contradiction(run, put):
    put("data.csv", SQUARE)
    constraints_file(
        put,
        ("p0", "p1", "must-link"),
        ("p1", "p5", "must-link"),
        ("p5", "p0", "cannot-link"),
    )
    ended = run("check", "data.csv", "-c", "known.csv", "-k", 2)
    assert ended.code == 1
    assert "'p0'" in ended.out
    assert "'p1'" in ended.out
    assert "'p5'" in ended.out
    facts = run("check", "data.csv", "-c", "known.csv", "--json").json
    assert facts["ok"] is False
    assert facts["closure"]["contradictions"] == 1
    assert sorted(facts["contradiction"]["pair"]) == ["p0", "p5"]
    assert set(facts["contradiction"]["chain"]) == {"p0", "p1", "p5"}


def test_check_shows_a_clique_and_the_number_that_suffices(run, put):
    put("data.csv", SQUARE)
    names = ["p0", "p2", "p4", "p6"]
    pairs = [(a, b, "cannot-link") for n, a in enumerate(names) for b in names[:n]]
    constraints_file(put, *pairs)
    ended = run("check", "data.csv", "-c", "known.csv", "-k", 3, "--json")
    assert ended.code == 1
    facts = ended.json
    assert facts["feasibility"]["answer"] == "no"
    assert sorted(facts["feasibility"]["clique"]) == names
    assert facts["feasibility"]["upper"] == 4
    told = run("check", "data.csv", "-c", "known.csv", "-k", 3).out
    assert all(f"'{name}'" in told for name in names)
    without_k = run("check", "data.csv", "-c", "known.csv")
    assert without_k.code == 0
    assert "need 4 clusters" in without_k.out


# --- sample and evaluate -------------------------------------------------------------------------


def test_sampled_constraints_are_true_and_repeatable(orchard, run):
    data, _ = orchard
    common = ("sample", data, "--label-column", "variety", "--number", 50)
    ended = run(*common, "-o", "drawn.csv", "--json")
    assert ended.code == 0
    facts = ended.json
    assert facts["knowledge"]["must_link"] + facts["knowledge"]["cannot_link"] == 50
    table = read_table(data, truth_column="variety")
    drawn = Constraints.read("drawn.csv", ids=table.ids)
    assert not drawn.violations(table.truth)
    assert facts["rows_mentioned"] == len(np.unique([*drawn.must_link, *drawn.cannot_link]))
    run(*common, "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("drawn.csv").read_text()
    run(*common, "-o", "other.csv", "--seed", 1)
    assert Path("other.csv").read_text() != Path("drawn.csv").read_text()


@pytest.mark.parametrize(
    "options",
    [
        ("--protocol", "level", "--level", "0.1"),
        ("--protocol", "disjoint", "--number", "20"),
        ("--protocol", "balanced", "--number", "20"),
        ("--protocol", "chunklets", "--fraction", "0.2", "--size", "4"),
        ("--protocol", "teachers", "--teachers", "3", "--size", "5"),
    ],
)
def test_all_protocols(orchard, run, options):
    data, _ = orchard
    ended = run("sample", data, "--label-column", "variety", "-o", "drawn.json", *options)
    assert ended.code == 0, ended.err
    table = read_table(data, truth_column="variety")
    drawn = Constraints.read("drawn.json", ids=table.ids)
    assert not drawn.is_empty
    assert not drawn.violations(table.truth)


def test_classes_called_plus_and_minus_one(run, put):
    put("data.svm", "".join(f"{1 - 2 * (i % 2)} 1:{i % 2} 2:1\n" for i in range(20)))
    run("sample", "data.svm", "--label-column", "label", "--number", 30, "-o", "drawn.csv")
    drawn = Constraints.read("drawn.csv", n_samples=20)
    assert len(drawn.must_link) > 0
    assert len(drawn.cannot_link) > 0
    write_labels("labels.csv", None, np.arange(20) % 2)
    arguments = ("evaluate", "labels.csv", "--truth", "data.svm", "--truth-column", "label")
    scores = run(*arguments, "--json").json["scores"]["all"]
    assert scores["n_rows"] == 20
    assert scores["adjusted_rand_index"] == 1.0


def test_evaluate_joins_by_id_and_knows_the_rows_that_were_given_away(orchard, run):
    data, links = orchard
    table = read_table(data, truth_column="variety")
    order = np.random.RandomState(0).permutation(240)
    clusters = np.random.RandomState(1).randint(3, size=240)
    write_labels("labels.csv", table.ids[order], clusters[order])
    arguments = ("evaluate", "labels.csv", "--truth", data, "--truth-column", "variety")
    scores = run(*arguments, "--json").json["scores"]
    assert scores["all"]["adjusted_rand_index"] == pytest.approx(
        adjusted_rand_index(table.truth, clusters)
    )
    facts = run(*arguments, "-c", links, "--json").json
    known = Constraints.read(links, ids=table.ids)
    free = np.setdiff1d(np.arange(240), np.concatenate([known.must_link, known.cannot_link]))
    assert facts["scores"]["unconstrained"]["adjusted_rand_index"] == pytest.approx(
        adjusted_rand_index(table.truth[free], clusters[free])
    )
    assert facts["violations"]["n"] == known.violations(clusters).n
    told = run(*arguments, "-c", links)
    assert "unconstrained rows" in told.out
    assert "is violated" in told.out


def test_evaluate_of_some_rows_and_of_strange_ones(orchard, run):
    data, _ = orchard
    table = read_table(data, truth_column="variety")
    arguments = ("evaluate", "labels.csv", "--truth", data, "--truth-column", "variety")
    write_labels("labels.csv", table.ids[:100], np.zeros(100, int))
    ended = run(*arguments)
    assert ended.code == 0
    assert "140 rows" in ended.err
    write_labels("labels.csv", [table.ids[0], "Q777"], [0, 1])
    ended = run(*arguments)
    assert ended.code == 1
    assert "'Q777'" in ended.err


# --- methods and demo ----------------------------------------------------------------------------


def test_methods_lists_the_catalog(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    facts = run("methods", "--json").json
    assert [m["name"] for m in facts["methods"]] == [m.name for m in catalog.methods()]
    hard = run("methods", "--hard", "--knowledge", "cannot-link", "--json").json["methods"]
    expected = catalog.methods(enforcement="hard", knowledge="cannot-link")
    assert [m["name"] for m in hard] == [m.name for m in expected]
    told = run("methods", "--soft").out
    assert "pckmeans" in told
    assert "copkmeans" not in told
    ended = run("methods", "--knowledge", "gossip")
    assert ended.code == 1
    assert "must-link, cannot-link, labels, groups" in ended.err


def test_every_method_tells_its_parameters(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for method in catalog.methods():
        ended = run("methods", method.name)
        assert ended.code == 0
        for parameter in method.cls().get_params(deep=False):
            assert f"{parameter} " in ended.out.replace(",", " "), (method.name, parameter)
        assert f"-m {method.name} --set" in ended.out
        for parameter in declared(method.cls).values():
            assert parameter.type_text in ended.out
            assert " ".join(parameter.help.replace("``", "").split()) in ended.out
    (facts,) = run("methods", "itml", "--json").json["methods"]
    assert (facts["name"], facts["for"]) == ("itml", "embed")
    told = facts["parameters"]["max_iter"]
    assert (told["type"], told["default"]) == ("int >= 1", 1000)
    assert told["help"].endswith(".")
    assert "itml" in run("methods", "itmll").err


def test_demo_writes_what_it_says(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    ended = run("demo")
    assert ended.code == 0
    names = {path.name for path in Path("sidelight-demo").iterdir()}
    assert {"orchard.csv", "orchard-links.csv", "pckmeans-report.html"} <= names
    for name in names:
        if name.endswith("html"):
            assert f"sidelight-demo/{name}" in ended.out
    runs = run("demo", "--output", "elsewhere", "--json").json["runs"]
    accuracy = {m: r["scores"]["unconstrained"]["clustering_accuracy"] for m, r in runs.items()}
    assert accuracy["pckmeans"] > accuracy["kmeans"] + 0.2
    assert accuracy["copkmeans"] > accuracy["kmeans"] + 0.2
    assert runs["copkmeans"]["violations"]["n"] == 0
    Path("file").write_text("")
    assert "is a file" in run("demo", "--output", "file").err
