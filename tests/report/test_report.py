"""What the page says and draws, read back from the HTML."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans, SizeConstrainedKMeans
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.pictures import _selection
from sidelight.pictures._progress import by_step
from sidelight.pictures.svg._render import svg_of
from sidelight.report import render_report, tables, write_report

from .conftest import Fitted


def drawn(html: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="drawn">(.*?)</script>', html)
    return json.loads(text)


def test_violated_lines_are_the_violations(example, parse):
    html = render_report(estimator=example.model, X=example.X, constraints=example.constraints)
    page = parse(html)
    violations = example.constraints.violations(example.model.labels_)
    must, cannot = len(violations.must_link), len(violations.cannot_link)
    assert (must, cannot) == (2, 2)
    assert len(page.find("line", inside="violated", class_="ml")) == must
    assert len(page.find("line", inside="violated", class_="cl")) == cannot
    assert len(page.find("line", inside="satisfied")) == 9 - must - cannot
    assert len(page.find("circle", inside="points")) == 120
    assert "120 rows, 3 clusters, 4 must-links and 5 cannot-links: 4 of 9 violated." in page.words()


def test_every_line_joins_its_two_points(example, parse):
    """Lines, the script's list of links and the listed statements speak of the same rows."""
    html = render_report(estimator=example.model, X=example.X, constraints=example.constraints)
    page, facts = parse(html), drawn(html)
    points = [(float(c["cx"]), float(c["cy"])) for c in page.find("circle", inside="points")]
    lines = page.find("line")
    assert len(lines) == len(facts["links"]) == 9
    stated = {(*pair, 0) for pair in map(tuple, example.constraints.must_link.tolist())}
    stated |= {(*pair, 1) for pair in map(tuple, example.constraints.cannot_link.tolist())}
    assert {(a, b, cannot) for a, b, cannot, _ in facts["links"]} == stated
    for line in lines:
        a, b, cannot, violated = facts["links"][int(line["data-n"])]
        assert line["class"] == f"{'v' if violated else 's'} {'cl' if cannot else 'ml'}"
        slack = 6.0 if violated else 0.2  # violated lines stop at the rim of the points
        for x, y, point in ((line["x1"], line["y1"], a), (line["x2"], line["y2"], b)):
            assert np.hypot(float(x) - points[point][0], float(y) - points[point][1]) < slack
    # Rows of the data are all drawn here, in order, under the user's names.
    assert facts["ids"] == example.ids
    assert facts["k"] == example.model.labels_.tolist()


def test_what_was_violated_is_listed_by_the_users_ids(example, parse):
    html = render_report(estimator=example.model, X=example.X, constraints=example.constraints)
    rows = re.findall(r'<tr[^>]*class="bad">.*?</tr>', html)
    named = {tuple(re.findall(r"c-\d{3}", row)) for row in rows}
    assert named == {
        ("c-000", "c-003"),
        ("c-041", "c-050"),
        ("c-003", "c-045"),
        ("c-050", "c-090"),
    }
    assert all("✕ violated" in row for row in rows)
    assert html.count("✓ satisfied") == 5


def test_the_page_is_self_contained(example, parse):
    html = render_report(
        estimator=example.model,
        X=example.X,
        constraints=example.constraints,
        labels_true=example.y,
        command="sidelight cluster data.csv",
    )
    page = parse(html)
    assert not re.search(r"https?://", html)
    assert not re.search(r"@import|url\(", html)
    for tag, attributes, _ in page.elements:
        assert "src" not in attributes
        assert tag != "link"
    policy = page.find("meta", content="default-src")
    assert "default-src 'none'" in policy[0]["content"]


@pytest.mark.parametrize("length", [0, 5_000])
def test_markup_in_names_is_text(length, parse):
    bad = "<script>alert('x')</script>&\"</style>\u2028" + "y" * length
    ids = [f"{number}{bad}" for number in range(20)]
    constraints = Constraints([(ids[0], ids[1])], [(ids[2], ids[3])], ids=ids)
    labels = np.arange(20) % 2
    html = render_report(
        estimator=Fitted(bad).with_labels(labels, [2.0, 1.0]),
        X=np.random.default_rng(0).normal(size=(20, 3)),
        constraints=constraints,
        labels_true=[bad, "plain"] * 10,
        feature_names=[bad, "b", "c"],
        title=bad,
        settings={bad: bad},
        command=bad,
    )
    page = parse(html)
    assert len(page.find("script")) == 2
    assert len(page.find("style")) == 1
    facts = drawn(html)
    assert facts["ids"][0].startswith("0<script>alert(")
    assert max(map(len, facts["ids"])) <= 80
    assert len(html) < 150_000 + 3 * length
    assert "0<script>alert(" in page.words()


