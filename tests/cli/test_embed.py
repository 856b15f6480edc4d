"""``sidelight embed``: what is asked for arrives at the estimator, and the places in files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight import catalog, jobs
from sidelight.evaluation import map_scores
from sidelight.jobs import EmbedRequest
from sidelight.jobs.embed import _maps
from sidelight.manifold import SammonMapping
from sidelight.preparation import TablePreparer
from sidelight.report import measures

N = 60


def roll() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    turn, height = rng.uniform(4, 9, N), rng.uniform(0, 8, N)
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(N)],
            "x": turn * np.cos(turn),
            "y": height,
            "z": turn * np.sin(turn),
            "shade": rng.choice(["dark", "light", "middle"], N),
            "turn": turn,
        }
    )


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A table in the current folder, which is empty else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    frame = roll()
    frame.to_csv("roll.csv", index=False)
    return frame


SAMMON = ("embed", "roll.csv", "-m", "sammon-mapping", "--drop", "turn")


def test_the_coordinates_are_those_of_the_estimator(data, run):
    ended = run(*SAMMON, "-o", "map.csv")
    assert ended.code == 0, ended.err
    rows = TablePreparer().fit_transform(data.set_index("id").drop(columns="turn"))
    model = SammonMapping().fit(rows)
    written = pd.read_csv("map.csv")
    assert written.columns.tolist() == ["id", "sammonmapping0", "sammonmapping1"]
    assert written["id"].tolist() == data["id"].tolist()
    np.testing.assert_allclose(written.iloc[:, 1:], model.embedding_, rtol=0, atol=1e-12)
    assert "SammonMapping on roll.csv: 60 rows, 6 features in, 2 coordinates out" in ended.out
    assert "Trustworthiness" in ended.out
    facts = run(*SAMMON, "--json").json
    assert facts["rows"] == model.embedding_.tolist()
    assert facts["ids"] == data["id"].tolist()
    scores = map_scores(rows, model.embedding_, measures.NEIGHBORS)
    assert facts["quality"] == pytest.approx({name: scores[name] for name, *_ in measures.MEASURES})
    again = run(*SAMMON, "-o", "map.csv")  # our own output is replaced, and it is said
    assert (again.code, "Replaced what was in map.csv." in again.err) == (0, True)


def test_dimensions_and_settings(data, run):
    facts = run(*SAMMON, "-d", 3, "--set", "max_iter=7", "--json").json
    assert (facts["parameters"]["n_components"], facts["parameters"]["max_iter"]) == (3, 7)
    assert np.shape(facts["rows"]) == (N, 3)


def test_isomap_by_default_and_landmarks_for_many_rows(data, run, monkeypatch):
    ended = run("embed", "roll.csv", "--drop", "turn,shade", "--json")
    assert ended.json["method"] == "isomap"
    assert "The map is made by isomap; -m names another method." in ended.json["notes"]
    monkeypatch.setattr(_maps, "MAX_ROWS", N - 1)
    ended = run("embed", "roll.csv", "--drop", "turn,shade", "--json")
    assert ended.json["method"] == "landmark-isomap"
    assert "since there are more than 59 rows" in ended.json["notes"][-1]


def test_new_rows_on_a_saved_map(data, run):
    assert run(*SAMMON, "-o", "map.csv", "--save", "map.skops").code == 0
    data.sample(frac=1, random_state=0).drop(columns="turn").to_csv("new.csv", index=False)
    ended = run("predict", "map.skops", "new.csv", "-o", "new-map.csv")
    assert ended.code == 0, ended.err
    first, second = (pd.read_csv(name).set_index("id") for name in ("map.csv", "new-map.csv"))
    np.testing.assert_allclose(second.loc[first.index], first, atol=1e-5 * np.ptp(first))
    facts = run("predict", "map.skops", "new.csv", "--json").json
    assert facts["command"] == "predict"
    assert np.shape(facts["rows"]) == (N, 2)
    for option in (("--save", "x.skops"), ("--report", "x.html"), ("--color", "turn")):
        refused = run("predict", "map.skops", "new.csv", *option)
        assert refused.code == 2


def test_anchors_are_found_by_id(data, put, run):
    put("anchors.csv", "u,id,v\n1.5,r7,-2\n0,r3,4\n")
    request = EmbedRequest("roll.csv", method="coordinated-factor-analysis", anchors="anchors.csv")
    prepared = jobs.prepare(request)
    expected = np.full((N, 2), np.nan)
    expected[[7, 3]] = [[1.5, -2.0], [0.0, 4.0]]
    np.testing.assert_array_equal(prepared.anchors, expected)
    assert "--anchors anchors.csv" in prepared.request.command_line()
    given = jobs.prepare(
        EmbedRequest(prepared.X, method=request.method, anchors=expected, raw=True)
    )
    np.testing.assert_array_equal(given.anchors, expected)
    common = ("embed", "roll.csv", "--drop", "turn", "-m", "coordinated-factor-analysis")
    ended = run(*common, "--anchors", "anchors.csv", "-o", "map.csv", "--report", "map.html")
    assert ended.code == 0, ended.err
    places = pd.read_csv("map.csv").set_index("id")
    np.testing.assert_allclose(places.loc[["r7", "r3"]], [[1.5, -2], [0, 4]], atol=1e-6)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (
            "id,u,v\nR7,1,2\n",
            (),
            "has coordinates of 'R7', but no row of the data has this id. Did",
        ),
        ("id,u\nr7,1\n", (), "the anchors have 1 coordinate, the map has 2; -d 1 makes a map"),
        ("id,u,v\nr7,1,2\n", ("-d", 3), "have 2 coordinates, the map has 3; -d 2 makes a map"),
        ("id,u,v\nr7,1,x\n", (), "does not hold numbers"),
        ("id,u,v\nr7,1,\n", (), "'r7'"),
        ("id,u,v\nr7,1,2\nr7,1,3\n", (), "'r7'"),
    ],
)
def test_anchors_that_do_not_fit(data, put, run, content, options, words):
    put("anchors.csv", content)
    common = ("embed", "roll.csv", "-m", "coordinated-factor-analysis", *options)
    ended = run(*common, "--anchors", "anchors.csv")
    assert ended.code in (1, 2)
    assert words in ended.err


def test_columns_to_ignore_become_features(data, run):
    request = EmbedRequest("roll.csv", method="isomap", ignore=["shade", "y"])
    prepared = jobs.prepare(request)
    names = np.array(prepared.features_in)
    expected = ["y", "shade=dark", "shade=light", "shade=middle"]
    assert sorted(names[prepared.estimator.ignore]) == sorted(expected)
    raw = jobs.prepare(
        EmbedRequest("roll.csv", method="isomap", ignore=["z"], drop=["shade"], raw=True)
    )
    assert np.array(raw.features_in)[raw.estimator.ignore].tolist() == ["z"]
    facts = run("embed", "roll.csv", "--ignore", "turn,y", "--drop", "shade", "--json").json
    assert facts["parameters"]["ignore"] == [1, 3]
    for options, words in (
        (("--ignore", "zz"), "no column 'zz' among the features"),
        (("--ignore", "x,y,z,shade,turn"), "no feature is left without"),
        (("--ignore", "x", "--set", "ignore=[0]"), "not both"),
        (("--ignore", "x", "-m", "sammon-mapping"), "SammonMapping takes no columns to ignore"),
        (("--anchors", "roll.csv", "-m", "sammon-mapping"), "SammonMapping takes no anchors"),
    ):
        ended = run("embed", "roll.csv", *options)
        assert (ended.code, words in ended.err) == (2, True), ended.err


def test_a_column_that_is_set_aside_is_told(data, run):
    data.assign(same=1).to_csv("roll.csv", index=False)
    ended = run("embed", "roll.csv", "--ignore", "same", "--json")
    assert ended.code == 0, ended.out
    assert (
        "The column 'same' is not used, so that nothing is left to ignore." in ended.json["notes"]
    )


def test_the_column_of_the_colors_is_no_feature(data, run):
    common = ("embed", "roll.csv", "-m", "sammon-mapping", "--drop", "shade")
    facts = run(*common, "--color", "turn", "--json").json
    assert facts["features_in"] == ["x", "y", "z"]
    both = run(*common[:-2], "--columns", "x,turn", "--color", "turn", "--json").json
    assert both["features_in"] == ["x", "turn"]
    request = EmbedRequest(
        "roll.csv", method="sammon-mapping", color="turn", drop=["shade"], raw=True
    )
    name, values = jobs.prepare(request).color
    assert name == "turn"
    np.testing.assert_array_equal(values, data["turn"])
    frame = data.set_index("id")
    framed = jobs.prepare(EmbedRequest(frame, method="isomap", color="shade"))
    assert framed.color[1].tolist() == data["shade"].tolist()
    assert framed.features_in == ["x", "y", "z", "turn"]
    ended = run(*common, "--color", "zz")
    assert (ended.code, "no column 'zz'" in ended.err) == (1, True)
    refused = run("cluster", "roll.csv", "-k", 2, "--color", "turn")
    assert refused.code == 2


def test_options_of_other_ways_are_refused(data, run):
    for options, words in (
        (("--start", 10), "--start is for rows that come one after the other: --stream."),
        (("--final", "f.csv"), "--final is for rows"),
        (("-m", "kmeans"), "`sidelight cluster DATA -m kmeans`"),
    ):
        ended = run("embed", "roll.csv", *options)
        assert (ended.code, words in ended.err) == (2, True), ended.err
    assert "--stream" in run("embed", "-").err
    assert "name the table of rows (DATA)" in run("embed").err


def test_maps_are_listed(run):
    ended = run("methods", "--json")
    listed = {one["name"] for one in ended.json["methods"] if one["kind"] == "embedding"}
    assert listed == {method.name for method in catalog.methods(kind="embedding")}
    assert "Maps: sidelight embed DATA -d N -m NAME" in run("methods").out


def test_knowledge_about_pairs_arrives(data, put, run):
    put("known.csv", "i,j,kind\nr0,r1,must-link\nr2,r3,cannot-link\n")
    common = ("embed", "roll.csv", "--drop", "turn", "-c", "known.csv", "--report", "map.html")
    ended = run(*common, "--json", "--truth-column", "shade")
    assert ended.code == 0, ended.out
    assert ended.json["knowledge"]["must_link"] == 1
    page = Path("map.html").read_text(encoding="utf-8")
    assert "must-link" in page


def test_distances_are_taken_as_they_are(data, run):
    rows = data[["x", "y", "z"]].to_numpy()
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.save("distances.npy", distances)
    common = ("embed", "distances.npy", "-m", "isomap", "--set", "metric=precomputed")
    refused = run(*common)
    assert (refused.code, "distances are taken as they are: --raw." in refused.err) == (2, True)
    facts = run(*common, "--raw", "--report", "map.html", "--json").json
    same = run("embed", "roll.csv", "-m", "isomap", "--columns", "x,y,z", "--raw", "--json").json
    np.testing.assert_allclose(np.abs(facts["rows"]), np.abs(same["rows"]), atol=1e-6)
    assert facts["quality"] == pytest.approx(same["quality"], abs=1e-6)


@pytest.mark.filterwarnings("default::sidelight.exceptions.EmbeddingWarning")
def test_parts_that_had_to_be_joined_are_told_in_the_report(data, run):
    data.loc[:19, ["x", "y", "z"]] += 500
    data.to_csv("roll.csv", index=False)
    common = ("embed", "roll.csv", "--columns", "x,y,z", "--set", "n_neighbors=4")
    ended = run(*common, "--report", "map.html")
    assert ended.code == 0, ended.err
    (told,) = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert told.removeprefix("Warning: ") in Path("map.html").read_text(encoding="utf-8")
    ended = run(*common, "--set", "disconnected=largest", "-o", "map.csv", "--json")
    assert ended.code == 0, ended.out
    assert pd.read_csv("map.csv").iloc[:, 1].isna().sum() == 20
    told = run(*common, "--set", "disconnected=largest").out
    assert "20 rows have no place on the map." in told
    facts = run(*common, "--set", "disconnected=largest", "--json").json
    assert facts["rows"][0] == [None, None]
