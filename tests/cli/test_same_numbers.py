"""Cluster numbers at the terminal: from the fit to its files, its questions and its model."""

import csv
from itertools import combinations
from pathlib import Path

import pytest

from sidelight.io import read_labels

LOOSE = ("-k", 3, "-m", "copkmeans", "--drop", "variety")


KNOWN = ("-c", "known.csv")


@pytest.fixture
def fitted(orchard, run, put):
    """The facts of a fit that knows links, with its labels and its model in files."""
    rows = list(csv.DictReader(orchard[0].read_text(encoding="utf-8").splitlines()))
    alike = [row["id"] for row in rows if row["variety"] == "Amber"]
    apart = [f"{one},{other},cannot-link\n" for one, other in combinations(alike[:3], 2)]
    put("known.csv", f"i,j,kind\n{''.join(apart)}")  # though they look alike
    kept = ("-o", "labels.csv", "--save", "model.skops", "--json")
    ended = run("cluster", orchard[0], *KNOWN, *LOOSE, *kept)
    assert ended.code == 0
    return ended.json


def shown_sizes(out):
    """Rows of every cluster, as the tables of the terminal show them."""
    cells = [line.split() for line in out.splitlines()]
    return {words[0]: int(words[1]) for words in cells if len(words) == 3 and words[2][-1] == "%"}


def test_fit_questions_model_and_files_have_the_same_clusters(fitted, orchard, run):
    data, _ = orchard
    labels = read_labels("labels.csv")[1].tolist()
    sizes = {str(cluster): labels.count(cluster) for cluster in sorted({*labels})}
    assert fitted["sizes"] == sizes
    assert shown_sizes(run("cluster", data, *KNOWN, *LOOSE).out) == sizes
    assert run("cluster", data, *KNOWN, *LOOSE, "--json").json["labels"] == labels
    asked = run("ask", data, *KNOWN, *LOOSE, "--questions", 0, "-o", "asked.csv", "--json")
    assert asked.code == 0
    assert asked.json["sizes"] == sizes
    assert read_labels("asked.csv")[1].tolist() == labels
    explained = run("explain", "model.skops", data, "--json").json
    assert {one["name"]: one["size"] for one in explained["clusters"]} == sizes
    assert run("explain", "model.skops", data, "-o", "explained.csv").code == 0
    with Path("explained.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["about"] == "size"]
    assert len(rows) == len(sizes)
    for row in rows:
        assert f"{sizes[row['cluster']]} row" in str(row)
    predicted = run("predict", "model.skops", data, "--json").json
    n_others = sum(a != b for a, b in zip(predicted["labels"], labels, strict=True))
    assert n_others  # the links put them elsewhere
    assert f"alone: {n_others} of these 240 rows" in " ".join(predicted["notes"])


def test_predict_replaces_only_what_it_would_write_again(fitted, orchard, run):
    data, _ = orchard
    lines = data.read_text(encoding="utf-8").splitlines()
    Path("new.csv").write_text("\n".join(lines[:9]) + "\n", encoding="utf-8")
    of_fit = Path("labels.csv").read_bytes()
    ended = run("predict", "model.skops", "new.csv", "-o", "labels.csv")
    assert ended.code == 2
    assert "labels.csv exists and holds something else than what the model gives" in ended.err
    assert "Replaced" not in ended.err
    assert Path("labels.csv").read_bytes() == of_fit
    split = ("alternatives", data, "-k", 2, "--number", 1, "--drop", "variety")
    assert run(*split, "-o", "splits.csv").code == 0
    assert run("predict", "model.skops", data, "-o", "splits.csv").code == 2
    for _ in range(2):
        ended = run("predict", "model.skops", "new.csv", "-o", "new_labels.csv")
        assert ended.code == 0
    assert "Replaced what was in new_labels.csv." in ended.err
    assert run("predict", "model.skops", "new.csv", "-o", "labels.csv", "--force").code == 0
    assert len(read_labels("labels.csv")[0]) == 8
