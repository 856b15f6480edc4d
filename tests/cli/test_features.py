"""``sidelight transform`` and ``sidelight select``."""

import re

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints, catalog
from sidelight.io import read_table
from sidelight.metric import RCA

TRUTH = ("--truth-column", "variety")


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_transform_matches_the_library_and_carries_ids_and_classes(orchard, run, raw):
    data, links = orchard
    asked = ("-m", "rca", "-d", 2, "-c", links, *TRUTH, "-o", "mapped.csv", *raw)
    assert run("embed", data, *asked).code == 0
    table = read_table(data, truth_column="variety")
    known = Constraints.read(links, ids=table.ids)
    X = table.X if raw else StandardScaler().fit_transform(table.X)
    expected = RCA(n_components=2).fit(X, constraints=known).transform(X)
    mapped = read_table("mapped.csv", truth_column="variety")
    np.testing.assert_allclose(mapped.X, expected)
    assert mapped.ids.tolist() == table.ids.tolist()
    assert mapped.truth.tolist() == table.truth.tolist()
    assert mapped.feature_names == ("rca0", "rca1")


@pytest.mark.parametrize("kind", [".parquet", ".npy", ".tsv", ".csv.gz"])
def test_a_saved_map_gives_the_same_features_in_any_format(orchard, run, kind):
    data, links = orchard
    fitted = ("embed", data, "-m", "rca", "-c", links, "--drop", "variety", "--scale", "robust")
    assert run(*fitted, "--save", "map.skops", "-o", "first.csv").code == 0
    assert run("predict", "map.skops", data, "-o", f"again{kind}").code == 0
    np.testing.assert_allclose(read_table(f"again{kind}").X, read_table("first.csv").X)


def test_json_has_the_rows_when_nothing_is_written(orchard, run):
    data, links = orchard
    facts = run("embed", data, "-m", "rca", "-c", links, "--drop", "variety", "--json").json
    assert facts["command"] == "embed"
    assert np.array(facts["rows"]).shape == (240, 6)
    assert len(facts["ids"]) == 240


def test_the_right_command_is_named(orchard, run):
    data, _ = orchard
    ended = run("cluster", data, "-k", 3, "-m", "rca", "--drop", "variety")
    assert ended.code == 2
    assert "sidelight embed DATA -m rca" in ended.err
    ended = run("embed", data, "-m", "kmeans", "--drop", "variety")
    assert ended.code == 2
    assert "sidelight cluster DATA -m kmeans" in ended.err
    assert run("embed", data, "-m", "rca", "-o", "map.libsvm", *TRUTH).code == 1


def test_predict_gives_the_coordinates_of_a_saved_distance(orchard, run):
    data, links = orchard
    common = ("embed", data, "-m", "rca", "-c", links, "--drop", "variety")
    fitted = run(*common, "--save", "map.skops", "--json").json
    assert run("predict", "map.skops", data, "--json").json["rows"] == fitted["rows"]
    told = run("predict", "map.skops", data).out
    assert "Nothing was written; -o predicted.csv keeps what the model gives." in told


def selectors():
    return [m.name for m in catalog.methods(family="feature_selection")]


@pytest.mark.parametrize("method", selectors())
def test_select_keeps_the_best_columns_under_their_names(orchard, run, method):
    data, links = orchard
    pairs = "cannot-link" in catalog.get(method).tags.knowledge
    told = ("-c", links, *TRUTH) if pairs else ("--label-column", "variety")
    ended = run("select", data, "-m", method, "-n", 3, *told, "-o", "few.csv", "--json")
    assert ended.code == 0, ended.err
    facts = ended.json
    best = sorted(facts["ranking"], key=facts["ranking"].get)[:3]
    assert sorted(facts["selected"]) == sorted(best)
    few, all_of = read_table("few.csv", truth_column="variety"), read_table(data, drop=["variety"])
    assert list(few.feature_names) == [n for n in all_of.feature_names if n in best]
    chosen = [all_of.feature_names.index(name) for name in few.feature_names]
    np.testing.assert_allclose(few.X, all_of.X[:, chosen])


def test_reports_are_written_with_the_features_or_nothing_is(orchard, run, tmp_path):
    data, links = orchard
    made = run(
        *("embed", data, "-m", "rca", "-c", links, *TRUTH, "--json"),
        *("-o", "m.csv", "--report", "m.html", "--save", "m.skops"),
    )
    assert made.json["outputs"] == {"coordinates": "m.csv", "report": "m.html", "model": "m.skops"}
    with open("m.html", encoding="utf-8") as page:
        text = page.read()
    assert "sidelight embed" in text
    assert "Pairs of rows that nothing was said about" in text
    assert run("select", data, "-m", "variance-score", *TRUTH, "--report", "s.html").code == 0
    assert run("embed", data, "-m", "rca", *TRUTH, "--report", "m.pdf").code == 1
    ended = run("predict", "m.skops", data, "--report", "again.html")
    assert ended.code == 2
    assert re.search("No such option:? '?--report", ended.err)
