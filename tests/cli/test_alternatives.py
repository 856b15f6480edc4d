"""``sidelight alternatives``: splits of a table that differ from the known ones."""

import csv
from pathlib import Path

import numpy as np
import pytest

from sidelight import KnownSplits, jobs
from sidelight.cluster import ConditionalInformationBottleneck, find_alternatives
from sidelight.evaluation import adjusted_rand_index
from sidelight.jobs import AlternativesRequest
from sidelight.preparation import TablePreparer

COUNTRY = np.array(["=it", "no"])


def put_csv(name, columns):
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows whose clearest split is the country, and whose next is the habit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    rng = np.random.default_rng(0)
    country, habit = rng.integers(0, 2, (2, 120))
    columns = {
        "id": [f"c{i}" for i in range(120)],
        "income": (9 * country + rng.normal(size=120)).round(3),
        "rent": (9 * country + rng.normal(size=120)).round(3),
        "orders": (7 * habit + rng.normal(size=120)).round(3),
        "country": COUNTRY[country],
        "habit": np.array(["a", "b"])[habit],
    }
    put_csv("shop.csv", columns)
    return columns


def splits_in(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_the_splits_are_those_of_the_estimator(table, run):
    import pandas as pd

    ended = run(
        *("alternatives", "shop.csv", "-k", "2", "--number", "2", "--avoid", "country"),
        *("--truth-column", "habit", "-o", "s.csv", "--report", "s.html"),
    )
    assert ended.code == 0, ended.err
    frame = pd.read_csv("shop.csv", index_col="id")
    rows = TablePreparer().fit_transform(frame[["income", "rent", "orders"]])
    known = KnownSplits({"country": table["country"]})
    method = ConditionalInformationBottleneck(2, random_state=0)
    first, second = find_alternatives(method, rows, 2, known=known)
    written = splits_in("s.csv")
    assert written["id"] == table["id"]
    assert written["alternative_1"] == first.labels_.astype(str).tolist()
    assert written["alternative_2"] == second.labels_.astype(str).tolist()
    assert adjusted_rand_index(table["habit"], first.labels_) > 0.95
    assert "The column is avoided, and no feature: 'country'." in ended.err
    assert "120 rows, 3 features; 2 splits" in ended.out
    assert "different from 'country' (2 classes)" in ended.out
    assert "What sets its clusters apart:" in ended.out
    assert "Agreement with the column 'habit'" in ended.out
    page = Path("s.html").read_text(encoding="utf-8")
    assert "country against alternative 1" in page
    assert "alternative 1 against alternative 2" in page
    command = "sidelight alternatives shop.csv -k 2 --avoid country --truth-column habit"
    assert command in page


def test_facts_for_machines(table, run):
    facts = run(
        *("alternatives", "shop.csv", "-k", "2", "--number", "2", "--avoid", "country"),
        *("--drop", "habit", "--json"),
    ).json
    assert facts["command"] == "alternatives"
    assert facts["method"] == "conditional-information-bottleneck"
    assert facts["avoided"] == [{"name": "country", "n_classes": 2}]
    assert np.shape(facts["labels"]) == (120, 2)
    first, second = facts["alternatives"]
    (beside,) = first["similar_to"]
    assert beside["name"] == "country"
    assert beside["nmi"] < 0.1
    assert beside["variation_of_information"] == pytest.approx(beside["largest"], rel=0.1)
    assert [one["name"] for one in second["similar_to"]] == ["country", "alternative_1"]
    assert sum(first["sizes"].values()) == 120


def test_without_anything_to_avoid_the_first_split_is_the_clearest(table, run):
    facts = run("alternatives", "shop.csv", "-k", "2", "--drop", "country,habit", "--json").json
    labels = np.array(facts["labels"]).T
    assert len(labels) == 2
    assert adjusted_rand_index(table["country"], labels[0]) == 1.0
    assert adjusted_rand_index(table["habit"], labels[1]) > 0.95
    assert facts["alternatives"][0]["similar_to"] == []


def test_an_output_is_avoided_by_the_next_run(table, run):
    command = ("alternatives", "shop.csv", "-k", "2", "--number", "1", "--drop", "country,habit")
    assert run(*command, "-o", "first.csv").code == 0
    assert adjusted_rand_index(table["country"], splits_in("first.csv")["alternative_1"]) == 1.0
    facts = run(*command, "--avoid", "first.csv", "--json").json
    assert adjusted_rand_index(table["habit"], np.ravel(facts["labels"])) > 0.95
    assert facts["avoided"] == [{"name": "alternative_1", "n_classes": 2}]
    again = run(*command, "-o", "first.csv")
    assert "Replaced what was in first.csv" in again.err


def test_files_of_splits_are_read_by_id(table, run):
    order = np.random.default_rng(1).permutation(120)
    put_csv(
        "known.csv",
        {"id": np.array(table["id"])[order], "land": table["country"][order]},
    )
    facts = run(
        *("alternatives", "shop.csv", "-k", "2", "--number", "1", "--drop", "country,habit"),
        *("--avoid", "known.csv", "--json"),
    ).json
    assert adjusted_rand_index(table["habit"], np.ravel(facts["labels"])) > 0.95


def test_numbers_are_avoided_by_the_bottleneck(table, run):
    facts = run(
        *("alternatives", "shop.csv", "-k", "2", "--number", "1", "--drop", "country,habit"),
        *("--avoid", "rent", "--json"),
    ).json
    assert facts["method"] == "conditional-information-bottleneck"
    assert facts["avoided"] == [{"name": "rent", "n_classes": None}]
    assert adjusted_rand_index(table["habit"], np.ravel(facts["labels"])) > 0.9
    ended = run("alternatives", "shop.csv", "-k", "2", "-m", "cond-ens", "--avoid", "rent")
    assert ended.code == 1
    assert "'rent' holds numbers, and this method avoids classes" in ended.err


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.ConstraintWarning")
def test_gaps_of_avoided_columns_are_told(table, run):
    text = Path("shop.csv").read_text(encoding="utf-8").splitlines()
    fields = text[1].split(",")
    fields[2] = fields[4] = ""
    Path("shop.csv").write_text("\n".join([text[0], ",".join(fields), *text[2:]]), encoding="utf-8")
    command = ("alternatives", "shop.csv", "-k", "2", "--number", "1", "--drop", "habit", "--json")
    facts = run(*command, "--avoid", "country").json
    assert facts["avoided"][0]["n_classes"] == 3
    assert any("'country' is missing in 1 row" in note for note in facts["notes"])
    facts = run(*command, "--avoid", "rent").json
    assert any("'rent' has 1 gap, filled with its median" in note for note in facts["notes"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--avoid", "country"),
        ("--drop", "country"),
        ("--avoid", "rent", "--drop", "country"),
        ("--avoid", "country", "-m", "cond-ens"),
    ],
)
def test_a_saved_model_gives_the_splits_again(table, run, arguments):
    command = ("alternatives", "shop.csv", "-k", "2", "--drop", "habit", *arguments)
    assert run(*command, "-o", "s.csv", "--save", "m.skops").code == 0
    ended = run("predict", "m.skops", "shop.csv", "-o", "p.csv")
    assert ended.code == 0, ended.err
    assert splits_in("p.csv") == splits_in("s.csv")
    assert "features alone" not in ended.err
    lines = Path("shop.csv").read_text(encoding="utf-8").splitlines()
    Path("one.csv").write_text("\n".join(lines[:2]), encoding="utf-8")
    facts = run("predict", "m.skops", "one.csv", "--json").json
    names = ("alternative_1", "alternative_2")
    assert facts["labels"] == [[int(splits_in("s.csv")[name][0]) for name in names]]
    assert [sum(facts["sizes"][name].values()) for name in names] == [1, 1]


def test_rows_without_the_avoided_columns_are_assigned_by_their_features(table, run):
    given = ("alternatives", "shop.csv", "-k", "2", "--avoid", "country", "--drop", "habit")
    assert run(*given, "-o", "s.csv", "--save", "m.skops").code == 0
    put_csv("less.csv", {name: table[name] for name in ("id", "income", "rent", "orders")})
    ended = run("predict", "m.skops", "less.csv", "-o", "p.csv")
    assert ended.code == 0, ended.err
    assert "Rows are assigned by their features alone" in ended.err
    assert adjusted_rand_index(table["habit"], splits_in("p.csv")["alternative_1"]) > 0.9
    put_csv("known.csv", {"id": table["id"], "land": table["country"]})
    given = ("alternatives", "less.csv", "-k", "2", "--avoid", "known.csv", "--number", "1")
    assert run(*given, "--save", "m.skops").code == 0
    assert "by their features alone" in run("predict", "m.skops", "less.csv").err


def test_class_names_stay_as_they_are_written(table, run):
    ended = run(
        *("alternatives", "shop.csv", "-k", "2", "--number", "1", "--avoid", "country"),
        *("--drop", "habit", "--report", "r.html", "-q"),
    )
    assert ended.code == 0
    assert "=it" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ("--avoid", "cuntry"),
            2,
            "neither a column of the data nor a file; did you mean 'country'",
        ),
        (("--avoid", "id"), 1, "'id' differs in all 120 rows: it is an id"),
        (("--avoid", "nowhere.csv"), 1, "no file nowhere.csv"),
        (("--avoid", "country", "--avoid", "country"), 2, "names 'country' twice"),
        (("--avoid", "same.csv"), 1, "'s' is 'x' in all 120 rows"),
        (("--avoid", "strange.csv"), 1, "the id 'zz' does not occur in the data"),
        (("--avoid", "twice.csv"), 1, "the id 'c1' occurs twice"),
        (("--avoid", "many.csv"), 1, "'s' has 60 classes for 120 rows, and at most 40"),
        (("--number", "0"), 2, "--number must be a whole number of at least 1, got 0"),
        (("-m", "kmeans"), 2, "kmeans gives a cluster for every row"),
        (("-m", "cond-ens", "--set", "n_local=0"), 1, "--set n_local must be"),
        (
            ("--set", "frobnicate=1"),
            2,
            "ConditionalInformationBottleneck has no parameter 'frobnicate'",
        ),
        (("-o", "shop.csv"), 2, "read here and would be lost"),
        (("--avoid", "same.csv", "-o", "same.csv", "--force"), 2, "read here and would be lost"),
    ],
)
def test_bad_requests_are_answered_in_words(table, run, arguments, code, words):
    ids = table["id"]
    put_csv("same.csv", {"id": ids, "s": ["x"] * 120})
    put_csv("strange.csv", {"id": [*ids[:5], "zz"], "s": list("xyxyxy")})
    put_csv("twice.csv", {"id": ["c0", "c1", "c1"], "s": list("xyx")})
    put_csv("many.csv", {"id": ids, "s": [f"s{i % 60}" for i in range(120)]})
    ended = run("alternatives", "shop.csv", "-k", "2", "--drop", "habit", *arguments)
    assert ended.code == code, ended.err
    assert words in ended.err


