"""``sidelight compare``, and numbers of clusters as ranges, from file to file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidelight.io import read_labels
from sidelight.jobs._options import read_numbers

QUICK = ("--methods", "pckmeans,kmeans", "-k", "2:3", "--truth-column", "variety")


def test_from_file_to_files(orchard, run):
    data, links = orchard
    ended = run(
        "compare", data, "-c", links, *QUICK, "--budget", "2m",
        "-o", "labels.csv", "--report", "r.html", "--save", "m.skops", "--json",
    )  # fmt: skip
    assert ended.code == 0
    facts = ended.json
    assert facts["command"] == "compare"
    assert facts["method"] == "pckmeans"
    assert facts["parameters"]["n_clusters"] == 3
    assert facts["outputs"] == {"labels": "labels.csv", "report": "r.html", "model": "m.skops"}
    assert {(one["name"], one["k"]) for one in facts["candidates"]} == {
        (name, k) for name in ("pckmeans", "kmeans") for k in (2, 3)
    }
    plain = [one for one in facts["candidates"] if one["name"] == "kmeans"]
    assert all(one["plain"] is None and one["gain"] is None for one in plain)
    _, labels = read_labels("labels.csv")
    # The same as the command that it names.
    alone = run("cluster", data, "-c", links, "-k", 3, "--truth-column", "variety", "--json").json
    assert labels.tolist() == alone["labels"]
    page = Path("r.html").read_text(encoding="utf-8")
    assert "sidelight compare orchard.csv -k 2:3" in page
    assert run("predict", "m.skops", data, "--json").code == 0


def test_people_get_a_table_and_a_verdict(orchard, run):
    data, links = orchard
    ended = run("compare", data, "-c", links, *QUICK)
    assert ended.code == 0
    for words in [
        "4 candidates scored in",
        "42 statements that each was not told",
        "Without",
        "Chosen: pckmeans with k = 3. It keeps",
        "The knowledge helped: +0.",
        "PCKMeans on orchard.csv: 240 rows",
        "Adjusted Rand index",
        "The chosen one alone: sidelight cluster orchard.csv -k 3 --constraints orchard-links.csv",
        "-o labels.csv keeps the labels",
    ]:
        assert words in ended.out
    assert run("compare", data, "-c", links, *QUICK, "-q").out == ""


def test_cluster_chooses_among_several_numbers(orchard, run):
    data, links = orchard
    common = ("cluster", data, "-c", links, "--drop", "variety", "--json")
    several = run(*common, "-k", "2,3,4").json
    assert several["command"] == "cluster"
    assert several["parameters"]["n_clusters"] == 3
    assert [one["name"] for one in several["candidates"]] == ["pckmeans"] * 3
    assert several["labels"] == run(*common, "-k", 3).json["labels"]
    assert "Chosen: pckmeans with k = 3" in several["verdict"][0]


def test_check_looks_at_every_number(orchard, run):
    data, links = orchard
    common = ("check", data, "-c", links, "--drop", "variety")
    ended = run(*common, "-k", "2:4", "--json")
    assert ended.code == 0  # some of them do
    assert [one["answer"] for one in ended.json["feasibility"]] == ["no", "yes", "yes"]
    assert run(*common, "-k", "1:2").code == 1
    assert "3 clusters can satisfy" in run(*common, "-k", "2:3").out
    assert run(*common, "-k", 3, "--json").json["feasibility"]["answer"] == "yes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask", "-k", "2:4"), "-k 2:4: write a whole number"),
        (("cluster", "-k", "4:2"), "-k 4:2: the range ends before it begins; write 2:4"),
        (("cluster", "-k", "three"), "-k three: write a number, a range 2:8 or a list 2,3,5"),
        (("compare", "-k", "0:2"), "-k must be between 1 and the number of rows"),
        (("compare", "--budget", "soon"), "--budget must be a time such as 90s, 2m or 1m30s"),
        (("compare", "--methods", "rca"), "only clusters are compared"),
        (("compare", "--methods", "kmean"), "did you mean"),
    ],
)
def test_wrong_usage_is_one_sentence(orchard, run, arguments, words):
    data, _ = orchard
    command, *options = arguments
    ended = run(command, data, *options)
    assert ended.code in (1, 2)
    assert words in ended.err


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3", 3), ("2:4", (2, 3, 4)), ("2,3,5", (2, 3, 5)), ("5,2", (2, 5)), (" 2 : 3 ", (2, 3)),
     ("4:4", 4), ("2:3,7", (2, 3, 7)), ("-1", -1)],
)  # fmt: skip
def test_numbers_are_read(text, numbers):
    assert read_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "2:", ":3", "2..4", "1.5", "2,,3", "a:b", "1:99999999"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"write a number|more than|ends before"):
        read_numbers(text)
