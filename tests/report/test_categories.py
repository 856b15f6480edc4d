"""The report of categories: what it shows, and the ranking of new texts in a real browser."""

from __future__ import annotations

import html as html_text
import json
import re

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs
from sidelight.datasets import make_category_corpus
from sidelight.jobs.categorize import _embedded, _page
from sidelight.pictures.categories._flows import flows_of

EVIL = '<script>document.documentElement.dataset.error="run"</script><!-- --></script>'


@pytest.fixture(scope="module")
def found():
    corpus = make_category_corpus(
        900, n_topics=4, n_duplicated=1, group_share=0.3, with_texts=True, random_state=0
    )
    names = np.array(corpus.extras["class_names"])[corpus.extras["labels"]]
    frame = pd.DataFrame({"text": corpus.extras["texts"], "class": names, "topic": corpus.target})
    frame.loc[:40, "text"] = EVIL + " " + frame.loc[:40, "text"]
    frame.loc[700, "text"] = ""
    frame["class"] = frame["class"].replace("rowing", f"rowing {EVIL}")
    settings = {"domination_threshold": 0.3}
    words = {"labels": "class", "truth": "topic", "keep_words": 0.95}
    return jobs.run("categorize", data=frame, settings=settings, **words)


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    return found.report(tmp_path_factory.mktemp("report") / "categories.html")


def test_the_page_is_whole_and_safe(found, page, parse):
    text = page.read_text(encoding="utf-8")
    parsed = parse(text)
    words = parsed.words()
    assert "documents of 5 classes in" in words
    for name in found.estimator.category_names_:
        assert str(name)[:20] in words
    assert len(parsed.find("details")) == len(found.estimator.category_names_)
    assert "Outliers" in words
    assert "no word that counts" in words
    assert "Agreement with the true topics" in words
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert text.count("<script") == 2  # ours: the data, and the program
    assert 'dataset.error="run"</script>' not in text


def test_moved_documents_with_their_reasons(found, page, parse):
    estimator = found.estimator
    rows = re.search(r'<section class="card full" id="moved">.*?</section>', page.read_text(), re.S)
    assert rows.group().count('<tr><th scope="row">') == len(estimator.moved_)
    shown = _page.moved_documents(found)
    support = [float(one.removesuffix("%")) for *_, one in shown if one.endswith("%")]
    assert np.all(np.diff(support) <= 0)
    assert min(support) >= 50
    documents = estimator.compared_counts(found.X)
    for name, _, _, _, why, _, _ in shown[:20]:
        position = int(name.removeprefix("row "))
        words = why.replace(" and ", ", ").split(", ")
        counts = documents[[position]].toarray()[0]
        for word in words:
            column = int(np.flatnonzero(found.words == word)[0])
            assert counts[column] > 0
            new, old = estimator.labels_[position], found.class_codes[position]
            seeds = estimator.seeds_[:, [column]].toarray()[:, 0]
            assert seeds[new] > seeds[estimator.class_category_[old]]


def test_a_page_of_which_nothing_moved(tmp_path, parse):
    corpus = make_category_corpus(300, n_topics=3, mislabeled=0, with_texts=True, random_state=0)
    topics = np.array(corpus.target_names)[corpus.target]
    frame = pd.DataFrame({"text": corpus.extras["texts"], "class": topics})
    found = jobs.run("categorize", data=frame, labels="class")
    words = parse(found.report(tmp_path / "c.html").read_text(encoding="utf-8")).words()
    assert "the classes look right. Nothing was moved." in words
    assert "No document moved." in words


def test_flows_count_documents(found):
    estimator = found.estimator
    whole = flows_of(estimator, 100)
    assert whole.note == ""
    assert whole.counts.sum() == estimator.constituents_.sum()
    for row, name in enumerate(whole.classes):
        position = [str(one) for one in estimator.classes_].index(name)
        assert whole.counts[row].sum() == estimator.constituents_[:, position].sum()
    few = flows_of(estimator, 2)
    assert few.counts.shape == (2, 2)
    assert "2 of 5 classes" in few.note


def test_large_categories_are_cut(found, monkeypatch):
    monkeypatch.setattr(_embedded, "MAX_ENTRIES", 100)
    monkeypatch.setattr(_embedded, "MAX_WORDS", 50)
    text, cut = _embedded.seeds_in_page(found.estimator, found.words)
    n = found.estimator.seeds_.shape[0]
    assert cut == 100 // n
    content = json.loads(text)
    assert sum(map(len, content["seeds"])) <= 100
    assert len(content["words"]) <= 100
    assert "<" not in text


USER = """
<script>
addEventListener("load", () => {
  const seen = [];
  const box = document.getElementById("new-text");
  for (const text of JSON.parse(document.getElementById("tried").textContent)) {
    box.value = text;
    box.dispatchEvent(new Event("input"));
    seen.push([...document.querySelectorAll("#ranked li")].map((line) => [
      line.querySelector("b") ? line.querySelector("b").textContent : "",
      line.dataset.reason || "",
      line.querySelector("small") ? line.querySelector("small").textContent : line.textContent,
    ]));
  }
  const find = document.querySelector("#moved input[type=search]");
  find.value = "wine";
  find.dispatchEvent(new Event("input"));
  const rows = [...document.querySelectorAll("#moved tbody tr")];
  const shown = rows.filter((row) => !row.hidden).length;
  const right = rows.filter((row) => row.textContent.toLowerCase().includes("wine")).length;
  document.documentElement.dataset.seen = JSON.stringify({ seen, shown, right, all: rows.length,
    told: document.querySelector("#moved [data-count]").textContent });
});
</script>
"""


def test_the_page_ranks_new_texts_as_the_estimator_does(found, page, chromium):
    texts = [*found.texts[650:690], "nothing", "WINE_0, wine_1! (kin0_0) the sea", "  "]
    tried = f'<script type="application/json" id="tried">{json.dumps(texts)}</script>'
    page.write_text(page.read_text(encoding="utf-8") + tried + USER, encoding="utf-8")
    dom = chromium(page.as_uri(), "--dump-dom")
    root = re.search(r"<html[^>]*>", dom).group()
    assert 'data-ready="true"' in root
    assert "data-error" not in root
    told = json.loads(html_text.unescape(re.search(r'data-seen="([^"]*)"', root).group(1)))
    counts = found.preparer.count(texts)
    ranking = found.estimator.rank(counts, 3)
    names = found.estimator.category_names_
    assert {"own words", "cosine"} <= set(ranking.reasons.ravel())
    for i, lines in enumerate(told["seen"][:-3]):
        n = np.count_nonzero(ranking.categories[i] >= 0)
        assert [line[0] for line in lines] == names[ranking.categories[i, :n]].tolist()
        assert [line[1] for line in lines] == ranking.reasons[i, :n].tolist()
        for place, line in enumerate(lines):
            assert f"cosine {ranking.cosines[i, place]:.3f}"[:-1] in line[2]
            if line[1] != "others":
                for word in ranking.words[i, place]:
                    assert word < 0 or str(found.words[word]) in line[2]
    assert "No category fits" in told["seen"][-3][0][2]
    assert "wine" in told["seen"][-2][0][0]
    assert told["seen"][-1] == []
    assert told["shown"] == told["right"] < told["all"]
    assert told["told"] == f"{told['shown']} of {told['all']}"
