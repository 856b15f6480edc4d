"""``sidelight correlate`` and ``consensus``: scored pairs, and several partitions."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidelight import Constraints, Relations, jobs
from sidelight.datasets import make_duplicates
from sidelight.evaluation import pairwise_f1
from sidelight.exceptions import InvalidRequest
from sidelight.jobs import CorrelateRequest
from sidelight.relational import CorrelationClustering


def written(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


@pytest.fixture
def pairs(put, monkeypatch):
    """Six people, of which ann, anne and ana are one; zoe is in no pair."""
    monkeypatch.setenv("COLUMNS", "160")
    put(
        "pairs.csv",
        "i,j,score\nann,anne,3\nanne,ana,2\nann,ana,-0.5\nana,bob,-4\nbob,rob,1.5\nann,bob,1\n",
    )
    put(
        "people.csv",
        "id,file,who\nann,x,A\nanne,y,A\nana,z,A\nbob,x,B\nrob,y,B\nzoe,x,C\n",
    )


def expected(**beside):
    relations = Relations.read("pairs.csv")
    return relations, CorrelationClustering(random_state=0).fit(relations, **beside)


def test_clusters_are_those_of_the_estimator(pairs, run):
    ended = run("correlate", "pairs.csv", "-o", "clusters.csv", "--report", "r.html")
    assert ended.code == 0, ended.err
    relations, model = expected()
    header, rows = written("clusters.csv")
    assert header == ["id", "cluster"]
    assert [row[0] for row in rows] == relations.ids.tolist()
    assert [int(row[1]) for row in rows] == model.labels_.tolist()
    assert "5 objects, 6 scored pairs; 2 clusters" in ended.out
    assert "proven optimal" in ended.out
    # ann and ana are together against -0.5, ann and bob apart against 1
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["ann", "bob", "1", "apart"] in lines
    assert ["ann", "ana", "-0.5", "together"] in lines
    assert "sign" in Path("r.html").read_text()
    again = run("correlate", "pairs.csv", "-o", "clusters.csv")
    assert (again.code, "Replaced what was in clusters.csv." in again.err) == (0, True)


def test_json(pairs, run):
    facts = run("correlate", "pairs.csv", "--json").json
    relations, model = expected()
    assert (facts["command"], facts["method"]) == ("correlate", "correlation-clustering")
    assert facts["objective"] == model.objective_ == 1.5
    assert facts["lower_bound"] == model.lower_bound_
    assert facts["agreement"] == model.agreement_
    assert facts["labels"] == model.labels_.tolist()
    assert facts["ids"] == relations.ids.tolist()
    assert facts["n_pairs"] == 6
    assert facts["worst"][0]["score"] == "1"


def test_objects_in_no_pair_sources_and_truth(pairs, run):
    objects = ("--nodes", "people.csv", "--truth-column", "who")
    facts = run("correlate", "pairs.csv", *objects, "--json").json
    assert facts["n_rows"] == 6
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    assert list(labels.values()).count(labels["zoe"]) == 1
    assert facts["scores"]["all"]["pairwise_f1"] == 1.0
    assert any("1 object is in no scored pair" in note for note in facts["notes"])
    ended = run("correlate", "pairs.csv", *objects, "--report", "r.html")
    assert "Agreement with the column 'who'" in ended.out
    Path("pairs.csv").write_text("i,j,score\nann,bob,9\nann,anne,1\n")  # both of the file x
    facts = run(
        "correlate", "pairs.csv", "--nodes", "people.csv", "--source-column", "file", "--json"
    ).json
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    assert labels["ann"] != labels["bob"]
    assert labels["ann"] == labels["anne"]


def test_what_is_known_holds_and_contradictions_are_shown(pairs, put, run):
    put("known.csv", "i,j,kind\nann,anne,cannot-link\nbob,ana,must-link\n")
    facts = run("correlate", "pairs.csv", "-c", "known.csv", "--json").json
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    assert labels["ann"] != labels["anne"]
    assert labels["bob"] == labels["ana"]
    assert facts["knowledge"]["must_link"] == 1
    put("apart.csv", "bob,ana\n")
    ended = run("correlate", "pairs.csv", "-c", "known.csv", "--cannot-link", "apart.csv")
    assert ended.code == 1
    assert "contradict" in ended.err
    assert "'ana'" in ended.err


def test_probabilities_and_the_prior(put, run):
    put("p.csv", "unique_id_l,unique_id_r,match_probability\na,b,0.6\nb,c,0.9\n")
    facts = run("correlate", "p.csv", "--json").json
    assert facts["n_clusters"] == 1
    facts = run("correlate", "p.csv", "--prior", "0.3", "--json").json
    relations = Relations.read("p.csv", prior=0.3)
    model = CorrelationClustering(random_state=0).fit(relations)
    assert facts["labels"] == model.labels_.tolist()
    assert facts["n_clusters"] == 2
    assert run("correlate", "p.csv", "--prior", "1.5").code == 2


def test_duplicate_customers(put, run):
    columns, pairs, people = make_duplicates(150, random_state=1)
    pq.write_table(pa.table({**columns, "person": people}), "customers.parquet")
    pq.write_table(pa.table(pairs), "pairs.parquet")
    facts = run(
        "correlate",
        "pairs.parquet",
        *("--nodes", "customers.parquet", "--source-column", "source"),
        *("--truth-column", "person", "--json"),
    ).json
    assert facts["ids"] == columns["id"]
    f1 = pairwise_f1(people, facts["labels"])
    assert facts["scores"]["all"]["pairwise_f1"] == pytest.approx(f1)
    assert f1 > 0.85


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i,j,score\na,b,1\nb,a,2\n", "'a' - 'b'"),
        ("i,j,score\na,a,-1\n", "itself"),
        ("i,j,probability\na,b,1.5\n", "line 2"),
        ("i,j,score\na,b,x\n", "score"),
        ("i,j,score\na,b,nan\n", ""),
        ("a,b\n1,2\n", ""),
        ("", "is empty"),
    ],
)
def test_bad_pairs(put, run, text, message):
    put("bad.csv", text)
    ended = run("correlate", "bad.csv")
    assert ended.code == 1
    assert len(ended.err.strip().splitlines()) == 1
    assert message in ended.err


def test_several_scores_of_one_pair(put, run):
    put("bad.csv", "i,j,score\na,b,1\nb,a,-3\n")
    assert run("correlate", "bad.csv", "--duplicates", "mean", "--json").json["n_clusters"] == 2
    assert run("correlate", "bad.csv", "--duplicates", "max", "--json").json["n_clusters"] == 1
    assert run("correlate", "bad.csv", "--duplicates", "median").code != 0


def test_bad_requests(pairs, put, run):
    ended = run("correlate", "pairs.csv", "--nodes", "people.csv", "--id-column", "who")
    assert (ended.code, "names rows twice" in ended.err) == (1, True)
    ended = run("correlate", "pairs.csv", "--source-column", "file")
    assert (ended.code, "--nodes" in ended.err) == (2, True)
    put("few.csv", "id\nann\nbob\n")
    ended = run("correlate", "pairs.csv", "--nodes", "few.csv")
    assert (ended.code, "'anne'" in ended.err) == (1, True)
    ended = run("correlate", "pairs.csv", "-m", "kmeans")
    assert (ended.code, "`sidelight cluster DATA -m kmeans`" in ended.err) == (2, True)
    ended = run("cluster", "people.csv", "-m", "correlation-clustering")
    assert (ended.code, "`sidelight correlate DATA" in ended.err) == (2, True)
    ended = run("correlate", "pairs.csv", "-o", "pairs.csv", "--force")
    assert ended.code != 0
    ended = run("correlate", "pairs.csv", "--set", "colour=3")
    assert (ended.code, "has no parameter 'colour'" in ended.err) == (2, True)
    ended = run("correlate", "nowhere.csv")
    assert (ended.code, "no file nowhere.csv" in ended.err) == (1, True)
    put("mine.csv", "a,b\n1,2\n")
    ended = run("correlate", "pairs.csv", "-o", "mine.csv")
    assert (ended.code, "--force" in ended.err) == (2, True)
    assert Path("mine.csv").read_text() == "a,b\n1,2\n"


def test_the_command_of_the_report_runs_again(pairs, put, run):
    put("known.csv", "i,j,kind\nann,anne,must-link\n")
    arguments = ("correlate", "pairs.csv", "--nodes", "people.csv", "-c", "known.csv")
    facts = run(*arguments, "--set", "absent=0.25", "--report", "r.html", "--json").json
    text = Path("r.html").read_text()
    command = text.split('<pre class="command">')[1].split("</pre>")[0]
    assert "--set absent=0.25" in command
    again = run(*command.split()[1:], "--json").json
    assert again["labels"] == facts["labels"]


def test_spreadsheets(put, run):
    put("p.csv", "i,j,score\n=a,b,1\n")
    assert run("correlate", "p.csv", "-o", "c.csv", "--spreadsheet-safe").code == 0
    assert "'=a" in Path("c.csv").read_text()


# --- consensus --------------------------------------------------------------------------------


def test_consensus(put, run):
    put("votes.csv", "id,ann,bob,cid,truth\na,1,x,0,A\nb,1,x,0,A\nc,2,x,1,B\nd,2,y,1,B\n")
    columns = ("--columns", "ann,bob,cid", "--truth-column", "truth")
    ended = run("consensus", "votes.csv", *columns, "-o", "out.csv")
    assert ended.code == 0, ended.err
    header, rows = written("out.csv")
    assert header == ["id", "cluster"]
    labels = [row[1] for row in rows]
    assert labels[0] == labels[1] != labels[2] == labels[3]
    assert "3 partitions; 2 clusters" in ended.out
    facts = run("consensus", "votes.csv", *columns, "--json").json
    # bob has one object of four in another cluster: 3 of 6 pairs differ
    assert facts["distances"] == {"ann": 0.0, "bob": 0.5, "cid": 0.0}
    assert facts["scores"]["all"]["adjusted_rand_index"] == 1.0


def test_the_report_of_a_consensus(put, run):
    put("votes.csv", "id,ann,bob,cid\na,1,x,0\nb,1,,0\nc,2,x,1\nd,2,y,1\n")
    put("known.csv", "i,j,kind\na,b,must-link\n")
    facts = run("consensus", "votes.csv", "-c", "known.csv", "--report", "r.html", "--json").json
    page = Path("r.html").read_text()
    assert "How near every partition is" in page
    assert "Rows without a cluster say nothing there" in page
    command = page.split('<pre class="command">')[1].split("</pre>")[0]
    assert command == "sidelight consensus votes.csv --constraints known.csv"
    assert run(*command.split()[1:], "--json").json["labels"] == facts["labels"]


def test_partitions_that_do_not_know_all_rows(put, run):
    put("votes.csv", "id,ann,bob,cid\na,1,x,0\nb,1,,0\nc,2,y,1\nd,2,y,1\n")
    facts = run("consensus", "votes.csv", "--json").json
    assert facts["labels"] == [0, 0, 1, 1]
    assert facts["distances"]["bob"] == 0.0
    assert "Rows without a cluster say nothing there: 'bob' (1)." in facts["notes"]


def test_cluster_editing(put, run):
    put("edges.csv", "from,to\na,b\nb,c\na,c\nc,d\nd,e\n")
    facts = run("correlate", "edges.csv", "-m", "cluster-editing", "--json").json
    assert facts["objective"] == 1
    assert facts["labels"] == [0, 0, 0, 1, 1]
    ended = run("correlate", "edges.csv", "-m", "cluster-editing", "--report", "r.html")
    assert ended.code == 0, ended.err
    assert "Pairs without a score cost 1 each" in Path("r.html").read_text()


def test_bad_partitions(put, run):
    put("one.csv", "id,a\nx,1\ny,2\n")
    ended = run("consensus", "one.csv")
    assert (ended.code, "needs at least two columns" in ended.err) == (2, True)
    put("votes.csv", "id,a,b\nx,1,2\ny,2,2\n")
    ended = run("consensus", "votes.csv", "--columns", "a,zz")
    assert (ended.code, "has no column 'zz'" in ended.err) == (1, True)
    assert run("consensus", "votes.csv", "--columns", ",").code == 2


# --- in Python --------------------------------------------------------------------------------


def test_a_run_in_python(tmp_path):
    relations = Relations([("a", "b"), ("b", "c")], [1.0, -1.0], ids=["a", "b", "c"])
    known = Constraints(must_link=[("c", "a")], ids=["a", "b", "c"])
    found = jobs.run("correlate", pairs=relations, constraints=known)
    assert found.labels[0] == found.labels[2]
    assert repr(found) == "<CorrelateRun: CorrelationClustering on rows in memory, 3 rows>"
    assert found.request.command_line() is None
    paths = found.write(labels=tmp_path / "c.csv", report=tmp_path / "r.html")
    assert sorted(paths) == ["labels", "report"]
    assert json.dumps(found.facts(), default=str)
    assert np.isfinite(found.facts()["objective"])


def test_tables_in_memory():
    votes = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]}, index=["r", "s", "t"])
    known = Constraints(must_link=[("s", "t")], ids=["r", "s", "t"])
    found = jobs.run("consensus", data=votes, constraints=known)
    assert found.labels[1] == found.labels[2]
    assert found.request.command_line() is None
    assert found.row_values()["ids"].tolist() == ["r", "s", "t"]
    people = pd.DataFrame({"who": ["ann", "anne", "zoe"], "file": ["x", "x", "y"]})
    pairs = {"i": ["ann"], "j": ["anne"], "score": [2.0]}
    asked = {"nodes": people, "id_column": "who", "sources": "file"}
    assert jobs.run("correlate", pairs=pairs, **asked).labels.tolist() == [0, 1, 2]
    with pytest.raises(InvalidRequest, match="a file or a data frame, got list"):
        jobs.run("consensus", data=[[1, 2], [1, 2]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prior": 1.0}, "prior must be a number above 0 and below 1, got 1.0"),
        ({"duplicates": "median"}, "duplicates must be one of refuse, mean, sum, max, min"),
    ],
)
def test_values_that_a_request_refuses(given, message):
    with pytest.raises(InvalidRequest, match=message):
        CorrelateRequest("pairs.csv", **given)
