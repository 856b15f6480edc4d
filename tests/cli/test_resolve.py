"""``sidelight resolve`` and the questions about doubtful pairs: references to entities."""

import csv
import io
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs
from sidelight.datasets import make_papers
from sidelight.exceptions import SidelightError
from sidelight.jobs import ResolveRequest
from sidelight.pictures.relational._curve import curve_of
from sidelight.relational import AttributeResolution, CollectiveResolution

PEOPLE = """id,name,city,year,who,file
r1,Ann Lee,Bonn,1980,A,x
r2,Anne Lee,Bonn,1980,A,y
r3,Bob Ross,Ulm,1975,B,x
r4,Bob Ros,Ulm,1975,B,y
r5,A. Lee,Bonn,1980,A,z
r6,Carl Sand,Ulm,1960,C,x
r7,Carla Sand,Ulm,1960,D,x
"""
COMPARED = ("--compare", "name:text,city:exact")
TABLE = {
    "name": ["Ann Lee", "Anne Lee", "Bob Ross", "Bob Ros", "A. Lee", "Carl Sand", "Carla Sand"],
    "city": ["Bonn", "Bonn", "Ulm", "Ulm", "Bonn", "Ulm", "Ulm"],
}


@pytest.fixture
def people(put, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    return put("people.csv", PEOPLE)


@pytest.fixture
def papers(put, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    columns, relations, authors = make_papers(60, n_authors=30, random_state=0)
    with open("authors.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "author"])
        writer.writerows(zip(*columns.values(), authors, strict=True))
    return columns, relations, authors


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_entities_are_those_of_the_estimator(people, run):
    ended = run("resolve", "people.csv", *COMPARED, "-o", "e.csv", "--report", "r.html")
    assert ended.code == 0, ended.err
    model = AttributeResolution(compare={"name": "text", "city": "exact"}).fit(TABLE)
    rows = rows_of("e.csv")
    assert list(rows[0]) == ["id", "entity"]
    assert [row["id"] for row in rows] == [f"r{i}" for i in range(1, 8)]
    assert [int(row["entity"]) for row in rows] == model.labels_.tolist()
    assert "21 pairs of 21 compared" in ended.out
    assert "AttributeResolution on people.csv: 7 references" in ended.out
    assert "How the largest entities came about" in Path("r.html").read_text()
    again = run("resolve", "people.csv", *COMPARED, "-o", "e.csv", "--threshold", "2")
    assert (again.code, "Replaced what was in e.csv." in again.err) == (0, True)
    assert len({row["entity"] for row in rows_of("e.csv")}) == 7


def test_groups_choose_the_collective_method(papers, run):
    columns, _, authors = papers
    arguments = ("--group-column", "paper", "--compare", "name:name", "--truth-column", "author")
    facts = run("resolve", "authors.csv", *arguments, "--json").json
    assert facts["method"] == "collective-resolution"
    table = {"name": columns["name"]}
    model = CollectiveResolution(compare={"name": "name"}).fit(table, relations=columns["paper"])
    assert facts["labels"] == model.labels_.tolist()
    assert facts["completeness"] == 1.0
    assert facts["threshold"] == model.threshold_
    lower = CollectiveResolution(model.threshold_ / 2, compare={"name": "name"})
    lower.fit(table, relations=columns["paper"])
    curve = curve_of(lower.merges_, authors)
    assert facts["best"]["f1"] == pytest.approx(curve.f1.max())
    # The point of the curve at the threshold of the run is the run itself.
    at = curve.f1[curve.at(model.threshold_)]
    assert facts["scores"]["all"]["pairwise_f1"] == pytest.approx(at)


def test_a_report_with_all_that_there_is(papers, run):
    arguments = ("--group-column", "paper", "--compare", "name:name", "--truth-column", "author")
    ended = run(
        *("resolve", "authors.csv", *arguments, "--relational-share", "0.4", "--threshold", "0.5"),
        *("-o", "e.csv", "--report", "r.html", "--doubtful", "d.csv"),
    )
    assert ended.code == 0, ended.err
    page = Path("r.html").read_text()
    assert "Precision and recall over the threshold" in page
    assert "neighbors shared" in page
    assert "Best pairwise F1 over the threshold" in ended.out
    assert "--relational-share 0.4" in page
    doubtful = rows_of("d.csv")
    assert list(doubtful[0]) == ["i", "j", "similarity", "attribute", "relational", "reason"]
    apart = [abs(float(row["similarity"]) - 0.5) for row in doubtful]
    assert apart == sorted(apart)
    assert {row["i"] for row in doubtful} <= set(papers[0]["id"])


def test_entities_are_scored_by_evaluate(people, run):
    facts = run("resolve", "people.csv", *COMPARED, "--truth-column", "who", "--json").json
    run("resolve", "people.csv", *COMPARED, "-o", "e.csv")
    scores = run("evaluate", "e.csv", "--truth", "people.csv", "--truth-column", "who", "--json")
    assert scores.code == 0, scores.err
    found = scores.json["scores"]["all"]["pairwise_f1"]
    assert found == facts["scores"]["all"]["pairwise_f1"]


def test_keys_weights_sources(people, run):
    compared = ("--compare", "name:text*3,city:exact,year:number")
    facts = run("resolve", "people.csv", *compared, "--block", "city", "--json").json
    assert facts["n_pairs"] == 3 + 6
    assert facts["n_all_pairs"] == 21
    facts = run("resolve", "people.csv", *compared, "--block", "city & year", "--json").json
    assert facts["n_pairs"] == 3 + 1 + 1
    facts = run("resolve", "people.csv", *COMPARED, "--threshold", "0.5", "--json").json
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    assert labels["r6"] == labels["r7"]
    facts = run(
        *("resolve", "people.csv", *COMPARED, "--threshold", "0.5"),
        *("--source-column", "file", "--json"),
    ).json
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    assert labels["r6"] != labels["r7"]


def test_by_default_all_columns_are_compared(people, run):
    ended = run("resolve", "people.csv", "--drop", "who,file", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["parameters"]["compare"] == "auto"


def test_a_first_column_of_names_is_compared(put, run):
    put("names.csv", "name,city\nAnn Lee,Bonn\nAnne Lee,Bonn\nBob Ross,Ulm\n")
    facts = run("resolve", "names.csv", "--compare", "name:text", "--json").json
    assert facts["ids"] == [0, 1, 2]
    assert facts["labels"] == [0, 0, 1]


def test_doubtful_pairs_are_asked_and_the_answers_hold(people, run, monkeypatch):
    """From references to doubtful pairs, to answers, to entities in which these hold."""
    base = ("resolve", "people.csv", *COMPARED, "--threshold", "0.9")
    assert run(*base, "-o", "e.csv", "--doubtful", "d.csv").code == 0
    pairs = [(row["i"], row["j"]) for row in rows_of("d.csv")]
    assert ("r6", "r7") in pairs
    answers = ["s" if pair == ("r6", "r7") else "d" for pair in pairs]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    ended = run("ask", "people.csv", "--pairs", "d.csv")
    assert ended.code == 0, ended.err
    assert "Carla Sand" in ended.out
    assert "--constraints people.answers.constraints.csv" in ended.out
    facts = run(*base, "-c", "people.answers.constraints.csv", "--json").json
    labels = dict(zip(facts["ids"], facts["labels"], strict=True))
    for i, j in pairs:
        assert (labels[i] == labels[j]) == ((i, j) == ("r6", "r7"))
    # What is settled is not in doubt any more.
    run(*base, "-c", "people.answers.constraints.csv", "--doubtful", "d2.csv")
    assert not set(pairs) & {(row["i"], row["j"]) for row in rows_of("d2.csv")}


def test_a_dialogue_goes_on_where_it_ended(people, run, monkeypatch):
    Path("d.csv").write_text("i,j,reason\nr1,r2,close\nr3,r4,\nr6,r7,\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nk\nq\n"))
    facts = run("ask", "people.csv", "--pairs", "d.csv", "--json").json
    assert facts["answers"]["same"] == facts["answers"]["skipped"] == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("d\n"))
    ended = run("ask", "people.csv", "--pairs", "d.csv")
    assert "Nothing is left to ask." in ended.out
    text = Path("people.answers.constraints.csv").read_text().splitlines()
    assert text[1:] == ["r1,r2,must-link,1", "r6,r7,cannot-link,1"]


def test_bad_lists_of_pairs(people, run):
    def wrong(text, *more, code=1):
        Path("d.csv").write_text(text)
        ended = run("ask", "people.csv", "--pairs", "d.csv", *more)
        assert ended.code == code, ended.out
        return ended.err

    assert "has no column 'j'" in wrong("i,other\nr1,r2\n")
    assert "no row called 'r99'" in wrong("i,j\nr1,r99\n")
    assert "with itself" in wrong("i,j\nr1,r1\n")
    assert "-o has no use with --pairs" in wrong("i,j\nr1,r2\n", "-o", "x.csv", code=2)
    assert "--strategy has no use" in wrong("i,j\nr1,r2\n", "--strategy", "random", code=2)
    assert "--questions must be a whole number of at least 0" in wrong(
        "i,j\nr1,r2\n", "--questions", "-1", code=2
    )


def test_bad_requests(people, run):
    def wrong(*arguments, code=1):
        ended = run("resolve", "people.csv", *arguments)
        assert ended.code == code, ended.err
        said = [line for line in ended.err.splitlines() if line.startswith("Error")]
        assert len(said) == 1
        return said[0]

    assert "has no column 'nam'" in wrong("--compare", "nam:text")
    assert "name:fuzzy" in wrong("--compare", "name:fuzzy*2", code=2)
    assert "fuzzy" in wrong("--compare", "name:fuzzy")
    assert "write COLUMN:KIND" in wrong("--compare", "name", code=2)
    assert "twice" in wrong("--compare", "name:text,name:words", code=2)
    assert "is no form of a key" in wrong(*COMPARED, "--block", "name:first3")
    assert "names no column" in wrong(*COMPARED, "--block", "nam")
    assert "write COLUMN" in wrong(*COMPARED, "--block", "name&", code=2)
    assert "'paper'" in wrong(*COMPARED, "--group-column", "paper")
    assert "two things at once" in wrong(
        *COMPARED, "--group-column", "file", "--source-column", "file", code=2
    )
    assert "at once" in wrong(*COMPARED, "--truth-column", "city", code=2)
    assert "given twice" in wrong(*COMPARED, "--threshold", "0.5", "--set", "threshold=1", code=2)
    assert "has no parameter 'relational_share'" in wrong(
        *COMPARED, "--relational-share", "0.5", code=2
    )
    assert "--threshold must be" in wrong(*COMPARED, "--threshold", "nan", code=2)
    assert "should end in" in wrong(*COMPARED, "--doubtful", "d.npy")
    assert "`sidelight cluster" in wrong("-m", "kmeans", code=2)


def test_a_block_with_too_many_pairs_is_named(put, run, monkeypatch):
    from sidelight.relational.resolution import _blocking

    monkeypatch.setattr(_blocking, "MAX_PAIRS", 3)
    put("people.csv", PEOPLE)
    ended = run("resolve", "people.csv", *COMPARED, "--block", "city")
    assert ended.code == 1
    assert "city=ulm" in ended.err
    assert "4 rows, 6 pairs" in ended.err


def test_spreadsheets(put, run):
    put("p.csv", "id,name\n=a,Ann\n+b,Ann\n")
    arguments = (
        "--compare",
        "name:exact",
        "-o",
        "e.csv",
        "--doubtful",
        "d.csv",
        "--spreadsheet-safe",
    )
    assert run("resolve", "p.csv", *arguments).code == 0
    assert "'=a" in Path("e.csv").read_text()


def test_a_run_in_python(people):
    compare = {"name": "text", "city": "exact"}
    found = jobs.run("resolve", data="people.csv", compare=compare, truth="who")
    assert found.labels.dtype == np.int32
    assert found.curve is not None
    assert found.row_texts()[0] == "Ann Lee, Bonn"
    written = found.write(entities="e.parquet", doubtful="d.parquet", report="r.html")
    assert sorted(written) == ["doubtful", "entities", "report"]


def test_a_table_in_memory(people):
    frame = pd.read_csv("people.csv").set_index("id")
    asked = {"compare": {"name": "text*3", "city": "exact"}, "blocking": ["city"], "truth": "who"}
    of_file = jobs.run("resolve", data="people.csv", sources="file", **asked)
    found = jobs.run("resolve", data=frame, sources="file", **asked)
    np.testing.assert_array_equal(found.labels, of_file.labels)
    assert found.data.row_ids.tolist() == of_file.data.row_ids.tolist()
    assert found.estimator.compare["name"].weight == 3.0


def test_the_command_line_says_all_that_was_asked(people, run):
    """Weights and keys of several columns are written so that they are read again."""
    asked = ResolveRequest(
        "people.csv",
        compare={"name": "text*3", "year": "number"},
        blocking=["name", ("city", "year")],
    )
    words = shlex.split(asked.command_line())
    assert words[3:] == [
        "--compare",
        "name:text*3,year:number",
        "--block",
        "name",
        "--block",
        "city&year",
    ]
    facts = run(*words[1:], "--json").json
    found = jobs.run(asked)
    assert facts["labels"] == found.labels.tolist()
    assert facts["n_pairs"] == found.facts()["n_pairs"]


NEW = """id,name,city,file
n1,Ann Leee,Bonn,x
n2,Bob Rosss,Ulm,q
n3,Zed Zod,Ulm,q
n4,Zed Zodd,Ulm,
n5,Carla Sandd,Ulm,q
r1,Ann Lee,Bonn,x
"""
SAVED = (*COMPARED, "--threshold", 0.95, "--source-column", "file", "--save", "m.skops")


def test_new_references_get_entities_by_a_saved_model(people, put, run):
    put("new.csv", NEW)
    fitted = run("resolve", "people.csv", *SAVED, "-o", "e.csv")
    assert fitted.code == 0, fitted.err
    entity = {row["id"]: row["entity"] for row in rows_of("e.csv")}
    ended = run("predict", "m.skops", "new.csv", "-o", "n.csv")
    assert ended.code == 0, ended.err
    rows = {row["id"]: row for row in rows_of("n.csv")}
    assert list(rows["n1"]) == ["id", "entity", "similarity", "also"]
    assert rows["n1"]["entity"] not in entity.values()  # the source x has Ann Lee already
    assert rows["n1"]["similarity"] == ""
    assert rows["n2"]["entity"] == entity["r3"]
    assert rows["n3"]["entity"] == rows["n4"]["entity"] not in entity.values()
    assert (rows["n5"]["entity"], rows["n5"]["also"]) == (entity["r7"], entity["r6"])
    assert (rows["r1"]["entity"], rows["r1"]["similarity"]) == (entity["r1"], "1.0")
    assert "1 reference of which the column 'also' names other entities would join" in ended.err
    assert "run resolve on both tables together" in ended.err
    assert "AttributeResolution on new.csv: 6 references" in ended.out
    assert "3 references of 3 known entities, 3 of 2 new ones." in ended.out
    assert "Also matches" in ended.out
    facts = run("predict", "m.skops", "new.csv", "--json").json
    assert facts["labels"] == [int(row["entity"]) for row in rows.values()]
    assert facts["similarity"][0] is None
    assert facts["also"] == [[], [], [], [], [int(entity["r6"])], []]
    assert (facts["n_entities"], facts["n_new_entities"], facts["n_of_several"]) == (5, 2, 1)
    again = run("predict", "m.skops", "new.csv", "-o", "n.csv")
    assert (again.code, "Replaced what was in n.csv." in again.err) == (0, True)
    assert run("predict", "m.skops", "new.csv", "-o", "e.csv").code == 2  # of the fit


def test_the_references_of_the_fit_have_their_entities_again(people, papers, run):
    for data, options in (
        ("people.csv", SAVED),
        ("authors.csv", ("--group-column", "paper", "--compare", "name:name", "--save", "m.skops")),
    ):
        labels = run("resolve", data, *options, "--json").json["labels"]
        predicted = run("predict", "m.skops", data, "--json").json
        assert predicted["labels"] == labels
        assert predicted["n_new_entities"] == predicted["n_of_several"] == 0


@pytest.mark.parametrize("method", ["attribute", "relational", "collective"])
def test_a_saved_model_assigns_as_the_fit_does(papers, tmp_path, method):
    columns, _, _ = papers
    table = pd.DataFrame(columns)
    old, new = table[:100], table[100:]
    found = jobs.run(
        "resolve",
        data=old,
        groups="paper",
        compare={"name": "name*2", "year": "number"},
        blocking=("name:last", ("venue", "name:prefix1")),
        method=f"{method}-resolution",
        id_column="id",
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    found.save(tmp_path / "m.skops")
    model = jobs.load_model(tmp_path / "m.skops")
    assert model.feature_names == ["name", "year", "venue"]
    again = jobs.run("predict", model=model, data=tmp_path / "new.csv")
    compared = new.set_index("id")[["name", "year", "venue"]]
    expected = found.estimator.assign(compared, relations=new["paper"].to_numpy())
    assert again.labels.tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(again.found.similarity, expected.similarity)
    assert again.found.also == expected.also
    assert any("Attributes alone decide" in note for note in again.notes) == (
        method == "collective"
    )


def test_what_a_saved_model_of_references_cannot_do_is_said(people, put, run, tmp_path):
    assert run("resolve", "people.csv", *SAVED).code == 0
    put("less.csv", "id,name\nn1,Ann\n")
    ended = run("predict", "m.skops", "less.csv", "-o", "n.csv")
    assert (ended.code, Path("n.csv").exists()) == (1, False)
    assert "less.csv has no column 'city', which the model was fitted to" in ended.err
    ended = run("explain", "m.skops", "people.csv")
    assert ended.code == 1
    assert "finds entities" in ended.err
    assert "--report report.html" in ended.err
    by_function = jobs.run("resolve", data="people.csv", compare={"name": lambda a, b: a == b})
    with pytest.raises(SidelightError, match="'name' is compared by a function"):
        by_function.save(tmp_path / "f.skops")
