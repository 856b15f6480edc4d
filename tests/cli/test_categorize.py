"""``sidelight categorize``: a table of texts to categories, and new texts by a saved model."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs
from sidelight.cluster import TextCategories
from sidelight.datasets import make_category_corpus
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.feature_selection import GiniScore
from sidelight.jobs import CategorizeRequest, load_model


def frame_of(n=600, seed=0, **options):
    corpus = make_category_corpus(n, n_topics=4, with_texts=True, random_state=seed, **options)
    names = np.array(corpus.extras["class_names"])[corpus.extras["labels"]]
    topics = np.array(corpus.target_names)[corpus.target]
    ids = [f"d{i}" for i in range(n)]
    columns = {"id": ids, "text": corpus.extras["texts"], "class": names, "topic": topics}
    return corpus, pd.DataFrame(columns)


@pytest.fixture
def pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    corpus, frame = frame_of()
    frame.to_csv("pages.csv", index=False)
    return corpus, frame


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_categories_are_those_of_the_estimator(pages, run):
    corpus, frame = pages
    ended = run("categorize", "pages.csv", "--label-column", "class", "-o", "out.csv")
    assert ended.code == 0, ended.err
    frequency = (corpus.data > 0).sum(axis=0)
    usual = np.flatnonzero((frequency >= 6) & (frequency <= 300))
    order = usual[np.argsort(np.array(corpus.feature_names)[usual])]
    counts = corpus.data[:, order]
    kept = GiniScore(0.9).fit_transform(counts, frame["class"])
    model = TextCategories().fit(kept, frame["class"])
    rows = rows_of("out.csv")
    head = ["id", "class", "category", "moved", "cosine", "margin", "support"]
    assert list(rows[0]) == head
    assert [row["id"] for row in rows] == frame["id"].tolist()
    assert [row["class"] for row in rows] == frame["class"].tolist()
    assert [row["category"] for row in rows] == model.category_names_[model.labels_].tolist()
    np.testing.assert_allclose([float(row["cosine"]) for row in rows], model.cosines_, atol=6e-5)
    moved = np.flatnonzero([row["moved"] == "yes" for row in rows])
    np.testing.assert_array_equal(moved, np.sort(model.moved_))
    assert [row["support"] == "" for row in rows] == [row["moved"] == "no" for row in rows]
    support = [float(rows[row]["support"]) for row in model.moved_]
    np.testing.assert_allclose(support, model.move_support_, atol=6e-5)
    assert f"{len(model.moved_)} documents moved" in ended.out
    assert "all supported by a held-out check (naive Bayes)" in ended.out


def test_predict_of_the_same_documents_agrees(pages, run):
    settings = ("--set", "outlier_threshold=0.42")
    given = (
        "categorize",
        "pages.csv",
        "--label-column",
        "class",
        "-o",
        "c.csv",
        "--save",
        "m.skops",
    )
    assert run(*given, *settings).code == 0
    ended = run("predict", "m.skops", "pages.csv", "-o", "p.csv")
    assert ended.code == 0, ended.err
    placed = [row["category"] for row in rows_of("c.csv")]
    assert [row["category"] for row in rows_of("p.csv")] == placed
    n_out = placed.count("")
    assert n_out > 0
    assert f"{n_out} document" in ended.err
    assert "left out as an outlier when these were found: no category." in ended.err


def test_a_system_that_looks_sound_is_said_to(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    _, frame = frame_of(mislabeled=0.0)
    frame.to_csv("pages.csv", index=False)
    given = ("categorize", "pages.csv", "--label-column", "class", "--truth-column", "topic")
    ended = run(*given, "--report", "r.html", "-o", "c.csv")
    assert "A held-out check (naive Bayes) puts 100% of the documents where they are" in ended.out
    assert "the classes look right. Nothing was moved." in ended.out
    assert {row["moved"] for row in rows_of("c.csv")} == {"no"}
    facts = run(*given, "--json").json
    assert (facts["n_moved"], facts["held_out"]["wrong_share"]) == (0, 0)
    assert facts["held_out"]["agreement"] > 0.98
    scores = facts["scores"]
    assert scores["categories"]["purity"] == scores["given classes"]["purity"] == 1
    assert scores["naive Bayes"]["purity"] == pytest.approx(facts["held_out"]["agreement"])


@pytest.mark.parametrize("gap", ["NA", "None", "nan", "null"])
def test_a_class_that_is_called_like_a_gap_is_told(pages, run, gap):
    _, frame = pages
    frame.loc[:2, "class"] = gap
    frame.loc[3, "class"] = ""
    frame.to_csv("pages.csv", index=False)
    ended = run("categorize", "pages.csv", "--label-column", "class")
    assert f"In the column 'class', '{gap}' (3 rows) means that the class is not known" in ended.err
    assert "if that is a class, give it another name" in ended.err
    assert "4 documents without a class" in ended.err


def test_classes_that_the_words_do_not_tell_apart_are_told(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    _, frame = frame_of(400, n_duplicated=1)
    frame.to_csv("pages.csv", index=False)
    ended = run("categorize", "pages.csv", "--label-column", "class", "-o", "c.csv")
    assert "The words do not tell the classes 'wine' and 'wine again' apart" in ended.err
    moves = {(row["class"], row["category"]) for row in rows_of("c.csv") if row["moved"] == "yes"}
    assert moves
    assert not moves & {("wine", "wine again"), ("wine again", "wine")}


def test_what_is_shown(pages, run):
    ended = run("categorize", "pages.csv", "--label-column", "class", "--truth-column", "topic")
    assert "600 documents" in ended.out
    assert "4 classes to 4 categories after 4 passes" in ended.out
    assert "wine_0, wine_1" in ended.out
    assert "Agreement with the column 'topic'" in ended.out
    assert "Nearest categories" in ended.out
    facts = run(
        "categorize", "pages.csv", "--label-column", "class", "--truth-column", "topic", "--json"
    ).json
    assert facts["scores"]["categories"]["purity"] > facts["scores"]["given classes"]["purity"]
    assert facts["n_categories"] == 4
    assert facts["categories"][0]["classes"]
    assert len(facts["rows"]["category"]) == 600
    assert facts["killed"] == []


def test_new_documents_by_the_saved_model(pages, run):
    _, frame = pages
    save = run("categorize", "pages.csv", "--label-column", "class", "--save", "m.skops", "-q")
    assert save.code == 0
    new = frame.head(50).drop(columns=["class", "topic"])
    new.loc[3, "text"] = "nothing known here"
    new.to_csv("new.csv", index=False)
    ended = run("predict", "m.skops", "new.csv", "-o", "ranked.csv")
    assert ended.code == 0, ended.err
    assert "1 document without a known word" in ended.err
    rows = rows_of("ranked.csv")
    head = ["id", "category", "cosine", "why", "category_2", "cosine_2", "why_2"]
    assert list(rows[0])[:7] == head
    assert rows[3]["category"] == rows[3]["why"] == ""
    found = jobs.run("categorize", data="pages.csv", labels="class")
    ranking = found.estimator.rank(found.X[:50], 3)
    names = found.estimator.category_names_
    for i, row in enumerate(rows):
        if i != 3:
            assert row["category"] == names[ranking.categories[i, 0]]
            assert row["why"] == ranking.why(i, 0, names, found.words)
    again = run("predict", "m.skops", "new.csv", "-o", "ranked.csv")
    assert again.code == 0
    facts = run("predict", "m.skops", "new.csv", "--json").json
    assert len(facts["categories"]) == 50
    assert facts["categories"][3] == []


def test_several_columns_of_text_and_of_any_format(pages, run):
    _, frame = pages
    parts = frame["text"].str.split(" ", n=10)
    frame["title"] = [" ".join(words[:10]) for words in parts]
    frame["body"] = [words[10] if len(words) > 10 else None for words in parts]
    frame.drop(columns="text").to_parquet("parts.parquet")
    whole = run("categorize", "pages.csv", "--label-column", "class", "-o", "a.csv")
    split = run(
        *("categorize", "parts.parquet", "--label-column", "class"),
        *("--text-column", "title,body", "-o", "b.csv"),
    )
    assert whole.code == split.code == 0
    assert rows_of("a.csv") == rows_of("b.csv")
    found = jobs.run(
        "categorize", data=frame, labels="class", text=["title", "body"], id_column="id"
    )
    assert [row["category"] for row in rows_of("a.csv")] == found.rows()["category"].tolist()


def test_documents_that_say_nothing(pages, run):
    _, frame = pages
    frame.loc[[4, 8], "text"] = ["", "?! ..."]
    frame.loc[5, "class"] = None
    frame.to_csv("pages.csv", index=False)
    ended = run("categorize", "pages.csv", "--label-column", "class", "-o", "out.csv")
    assert ended.code == 0
    assert "2 documents without a word that counts" in ended.err
    assert "'d4', 'd8'" in ended.err
    assert "1 document without a class" in ended.err
    rows = rows_of("out.csv")
    assert rows[4]["category"] == rows[8]["category"] == ""
    assert rows[5]["class"] == ""
    assert rows[5]["category"]
    assert rows[5]["moved"] == "no"


def test_words_are_chosen_as_asked(pages):
    corpus, _ = pages
    many = jobs.run("categorize", data="pages.csv", labels="class", min_df=1, max_df=1.0)
    assert many.n_words_seen == np.count_nonzero(corpus.data.sum(axis=0))
    few = jobs.run("categorize", data="pages.csv", labels="class", keep_words=100)
    assert len(few.words) == 100
    assert few.n_words_seen > 100
    shared = {f"word{i}" for i in range(400)}
    before = np.mean([word in shared for word in many.words])
    telling = jobs.run("categorize", data="pages.csv", labels="class", keep_words=0.6, max_df=1.0)
    assert np.mean([word in shared for word in telling.words]) < before
    assert few.estimator.seeds_.shape[1] == 100


def test_what_cannot_be_done_is_told(pages, run, put):
    _, _frame = pages
    one = run("categorize", "pages.csv", "--label-column", "clas")
    assert one.code == 1
    assert "did you mean 'class'" in one.err
    missing = run("categorize", "pages.csv", "--label-column", "class", "--text-column", "body")
    assert "no column 'body'" in missing.err
    both = run("categorize", "pages.csv", "--label-column", "class", "--text-column", "class")
    assert "cannot be two things at once" in both.err
    assert run("categorize", "pages.csv").code == 2
    empty = put("empty.csv", "id,text,class\na,,x\nb,,y\n")
    assert "of all documents are empty" in run("categorize", empty, "--label-column", "class").err
    alone = put("alone.csv", "id,text,class\na,some words,x\nb,other words,x\n")
    ended = run("categorize", alone, "--label-column", "class", "--max-df", "1")
    assert "one class, 'x'" in ended.err
    none = put("none.csv", "id,text,class\na,some words,\nb,other words,\n")
    ended = run("categorize", none, "--label-column", "class", "--max-df", "1")
    assert "no" in ended.err
    assert "--label-column" in ended.err
    small = put("small.csv", "id,text,class\na,some red words,x\nb,other blue words,y\n")
    ended = run("categorize", small, "--label-column", "class")
    assert "--set min_documents=8 asks for more" in ended.err
    rare = run("categorize", "pages.csv", "--label-column", "class", "--min-df", "601")
    assert "Lower --min-df" in rare.err
    for option, value in (("--min-df", "0"), ("--max-df", "2"), ("--keep-words", "0")):
        assert (
            option in run("categorize", "pages.csv", "--label-column", "class", option, value).err
        )
    wrong = run("categorize", "pages.csv", "--label-column", "class", "-m", "kmeans")
    assert wrong.code == 2
    with pytest.raises(InvalidRequest, match="a file or a data frame"):
        jobs.run("categorize", data=[["some text"]], labels="class")
    np.save("rows.npy", np.ones((4, 2)))
    with pytest.raises(SidelightError):
        jobs.run("categorize", data="rows.npy", labels="class")


def test_small_classes_and_one_category_are_told(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    _, frame = frame_of(200)
    frame.loc[:3, "class"] = "odd"
    frame.to_csv("pages.csv", index=False)
    ended = run("categorize", "pages.csv", "--label-column", "class")
    assert "1 class has fewer than 8 documents" in ended.err
    assert "'odd'" in ended.err
    merged = run("categorize", "pages.csv", "--label-column", "class", "--set", "merge_threshold=0")
    assert "All classes became one category" in merged.err
    assert "Merged:" in merged.out


def test_the_command_of_a_request(pages):
    request = CategorizeRequest(
        "pages.csv", labels="class", text=("text", "topic"), keep_words=50, settings={"shrink": 0.5}
    )
    assert request.command_line() == (
        "sidelight categorize pages.csv --label-column class --keep-words 50 --set shrink=0.5 "
        "--text-column text,topic"
    )
    assert CategorizeRequest(pages[1], labels="class").command_line() is None


def test_what_sidelight_wrote_is_replaced(pages, run):
    given = ("categorize", "pages.csv", "--label-column", "class", "-o", "out.csv")
    assert run(*given, "--report", "r.html", "--save", "m.skops").code == 0
    assert "Replaced" in run(*given, "--report", "r.html", "--save", "m.skops").err
    assert run(*given[:-1], "pages.csv").code == 2
    model = load_model("m.skops")
    found = jobs.run("predict", model=model, data="pages.csv")
    assert found.sizes
    assert model.label_column == "class"
