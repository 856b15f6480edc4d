"""The report of learned distances, projections and selections, read back from the HTML."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from sidelight import Constraints, catalog
from sidelight.exceptions import SidelightError
from sidelight.feature_selection import ConstraintScore
from sidelight.metric import ITML, RCA
from sidelight.pictures import _pairs
from sidelight.pictures._run import shorten_words
from sidelight.report import render_report, write_report
from sidelight.report.maps import _mapped
from sidelight.report.ranked import ranking_sentence

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 30)
# Two features tell the classes apart, the largest one does not.
X = np.column_stack(
    [Y + 0.2 * RNG.normal(size=90), Y % 2 + 0.2 * RNG.normal(size=90), 6 * RNG.normal(size=90)]
)
NAMES = ["size", "colour", "noise"]
IDS = [f"p{number}" for number in range(90)]
KNOWN = Constraints.sample(Y, 60, protocol="balanced", random_state=0)


def order_of_pairs(rows: np.ndarray, known: Constraints) -> float:
    """How often a must-link is shorter than a cannot-link, by the definition."""
    lengths = [
        np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1)
        for pairs in (known.must_link, known.cannot_link)
    ]
    closer = lengths[0][:, None] < lengths[1][None, :]
    return float(closer.mean())


def test_pairs_before_and_after_are_what_they_are(parse):
    model = RCA().fit(X, constraints=KNOWN)
    html = render_report(estimator=model, X=X, constraints=KNOWN, labels_true=Y, ids=IDS)
    words = parse(html).words()
    before = order_of_pairs(X, KNOWN)
    after = order_of_pairs(model.transform(X), KNOWN)
    assert after > before
    assert f"Known pairs in order: {after:.0%}, before {before:.0%}" in words
    assert f"{before:.1%} {after:.1%}" in words
    assert "Pairs of rows that nothing was said about" in words
    assert "90 rows, 3 features in, 3 out; known: 30 must-links and 30 cannot-links." in words


def test_what_counts_is_the_reach_of_a_standard_deviation(parse):
    model = RCA().fit(pd.DataFrame(X, columns=NAMES), constraints=KNOWN)
    words = parse(render_report(estimator=model, X=X, constraints=KNOWN)).words()
    reach = np.linalg.norm(model.components_, axis=0) * X.std(axis=0)
    shares = reach / reach.max()
    for name, share in zip(NAMES, shares, strict=True):
        assert f"{name} {share:.2f}" in words
    variance = model.transform(X).var(axis=0)
    for number, share in enumerate(variance / variance.sum()):
        assert f"rca{number} {share:.0%}" in words


def test_a_selection_shows_its_ranking(parse):
    model = ConstraintScore(n_features_to_select=2).fit(X, constraints=KNOWN)
    page = parse(render_report(estimator=model, X=X, constraints=KNOWN, feature_names=NAMES))
    assert len(page.find("g", class_="unkept")) == 1
    assert "The smallest score is the best. The 2 kept" in page.words()
    assert model.ranking_[2] == 3
    assert page.words().index("colour ") < page.words().index("noise ")


@pytest.mark.parametrize("name", ["constraint-score", "fisher-score"])
def test_the_best_feature_has_the_longest_bar(name, parse):
    # The smallest constraint score is the best one, and the largest Fisher score.
    model = catalog.get(name).cls().fit(X, constraints=KNOWN | Constraints.from_labels(Y))
    page = parse(render_report(estimator=model, X=X, constraints=KNOWN, feature_names=NAMES))
    start = [element[1].get("class") for element in page.elements].index("saliencies")
    bars = [attributes for tag, attributes, _ in page.elements[start:] if tag == "rect"]
    widths = [float(bar["width"]) for bar in bars[:3]]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]


def test_a_map_that_changes_no_order_is_neither_good_nor_bad(parse):
    for n_rows in (40, 60, 90):  # a rotation; rounding may go either way
        model = PCA().fit(X[:n_rows])
        page = parse(render_report(estimator=model, X=X, constraints=KNOWN))
        assert len(page.find("p", class_="status")) == len(page.find("p", class_="none")) == 1


def test_names_are_cut_between_words():
    long = "number_of_support_tickets_per_quarter_and_region"
    shown = shorten_words(long, 30)
    assert len(shown) <= 30
    start, end = shown.split("…")
    assert long.startswith(start)
    assert long.endswith(end)
    assert set(re.findall(r"[a-z]+", shown)) <= set(long.split("_"))
    assert shorten_words("short", 30) == "short"
    assert len(shorten_words("x" * 50, 30)) == 30


def test_both_maps_have_the_same_rows_and_pairs(parse):
    model = RCA(n_components=2).fit(X, constraints=KNOWN)
    page = parse(render_report(estimator=model, X=X, constraints=KNOWN, labels_true=Y))
    assert len(page.find("circle")) == 2 * 90
    assert len(page.find("line")) == 2 * 60
    assert len(page.find("line", class_="cl")) == 2 * 30
    identifiers = [attrs["id"] for _, attrs, _ in page.elements if attrs.get("id")]
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize(
    "method",
    [m for m in catalog.methods() if not m.kind.clusters and m.tags.kind != "classifier"],
    ids=lambda m: m.name,
)
@pytest.mark.filterwarnings("ignore")
def test_every_transformer_has_a_report(method, parse):
    half = np.where(np.arange(90) % 2 == 0, Y, -1)
    known = KNOWN | Constraints.from_labels(half)
    model = method.cls().fit(np.abs(X), constraints=known)
    page = parse(render_report(estimator=model, X=np.abs(X), constraints=known, labels_true=Y))
    assert "Known pairs in order" in page.words()
    assert "nan" not in page.words().lower().split()


def test_sparse_rows_and_nothing_known(parse):
    rng = np.random.default_rng(1)
    rows = sparse.csr_array(rng.random((40, 300)) * (rng.random((40, 300)) < 0.05))
    model = catalog.get("variance-score").cls(n_features_to_select=10).fit(rows)
    words = parse(render_report(estimator=model, X=rows)).words()
    assert "40 rows, 300 features in, 10 out; nothing else was known." in words
    assert "No pairs of both kinds to compare" in words
    assert "30 of 300 are shown." in words


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("share", [0.1, 0.0], ids=["mostly equal", "all equal"])
def test_rows_that_are_mostly_the_same(share, parse):
    """A typical distance is needed also where most distances are 0."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.random(60) < share, 0.01 * rng.normal(size=60)]).astype(float)
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 4), (1, 5)], n_samples=60)
    model = catalog.get("variance-score").cls(n_features_to_select=1).fit(rows)
    model.support_ = np.array([True, False])
    page = parse(render_report(estimator=model, X=rows, constraints=known))
    assert "nan" not in page.words().lower().split()


