"""Tables in several files at the terminal."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def big(put) -> Path:
    """A folder of two text files with ids."""
    Path("big").mkdir()
    for part in range(2):
        lines = [f"{20 * part + i},{i % 2 * 9 + i / 99},{'xy'[i % 2]}" for i in range(20)]
        put(f"big/{part}.csv", "\n".join(["id,size,shop", *lines]) + "\n")
    put("known.csv", "i,j,kind\n0,22,must-link\n1,30,cannot-link\n")
    return Path("big")


def test_labels_go_to_a_folder_and_models_are_applied_and_explained(run, big):
    ended = run("cluster", "big/*.csv", "-k", 2, "-c", "known.csv", "-o", "labels/", "--save",
                "model.skops", "--json")  # fmt: skip
    assert ended.code == 0
    assert ended.json["data"] == "big/*.csv"
    assert ended.json["sample"] == {"n_rows": 40, "of": 40}
    assert ended.json["outputs"] == {"labels": "labels", "model": "model.skops"}
    assert "labels" not in ended.json
    labels = [pq.read_table(f"labels/{part}.parquet").to_pydict() for part in range(2)]
    assert labels[0]["id"] + labels[1]["id"] == list(range(40))
    assert ended.json["sizes"] == {"0": 20, "1": 20}

    again = run("predict", "model.skops", "big", "-o", "again/", "--json")
    assert again.json["sizes"] == {"0": 20, "1": 20}
    assert pq.read_table("again/1.parquet").to_pydict() == labels[1]
    by_model = run("explain", "model.skops", "big")
    by_labels = run("explain", "labels/", "big")
    assert by_model.out.startswith("PCKMeans on big: 40 rows")
    assert by_labels.out.startswith("Labels on big: 40 rows")


def test_labels_are_not_printed_where_they_are_not_written(run, big):
    ended = run("cluster", "big", "-k", 2, "--json")
    assert "labels" not in ended.json
    assert "keeps the labels" in run("cluster", "big", "-k", 2).out


def test_folders_of_others_are_refused_unless_forced(run, big, put):
    Path("mine").mkdir()
    put("mine/notes.txt", "hello")
    refused = run("cluster", "big", "-k", 2, "-o", "mine")
    assert (refused.code, "not recognized as an output" in refused.err) == (2, True)
    assert run("cluster", "big", "-k", 2, "-o", "mine", "--force").code == 0
    assert sorted(path.name for path in Path("mine").iterdir()) == [
        "0.parquet",
        "1.parquet",
        "notes.txt",
    ]
    assert run("cluster", "big", "-k", 2, "-o", "big").code == 2


def test_a_checkpoint_is_named_with_its_option(run, big, put):
    put("fit.journal", "something")
    words = ("cluster", "big", "-k", 2, "--checkpoint", "fit.journal", "-o", "labels")
    assert "--resume goes on from it" in run(*words).err
    assert "is no checkpoint" in run(*words, "--resume").err
    assert "with --checkpoint" in run("cluster", "big", "-k", 2, "--resume").err
    Path("fit.journal").unlink()
    assert run(*words, "--resume").code == 0
    assert not Path("fit.journal").exists()
