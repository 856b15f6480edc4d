"""Pages on the screen of a phone: nothing is wider, and no id is broken letter by letter."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs

WIDTH = 390
#: What the page measures of itself, told to the page around it.
MEASURE = """
<script>
addEventListener("load", () => {
  const wide = (element) => element.getBoundingClientRect().width;
  const box = (element) => element.getBoundingClientRect();
  const names = [...document.querySelectorAll("table .id")].filter(wide);
  parent.postMessage(JSON.stringify({
    screen: innerWidth,
    page: document.documentElement.scrollWidth,
    narrowest: Math.min(...names.map((name) => wide(name.closest("td, th")))),
    weights: [...document.querySelectorAll(".weights span")].map(wide),
    outside: [...document.querySelectorAll("svg text")].filter((text) => wide(text)
      && box(text).right > box(text.closest("svg")).right + 1).map((text) => text.textContent),
  }), "*");
});
</script>
"""
AROUND = """
<iframe src="page.html" style="width: {width}px; height: 900px; border: 0"></iframe>
<script>addEventListener("message", (told) => document.body.dataset.seen = told.data)</script>
"""


@pytest.fixture(scope="module")
def seen_on_a_phone(tmp_path_factory, chromium):
    def seen(found):
        folder = tmp_path_factory.mktemp("phone")
        (folder / "page.html").write_text(found.page().html() + MEASURE, encoding="utf-8")
        around = folder / "around.html"
        around.write_text(AROUND.format(width=WIDTH), encoding="utf-8")
        text = chromium(around.as_uri(), "--dump-dom")
        measured = re.search(r'data-seen="([^"]*)"', text)
        assert measured, text[-500:]
        told = json.loads(html.unescape(measured[1]))
        assert told["screen"] == WIDTH
        return told

    return seen


def test_alternatives_are_no_wider_than_the_screen(seen_on_a_phone) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["one", "two", "three"])
    X["one"] += 9 * rng.integers(0, 2, 60)
    X["country"] = [f"Country with a long name {code}" for code in np.arange(60) % 4]
    found = jobs.run("alternatives", data=X, k=2, avoid="country", number=1)
    assert seen_on_a_phone(found)["page"] <= WIDTH


def test_long_ids_of_references_are_not_broken_letter_by_letter(seen_on_a_phone) -> None:
    names = ["Dorothea Featherstonehaugh", "Benjamin Montgomery", "Christopher Wolfe"]
    rng = np.random.default_rng(0)
    rows = [
        (f"proceedings-of-a-conference-{paper:04d}-author-{author}", paper, names[author])
        for paper in range(12)
        for author in rng.permutation(3)[:2]
    ]
    table = pd.DataFrame(rows, columns=["reference", "paper", "name"]).set_index("reference")
    found = jobs.run("resolve", data=table, groups="paper", compare={"name": "name"})
    told = seen_on_a_phone(found)
    assert told["page"] <= WIDTH
    assert told["narrowest"] > 60


def test_co_clusters_show_the_names_of_their_columns(seen_on_a_phone) -> None:
    rng = np.random.default_rng(0)
    side = np.arange(24) % 2
    ones = rng.random((24, 12)) < np.where(side[:, None] == np.arange(12) % 2, 0.9, 0.1)
    columns = [f"A product with a long name {place}" for place in range(12)]
    table = pd.DataFrame(ones.astype(int), columns=columns)
    told = seen_on_a_phone(jobs.run("cocluster", data=table, k=2))
    assert told["page"] <= WIDTH
    assert min(told["weights"]) > 60
    assert told["outside"] == []