def test_all_satisfied(parse):
    labels = np.repeat([0, 1], 10)
    X = np.random.default_rng(0).normal(size=(20, 2))
    constraints = Constraints([(0, 1)], [(2, 12)], n_samples=20)
    page = parse(
        render_report(estimator=Fitted().with_labels(labels), X=X, constraints=constraints)
    )
    assert "20 rows, 2 clusters, 1 must-link and 1 cannot-link: all satisfied." in page.words()
    assert page.find("line", inside="violated") == []
    assert "row 12" in page.words()
    assert page.find("input", id="only-violated") == []


def test_without_violations_many_lines_are_all_shown(parse):
    y = np.arange(1200) % 3
    X = np.random.default_rng(0).normal(size=(1200, 2))
    known = Constraints.sample(y, 900, random_state=0)
    html = render_report(estimator=Fitted().with_labels(y), X=X, constraints=known)
    (plot,) = parse(html).find("figure", id="plot")
    assert plot["data-violated"] == "off"


def test_labels_of_the_objective_have_room():
    history = np.linspace(12_400_000, 11_800_000, 5)
    svg = svg_of(by_step({"a": history}, "Objective"))
    for words in re.findall(r'<text class="left" x="([\d.]+)" y="[\d.]+">([^<]*)<', svg):
        assert 6.2 * len(words[1]) <= float(words[0])


def test_labels_and_groups_count_too(parse):
    known = np.full(30, -1)
    known[[0, 1, 2, 10, 11]] = [5, 5, 5, 7, 7]
    groups = np.array([None] * 30)
    groups[[20, 21, 22]] = "g"
    labels = np.repeat([0, 1, 2], 10)
    labels[[2, 22]] = [1, 0]
    constraints = Constraints(labels=known, groups=groups)
    X = np.random.default_rng(0).normal(size=(30, 4))
    html = render_report(estimator=Fitted().with_labels(labels), X=X, constraints=constraints)
    page = parse(html)
    assert "5 known labels and 3 group members: 2 of 8 violated." in page.words()
    assert "row 2" in page.words()
    assert "labelled 5" in page.words()
    assert "in group g" in page.words()
    ringed = [
        n for n, c in enumerate(page.find("circle", inside="points")) if "w" in c["class"].split()
    ]
    assert ringed == [2, 22]


def test_confusion_and_scores(example, parse):
    html = render_report(
        estimator=example.model,
        X=example.X,
        constraints=example.constraints,
        labels_true=np.array(["ash", "birch", "cedar"])[example.y],
    )
    words = parse(html).words()
    # One ash went to cluster 1, one birch to cluster 2.
    assert re.search(r"ash 39 1 · 40 birch · 39 1 40 cedar · · 40 40", words)
    assert "Accuracy (best matching) 0.983 1.000" in words


def test_classes_take_the_colour_of_their_cluster(parse):
    y = np.repeat(["ash", "birch", "cedar"], 10)
    labels = np.repeat([2, 0, 1], 10)
    X = np.random.default_rng(0).normal(size=(30, 2))
    page = parse(render_report(estimator=Fitted().with_labels(labels), X=X, labels_true=y))
    for circle in page.find("circle", inside="points"):
        cluster, known = circle["class"].split()
        assert cluster[1:] == known[1:]


@pytest.mark.parametrize(
    ("shape", "n_clusters"), [((1, 1), 1), ((2, 2), 1), ((40, 1), 2), ((300, 3), 50), ((9, 40), 9)]
)
def test_shapes(shape, n_clusters, parse):
    X = np.random.default_rng(0).normal(size=shape)
    labels = np.arange(shape[0]) % n_clusters
    html = render_report(estimator=Fitted().with_labels(labels, [1.0]), X=X)
    page = parse(html)
    assert len(page.find("circle", inside="points")) == shape[0]
    assert "nothing else was known" in page.words()
    assert "nan" not in html.lower().replace("nano", "")
    for number in range(n_clusters):
        assert f"--c{number}:" in html


