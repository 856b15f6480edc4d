"""Class names go from the labels to the file, the terminal, the report and new rows."""

import csv
from pathlib import Path

import numpy as np
import pytest

from sidelight.io import read_labels
from sidelight.jobs import apply_model, load_model

CLASSES = ("starter", "core", "vip")


@pytest.fixture
def customers(tmp_path, monkeypatch):
    """Three groups of customers, some of them labeled; the true class of each by id."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    rng = np.random.default_rng(0)
    rows, truth = [], {}
    for number in range(60):
        name = CLASSES[number % 3]
        spend, visits = np.array([[1, 1], [10, 2], [2, 12]])[number % 3] + rng.normal(size=2)
        labeled = name if number < 15 else ""
        rows.append([f"c{number}", round(spend, 4), round(visits, 4), labeled])
        truth[f"c{number}"] = name
    with Path("customers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "spend", "visits", "level"], *rows])
    return truth


def read(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("method", ["constrained-kmeans", "pckmeans", "gaussian-mixture"])
def test_class_names_survive(run, customers, method):
    arguments = ["customers.csv", "-k", 3, "-m", method, "--label-column", "level"]
    outputs = ["-o", "labels.csv", "--report", "page.html", "--save", "model.skops"]
    ended = run("cluster", *arguments, *outputs)
    assert ended.code == 0
    found = read("labels.csv")
    assert {row["id"]: row["class"] for row in found} == customers
    class_of = {row["cluster"]: row["class"] for row in found}
    for cluster, name in class_of.items():
        assert any(line.split()[:2] == [cluster, name] for line in ended.out.splitlines())
        assert f"{cluster}: {name}" in Path("page.html").read_text()
    assert "most of the labeled rows" in ended.out
    assert run("cluster", *arguments, "--json").json["classes"] == class_of
    ids, clusters = read_labels("labels.csv")
    assert ids.tolist() == list(customers)
    assert clusters.tolist() == [int(row["cluster"]) for row in found]

    ended = run("predict", "model.skops", "customers.csv", "-o", "new.csv")
    assert ended.code == 0
    assert {row["id"]: row["class"] for row in read("new.csv")} == customers
    assert "Class" in ended.out
    assert apply_model(load_model("model.skops"), "customers.csv").class_names == class_of
    # The file is recognized as ours and replaced without --force.
    assert run("cluster", *arguments, "-o", "labels.csv").code == 0


def test_without_labels_there_is_no_column_of_classes(run, customers):
    assert run("cluster", "customers.csv", "-k", 3, "--drop", "level", "-o", "labels.csv").code == 0
    assert list(read("labels.csv")[0]) == ["id", "cluster"]


def test_a_cluster_of_no_class_stays_without(run, customers):
    arguments = ["customers.csv", "-k", 5, "-m", "constrained-kmeans", "--label-column", "level"]
    ended = run("cluster", *arguments, "-o", "labels.csv")
    assert ended.code == 0
    found = read("labels.csv")
    class_of = {row["cluster"]: row["class"] for row in found}
    assert len(class_of) == 5
    assert sorted(filter(None, class_of.values())) == sorted(CLASSES)
    assert "where it holds most of the class" in ended.out