def test_many_rows_are_sampled(monkeypatch, parse):
    monkeypatch.setattr(_mapped, "MAX_DRAWN", 20)
    monkeypatch.setattr(_mapped, "MAX_LINKED", 15)
    monkeypatch.setattr(_mapped, "MAX_PAIRS", 10)
    monkeypatch.setattr(_pairs, "MAX_PAIRS", 10)
    monkeypatch.setattr(_mapped, "MAX_ROWS", 50)
    known = Constraints.from_labels(Y)
    model = ITML().fit(X, constraints=known)
    page = parse(render_report(estimator=model, X=X, constraints=known))
    assert len(page.find("circle")) == 40
    assert "20 of 90 rows are drawn." in page.words()
    assert "known: 90 known labels." in page.words()


def test_names_of_features_cannot_break_the_page(parse):
    model = ConstraintScore().fit(X, constraints=KNOWN)
    names = ["<script>alert(1)</script>", "a&b", 'c"d']
    html = render_report(estimator=model, X=X, constraints=KNOWN, feature_names=names)
    parse(html)
    assert "<script>alert" not in html


def test_what_is_not_fitted_or_maps_nothing_is_refused():
    with pytest.raises(SidelightError, match="RCA has no labels_ and maps no rows yet; fit it"):
        render_report(estimator=RCA(), X=X)
    model = RCA().fit(X, constraints=KNOWN)
    with pytest.raises(SidelightError, match="constraints are about 90 rows"):
        render_report(estimator=model, X=X[:50], constraints=KNOWN)


def test_in_a_browser_there_is_a_picture(tmp_path, chromium):
    model = RCA(n_components=2).fit(X, constraints=KNOWN)
    page = write_report(
        tmp_path / "map.html", estimator=model, X=X, constraints=KNOWN, labels_true=Y, ids=IDS
    )
    dom = chromium(page.as_uri(), "--dump-dom")
    assert len(re.findall(r"<circle class=\"k", dom)) == 180


def test_on_a_phone_the_page_is_as_wide_as_the_screen(tmp_path, chromium):
    model = ConstraintScore().fit(X, constraints=KNOWN)
    page = write_report(
        tmp_path / "map.html", estimator=model, X=X, constraints=KNOWN, labels_true=Y
    )
    tell = "parent.postMessage(document.documentElement.scrollWidth, '*')"
    html = page.read_text(encoding="utf-8")
    page.write_text(f"{html}<script>addEventListener('load', () => {tell})</script>", "utf-8")
    phone = tmp_path / "phone.html"
    phone.write_text(
        "<script>addEventListener('message', (m) => { document.body.dataset.width = m.data })"
        f"</script><iframe src='{page.name}' width=390 height=800></iframe>",
        encoding="utf-8",
    )
    (width,) = re.findall(r'data-width="(\d+)"', chromium(phone.as_uri(), "--dump-dom"))
    assert int(width) == 390


@pytest.mark.parametrize("criterion", ["ratio", "locality"])
def test_features_without_a_score_are_last_and_say_so(criterion, parse):
    """A feature that does not vary has no score, whichever end of the others is the good one."""
    rows = np.column_stack([X[:, :2], np.ones(len(X))])
    names = ["first", "second", "same"]
    model = ConstraintScore(1, criterion=criterion).fit(rows, constraints=KNOWN)
    assert np.isnan(model.scores_[2])
    best = "largest" if criterion == "locality" else "smallest"
    assert model.larger_is_better_ == (best == "largest")
    page = parse(render_report(estimator=model, X=rows, constraints=KNOWN, feature_names=names))
    assert f"The {best} score is the best. 1 feature has no score" in page.words()
    assert "nan" not in page.words().split()
    chosen = {"largest": max, "smallest": min}[best](model.scores_[:2])
    assert model.scores_[model.ranking_ == 1] == chosen


def test_gains_are_told_in_the_order_in_which_features_came():
    model = SimpleNamespace(
        scores_=np.array([0.2, 0.5, np.nan, 0.1]), ranking_=[1, 2, 4, 3], larger_is_better_=True
    )
    assert ranking_sentence(model).startswith("The largest gain is the best; features are in the")
    model.scores_ = np.array([0.5, 0.2, np.nan, 0.1])
    assert ranking_sentence(model) == (
        "The largest score is the best. 1 feature has no score: nothing varies where it looks."
    )
    model.scores_ = np.full(4, np.nan)
    assert ranking_sentence(model).startswith("4 features have no score")
