"""The cards of the report that say what the clusters are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sidelight.explanation import explain_clusters
from sidelight.mixture import GaussianMixture
from sidelight.preparation import TypedColumn
from sidelight.report import render_report

from .conftest import Fitted


@pytest.fixture
def table(example):
    rng = np.random.default_rng(0)
    labels = example.model.labels_
    return [
        TypedColumn("income", "number", rng.normal(20_000 + 30_000 * labels, 4_000)),
        TypedColumn("country", "category", (labels == 1).astype(np.int32), ("DE", "FR")),
        TypedColumn("noise", "number", rng.normal(size=120)),
    ]


def render(example, columns, **more):
    return render_report(
        estimator=example.model, X=example.X, ids=example.ids, columns=columns, **more
    )


def test_every_cluster_has_a_card_with_its_traits(example, table, parse):
    html = render(example, table)
    page, words = parse(html), parse(html).words()
    found = explain_clusters(table, example.model.labels_, ids=example.ids, X=example.X)
    assert len(page.find("article", class_="profile")) == 3
    assert "What the clusters are" in words
    assert "Features by cluster" not in words
    for profile in found.clusters:
        for trait in profile.traits:
            assert trait.what in words
            assert trait.figures in words
        for row in found.typical[profile.name]:
            assert row in words
    assert "higher noise" not in words
    assert "lower noise" not in words
    for rule in found.rules:
        assert rule.text in words
    assert found.rules.sentence in words


def test_bars_have_the_length_of_the_effect(example, table):
    html = render(example, table)
    found = explain_clusters(table, example.model.labels_)
    traits = [trait for profile in found.clusters for trait in profile.traits]
    bars = re.findall(r'<i class="(up|down)" style="left:([\d.]+)%;width:([\d.]+)%"', html)
    assert len(bars) == len(traits)
    for (side, left, width), trait in zip(bars, traits, strict=True):
        assert (side == "up") == (trait.effect > 0)
        assert float(width) == pytest.approx(50 * abs(trait.effect), abs=0.06)
        assert float(left) == pytest.approx(50 + 50 * min(trait.effect, 0.0), abs=0.06)


def test_without_columns_the_means_of_the_features_are_shown(example, parse):
    words = parse(render(example, None)).words()
    assert "Features by cluster" in words
    assert "What the clusters are" not in words


def test_texts_of_the_user_are_escaped(example, parse):
    labels = example.model.labels_
    column = TypedColumn(
        "<script>x</script>", "category", (labels == 1).astype(np.int32), ("<b>a", "<b>c")
    )
    html = render(example, [column], title="safe")
    parse(html)
    body = html.split("</style>")[1].split('<script type="application/json"')[0]
    assert "<script>x" not in body
    assert "<b>a" not in body
    assert "&lt;b&gt;c" in body


def test_rows_in_no_cluster_clusters_of_one_row_and_very_many(parse):
    rng = np.random.default_rng(1)
    labels = np.append(np.arange(40), rng.integers(-1, 30, 300))
    X = rng.normal(size=(340, 2))
    column = TypedColumn("x", "number", X[:, 0] + labels)
    html = render_report(estimator=Fitted().with_labels(labels), X=X, columns=[column])
    page = parse(html)
    assert len(page.find("article", class_="profile")) == 24
    assert "16 smaller clusters not shown." in page.words()
    alone = render_report(
        estimator=Fitted().with_labels(np.append(0, np.ones(339, int))), X=X, columns=[column]
    )
    assert "Too few rows to tell a difference from chance." in parse(alone).words()
    one = render_report(estimator=Fitted().with_labels(np.zeros(340, int)), X=X, columns=[column])
    assert "There is one cluster: nothing is to be told apart." in parse(one).words()


def test_a_mixture_is_in_doubt_by_its_probabilities(parse):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2)) + 2.0 * (np.arange(150) % 2)[:, None]
    model = GaussianMixture(n_components=2, random_state=0).fit(X)
    columns = [TypedColumn(f"x{j}", "number", X[:, j]) for j in range(2)]
    page = parse(render_report(estimator=model, X=X, columns=columns))
    own = np.flatnonzero(model.labels_ == 0)
    worst = own[np.argmin(model.predict_proba(X)[own, 0])]
    assert f"In doubt row {worst} or 1" in page.words()


@pytest.mark.parametrize("width", [1300, 400])
def test_cards_fit_into_the_page(width, example, table, chromium, tmp_path):
    """Nothing of the cards sticks out of the page, wide or narrow."""
    long = [
        TypedColumn("a_very_long_name_of_a_column_" * 4, "number", table[0].values),
        *table,
    ]
    measure = """<script>addEventListener("load", () => {
      const wide = [...document.querySelectorAll(".profiles *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 1).length;
      document.documentElement.dataset.wide = wide + "/" + innerWidth;
    });</script>"""
    page = tmp_path / "page.html"
    page.write_text(render(example, long) + measure, encoding="utf-8")
    dom = chromium(page.as_uri(), f"--window-size={max(width, 500)},900", "--dump-dom")
    assert re.search(r'data-wide="0/\d+"', dom)
