"""The page of other splits: maps, tables of old against new, similarities, what clusters are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sidelight import KnownSplits
from sidelight.cluster import CondEns, find_alternatives
from sidelight.evaluation import similarity_to_splits
from sidelight.exceptions import SidelightError
from sidelight.jobs.alternatives._page import render_alternatives
from sidelight.pictures._splits import known_partitions
from sidelight.preparation import TypedColumn


@pytest.fixture(scope="module")
def found() -> tuple[np.ndarray, KnownSplits, list[CondEns]]:
    rng = np.random.default_rng(0)
    side, height = rng.integers(0, 2, (2, 90))
    X = np.column_stack([9 * side, 5 * height, np.zeros(90)]) + rng.normal(size=(90, 3))
    known = KnownSplits({"<side>": np.array(["left", "<b>"])[side], "age": X[:, 2]})
    splits = KnownSplits({"<side>": np.array(["left", "<b>"])[side]})
    return X, known, find_alternatives(CondEns(2, random_state=0), X, 2, known=splits)


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_every_split_has_its_map(found) -> None:
    X, known, models = found
    page = render_alternatives(models, X, known=known)
    panels = re.findall(r'<figure class="(old|new)">.*?</figure>', page, flags=re.DOTALL)
    assert panels == ["old", "old", "new", "new"]
    maps = re.findall(r"<svg[^>]*scatter.*?</svg>", page, flags=re.DOTALL)
    assert len(maps) == 4
    for drawn in maps:
        assert len(re.findall("<circle", drawn)) == 90
    colors = re.findall(r'<circle class="(k\d)"', maps[2])
    assert colors == [f"k{label}" for label in models[0].labels_]


def test_tables_have_the_counts_of_old_against_new(found) -> None:
    X, known, models = found
    page = render_alternatives(models, X, known=known)
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
    codes = known.codes[:, 0]
    expected = [np.sum((codes == c) & (models[0].labels_ == k)) for c in (0, 1) for k in (0, 1)]
    assert sorted(counts) == sorted(expected)
    assert sum(counts) == 90


def test_similarities_are_those_of_the_measures(found) -> None:
    X, known, models = found
    words = words_of(render_alternatives(models, X, known=known))
    for model in models:
        for one in similarity_to_splits(model.labels_, known):
            if not np.isnan(one.nmi):
                assert f"{one.variation_of_information:.3f} {one.largest:.3f}" in words
                assert f"{one.nmi:.3f} {one.nmi_reference:.3f}" in words
            else:
                assert f"– – – {one.nmi_reference:.3f}" in words
    assert "NMI, mean of both entropies NMI, entropy of the other" in words


def test_what_users_wrote_is_shown_and_never_run(found) -> None:
    X, known, models = found
    page = render_alternatives(models, X, known=known, title="<script>x</script>")
    assert "<side>" not in page
    assert "<script>" not in page
    assert "&lt;b&gt;" in page


def test_clusters_are_explained_and_scored(found) -> None:
    X, known, models = found
    columns = [TypedColumn("width", "number", X[:, 0]), TypedColumn("height", "number", X[:, 1])]
    words = words_of(
        render_alternatives(
            models,
            X,
            known=known,
            columns=columns,
            labels_true=X[:, 1] > 2.5,
            command="sidelight x",
        )
    )
    assert words.count("What the clusters are") == 2
    assert words.count("Agreement with the true classes") == 2
    assert words.count("Objective by iteration") == 2 * 2  # heading and picture
    assert "higher height" in words
    assert "sidelight x" in words


def test_the_status_says_how_much_is_told_again(found) -> None:
    X, known, models = found
    assert "Known splits avoided: at most" in render_alternatives(models[:1], X, known=known)
    same = KnownSplits({"same": models[0].labels_})
    assert "100% of a known split is told again" in render_alternatives(models[:1], X, known=same)
    empty = KnownSplits(n_samples=90)
    page = render_alternatives(models, X, known=empty)
    assert "Nothing was to be avoided" in page
    assert "the first without anything to avoid" in page


def test_nothing_to_report_on() -> None:
    with pytest.raises(SidelightError, match="no alternative"):
        render_alternatives([], np.zeros((2, 2)), known=KnownSplits(n_samples=2))


def test_numbers_are_colored_in_parts_of_equal_size() -> None:
    ((name, parts),) = known_partitions(KnownSplits(numbers={"x": np.arange(50.0)}))
    assert name == "x"
    assert parts.sizes.tolist() == [10] * 5
    assert parts.names[0] == "below 9.8"
    ((_, flat),) = known_partitions(KnownSplits(numbers={"x": [1.0, 1.0, 1.0, 2.0]}))
    assert flat.sizes.sum() == 4
