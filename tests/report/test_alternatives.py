"""The page of other splits: maps, tables of old against new, similarities, what clusters are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sidelight import KnownSplits, jobs
from sidelight.evaluation import similarity_to_splits
from sidelight.exceptions import InvalidRequest
from sidelight.jobs.alternatives._page import _partition


@pytest.fixture(scope="module")
def found():
    """Two splits that differ from one that is known, shown beside another one, too."""
    rng = np.random.default_rng(0)
    side, height = rng.integers(0, 2, (2, 90))
    X = np.column_stack([9 * side, 5 * height, np.zeros(90)]) + rng.normal(size=(90, 3))
    sides = np.array(["left", "<b>"])[side]
    run = jobs.run(
        "alternatives",
        data=pd.DataFrame(X, columns=["width", "height", "age"]),
        k=2,
        number=2,
        avoid=KnownSplits({"<side>": sides}),
        method="cond-ens",
        truth=X[:, 1] > 2.5,
        scale="none",
    )
    return replace(run, known=KnownSplits({"<side>": sides, "age": X[:, 2]}))


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_every_split_has_its_map(found) -> None:
    page = found.page().html()
    panels = re.findall(r'<figure class="(old|new)">.*?</figure>', page, flags=re.DOTALL)
    assert panels == ["old", "old", "new", "new"]
    maps = re.findall(r"<svg[^>]*scatter.*?</svg>", page, flags=re.DOTALL)
    assert len(maps) == 4
    for drawn in maps:
        assert len(re.findall("<circle", drawn)) == 90
    colors = re.findall(r'<circle class="(k\d)"', maps[2])
    assert colors == [f"k{label}" for label in found.alternatives[0].labels]


def test_tables_have_the_counts_of_old_against_new(found) -> None:
    page = found.page().html()
    titles = re.findall(r"<h2>([^<]*) against ([^<]*)</h2>", page)
    assert titles == [
        ("&lt;side&gt;", "alternative 1"),
        ("age", "alternative 1"),
        ("&lt;side&gt;", "alternative 2"),
        ("age", "alternative 2"),
        ("alternative 1", "alternative 2"),
    ]
    heat = re.findall(r'<table class="heat">(.*?)</table>', page, flags=re.DOTALL)[0]
    counts = [int(n) for n in re.findall(r'<td class="n" style="[^"]*">(\d+)<', heat)]
    codes = found.known.codes[:, 0]
    expected = [
        np.sum((codes == c) & (found.alternatives[0].labels == k)) for c in (0, 1) for k in (0, 1)
    ]
    assert sorted(counts) == sorted(expected)
    assert sum(counts) == 90


def test_similarities_are_those_of_the_measures(found) -> None:
    words = words_of(found.page().html())
    for split in found.alternatives:
        for one in similarity_to_splits(split.labels, found.known):
            if not np.isnan(one.nmi):
                assert f"{one.variation_of_information:.3f} {one.largest:.3f}" in words
                assert f"{one.nmi:.3f} {one.nmi_reference:.3f}" in words
            else:
                assert f"– – – {one.nmi_reference:.3f}" in words
    assert "NMI, mean of both entropies NMI, entropy of the other" in words


def test_what_users_wrote_is_shown_and_never_run(found) -> None:
    page = replace(found.page(), title="<script>x</script>").html()
    assert "<side>" not in page
    assert "<script>" not in page
    assert "&lt;b&gt;" in page


def test_clusters_are_explained_and_scored(found) -> None:
    words = words_of(replace(found.page(), command="sidelight x").html())
    assert words.count("What the clusters are") == 2
    assert words.count("Agreement with the true classes") == 2
    assert words.count("Objective by iteration") == 2 * 2  # heading and picture
    assert "higher height" in words
    assert "sidelight x" in words


def test_the_status_says_how_much_is_told_again(found) -> None:
    alone = replace(found, alternatives=found.alternatives[:1], labels=found.labels[:, :1])

    def page_beside(known: KnownSplits) -> str:
        return replace(alone, known=known).page().html()

    assert "Known splits avoided: at most" in page_beside(found.known)
    same = KnownSplits({"same": found.alternatives[0].labels})
    assert "100% of a known split is told again" in page_beside(same)
    page = page_beside(KnownSplits(n_samples=90))
    assert "Nothing was to be avoided" in page
    assert "the first without anything to avoid" in page


def test_at_least_one_split_is_asked_for() -> None:
    with pytest.raises(InvalidRequest, match="number"):
        jobs.run("alternatives", data=np.zeros((2, 2)), k=2, number=0)


def test_numbers_are_colored_in_parts_of_equal_size() -> None:
    (column,) = KnownSplits(numbers={"x": np.arange(50.0)}).columns()
    parts = _partition(column)
    assert parts.sizes.tolist() == [10] * 5
    assert parts.names[0] == "below 9.8"
    (flat,) = KnownSplits(numbers={"x": [1.0, 1.0, 1.0, 2.0]}).columns()
    assert _partition(flat).sizes.sum() == 4