def test_the_number_of_clusters_is_asked_for(table, run):
    ended = run("alternatives", "shop.csv", "--avoid", "country")
    assert ended.code == 2
    assert "say how many clusters every split is to have: -k 3" in ended.err


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.ConstraintWarning")
def test_too_many_alternatives_say_how_many_there_can_be(table, run):
    noise = np.random.default_rng(0).normal(size=(8, 60)).round(3)
    put_csv("noise.csv", {f"x{j}": values for j, values in enumerate(noise)})
    ended = run("alternatives", "noise.csv", "-k", "6", "--number", "4", "-q")
    assert ended.code == 1
    assert "cut the 60 rows into" in ended.err
    assert "Or ask for 2 alternatives only, --number 2." in ended.err


# --- in Python ------------------------------------------------------------------------------------


def test_splits_in_memory_and_columns_of_a_data_frame(table):
    import pandas as pd

    frame = pd.read_csv("shop.csv", index_col="id").drop(columns="habit")
    by_name = jobs.run("alternatives", data=frame, k=2, avoid="country", number=1)
    rows = frame.drop(columns="country")
    forms = (
        {"country": frame["country"]},
        frame["country"].sample(frac=1, random_state=0),
        KnownSplits(frame["country"]),
        [KnownSplits(frame["country"])],
    )
    for given in forms:
        found = jobs.run("alternatives", data=rows, k=2, avoid=given, number=1)
        np.testing.assert_array_equal(found.labels, by_name.labels)
        assert found.request.command_line() is None
    assert by_name.alternatives[0].labels.shape == (120,)
    assert by_name.names == ["alternative_1"]
    assert (
        repr(by_name)
        == "<AlternativesRun: ConditionalInformationBottleneck on rows in memory, 120 rows>"
    )


def test_the_command_line_of_a_request():
    asked = AlternativesRequest("a b.csv", k=3, avoid=("country", "old.csv"), number=3)
    assert asked.command_line() == (
        "sidelight alternatives 'a b.csv' -k 3 --number 3 --avoid country --avoid old.csv"
    )


def test_a_column_that_is_named_as_a_feature_stays_one(table):
    columns = ["orders", "country"]
    found = jobs.run("alternatives", data="shop.csv", k=2, columns=columns, avoid="country")
    assert any("country" in name for name in found.features_in)
    assert found.known.names == ("country",)