def test_rows_in_no_cluster_and_constant_rows(parse):
    labels = np.array([-1, -1, 0, 0, 1])
    for X in (np.random.default_rng(0).normal(size=(5, 3)), np.ones((5, 3)), np.ones((5, 1))):
        page = parse(render_report(estimator=Fitted().with_labels(labels), X=X))
        assert "2 rows in no cluster" in page.words()
        assert len(page.find("circle", inside="points", class_="kx")) == 2
    known = Constraints(labels=[1, 1, -1, 2, -1])
    nowhere = Fitted().with_labels(np.full(5, -1))
    page = parse(
        render_report(estimator=nowhere, X=X, constraints=known, labels_true=[1, 1, 2, 2, 2])
    )
    assert "5 rows, 0 clusters, 3 known labels: 3 of 3 violated." in page.words()


def test_large_runs_are_sampled(monkeypatch, parse):
    monkeypatch.setattr(_selection, "MAX_POINTS", 200)
    monkeypatch.setattr(_selection, "MAX_CONSTRAINED", 150)
    monkeypatch.setattr(_selection, "MAX_LINES", 60)
    rng = np.random.default_rng(0)
    labels = np.arange(5_000) % 2
    order = rng.permutation(5_000)
    must = order[:400].reshape(-1, 2)
    constraints = Constraints(must, n_samples=5_000)
    violated = len(constraints.violations(labels).must_link)
    assert violated > 60
    html = render_report(
        estimator=Fitted().with_labels(labels),
        X=rng.normal(size=(5_000, 2)),
        constraints=constraints,
    )
    page = parse(html)
    assert len(page.find("circle", inside="points")) == 200
    assert len(page.find("line", inside="violated")) == 60
    assert page.find("line", inside="satisfied") == []
    assert "200 of 5,000 rows are drawn: those that constraints mention first" in page.words()
    assert "60 of 200 links are drawn, violated ones first." in page.words()


def test_all_constrained_rows_are_drawn_first(monkeypatch):
    monkeypatch.setattr(_selection, "MAX_POINTS", 100)
    constraints = Constraints([(7, 4_900), (8, 9)], [(4_000, 17)], n_samples=5_000)
    labels = np.arange(5_000) % 3
    X = np.random.default_rng(0).normal(size=(5_000, 2))
    facts = drawn(
        render_report(estimator=Fitted().with_labels(labels), X=X, constraints=constraints)
    )
    assert len(facts["ids"]) == 100
    assert {"row 7", "row 4900", "row 8", "row 9", "row 4000", "row 17"} <= set(facts["ids"])
    assert len(facts["links"]) == 3


def test_many_statements_are_cut_with_the_count_of_the_rest(monkeypatch, parse):
    monkeypatch.setattr(tables, "MAX_STATEMENTS", 10)
    labels = np.arange(100) % 2
    must = [(row, row + 1) for row in range(0, 50, 2)]  # all violated
    constraints = Constraints(must, [(60, 61)], n_samples=100)
    X = np.random.default_rng(0).normal(size=(100, 2))
    html = render_report(estimator=Fitted().with_labels(labels), X=X, constraints=constraints)
    assert html.count("✕ violated") == 10
    assert "16 more statements, 15 of them violated." in parse(html).words()


def test_a_page_of_four_thousand_points_stays_small():
    rng = np.random.default_rng(0)
    ids = [f"customer-{number:032d}" for number in range(6_000)]
    labels = rng.integers(0, 20, 6_000)
    pairs = rng.permutation(6_000)[:3_000].reshape(-1, 2)
    constraints = Constraints([(ids[a], ids[b]) for a, b in pairs], ids=ids)
    html = render_report(
        estimator=Fitted().with_labels(labels),
        X=rng.normal(size=(6_000, 10)),
        constraints=constraints,
        labels_true=labels,
    )
    assert len(drawn(html)["ids"]) == 4_000
    assert len(html.encode()) < 1_500_000


def test_tables_of_pandas(example):
    frame = pd.DataFrame(example.X, columns=[f"f{n}" for n in "abcde"])
    ids = pd.Series(example.ids, index=np.arange(120)[::-1])  # an index that is not the position
    html = render_report(
        estimator=example.model, X=frame, ids=ids, labels_true=pd.Series(example.y)
    )
    assert drawn(html)["ids"] == example.ids
    assert "fa" in html


@pytest.mark.parametrize("kind", ["csr", "source", "float32"])
def test_kinds_of_rows_draw_the_same(kind, example, parse):
    rows = {
        "csr": sparse.csr_array(example.X),
        "source": as_rows(example.X),
        "float32": example.X.astype(np.float32),
    }[kind]

    def places(X):
        page = parse(render_report(estimator=example.model, X=X))
        return np.array([(c["cx"], c["cy"]) for c in page.find("circle", inside="points")], float)

    np.testing.assert_allclose(places(rows), places(example.X), atol=0.11)


