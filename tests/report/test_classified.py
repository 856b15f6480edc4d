"""The report of a classifier: what it shows is what the classifier says, and what it rests on."""

from __future__ import annotations

import html as html_text
import json
import re

import numpy as np
import pytest
from scipy import sparse

from sidelight import Constraints, catalog, jobs
from sidelight.exceptions import SidelightError
from sidelight.jobs import ClassifyRequest
from sidelight.pictures.classes._decisions import Decisions, class_codes, decisions_of
from sidelight.pictures.classes._rounds import curves_of, mean_by_round
from sidelight.pictures.kinds._points import Points
from sidelight.pictures.svg._points import placed
from sidelight.report import render_report
from sidelight.semi_supervised import (
    TSVM,
    HarmonicClassifier,
    PairwiseLogisticRegression,
    SemiBoostClassifier,
)

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 30)
X = RNG.normal(size=(90, 4)) + 2.5 * np.eye(3, 4)[Y]
NAMES = np.array(["ash", "birch", "cedar"])
TRUTH = NAMES[Y]
LABELED = np.arange(90) % 6 == 0
WORDS = np.where(LABELED, TRUTH, "")
IDS = [f"r-{i}" for i in range(90)]
LABELS = Constraints(labels=WORDS, ids=IDS)
PAIRS = Constraints([("r-1", "r-2"), ("r-3", "r-40")], [("r-4", "r-50")], ids=IDS)


def found_by(method, rows=X, known=LABELS, **others):
    request = ClassifyRequest(rows, method=method, constraints=known, **others, raw=True)
    return jobs.run(request)


@pytest.fixture(scope="module")
def harmonic():
    return found_by("harmonic", truth=TRUTH)


def page_of(found, parse):
    return parse(found.page().html())


