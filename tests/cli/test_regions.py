"""``sidelight regions``: rows of a table along the edges of a graph."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from sidelight import Relations, jobs
from sidelight.datasets import make_areas
from sidelight.preparation import TablePreparer
from sidelight.relational import ConnectedKMeans


def put_csv(name, columns):
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def areas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    areas = make_areas(64, n_clusters=3, random_state=0)
    ids = np.array([f"a{i}" for i in range(64)])
    put_csv(
        "areas.csv",
        {
            "id": ids,
            "income": areas.X[:, 0],
            "age": areas.X[:, 1],
            "x": areas.coordinates[:, 0],
            "y": areas.coordinates[:, 1],
            "region": [f"R{t}" for t in areas.target],
        },
    )
    i, j = ids[areas.relations.edges].T
    put_csv("edges.csv", {"i": i, "j": j})
    return areas


COMMAND = ("regions", "areas.csv", "--edges", "edges.csv", "--coordinates", "x,y")


def expected(areas, k=3):
    import pandas as pd

    rows = TablePreparer().fit_transform(pd.read_csv("areas.csv")[["income", "age"]])
    return ConnectedKMeans(k, random_state=0).fit(rows, relations=areas.relations)


def test_regions_are_those_of_the_estimator(areas, run):
    ended = run(
        *COMMAND, "-k", "3", "--truth-column", "region", "-o", "r.csv", "--report", "r.html"
    )
    assert ended.code == 0, ended.err
    model = expected(areas)
    with open("r.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"a{i}" for i in range(64)]
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert "64 rows, 2 features, 112 edges" in ended.out
    assert "What sets them apart" in ended.out
    center = model.center_nodes_[0]
    assert f"a{center}" in ended.out
    page = Path("r.html").read_text()
    assert "Every cluster is one piece" in page
    assert "Connected clusters on the map" in page


@pytest.mark.parametrize("method", ["connected-kmeans", "net-scan", "connected-k-center"])
def test_every_cluster_is_one_piece(areas, run, method):
    facts = run(*COMMAND, "-k", "4", "-m", method, "--drop", "region", "--json").json
    labels = np.array(facts["labels"])
    graph = areas.relations.matrix()
    for cluster in np.unique(labels[labels >= 0]):
        members = labels == cluster
        assert connected_components(graph[members][:, members], directed=False)[0] == 1
    assert (facts["command"], facts["method"]) == ("regions", method)
    assert len(facts["radii"]) == len(facts["centers"]) == 4
    assert facts["n_edges"] == 112


def test_coordinates_are_features_where_asked(areas, run):
    facts = run(*COMMAND, "-k", "3", "--columns", "income,x,y", "--json").json
    assert [row["column"] for row in facts["preparation"]] == ["income", "x", "y"]
    facts = run(*COMMAND, "-k", "3", "--drop", "region", "--json").json
    assert [row["column"] for row in facts["preparation"]] == ["income", "age"]


def test_the_number_is_found(areas, run):
    facts = run(*COMMAND, "-k", "2:4", "--drop", "region", "--json").json
    assert 2 <= len(facts["sizes"]) <= 4
    assert facts["parameters"]["n_clusters"] == [2, 4]
    facts = run(*COMMAND, "--drop", "region", "--json").json
    assert facts["parameters"]["n_clusters"] == "auto"
    ended = run(*COMMAND, "-k", "2,4", "--drop", "region")
    assert (ended.code, "a range" in ended.err) == (2, True)


def test_without_edges_every_row_is_next_to_every_other(areas, run):
    ended = run("regions", "areas.csv", "-k", "3", "--columns", "income,age", "--report", "r.html")
    assert ended.code == 0, ended.err
    assert "every row is next to every other" in ended.err


def test_new_rows_by_a_saved_model(areas, run):
    facts = run(*COMMAND, "-k", "3", "--drop", "region", "--save", "m.skops", "--json").json
    ended = run("predict", "m.skops", "areas.csv", "--json")
    assert ended.code == 0, ended.err
    assert set(ended.json["labels"]) <= set(map(int, facts["sizes"]))


def test_the_command_of_the_report_runs_again(areas, run):
    common = (*COMMAND, "-k", "3", "--drop", "region", "--weight", "age=2")
    facts = run(*common, "--report", "r.html", "--json").json
    text = Path("r.html").read_text()
    command = text.split('<pre class="command">')[1].split("</pre>")[0]
    again = run(*command.split()[1:], "--json").json
    assert again["labels"] == facts["labels"]
    assert "--edges edges.csv" in command
    assert "--coordinates x,y" in command


def test_a_disconnected_graph(areas, run):
    lines = Path("edges.csv").read_text().splitlines()
    kept = [line for line in lines if "a0," not in f"{line}," and "a63" not in line]
    Path("edges.csv").write_text("\n".join(kept))
    ended = run(*COMMAND, "-k", "2", "--drop", "region")
    assert ended.code == 1
    assert "3" in ended.err
    assert "'a0'" in ended.err
    assert run(*COMMAND, "-k", "3", "--drop", "region").code == 0


def test_bad_requests(areas, run):
    def wrong(*arguments, code=1):
        ended = run(*arguments)
        assert ended.code == code, ended.err
        said = [line for line in ended.err.splitlines() if line.startswith("Error")]
        assert len(said) == 1
        return said[0]

    base = ("regions", "areas.csv", "--edges", "edges.csv", "-k", "3")
    assert "two coordinates" in wrong(*base, "--coordinates", "x", code=2)
    assert "has no column 'lon'" in wrong(*base, "--coordinates", "lon,lat")
    assert "are no numbers" in wrong(*base, "--coordinates", "x,region")
    assert "names no column" in wrong(*base, "--coordinates", ",", code=2)
    Path("bad.csv").write_text("i,j\na1,b7\n")
    assert "'b7'" in wrong("regions", "areas.csv", "--edges", "bad.csv", "-k", "3")
    Path("bad.csv").write_text("i,j,score\na1,a2,-1\n")
    assert "has the score -1" in wrong("regions", "areas.csv", "--edges", "bad.csv", "-k", "3")
    assert "`sidelight cluster" in wrong(*base, "-m", "kmeans", code=2)
    assert "`sidelight regions" in wrong("cluster", "areas.csv", "-m", "net-scan", code=2)
    wrong(*base, "-o", "edges.csv", "--force", code=2)
    wrong(*base, "-k", "100")


def test_a_run_in_python(areas):
    asked = {"edges": areas.relations, "coordinates": areas.coordinates, "raw": True}
    found = jobs.run("regions", data=areas.X, k=3, **asked)
    model = ConnectedKMeans(3, random_state=0).fit(areas.X, relations=areas.relations)
    np.testing.assert_array_equal(found.labels, model.labels_)
    assert found.request.command_line() is None
    found.report("map.html")
    assert "Every cluster is one piece" in Path("map.html").read_text()
    assert isinstance(found.relations, Relations)
