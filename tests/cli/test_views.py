"""``sidelight embed --view``: one map of several tables, and what a view does not show."""

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs
from sidelight.constraints import Correspondences
from sidelight.jobs import EmbedRequest
from sidelight.manifold import CoordinatedViews

RNG = np.random.default_rng(0)
T, S = np.sort(RNG.uniform(0, 1, 70)), np.sort(RNG.uniform(0, 1, 60))
VIEW = ("embed", "photos.csv", "--view", "sounds.csv", "-d", 1, "--set", "n_charts=5")


@pytest.fixture
def views(tmp_path, monkeypatch):
    """Two tables of one curve and some links between them, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    photos = pd.DataFrame({"x": 10 * np.cos(3 * T), "y": 10 * np.sin(3 * T)})
    photos.index = pd.Index([f"p{i}" for i in range(70)], name="id")
    sounds = pd.DataFrame({"loud": 100 * S, "y": S**2})
    sounds.index = pd.Index([f"s{i}" for i in range(60)], name="id")
    photos.to_csv("photos.csv")
    sounds.to_csv("sounds.csv")
    nearest = np.abs(T[::7, None] - S).argmin(axis=1)
    links = pd.DataFrame({"photo": photos.index[::7], "sound": sounds.index[nearest]})
    links.to_csv("links.csv", index=False)
    return photos, sounds, links


def test_one_map_of_both_tables(views, run):
    photos, sounds, links = views
    ended = run(*VIEW, "--correspondences", "links.csv", "-o", "map.csv", "--report", "map.html")
    assert ended.code == 0, ended.err
    assert f"{130 - len(links)} objects, {len(links)} of them in all views" in ended.out
    found = pd.read_csv("map.csv")
    assert found.columns.tolist() == ["id", "coordinatedviews0", "view"]
    assert found["view"].tolist() == ["photos"] * 70 + ["sounds"] * 60
    assert found["id"].tolist() == [*photos.index, *sounds.index]
    places = found.set_index("id")["coordinatedviews0"]
    np.testing.assert_allclose(places[links["photo"]], places[links["sound"]])
    assert abs(np.corrcoef(places, np.r_[T, S])[0, 1]) > 0.95
    scaled = [(frame - frame.mean()) / frame.std(ddof=0) for frame in (photos, sounds)]
    known = Correspondences.read("links.csv", ids=[photos.index, sounds.index])
    model = CoordinatedViews(1, n_charts=5, random_state=0)
    model.fit([frame.to_numpy() for frame in scaled], correspondences=known)
    np.testing.assert_allclose(places, np.vstack(model.embeddings_)[:, 0], atol=1e-6)


def test_missing_views_are_predicted_in_the_units_of_the_tables(views, run):
    photos, sounds, links = views
    ended = run(*VIEW, "--correspondences", "links.csv", "--predict-view", "all.csv", "--json")
    assert ended.code == 0, ended.out
    assert ended.json["n_links"] == len(links)
    found = pd.read_csv("all.csv").set_index("id")
    names = ["x", "photos.y", "loud", "sounds.y"]
    assert found.columns.tolist() == ["views", *names, *(f"{name} (sd)" for name in names)]
    np.testing.assert_allclose(found.loc[photos.index, ["x", "photos.y"]], photos, atol=1e-9)
    only = found[found["views"] == "photos"]
    assert len(only) == 70 - len(links)
    assert (only[["x (sd)", "photos.y (sd)"]] == 0).all(axis=None)
    assert (only["loud (sd)"] > 0).all()
    true = 100 * T[photos.index.get_indexer(only.index)]
    within = np.abs(only["loud"] - true) <= 3 * only["loud (sd)"] + 6.0
    assert within.mean() > 0.9
    heard = found[found["views"] == "sounds"]
    assert np.abs(heard["x"] - 10 * np.cos(3 * S[sounds.index.get_indexer(heard.index)])).mean() < 1


def test_other_methods_and_what_has_no_use(views, run, put):
    common = (*VIEW[:6], "--correspondences", "links.csv")
    facts = run(*common, "-m", "correspondence-lle", "--json").json
    assert [len(rows) for rows in facts["rows"]] == [70, 60]
    put("bad.csv", "photo,sound\np0,zz\n")
    for options, words, code in (
        ((*common, "-m", "correspondence-lle", "--predict-view", "p.csv"), "does not predict", 1),
        ((*common, "-m", "isomap"), "isomap maps one table; these join views", 2),
        ((*common, "--save", "m.skops"), "cannot be saved", 2),
        ((*common, "--anchors", "links.csv"), "--anchors has no use with several views", 2),
        ((*common, "--stream"), "--view makes a map of whole tables", 2),
        ((*common, "--drop", "zz"), "no view has a column 'zz'", 2),
        (VIEW, "say which rows of the views show the same", 2),
        ((*VIEW, "--correspondences", "bad.csv"), "zz", 1),
        ((*VIEW, "--correspondences", "no.csv"), "There is no file no.csv", 1),
        (("embed", "photos.csv", "--correspondences", "links.csv"), "--view names the others", 2),
        (("embed", "photos.csv", "--predict-view", "p.csv"), "--view names the others", 2),
        ((*common, "-o", "links.csv"), "it is read here and would be lost", 2),
    ):
        ended = run(*options)
        assert (ended.code, words in ended.err) == (code, True), (options, ended.err)


def test_the_same_from_python(views):
    request = EmbedRequest(
        "photos.csv",
        k=1,
        views=["sounds.csv"],
        correspondences="links.csv",
        settings={"n_charts": 5},
        drop=["loud"],
    )
    found = jobs.run(request)
    assert [view.feature_names for view in found.views] == [("x", "y"), ("y",)]
    assert "--view sounds.csv" in found.request.command_line()