@pytest.mark.parametrize("method", catalog.methods(kind="classifier"), ids=lambda m: m.name)
@pytest.mark.filterwarnings("ignore")
def test_every_classifier_has_a_report(method, parse):
    found = found_by(method.name, np.abs(X), LABELS | PAIRS, truth=TRUTH)
    page = page_of(found, parse)
    words = page.words()
    assert "Least certain rows" in words or (found.decisions.margins >= 0.99).all()
    assert "Cross-validation: " in words
    assert "nan" not in words.lower().split()
    assert len(page.find("circle", inside="points")) == 90
    assert len(page.find("line", class_="ml")) == 2
    assert len(page.find("line", class_="cl")) == 1
    identifiers = [attrs["id"] for _, attrs, _ in page.elements if attrs.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_classes_given_labels_and_doubts(harmonic, parse):
    page = page_of(harmonic, parse)
    points = page.find("circle", inside="points")
    codes = np.searchsorted(NAMES, harmonic.estimator.transduction_)
    assert [int(point["class"].split()[0][1:]) for point in points] == codes.tolist()
    assert [int(point["class"].split()[1][1:]) for point in points] == Y.tolist()
    assert ["a" in point["class"].split() for point in points] == LABELED.tolist()
    best = np.sort(harmonic.estimator.label_distributions_, axis=1)
    doubt = ~LABELED & (best[:, -1] - best[:, -2] < 0.2)
    assert doubt.any()
    assert ["u" in point["class"].split() for point in points] == doubt.tolist()
    assert f"Hollow: {doubt.sum()} rows in doubt" in page.words()
    assert "Ringed: the 15 rows whose class was given." in page.words()
    assert "Given: ash 5, birch 5, cedar 5." in page.words()


def test_what_changed_against_the_labels_alone(harmonic, parse):
    words = page_of(harmonic, parse).words()
    contrast = harmonic.contrast
    assert contrast.verdict in words
    assert f"{contrast.by_truth.accuracy.value:.1%}" in words
    assert f"{contrast.by_truth.accuracies['alone'].value:.1%}" in words
    assert f"{contrast.by_truth.accuracies['plain'].value:.1%}" in words
    low, high = contrast.cross_validated.accuracy.interval
    assert f"{100 * low:.0f}-{high:.0%}" in words
    assert len(contrast.changed)
    assert f"{len(contrast.changed)} of 75 rows without a given class have another" in words
    margins = harmonic.decisions.margins
    row = contrast.changed[np.argmax(margins[contrast.changed])]
    names = (NAMES[contrast.alone[row]], harmonic.labels[row], TRUTH[row])
    assert f"r-{row} {' '.join(names)}" in words


def test_confusions_are_counts(harmonic, parse):
    words = page_of(harmonic, parse).words()
    judged = harmonic.contrast.cross_validated
    shown = words.partition("Cross-validation: ")[2].partition("True classes:")[0]
    for code, name in enumerate(NAMES):
        counts = [int(((judged.known == code) & (judged.found[0] == c)).sum()) for c in range(3)]
        row = " ".join([name, *(str(n) if n else "·" for n in counts), str(sum(counts))])
        assert row in shown


def test_least_certain_rows_with_their_probabilities(harmonic, parse):
    words = page_of(harmonic, parse).words().partition("Least certain rows")[2]
    doubt = harmonic.least_certain(harmonic.open_rows, 1)[0]
    shares = " ".join(f"{value:.0%}" for value in doubt["values"].values())
    assert f"{doubt['id']} {doubt['class']} {shares}" in words


def test_of_many_classes_the_best_two_are_shown(parse):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(9), 8)
    rows = rng.normal(size=(72, 2)) + 8 * np.column_stack([y % 3, y // 3])
    known = np.where(np.arange(72) % 2 == 0, y, -1)
    model = HarmonicClassifier(8).fit(rows, known)
    page = parse(render_report(estimator=model, X=rows, constraints=Constraints.from_labels(known)))
    words = page.words().partition("Least certain rows")[2]
    assert "Best two" in words
    assert "With the probability of the best two." in words


def test_decision_regions_of_two_features(parse):
    rows = X[:, :2]
    found = found_by("harmonic", rows)
    page = page_of(found, parse)
    rects = page.find("rect", inside="regions")
    codes = np.zeros(len(rows), np.int64)
    at = placed(Points(title="", text="", xy=rows, codes=codes, axes="plane"))
    box = at.box
    narrow = min(float(rect["width"]) for rect in rects)
    area = sum(float(rect["width"]) * float(rect["height"]) for rect in rects)
    assert area == pytest.approx(box.inner_width * box.inner_height, rel=1e-3)
    for rect in rects[:: max(len(rects) // 25, 1)]:
        left, top = float(rect["x"]) + narrow / 2, float(rect["y"]) + float(rect["height"]) / 2
        x = np.interp(left, [box.left, box.width - box.right], at.x_range)
        y = np.interp(top, [box.top, box.base], at.y_range[::-1])
        assert f"k{np.searchsorted(NAMES, found.estimator.predict([[x, y]])[0])}" == rect["class"]
    assert "Shades: the class of a new row in this place." in page.words()
    assert page_of(found_by("harmonic"), parse).find("rect", inside="regions") == []


def test_pairs_that_are_violated_are_red_and_listed(parse):
    found = found_by("pairwise-logistic-regression", known=LABELS | PAIRS)
    violated = len(found.violations.must_link) + len(found.violations.cannot_link)
    page = page_of(found, parse)
    assert len(page.find("line", class_="v")) == violated
    words = page.words()
    assert "What was asked of pairs and groups" in words
    assert "must-link r-1 ash r-2 ash" in words
    assert (
        "The unlabeled rows and the pairs" in words or "the unlabeled rows and the pairs" in words
    )


def test_rounds_of_boosting(parse):
    found = found_by("semiboost", settings={"n_estimators": 4})
    words = page_of(found, parse).words()
    margins = curves_of(found.estimator, "mean_margins_")
    mean = mean_by_round(margins)
    assert "Mean margin by round" in words
    assert f"From {mean[0]:.4g} to {mean[-1]:.4g}." in words
    assert f"Mean over {len(margins)} pairs of classes." in words
    assert "Step size by round" in words
    assert "Objective by iteration" in words


def test_curves_of_machines():
    class Boosted:
        one = np.array([1.0, 2.0])
        several = (np.array([1.0, 3.0, 5.0]), np.zeros(0), np.array([3.0]))
        broken = np.array([1.0, np.nan])

    assert list(curves_of(Boosted, "one")) == [0]
    assert list(curves_of(Boosted, "several")) == [0, 2]
    np.testing.assert_array_equal(mean_by_round(curves_of(Boosted, "several")), [2.0, 3.0, 5.0])
    assert curves_of(Boosted, "broken") == curves_of(Boosted, "none") == {}


def test_what_a_classifier_says():
    two = np.where(Y == 2, -1, np.where(LABELED, Y, -1))
    model = TSVM().fit(X, two)
    decisions = decisions_of(model, X)
    np.testing.assert_array_equal(decisions.values[:, 1], model.decision_function(X))
    np.testing.assert_array_equal(decisions.values[:, 0], -decisions.values[:, 1])
    assert not decisions.are_probabilities
    free = np.arange(90) > 9
    least = np.sort(np.argsort(np.where(free, decisions.margins, np.inf), kind="stable")[:4])
    np.testing.assert_array_equal(np.flatnonzero(decisions.doubtful(free)), least)
    sure = Decisions(("a", "b"), np.array([[1.0, 0.0], [0.65, 0.35], [0.55, 0.45]]), True)
    assert sure.least_certain(np.arange(3), 3).tolist() == [2, 1]
    assert sure.doubtful(np.ones(3, bool)).tolist() == [False, False, True]
    assert sure.shown(1, 0) == "65%"
    assert class_codes(np.array(["b", None, "", "c"], object), ("a", "b")).tolist() == [
        1,
        -1,
        -1,
        -1,
    ]
    assert class_codes(np.array([2.0, -1.0]), ("1", "2")).tolist() == [1, -1]


def test_without_a_contrast_and_without_labels(parse):
    model = SemiBoostClassifier(n_estimators=2, random_state=0).fit(X, WORDS)
    words = parse(render_report(estimator=model, X=X)).words()
    assert "what was known is not told" in words
    assert "Cross-validation" not in words
    thin = sparse.csr_matrix(np.where(np.abs(X) < 1, 0, X))
    model = TSVM().fit(thin, WORDS)
    words = parse(render_report(estimator=model, X=thin, constraints=LABELS)).words()
    assert "90 rows of 3 classes; known: 15 known labels" in words
    with pytest.raises(SidelightError, match="X has 5 rows but the classifier was fitted on 90"):
        render_report(estimator=model, X=thin[:5])


def test_supervised_and_rejected_rows(parse):
    everything = found_by("tsvm", known=Constraints(labels=TRUTH, ids=IDS))
    words = page_of(everything, parse).words()
    assert "Supervised: every row is labeled" in words
    assert "Least certain rows" not in words
    rejecting = found_by("pairwise-logistic-regression", settings={"reject": 1e6})
    page = page_of(rejecting, parse)
    assert "75 rows got no class." in page.words()
    assert len(page.find("circle", inside="points", class_="kx")) == 75
    known = np.where(LABELED, Y, -1)
    model = PairwiseLogisticRegression(reject=1e6).fit(X, known)
    page = parse(render_report(estimator=model, X=X, constraints=Constraints.from_labels(known)))
    assert len(page.find("circle", inside="points", class_="kx")) == 75


def test_names_are_escaped(parse):
    odd = np.array(["<b>ash</b>", "</script>", "a&b"])
    known = Constraints(labels=np.where(LABELED, odd[Y], ""), ids=[f"<i>{i}" for i in range(90)])
    page = page_of(found_by("harmonic", known=known, truth=odd[Y]), parse)
    assert not any("ash" in data for tag, data in page.text if tag == "b")
    assert "<b>ash</b>" in page.words()


# Acts like a user and writes down what the page then shows.
USER = """
<script>
addEventListener("load", () => {
  const seen = {};
  const circles = document.querySelectorAll("#points circle");
  const fill = (n) => getComputedStyle(circles[n]).fill;
  seen.found = fill(31);
  document.querySelector("input[name=colour][value=label]").click();
  seen.truth = fill(31);
  const at = circles[1].getBoundingClientRect();
  document.querySelector("svg.scatter").dispatchEvent(new PointerEvent("pointermove",
    { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true }));
  seen.tip = [...document.getElementById("tip").children].map((line) => line.textContent);
  document.documentElement.dataset.seen = JSON.stringify(seen);
});
</script>
"""


def test_the_page_in_a_browser(harmonic, chromium, tmp_path):
    page = harmonic.report(tmp_path / "report.html")
    page.write_text(page.read_text(encoding="utf-8") + USER, encoding="utf-8")
    dom = chromium(page.as_uri(), "--dump-dom")
    root = re.search(r"<html[^>]*>", dom).group()
    assert 'data-ready="true"' in root
    assert "data-error" not in root
    seen = json.loads(html_text.unescape(re.search(r'data-seen="([^"]*)"', root).group(1)))
    same = harmonic.labels[31] == TRUTH[31]
    assert (seen["found"] == seen["truth"]) == same
    near = int(re.fullmatch(r"r-(\d+)", seen["tip"][0]).group(1))
    given = "given" if LABELED[near] else "predicted"
    assert seen["tip"][1] == f"class {harmonic.labels[near]}, {given}"
    assert seen["tip"][-1] == f"true class {TRUTH[near]}"