def test_a_few_far_rows_do_not_squeeze_the_others(parse):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[0] = 1e6
    page = parse(render_report(estimator=Fitted().with_labels(np.zeros(300, int)), X=X))
    x = np.array([float(c["cx"]) for c in page.find("circle", inside="points")])
    assert np.ptp(x[1:]) > 200
    assert "1 row lies beyond the frame" in page.words()


def test_settings_versions_command_and_time(example, parse):
    page = parse(
        render_report(
            estimator=example.model,
            X=example.X,
            settings={"data": "customers.csv"},
            command="sidelight cluster customers.csv -k 3",
            seconds=1.234,
            title="Customers",
        )
    )
    words = page.words()
    for text in (
        "data customers.csv",
        "n_clusters 3",
        f"numpy {np.__version__}",
        "scikit-learn",
        "sidelight cluster customers.csv -k 3",
        "1.23 s",
        "From 90 to 40.",
    ):
        assert text in words
    assert page.find("h1")


def test_real_estimators(parse):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 4)) + 3.0 * np.eye(3, 4)[y]
    pairs = rng.permutation(150)[:120].reshape(-1, 2)
    together = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ (np.arange(60) < 12)  # twelve are wrong
    constraints = Constraints(pairs[together], pairs[~together], n_samples=150)
    model = PCKMeans(n_clusters=3, penalty=0.5, random_state=0).fit(X, constraints=constraints)
    html = render_report(estimator=model, X=X, constraints=constraints, labels_true=y)
    page = parse(html)
    assert model.n_violations_ > 0
    assert len(page.find("line", inside="violated")) == model.n_violations_
    assert f"{model.n_violations_} of 60 violated" in page.words()
    assert model.__sidelight_tags__().source in page.words()
    plain = parse(render_report(estimator=KMeans(n_clusters=3, random_state=0).fit(X), X=X))
    assert "150 rows and 3 clusters; nothing else was known." in plain.words()


def test_the_same_run_gives_the_same_picture(example):
    def picture():
        html = render_report(estimator=example.model, X=example.X, constraints=example.constraints)
        return re.sub(r"<time.*?</time>", "", html)

    assert picture() == picture()


def test_write_is_all_or_nothing(example, tmp_path):
    path = tmp_path / "report.html"
    assert write_report(path, estimator=example.model, X=example.X) == path
    before = path.read_text(encoding="utf-8")
    assert before.startswith("<!doctype html>")
    with pytest.raises(SidelightError):
        write_report(path, estimator=example.model, X=example.X[:7])
    assert path.read_text(encoding="utf-8") == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimator": Fitted()}, "fit it before writing"),
        ({"X": np.zeros((7, 5))}, "X has 7 rows but the estimator was fitted on 120"),
        ({"ids": ["a"]}, "ids names 1 rows"),
        ({"labels_true": [1, 2]}, "labels_true covers 2 rows"),
        ({"constraints": Constraints(n_samples=3)}, "The constraints are about 3 rows"),
        ({"feature_names": ["a"]}, "1 names but X has 5 columns"),
    ],
)
def test_what_does_not_fit_together_is_named(change, words, example):
    given = {"estimator": example.model, "X": example.X, **change}
    with pytest.raises(SidelightError, match=words):
        render_report(**given)


def test_bounds_are_drawn_where_sizes_were_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SizeConstrainedKMeans(3, min_size=15, max_size=25, random_state=0).fit(X)
    html = render_report(estimator=model, X=X)
    assert html.count('class="bound"') == 6  # a lower and an upper one for each of three clusters
    assert "60 rows, 3 clusters, 3 bounded sizes: all satisfied." in html
    only_lower = SizeConstrainedKMeans(3, min_size=15, random_state=0).fit(X)
    assert render_report(estimator=only_lower, X=X).count('class="bound"') == 3
    by_weight = SizeConstrainedKMeans(3, min_size=0.2, random_state=0)
    by_weight.fit(X, row_sizes=np.arange(1.0, 61.0))
    assert 'class="bound"' not in render_report(estimator=by_weight, X=X)  # bars count rows
    assert 'class="bound"' not in render_report(estimator=KMeans(3, random_state=0).fit(X), X=X)
